use std::fmt;

use headstart_overlay_fs::WorkspacePath;
use headstart_workspace_path::Glob;
use regex_lite::{Regex, RegexBuilder};

/// The largest compiled expression, in bytes.
const REGEX_BYTES: usize = 256 * 1024;
/// The most patterns of one rule.
const MAX_PATTERNS: usize = 64;

/// The files to which a rule applies: those whose path matches one of the patterns (any path, if there are none) and
/// whose text matches the expression, if there is one.
///
/// A pattern without a slash matches at any depth, as in `.gitignore`.
#[derive(Debug, Clone)]
pub struct FilePatterns {
    patterns: Vec<String>,
    globs: Vec<Glob>,
    regex: Option<Regex>,
}

impl FilePatterns {
    pub(super) fn new(patterns: Vec<String>, regex: Option<&str>) -> Result<Self, String> {
        if MAX_PATTERNS < patterns.len() {
            return Err(format!(
                "globs: there are {} patterns, and at most {MAX_PATTERNS} count; join them with braces",
                patterns.len()
            ));
        }
        let mut globs = Vec::new();
        for pattern in &patterns {
            let anchored = match pattern.strip_prefix('/') {
                Some(anchored) => anchored.to_owned(),
                None if pattern.contains('/') => pattern.trim_start_matches("./").to_owned(),
                None => format!("**/{pattern}"),
            };
            globs.push(Glob::new(&anchored).map_err(|error| format!("globs: {pattern:?}: {error}"))?);
        }
        let regex = regex.map(|regex| RegexBuilder::new(regex).size_limit(REGEX_BYTES).build());
        let regex = regex.transpose().map_err(|error| format!("regex: {error}"))?;
        Ok(Self { patterns, globs, regex })
    }

    /// Whether the path matches, so that at most the text remains to be checked.
    pub(super) fn matches_path(&self, path: &WorkspacePath) -> bool {
        self.globs.is_empty() || self.globs.iter().any(|glob| glob.is_match(path.as_bytes()))
    }

    /// Whether the text has to be checked.
    pub(super) fn needs_content(&self) -> bool {
        self.regex.is_some()
    }

    pub(super) fn matches_content(&self, text: &str) -> bool {
        self.regex.as_ref().is_none_or(|regex| regex.is_match(text))
    }
}

impl PartialEq for FilePatterns {
    fn eq(&self, other: &Self) -> bool {
        let regex = |one: &Self| one.regex.as_ref().map(|regex| regex.as_str().to_owned());
        self.patterns == other.patterns && regex(self) == regex(other)
    }
}

impl Eq for FilePatterns {}

impl fmt::Display for FilePatterns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.patterns.join(", "))?;
        match &self.regex {
            Some(regex) if self.patterns.is_empty() => write!(f, "files with /{regex}/"),
            Some(regex) => write!(f, " with /{regex}/"),
            None => Ok(()),
        }
    }
}
