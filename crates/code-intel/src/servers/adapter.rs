//! What is special about each server, as data.

mod table;

use std::collections::BTreeMap;

use headstart_workspace_path::WorkspacePath;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::CheckFormat;

/// A language server and how to use it. A user's own server is configured with the same fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Adapter {
    /// Its name in messages and in the configuration.
    pub name: String,
    /// The program.
    pub command: String,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// Environment variables for it.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// The extensions of its files, without a dot, each with the name of the language in the protocol.
    pub languages: BTreeMap<String, String>,
    /// Files that mark the root of a project. The topmost folder that has one is the server's root.
    #[serde(default)]
    pub root_markers: Vec<String>,
    /// What it is for.
    #[serde(default)]
    pub role: Role,
    /// How it shows that it has published everything.
    #[serde(default)]
    pub settling: SettleSignal,
    /// What else it needs to notice a change.
    #[serde(default)]
    pub nudges: Vec<RecheckTrigger>,
    /// `initializationOptions`, and the answer when it asks for its whole configuration.
    #[serde(default)]
    pub options: Value,
    /// Answers when it asks for a section of its configuration, by the section's name.
    #[serde(default)]
    pub settings: BTreeMap<String, Value>,
    /// How it is installed, shown if it is missing.
    #[serde(default)]
    pub install: String,
    /// The program that finds the same errors without a server, for
    /// [`DiagnosticsSource::Checks`](crate::DiagnosticsSource::Checks).
    #[serde(default)]
    pub check: Option<CheckCommand>,
}

/// The role of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// It knows the language: names, types. Of several for one extension the first one that is installed is used.
    #[default]
    Language,
    /// It only has additional diagnostics and code actions besides the language's server, and may be missing.
    Linter,
}

/// How a server shows that it has published everything about the state that it was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SettleSignal {
    /// It reports when it is idle (`experimental/serverStatus`), and the progress of its check on disk.
    Status,
    /// Its diagnostics carry the version of the document.
    Versions,
    /// As [`Versions`](Self::Versions), and it reports for each document when it is done with it
    /// (`textDocument/clangd.fileStatus`).
    FileStatus,
    /// As [`Versions`](Self::Versions), and it reports the progress of looking for errors after each change, with a
    /// title that begins with `diagnosing`. If it reports no such progress after a change, it counts as
    /// [`Versions`](Self::Versions).
    Progress,
    /// It passes a request on to TypeScript's own server, which answers once it knows. What it publishes by itself
    /// comes whenever there is time, and not at all if nothing changed.
    Tsserver,
    /// It becomes silent.
    #[default]
    Silence,
}

/// What a server needs in addition to notice a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RecheckTrigger {
    /// After another file changed, it checks an open one again only when that is sent again.
    ResendOpen,
    /// It reads the disk, and checks there, when a file is saved.
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
    /// The servers that are known: rust-analyzer, typescript-language-server, basedpyright, pyright, gopls, clangd,
    /// ruff. Of the two type checkers for Python the first one that is installed is used.
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
