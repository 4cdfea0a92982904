//! What is known of the lines that a program prints, judging by its options.
//!
//! Two kinds of output matter: numbers, because arithmetic evaluates text, and names of files, because the next
//! command opens them. A name may contain a newline, and a manipulated index any path, so that a program lists names
//! proves nothing. Where names are used, the hardened form therefore has a filter behind the listing that removes
//! each line which starts with a dash or a slash or contains a `..`. So this module only decides where such a filter
//! changes nothing for ordinary names, which is where a program prints relative paths, one a line.

use crate::shell::analyse::Judge;
use crate::shell::names::listed;
use crate::shell::options::{Given, Parsed};
use crate::shell::printed::{self, LINES, Names, Printed, WORDS};
use crate::shell::value::{Arg, is_plain_word};

/// Options of `sort` with which it prints lines of its input and nothing else.
const SORTS: [&str; 24] = [
    "n",
    "r",
    "u",
    "f",
    "g",
    "h",
    "V",
    "k",
    "t",
    "b",
    "d",
    "i",
    "M",
    "s",
    "z",
    "key",
    "reverse",
    "unique",
    "numeric-sort",
    "version-sort",
    "human-numeric-sort",
    "field-separator",
    "stable",
    "zero-terminated",
];

/// What a program that is described by a [`Spec`] prints.
pub(super) fn of_program(judge: &Judge<'_>, name: &str, parsed: &Parsed) -> Option<Printed> {
    let only = |names: &[&str]| parsed.options.iter().all(|given| names.contains(&given.name.as_str()));
    match name {
        "nproc" => only(&["all", "ignore"]).then_some(Printed::Count),
        "wc" => {
            let one = ["c", "l", "m", "w", "L", "bytes", "chars", "lines", "words", "max-line-length"];
            (parsed.operands.is_empty() && parsed.options.len() == 1 && only(&one)).then_some(Printed::Count)
        }
        "stat" => {
            let numbers = ["%s", "%Y", "%X", "%Z", "%h", "%u", "%g", "%i", "%b", "%B"];
            let format = |value: &Option<Arg>| {
                value.as_ref().and_then(Arg::text).is_some_and(|text| numbers.contains(&text))
            };
            let one_operand = matches!(parsed.operands.as_slice(), [only] if !only.many);
            let numbered = match parsed.options.as_slice() {
                [given] => matches!(given.name.as_str(), "c" | "format") && format(&given.value),
                _ => false,
            };
            numbered.then_some(if one_operand { Printed::Count } else { Printed::Counts })
        }
        "seq" => {
            let whole = |operand: &Arg| operand.number && !operand.dash;
            (parsed.options.is_empty() && parsed.operands.iter().all(whole)).then_some(Printed::Counts)
        }
        "ls" => {
            let plain = ["1", "t", "r", "S", "u", "c", "v", "U", "A", "X", "B", "d", "L", "H", "reverse"];
            below(judge, &parsed.operands).filter(|_| only(&plain)).map(Printed::Names)
        }
        "basename" | "dirname" => {
            // The folder of the workspace itself lies outside.
            let root = judge.context.workspace.trim_end_matches('/').as_bytes();
            let climbs = |operand: &Arg| {
                operand.exact
                    && operand.prefix.starts_with(root)
                    && operand.prefix[root.len()..].iter().all(|byte| *byte == b'/')
            };
            let plain = parsed.options.is_empty() && !parsed.operands.iter().any(climbs);
            below(judge, &parsed.operands).filter(|_| plain).map(Printed::Names)
        }
        "sort" if only(&SORTS) => passes(judge, parsed, &[]),
        "uniq"
            if only(&[
                "d",
                "u",
                "i",
                "f",
                "s",
                "w",
                "z",
                "repeated",
                "unique",
                "ignore-case",
                "zero-terminated",
            ]) =>
        {
            passes(judge, parsed, &[])
        }
        "head" | "tail"
            if only(&["n", "lines", "digits", "q", "quiet", "silent", "z", "zero-terminated"]) =>
        {
            passes(judge, parsed, &[])
        }
        "cat" | "tac" if parsed.options.is_empty() => passes(judge, parsed, &[]),
        "tr" => {
            let ends = matches!(parsed.operands.as_slice(), [from, to] if from.is("\\n") && to.is("\\0"));
            let names = lines(judge).filter(|_| ends && parsed.options.is_empty());
            names.map(|names| Printed::Names(Names { nul: true, ..names }))
        }
        "cut" => {
            let wanted = |letter: &str, text: &str| {
                parsed.options.iter().any(|given| {
                    given.name == letter && given.value.as_ref().is_some_and(|value| value.is(text))
                })
            };
            let first = parsed.options.len() == 2 && wanted("d", ":") && wanted("f", "1");
            let located = || (judge.piped == Some(Printed::Located)).then(Names::default);
            let names = lines(judge).or_else(located);
            names.filter(|_| first && parsed.operands.is_empty()).map(Printed::Names)
        }
        _ => None,
    }
}

