//! What an older git needs in place of the variables of the hardened form that it does not know.

use std::collections::BTreeMap;

/// The oldest git that is used. It knows settings in variables (`GIT_CONFIG_COUNT`, 2.31) and can leave out the user's
/// own (`GIT_CONFIG_GLOBAL`, 2.32); it is the oldest one with which the attacks of the tests were tried.
pub(super) const OLDEST: Version = (2, 34);

/// The first version with `GIT_ATTR_SOURCE`, so that no file of the work tree names a filter, a diff driver or a merge
/// driver.
const ATTRIBUTES_CLOSED: Version = (2, 41);
/// The first version with `GIT_NO_LAZY_FETCH`, so that missing objects are not fetched.
const FETCH_CLOSED: Version = (2, 45);
/// The first version with `safe.bareRepository`, so that a folder of committed files is not taken for a repository.
const BARE_CLOSED: Version = (2, 38);

/// Major and minor.
pub(super) type Version = (u32, u32);

/// Variables for a git that reads attributes: those of the work tree may then name a filter that the user's own
/// configuration or the system's defines, so neither is read.
const OF_NOBODY: [(&str, &str); 2] = [("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")];

/// The environment for a git that cannot be kept from reading attributes.
pub(super) fn environment(hardened: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut environment = hardened.clone();
    environment.extend(OF_NOBODY.map(|(name, value)| (name.to_owned(), value.to_owned())));
    environment
}

pub(super) fn reads_attributes(version: Version) -> bool {
    version < ATTRIBUTES_CLOSED
}

/// Whether this git takes a folder for a repository that merely looks like one.
pub(super) fn finds_bare(version: Version) -> bool {
    version < BARE_CLOSED
}

/// The first version that can be kept from what this configuration may have git do: run a program, or fetch what is
/// missing. `None` if it names nothing of the kind, or this version can be kept from it.
///
/// The text is searched for words, which finds more than git would: a comment counts, too. Git knows no other way to
/// write the name of a section or a key, but for the case.
pub(super) fn first_closed(version: Version, configuration: &str) -> Option<Version> {
    if FETCH_CLOSED <= version {
        return None;
    }
    let text = configuration.to_ascii_lowercase();
    let has_key = |key: &&str| has_word(&text, key);
    // What an included file says is not looked at.
    let fetches =
        text.contains("[include") || ["promisor", "partialclone", "partialclonefilter"].iter().any(has_key);
    let runs = reads_attributes(version)
        && (text.contains("[filter") || ["textconv", "command", "driver"].iter().any(has_key));
    match (fetches, runs) {
        (true, _) => Some(FETCH_CLOSED),
        (false, true) => Some(ATTRIBUTES_CLOSED),
        (false, false) => None,
    }
}

/// Whether a word stands in a text that could be the name of a key, so not as a part of a longer name.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        let behind = text.get(at + word.len()..).and_then(|text| text.chars().next());
        !before.is_some_and(is_part) && !behind.is_some_and(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_a_program_is_found_however_it_is_written() {
        let rows: [(&str, Option<Version>); 18] = [
            ("[core]\n\tbare = false\n[user]\n\tname = A filter command\n", Some((2, 41))),
            (
                "[core]\n\tsshCommand = ssh -i key\n[diff]\n\tcolorMoved = true\n[merge]\n\ttool = vimdiff\n",
                None,
            ),
            ("[remote \"origin\"]\n\turl = https://example.org/filter.git\n\tfetch = +refs/*:refs/*\n", None),
            ("[filter \"x\"]\n\tclean = ./x\n", Some((2, 41))),
            ("[FILTER.x]clean=./x", Some((2, 41))),
            ("[diff \"x\"]\ntextconv=./x", Some((2, 41))),
            ("[diff.x]TextConv = ./x", Some((2, 41))),
            ("[diff \"x\"] command\t=\t./x", Some((2, 41))),
            ("[diff \"x\"]command\n", Some((2, 41))),
            ("[merge \"x\"]\n\tdriver = ./x %A\n", Some((2, 41))),
            ("[include]\n\tpath = ../part\n", Some((2, 45))),
            ("[includeIf \"gitdir:/\"]\n\tpath = ../part\n", Some((2, 45))),
            ("[remote \"x\"]\n\tpromisor = true\n", Some((2, 45))),
            ("[remote \"x\"]promisor", Some((2, 45))),
            ("[remote \"x\"]\r\n\tpartialCloneFilter = blob:none\r\n", Some((2, 45))),
            ("[extensions]\n\tpartialClone = x\n", Some((2, 45))),
            ("[filter \"x\"]\n\tclean = x\n[remote \"x\"]\n\tpromisor = 1\n", Some((2, 45))),
            ("", None),
        ];
        for (text, expected) in rows {
            assert_eq!(first_closed((2, 34), text), expected, "{text}");
            assert_eq!(first_closed((2, 40), text), expected, "{text}");
            let of_fetch = expected.filter(|least| *least == FETCH_CLOSED);
            assert_eq!(first_closed((2, 41), text), of_fetch, "{text}");
            assert_eq!(first_closed((2, 44), text), of_fetch, "{text}");
            assert_eq!(first_closed((2, 45), text), None, "{text}");
        }
    }
}
