use std::borrow::Cow;

use headstart_workspace_path::{Glob, GlobError};

/// A pattern of paths in a rule that closes or asks. It covers every spelling by which a file system may open the same
/// file: macOS and Windows tell no upper case from lower, and no more do some file systems of Linux.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PathPattern {
    exact: Glob,
    /// The pattern for [folded] paths; `None` if it is the exact one, or if folding leaves no pattern (`[Z-a]`).
    folded: Option<Glob>,
}

impl PathPattern {
    pub(crate) fn new(pattern: &str) -> Result<Self, GlobError> {
        let folded = folded(pattern.as_bytes());
        let folded = if folded == pattern { None } else { Glob::new(&folded).ok() };
        Ok(Self { exact: Glob::new(pattern)?, folded })
    }

    /// Whether the pattern matches the path as it is spelled.
    pub(crate) fn matches(&self, path: &[u8]) -> bool {
        self.exact.is_match(path)
    }

    /// Whether the pattern covers a path; `folded` is the path [folded].
    pub(crate) fn covers(&self, path: &[u8], folded: &[u8]) -> bool {
        self.matches(path) || self.folded.as_ref().unwrap_or(&self.exact).is_match(folded)
    }
}

/// A name or a path in lower case, without characters that some file systems ignore.
pub(crate) fn folded(name: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(name);
    if text.is_ascii() {
        return if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            Cow::Owned(text.to_ascii_lowercase())
        } else {
            text
        };
    }
    let is_passed_over = |character: &char| matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    let kept = text.chars().filter(|character| !is_passed_over(character));
    // A few letters have only their upper case in common with ASCII: the long s, and the sign for kelvin.
    Cow::Owned(kept.flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect())
}
