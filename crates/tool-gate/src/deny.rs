use std::fmt;

use headstart_workspace_path::WorkspacePath;
use serde::{Deserialize, Serialize};

use crate::path_pattern::{PathPattern, folded};
use crate::secrets::{made_for, pattern_for};
use crate::{Extent, GateError};

/// A pattern of paths that no tool may touch, written as in `.gitignore`. Letters count without their case, because many
/// file systems open a file by either.
///
/// `.env` and `*.pem` match at any depth, `/config/prod.yml` and `config/*.yml` from the workspace root, and a folder
/// covers everything below it. `**` matches any number of folders. A leading `!` is refused, because a rule can only
/// close paths.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DenyRule(pub String);

/// Deny rules, compiled once.
///
/// Besides the given rules, files whose names say that they hold a secret ([`SECRET_FILES`](crate::SECRET_FILES)) are
/// closed, even if no rule is given: nothing touches them unless the user is asked. A host whose user wants that
/// otherwise calls [`with_secrets_open`](Self::with_secrets_open).
#[derive(Clone, Default)]
pub struct DenyRules {
    rules: Vec<DenyRule>,
    patterns: Vec<PathPattern>,
    /// For each rule, the literal folders with which its matches begin, [folded]; empty if it may match anywhere.
    anchors: Vec<WorkspacePath>,
    secrets_open: bool,
}

impl DenyRules {
    /// The same rules, with files that hold a secret open like all others. Only the user may choose this, never a
    /// file that came with a project.
    #[must_use]
    pub fn with_secrets_open(self) -> Self {
        Self { secrets_open: true, ..self }
    }

    /// Whether files whose names say that they hold a secret are closed.
    pub fn closes_secrets(&self) -> bool {
        !self.secrets_open
    }

    /// The pattern of [`SECRET_FILES`](crate::SECRET_FILES) that covers `path` or a folder that holds it; `None` if
    /// secrets are open.
    pub fn secret(&self, path: &WorkspacePath) -> Option<&'static str> {
        if self.secrets_open { None } else { pattern_for(path) }
    }

    /// A file that holds a secret and for which a pattern of paths is made, as git reads one: `.e*`, `*.pem`. One that
    /// only says where or of which common type files are is not (`src/*`, `*.json`).
    pub(crate) fn wild_secret(&self, pattern: &WorkspacePath) -> Option<WorkspacePath> {
        if self.secrets_open { None } else { made_for(pattern) }
    }

    /// Whether a rule matches `path` or a folder that holds it, or (unless the user was `asked` about it) its name
    /// says that it holds a secret.
    pub fn closes(&self, path: &WorkspacePath, asked: bool) -> bool {
        self.matching(path).is_some() || !asked && self.secret(path).is_some()
    }

    /// Compiles `rules`. The error names the first one that is not a pattern.
    pub fn new(rules: impl IntoIterator<Item = DenyRule>) -> Result<Self, GateError> {
        let mut compiled = Self::default();
        for rule in rules {
            let (glob, anchor) = translate(&rule.0)?;
            let pattern = PathPattern::new(&glob).map_err(|error| GateError::deny_glob(&rule.0, error))?;
            compiled.patterns.push(pattern);
            compiled.anchors.push(in_lower_case(&anchor));
            compiled.rules.push(rule);
        }
        Ok(compiled)
    }

    /// Compiles patterns given as text.
    pub fn from_patterns<S: Into<String>>(patterns: impl IntoIterator<Item = S>) -> Result<Self, GateError> {
        Self::new(patterns.into_iter().map(|pattern| DenyRule(pattern.into())))
    }

    /// Whether no rule was given.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The rules, as they were given.
    pub fn rules(&self) -> &[DenyRule] {
        &self.rules
    }

    /// The first rule that matches `path` or a folder that holds it.
    pub fn matching(&self, path: &WorkspacePath) -> Option<&DenyRule> {
        if self.is_empty() {
            return None;
        }
        let (bytes, folded) = (path.as_bytes(), folded(path.as_bytes()));
        for (bytes, folded) in starts(bytes).zip(starts(folded.as_bytes())) {
            if let Some(rule) = self.patterns.iter().position(|pattern| pattern.covers(bytes, folded)) {
                return self.rules.get(rule);
            }
        }
        None
    }

    /// A rule for a path at which git keeps what was committed, so that reading it (all that is below it, or this file)
    /// tells what the rule covers. Where it lies is told by names alone: in a folder `.git` or `project.git`, or below a
    /// folder `objects` by the names that git gives there.
    pub fn kept_by_git(&self, path: &WorkspacePath, extent: Extent) -> Option<&DenyRule> {
        if extent == Extent::Names {
            None
        } else {
            self.rules.first().filter(|_| holds_objects(path, extent))
        }
    }

    /// A rule that matches `folder` or may match something below it. It may name a rule that matches nothing there,
    /// and never misses one that does.
    pub fn matching_below(&self, folder: &WorkspacePath) -> Option<&DenyRule> {
        let lower = in_lower_case(folder);
        let near = |anchor: &WorkspacePath| anchor.starts_with(&lower) || lower.starts_with(anchor);
        self.matching(folder)
            .or_else(|| self.anchors.iter().position(near).and_then(|rule| self.rules.get(rule)))
    }
}