/// What a program prints that reads its arguments in its own way.
pub(super) fn of_arguments(judge: &Judge<'_>, name: &str, args: &[Arg]) -> Option<Printed> {
    let words: Vec<&str> = args.iter().map(Arg::text).collect::<Option<_>>()?;
    match (name, words.as_slice()) {
        ("date", ["+%s" | "+%Y"]) => Some(Printed::Count),
        ("awk" | "gawk" | "mawk", ["-F:" | "-F", .., program]) if *program == "{print $1}" => {
            let colon = matches!(words.as_slice(), ["-F:", _] | ["-F", ":", _]);
            (colon && judge.piped == Some(Printed::Located)).then_some(Printed::Names(Names::default()))
        }
        ("echo", names @ [_, ..]) | ("printf", ["%s\\n", names @ ..])
            if names.iter().all(|name| is_plain_name(name)) =>
        {
            Some(Printed::Names(Names { clean: true, ..Names::default() }))
        }
        ("sed", ["-E", script]) => lines(judge)
            .filter(|names| [LINES, WORDS].into_iter().any(|known| is_filter(judge, script, known, *names)))
            .map(Printed::Names),
        ("sed", ["-zE", script]) => match judge.piped {
            Some(Printed::Names(names)) if names.nul && is_filter(judge, script, LINES, names) => judge.piped,
            _ => None,
        },
        ("sed", [script]) if takes_away(script) => {
            lines(judge).map(|names| Printed::Names(Names { begun: false, ..names }))
        }
        _ => None,
    }
}

/// What is known of the paths that are piped into the program, one a line.
fn lines(judge: &Judge<'_>) -> Option<Names> {
    match judge.piped {
        Some(Printed::Names(names)) if names.are_lines() => Some(names),
        _ => None,
    }
}

/// Whether a sed script is the filter that the hardened form puts behind such a listing.
fn is_filter(judge: &Judge<'_>, script: &str, known: &str, names: Names) -> bool {
    match printed::rooted(known, &judge.context.workspace).filter(|_| names.rooted) {
        Some(rooted) => script == rooted,
        None => script == known,
    }
}

/// Whether a text is a relative path that neither a shell nor `xargs` would split.
fn is_plain_name(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._/-".contains(&byte);
    !text.starts_with(['-', '/']) && !text.contains("..") && text.bytes().all(plain)
}

/// Whether a sed script is one `s` command that replaces by nothing.
fn takes_away(script: &str) -> bool {
    let mut rest = script.strip_prefix('s').unwrap_or_default().chars();
    let Some(mark) = rest.next().filter(char::is_ascii_punctuation) else { return false };
    let parts: Vec<&str> = rest.as_str().split(mark).collect();
    matches!(parts.as_slice(), [_, "", "" | "g"]) && !script.contains('\n')
}

