//! What is particular about each server, as data.

mod table;

use std::collections::BTreeMap;

use headstart_workspace_path::WorkspacePath;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::CheckFormat;

/// A language server and how to deal with it. A user's own is written as the same fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Adapter {
    /// What it is called in messages and in the configuration.
    pub name: String,
    /// The program.
    pub command: String,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// Variables that are set for it.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// The endings of its files, without a dot, and the name of the language of each, as the protocol has it.
    pub languages: BTreeMap<String, String>,
    /// Files that mark the root of a project; the highest folder that has one is the server's root.
    #[serde(default)]
    pub root_markers: Vec<String>,
    /// What it is for.
    #[serde(default)]
    pub role: Role,
    /// How it shows that it has said all.
    #[serde(default)]
    pub settling: Settling,
    /// What it needs besides to notice a change.
    #[serde(default)]
    pub nudges: Vec<Nudge>,
    /// `initializationOptions`, and the answer to a question for its whole configuration.
    #[serde(default)]
    pub options: Value,
    /// Answers to questions for a section of its configuration, by the section's name.
    #[serde(default)]
    pub settings: BTreeMap<String, Value>,
    /// How it is installed, shown where it is missing.
    #[serde(default)]
    pub install: String,
    /// The program that finds the same errors without a server, for the cheap mode.
    #[serde(default)]
    pub check: Option<CheckCommand>,
}

/// What a server is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// It knows the language: names, types. Of several for one ending the first one that is installed is asked.
    #[default]
    Language,
    /// It only has further diagnostics and code actions, beside the language's server, and is not missed where it is missing.
    Linter,
}

/// How a server shows that it has said all about the state that it was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Settling {
    /// It says when it rests (`experimental/serverStatus`), and tells the progress of its check on disk.
    Status,
    /// Its diagnostics carry the version of the document.
    Versions,
    /// The same, and it says of each document whether it is done with it (`textDocument/clangd.fileStatus`).
    FileStatus,
    /// The same, and it tells the progress of looking for errors after each change, with a title that begins with `diagnosing`. One that tells nothing
    /// of the kind after a change counts as [`Versions`](Self::Versions).
    Progress,
    /// It passes a request on to TypeScript's own server, which answers when it knows. Its own word for a text comes whenever
    /// there is time, and not at all where nothing changed.
    Tsserver,
    /// It falls silent.
    #[default]
    Silence,
}

/// What a server needs besides to notice a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Nudge {
    /// After another file changed it looks at an open one only when that is sent again.
    ResendOpen,
    /// It looks at the disk, and checks there, when a file is saved.
    Save,
}

/// A program that finds errors without a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CheckCommand {
    /// The program.
    pub command: String,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// What it prints.
    pub format: CheckFormat,
}

impl Adapter {
    /// The servers that are known: rust-analyzer, typescript-language-server, basedpyright, pyright, gopls, clangd, ruff. Of the two for Python's
    /// types the first one that is installed is asked.
    pub fn standard() -> Vec<Self> {
        table::standard()
    }

    /// The language of a file, if this server knows it.
    pub fn language(&self, path: &WorkspacePath) -> Option<&str> {
        let name = std::str::from_utf8(path.file_name()?).ok()?;
        let (_, ending) = name.rsplit_once('.')?;
        self.languages.get(&ending.to_ascii_lowercase()).map(String::as_str)
    }
}