/// The folders of a repository's own folder in which there are no objects.
const WITHOUT_OBJECTS: [&str; 4] = ["hooks", "info", "logs", "refs"];

/// Whether reading a path may read what git keeps of files: a file among the objects of a repository, or a folder that
/// may hold some.
fn holds_objects(path: &WorkspacePath, extent: Extent) -> bool {
    let folded = folded(path.as_bytes());
    let names: Vec<&str> = folded.split('/').collect();
    let below = |at: usize| names.get(at + 1).copied();
    let is_repository = |name: &&str| name.rsplit('.').next() == Some("git") && name.contains('.');
    let of_git = names.iter().position(is_repository).is_some_and(|at| match extent {
        Extent::Below => below(at).is_none_or(|name| !WITHOUT_OBJECTS.contains(&name)),
        Extent::File | Extent::Names => names[at..].contains(&"objects"),
    });
    let is_hexadecimal = |name: &str| name.len() == 2 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let by_name = |at: usize| match below(at) {
        Some(name) => name == "pack" || is_hexadecimal(name),
        None => extent == Extent::Below,
    };
    of_git || names.iter().enumerate().any(|(at, name)| *name == "objects" && by_name(at))
}

/// The folders that hold a path, outermost first, and the path itself.
fn starts(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    ends.chain(Some(path.len())).map(|end| &path[..end])
}

fn in_lower_case(path: &WorkspacePath) -> WorkspacePath {
    WorkspacePath::from_bytes(folded(path.as_bytes()).as_bytes()).unwrap_or_else(|_| path.clone())
}

impl fmt::Debug for DenyRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.rules.iter().map(|rule| &rule.0)).finish()
    }
}

impl Eq for DenyRules {}

impl PartialEq for DenyRules {
    fn eq(&self, other: &Self) -> bool {
        self.rules == other.rules && self.secrets_open == other.secrets_open
    }
}

/// The glob over workspace-relative paths, and the literal folders with which its matches begin.
fn translate(pattern: &str) -> Result<(String, WorkspacePath), GateError> {
    let bad = |why: &str| GateError::deny_rule(pattern, why);
    let trimmed = pattern.trim().trim_start_matches("./").trim_end_matches('/');
    if trimmed.is_empty() || trimmed == "." {
        return Err(bad("it is empty"));
    }
    if trimmed.starts_with('!') {
        return Err(bad("a rule cannot take back another one with a leading `!`"));
    }
    if trimmed.split('/').any(|name| name == "..") {
        return Err(bad("`..` leaves the workspace"));
    }
    let anchored = trimmed.strip_prefix('/').unwrap_or(trimmed);
    if !trimmed.contains('/') {
        return Ok((format!("**/{trimmed}"), WorkspacePath::root()));
    }
    let special = |name: &&str| !name.contains(['*', '?', '[', '{', '\\']);
    let literal: Vec<&str> = anchored.split('/').take_while(special).collect();
    let anchor = WorkspacePath::parse(&literal.join("/")).unwrap_or_default();
    Ok((anchored.to_owned(), anchor))
}

#[cfg(test)]
mod tests {
    use headstart_workspace_path::GlobError;

    use super::*;

    fn path(text: &str) -> WorkspacePath {
        WorkspacePath::parse(text).unwrap()
    }

    #[test]
    fn the_error_of_the_glob_is_below_that_of_the_rule() {
        let error = DenyRules::from_patterns(["keys/[z-a]"]).unwrap_err();
        let below = std::error::Error::source(&error).and_then(|below| below.downcast_ref::<GlobError>());
        assert_eq!(below, Some(&GlobError::EmptyRange), "{error:?}");
    }