/// What `grep` and `rg` print. `files` are the operands behind the pattern.
pub(super) fn of_search(
    judge: &Judge<'_>,
    parsed: &Parsed,
    files: &[Arg],
    recursive: bool,
) -> Option<Printed> {
    const FILTERS: [&str; 27] = [
        "v",
        "E",
        "F",
        "G",
        "P",
        "i",
        "w",
        "x",
        "a",
        "e",
        "m",
        "s",
        "S",
        "h",
        "z",
        "regexp",
        "invert-match",
        "ignore-case",
        "extended-regexp",
        "fixed-strings",
        "basic-regexp",
        "perl-regexp",
        "word-regexp",
        "line-regexp",
        "max-count",
        "null-data",
        "line-buffered",
    ];
    let without = |names: &[&str]| parsed.options.iter().all(|given| names.contains(&given.name.as_str()));
    let below = below(judge, files);
    let named = ["l", "L", "files-with-matches", "files-without-match"];
    if parsed.has(&named) {
        let begun = !files.is_empty() && files.iter().all(|file| file.exact && !file.dash);
        let nul = parsed.has(&["Z", "null", "0"]);
        return below.map(|names| Printed::Names(Names { nul, begun, ..names }));
    }
    let counts = ["c", "count"];
    if parsed.has(&counts) {
        let one = match files {
            [] => true,
            [file] => !file.many,
            _ => false,
        };
        let plain = parsed.options.iter().all(|given| {
            let name = given.name.as_str();
            counts.contains(&name) || FILTERS.contains(&name)
        });
        return (one && plain && !recursive).then_some(Printed::Count);
    }
    if files.is_empty() && !recursive {
        return if without(&FILTERS) { passes(judge, parsed, &["z", "null-data"]) } else { None };
    }
    let located = recursive || 1 < files.len() || parsed.has(&["H", "with-filename"]);
    let other =
        ["h", "no-filename", "o", "only-matching", "q", "quiet", "Z", "null", "0", "json", "A", "B", "C"];
    let relative = below.is_some_and(|names| !names.rooted);
    (located && relative && !parsed.has(&other)).then_some(Printed::Located)
}

/// What a subcommand of git prints. `name` is one word or two.
pub(super) fn of_git(name: &str, parsed: &Parsed) -> Option<Printed> {
    let only = |names: &str| parsed.options.iter().all(|given| listed(names, &given.name));
    let names = |nul: bool| Some(Printed::Names(Names { nul, ..Names::default() }));
    // A pathspec with magic can reach up to the root of the repository.
    let magic = parsed.operands.iter().any(|operand| operand.prefix.starts_with(b":") || !operand.exact);
    let nul = parsed.has(&["z", "null"]);
    match name {
        "ls-files" if !magic => {
            let plain = "c d m o i z x X cached deleted others modified ignored exclude exclude-standard exclude-from directory \
                         no-empty-directory deduplicate full-name error-unmatch";
            if only(plain) { names(nul) } else { None }
        }
        "diff" if parsed.has(&["name-only"]) && !magic => {
            let plain = "name-only cached staged z diff-filter M C find-renames no-renames relative merge-base w b \
                         ignore-all-space ignore-space-change no-ext-diff no-textconv";
            if only(plain) { names(nul) } else { None }
        }
        "grep" if !magic => {
            let listing = ["l", "L", "name-only", "files-with-matches", "files-without-match"];
            if parsed.has(&listing) {
                return names(nul);
            }
            let other = [
                "h",
                "o",
                "only-matching",
                "c",
                "count",
                "q",
                "quiet",
                "z",
                "heading",
                "A",
                "B",
                "C",
                "p",
                "W",
            ];
            (!parsed.has(&other)).then_some(Printed::Located)
        }
        // If there are several merge bases, it prints the first one.
        "merge-base" => only("fork-point octopus").then_some(Printed::Object),
        "rev-parse" => {
            // It prints a revision that it does not find as it was given.
            let revision = match parsed.operands.as_slice() {
                [only] if parsed.has(&["verify"]) => only.bytes().is_some_and(is_plain_word),
                [only] => only.text().is_some_and(is_usual_revision),
                _ => false,
            };
            (revision && only("verify q quiet short")).then_some(Printed::Object)
        }
        "rev-list" if is_one(parsed) => {
            only("n max-count digits all branches merges no-merges first-parent author since until after before reverse skip")
                .then_some(Printed::Object)
        }
        "log" => {
            let hashes = ["%h", "%H", "format:%h", "format:%H", "tformat:%h", "tformat:%H"];
            let formats: Vec<&str> = parsed
                .options
                .iter()
                .filter(|given| matches!(given.name.as_str(), "format" | "pretty"))
                .map(|given| given.value.as_ref().and_then(Arg::text).unwrap_or_default())
                .collect();
            let plain = "format pretty n max-count digits all reverse merges no-merges first-parent author since until after before skip";
            let known =
                only(plain) && !formats.is_empty() && formats.iter().all(|format| hashes.contains(format));
            let several = Printed::Names(Names { clean: true, ..Names::default() });
            known.then_some(if is_one(parsed) { Printed::Object } else { several })
        }
        "ls-tree" if parsed.has(&["name-only", "name-status"]) && !magic => names(nul),
        "rev-list" if parsed.has(&["count"]) => {
            let plain = "count all no-merges merges first-parent since until after before author max-count n branches \
                         remotes tags";
            only(plain).then_some(Printed::Count)
        }
        _ => None,
    }
}

