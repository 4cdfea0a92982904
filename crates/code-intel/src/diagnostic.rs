//! What a server or a compiler reports about a place in a file.

use headstart_workspace_path::WorkspacePath;
use serde::{Deserialize, Serialize};

/// The most characters of a message; a longer one is cut.
const MESSAGE_CHARACTERS: usize = 600;

/// How severe it is; the most severe comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    /// The code does not compile, or will fail.
    Error,
    /// The code is probably wrong.
    Warning,
    /// Worth knowing.
    Information,
    /// A proposal.
    Hint,
}

impl Severity {
    /// The name in small letters, as the tools take and write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Information => "information",
            Self::Hint => "hint",
        }
    }

    /// The severity of this name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        [Self::Error, Self::Warning, Self::Information, Self::Hint]
            .into_iter()
            .find(|severity| severity.name() == name)
    }
}

/// One diagnostic.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnostic {
    /// The file.
    pub path: WorkspacePath,
    /// The line where it begins, from 1.
    pub line: u32,
    /// The column, in characters, from 1.
    pub column: u32,
    /// The severity.
    pub severity: Severity,
    /// The number or name of the rule (`E0308`, `reportArgumentType`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Who reports it (`rustc`, `Pyright`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What is wrong, in one paragraph.
    pub message: String,
}

impl Diagnostic {
    /// As a line for the model: `src/a.rs:3:7: error E0308: mismatched types`.
    pub fn line_for_model(&self) -> String {
        let Self { path, line, column, severity, code, message, .. } = self;
        let code = code.as_ref().map_or_else(String::new, |code| format!(" {code}"));
        format!("{path}:{line}:{column}: {}{code}: {}", severity.name(), message.replace('\n', "\n    "))
    }

    /// Whether two report the same, wherever it is.
    pub(crate) fn says_same(&self, other: &Self) -> bool {
        self.code == other.code
            && self.source == other.source
            && self.severity == other.severity
            && self.message == other.message
    }

    /// The order in which they are shown: errors first, then by path and line.
    pub(crate) fn rank(&self) -> (Severity, &WorkspacePath, u32, u32) {
        (self.severity, &self.path, self.line, self.column)
    }
}

/// A message without what would break a list: no control characters, no empty lines, a limited length.
pub(crate) fn message_of(text: &str) -> String {
    let clean = text.replace('\u{a0}', " ");
    let lines = clean.lines().map(str::trim_end).filter(|line| !line.trim().is_empty());
    let joined = lines.collect::<Vec<_>>().join("\n");
    let kept: String = joined.chars().filter(|c| *c == '\n' || *c == '\t' || !c.is_control()).collect();
    match kept.char_indices().nth(MESSAGE_CHARACTERS) {
        Some((end, _)) => format!("{}…", &kept[..end]),
        None => kept,
    }
}