    #[test]
    fn a_rule_matches_as_in_a_gitignore() {
        let cases = [
            (".env", ".env", true),
            (".env", "a/b/.env", true),
            (".env", ".env.example", false),
            ("*.pem", "keys/server.pem", true),
            ("*.pem", "server.pem/inside", true),
            ("secrets/", "secrets", true),
            ("secrets/", "a/secrets/x/y", true),
            ("secrets/", "secretsx", false),
            ("/config/prod.yml", "config/prod.yml", true),
            ("/config/prod.yml", "a/config/prod.yml", false),
            ("/top", "top/x", true),
            ("/top", "a/top", false),
            ("**/id_rsa", "id_rsa", true),
            ("**/id_rsa", "home/.ssh/id_rsa", true),
            ("config/*.yml", "config/a.yml", true),
            ("config/*.yml", "config/a/b.yml", false),
            ("a/**/z", "a/b/c/z", true),
            (".env*", ".env.local", true),
        ];
        for (pattern, text, expected) in cases {
            let rules = DenyRules::from_patterns([pattern]).unwrap();
            assert_eq!(rules.matching(&path(text)).is_some(), expected, "{pattern} {text}");
        }
    }

    /// Where a file system opens a file by other letters as well, those letters must not pass a rule.
    #[test]
    fn no_spelling_in_other_letters_passes_a_rule() {
        let cases = [
            ("private/**", "PRIVATE/key"),
            ("private", "a/Private/key"),
            ("Keys/*.PEM", "keys/server.pem"),
            ("[A-C]*.key", "b.KEY"),
            ("[!a]*.key", "B.key"),
            ("[Z-a]*", "Zone"),
            ("tokens", "TO\u{212a}ENS"),
            ("passwords", "pa\u{17f}swords"),
            ("tokens", "to\u{200b}kens"),
            ("größe", "GRÖSSE/../GRÖßE"),
        ];
        for (pattern, text) in cases {
            let rules = DenyRules::from_patterns([pattern]).unwrap();
            assert!(rules.matching(&path(text)).is_some(), "{pattern} {text}");
        }
        let rules = DenyRules::from_patterns(["/Config/prod.yml"]).unwrap();
        assert!(rules.matching_below(&path("CONFIG")).is_some());
        assert!(rules.matching_below(&path("configs")).is_none());
    }

    #[test]
    fn what_may_be_below_a_folder_is_never_missed() {
        let cases = [
            (".env", ".", true),
            (".env", "src", true),
            ("/config/prod.yml", ".", true),
            ("/config/prod.yml", "config", true),
            ("/config/prod.yml", "src", false),
            ("/config/prod.yml", "config/other.yml", false),
            ("config/**/key", "config/a", true),
            ("a/*/key", "a/b", true),
            ("a/*/key", "b", false),
        ];
        for (pattern, text, expected) in cases {
            let rules = DenyRules::from_patterns([pattern]).unwrap();
            assert_eq!(rules.matching_below(&path(text)).is_some(), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn what_git_keeps_is_told_by_its_place() {
        use Extent::{Below, File, Names};
        let cases = [
            (".git/objects/ab/cdef", File, true),
            (".git/OBJECTS/pack/pack-1.pack", File, true),
            (".git/modules/one/objects/ab/cdef", File, true),
            ("copy.git/objects/pack/pack-1.pack", File, true),
            ("copy/objects/pack/pack-1.pack", File, true),
            ("copy/objects/ab/cdef", File, true),
            ("copy/objects", Below, true),
            (".git", Below, true),
            ("sub/.git", Below, true),
            (".git/modules", Below, true),
            (".git", Names, false),
            (".git/objects", Names, false),
            (".git/HEAD", File, false),
            (".git/index", File, false),
            (".git/logs", Below, false),
            ("src/objects/mesh.rs", File, false),
            ("src/objects/door/mesh.rs", File, false),
            ("src", Below, false),
        ];
        let rules = DenyRules::from_patterns(["/private/"]).unwrap();
        for (text, extent, expected) in cases {
            assert_eq!(rules.kept_by_git(&path(text), extent).is_some(), expected, "{text} {extent:?}");
            assert_eq!(DenyRules::default().kept_by_git(&path(text), extent), None, "{text}");
        }
    }

    #[test]
    fn a_bad_pattern_is_named() {
        for pattern in ["", "/", "!keep", "../x", "a[", "{a"] {
            let error = DenyRules::from_patterns(["ok", pattern]).unwrap_err();
            assert!(error.to_string().contains(&format!("{pattern:?}")), "{error}");
        }
    }
}
