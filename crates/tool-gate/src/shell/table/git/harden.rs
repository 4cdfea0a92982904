//! How git has to be run so that it starts no program that the repository names.
//!
//! Each line was tried with a repository whose configuration names a program in every place that git looks at.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

/// The attributes are read from the empty tree, so that no file of the work tree can name a filter, a diff driver or
/// a text conversion.
///
/// What an older git does not know of these is made up for by a look at the configuration
/// (`conditional/old_git.rs`).
const ENVIRONMENT: [(&str, &str); 7] = [
    // No transport has an empty name, so none is allowed, whatever the configuration says.
    ("GIT_ALLOW_PROTOCOL", ""),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_ATTR_SOURCE", "4b825dc642cb6eb9a060e54bf8d69288fbee4904"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// Settings that override those of the repository.
const SETTINGS: [(&str, &str); 20] = [
    ("core.alternateRefsCommand", "false"),
    ("core.attributesFile", "/dev/null"),
    // Before git 2.36, any other value is the name of a program.
    ("core.fsmonitor", ""),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    // Without this setting `git diff` writes the index, even if git is told to take no optional locks.
    ("diff.autoRefreshIndex", "false"),
    ("diff.external", ""),
    ("diff.ignoreSubmodules", "dirty"),
    ("diff.submodule", "short"),
    ("format.pretty", "medium"),
    ("gpg.openpgp.program", "false"),
    ("gpg.program", "false"),
    ("gpg.ssh.program", "false"),
    ("gpg.x509.program", "false"),
    ("interactive.diffFilter", "cat"),
    ("log.diffMerges", "separate"),
    ("log.showSignature", "false"),
    // A folder of committed files that looks like a repository must not be taken for one.
    ("safe.bareRepository", "explicit"),
    ("status.submoduleSummary", "false"),
    ("submodule.recurse", "false"),
];

/// The environment of every git command that is allowed.
pub(super) fn environment() -> &'static Arc<BTreeMap<String, String>> {
    static ENVIRONMENT: LazyLock<Arc<BTreeMap<String, String>>> =
        LazyLock::new(|| Arc::new(variables().collect()));
    &ENVIRONMENT
}

fn variables() -> impl Iterator<Item = (String, String)> {
    let fixed = ENVIRONMENT.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let settings = SETTINGS.iter().enumerate().flat_map(|(place, (key, value))| {
        [
            (format!("GIT_CONFIG_KEY_{place}"), (*key).to_owned()),
            (format!("GIT_CONFIG_VALUE_{place}"), (*value).to_owned()),
        ]
    });
    let count = std::iter::once(("GIT_CONFIG_COUNT".to_owned(), SETTINGS.len().to_string()));
    fixed.chain(settings).chain(count)
}
