//! Answers to questions.

use headstart_workspace_path::WorkspacePath;
use serde::{Deserialize, Serialize};

/// A place in a text as a model names it: the line, and a name on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolPosition {
    /// The file.
    pub path: WorkspacePath,
    /// The line, from 1.
    pub line: usize,
    /// The name, as it is written there.
    pub symbol: String,
}

/// A place in an answer of a server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Location {
    /// The path; `None` if it is outside the workspace, or closed.
    pub path: Option<WorkspacePath>,
    /// The last name of the path, which is all that is said of a file outside.
    pub name: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, in characters, from 1.
    pub column: u32,
    /// The text of the line, for a file of the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Places, and the number of all there are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Locations {
    /// Sorted, at most 100.
    pub places: Vec<Location>,
    /// The number of all, including those that are not listed.
    pub count: usize,
}

/// A name that is defined somewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Symbol {
    /// The name.
    pub name: String,
    /// Its kind (`function`, `class`, …).
    pub kind: String,
    /// The name of what contains it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// How deeply it is nested in others of its file.
    pub depth: usize,
    /// Its file; `None` if it is outside the workspace.
    pub path: Option<WorkspacePath>,
    /// Its first line, from 1.
    pub line: u32,
    /// Its last line, from 1.
    pub end_line: u32,
}

/// Names, and the number of all there are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Symbols {
    /// In the order of the server, at most 200.
    pub symbols: Vec<Symbol>,
    /// The number of all, including those that are not listed.
    pub count: usize,
}

/// A change that a server proposes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Action {
    /// What it is called.
    pub title: String,
    /// Its kind (`quickfix`, `refactor.extract`, …).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Whether it needs a command of the server, which is never executed.
    pub command_only: bool,
    /// Whether the server prefers it.
    pub preferred: bool,
}
