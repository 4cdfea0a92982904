//! Settings of git: those with which it starts no other program, and one of a user's.

use std::path::PathBuf;

/// Settings that override those of the repository, so that no program but git runs, nothing is fetched, and nothing
/// is cleaned up.
const SETTINGS: [(&str, &str); 17] = [
    ("core.alternateRefsCommand", "false"),
    ("core.attributesFile", "/dev/null"),
    ("core.bigFileThreshold", "64m"),
    // Before git 2.36, any other value is the name of a program.
    ("core.fsmonitor", ""),
    ("core.hooksPath", "/dev/null"),
    ("core.logAllRefUpdates", "true"),
    ("core.sharedRepository", "umask"),
    ("gc.auto", "0"),
    ("gc.autoDetach", "false"),
    ("gpg.program", "false"),
    ("gpg.ssh.program", "false"),
    ("gpg.x509.program", "false"),
    ("log.showSignature", "false"),
    ("maintenance.auto", "false"),
    ("pack.threads", "1"),
    ("pack.windowMemory", "64m"),
    ("submodule.recurse", "false"),
];

/// The major and minor version in the output of `git version`: `git version 2.47.3`, possibly with more behind it.
pub fn version_in(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.strip_prefix("git version ")?.split(['.', ' ', '\n']);
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// Variables with which git starts no other program that a repository's configuration names, fetches nothing and
/// cleans nothing up. They do not cover filters, diff drivers and merge drivers: whoever starts git has to prevent
/// those.
pub fn no_programs() -> impl Iterator<Item = (String, String)> {
    let settings = SETTINGS.iter().enumerate().flat_map(|(place, (key, value))| {
        let (key, value) = ((*key).to_owned(), (*value).to_owned());
        [(format!("GIT_CONFIG_KEY_{place}"), key), (format!("GIT_CONFIG_VALUE_{place}"), value)]
    });
    let count = ("GIT_CONFIG_COUNT".to_owned(), SETTINGS.len().to_string());
    let fetch_nothing = [
        ("GIT_NO_LAZY_FETCH", "1"),
        // For a git before 2.45, which does not know the other: no transport has an empty name, so none is allowed.
        ("GIT_ALLOW_PROTOCOL", ""),
    ];
    settings.chain([count]).chain(fetch_nothing.map(|(name, value)| (name.to_owned(), value.to_owned())))
}

/// One setting of git.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// `system`, `global`, `local` or `worktree`.
    pub scope: String,
    /// The file that has it; for the repository's own, relative to the work tree.
    pub file: Option<PathBuf>,
    /// Its name, in lower case except for the part between two dots.
    pub key: String,
    /// Its value; a name without a value means true.
    pub value: Option<String>,
}

/// What a repository keeps of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptFile {
    /// The path from the top of the work tree.
    pub path: Vec<u8>,
    /// The content.
    pub content: Vec<u8>,
}