/// Whether a text is a revision that is unlikely to name a file, and certainly names none that holds a secret.
fn is_usual_revision(text: &str) -> bool {
    let branch = text.strip_prefix("origin/").unwrap_or(text);
    let name = branch.trim_end_matches(|last: char| last.is_ascii_digit() || matches!(last, '~' | '^'));
    is_plain_word(text.as_bytes()) && matches!(name, "HEAD" | "main" | "master" | "develop" | "trunk")
}

/// Whether at most one commit is asked for.
fn is_one(parsed: &Parsed) -> bool {
    let limits = ["n", "max-count", "digits"];
    let mut counts = parsed.options.iter().filter(|given| limits.contains(&given.name.as_str()));
    let one = |given: &Given| given.value.as_ref().is_some_and(|value| value.is("1"));
    counts.next().is_some_and(one) && counts.all(one)
}

/// What a program prints that passes on some of its input lines unchanged, if it reads nothing else.
fn passes(judge: &Judge<'_>, parsed: &Parsed, ends: &[&str]) -> Option<Printed> {
    let reads_input = parsed.operands.iter().all(|operand| operand.is("-"));
    let by_nul = parsed.has(&["z", "zero-terminated"]) || parsed.has(ends);
    match judge.piped.filter(|_| reads_input)? {
        Printed::Names(names) if names.nul == by_nul => Some(Printed::Names(names)),
        printed @ (Printed::Count | Printed::Counts | Printed::Located) if !by_nul => Some(printed),
        _ => None,
    }
}

/// What is known of paths that begin with these operands; `None` if one may lead out of the workspace.
pub(super) fn below<'a>(judge: &Judge<'_>, operands: impl IntoIterator<Item = &'a Arg>) -> Option<Names> {
    let mut rooted = false;
    for operand in operands {
        let climbs = operand.prefix.split(|byte| *byte == b'/').any(|name| name == b"..");
        if operand.escapes || climbs {
            return None;
        }
        if operand.rooted || operand.prefix.starts_with(b"/") {
            rooted = true;
            if !operand.rooted && !judge.is_below_root(operand) {
                return None;
            }
        }
    }
    if rooted {
        printed::rooted(LINES, &judge.context.workspace)?;
    }
    Some(Names { rooted, ..Names::default() })
}
