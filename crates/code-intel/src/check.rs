//! Reads what compilers and linters print as diagnostics, like those of a language server.

mod cargo;
mod go_vet;
mod pyright;
mod ruff;
mod tsc;

use headstart_forked_query::Cause;
use headstart_workspace_path::WorkspacePath;
use serde::{Deserialize, Serialize};

use crate::Diagnostic;
use crate::diagnostic::message_of;

/// The most diagnostics that are read from one run.
const DIAGNOSTICS: usize = 5_000;

/// How a program prints what it found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum CheckFormat {
    /// `cargo check --message-format=json`: one message on each line of standard output.
    Cargo,
    /// `tsc --noEmit --pretty false`: lines on standard output.
    Tsc,
    /// `pyright --outputjson`: one object on standard output; `basedpyright` writes the same.
    Pyright,
    /// `ruff check --output-format json`: one array on standard output.
    Ruff,
    /// `go vet -json`: objects between comments on standard error.
    GoVet,
}

/// Why the output of a program cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the output is not that of {format:?}: {message}")]
pub struct CheckError {
    /// The format that was expected.
    pub format: CheckFormat,
    /// What is wrong with it.
    pub message: String,
    /// The parser's error.
    pub source: Cause,
}

impl CheckFormat {
    /// Reads the output of a program that ran in `folder` of the workspace at `root`.
    ///
    /// Diagnostics of files outside the workspace are left out. Columns are as the program counts them: characters for cargo, UTF-16 units for
    /// tsc and pyright, bytes for go vet. At most 5,000 are read.
    pub fn read(
        self,
        stdout: &str,
        stderr: &str,
        root: &str,
        folder: &WorkspacePath,
    ) -> Result<Vec<Diagnostic>, CheckError> {
        let places = PathResolver { root, folder };
        let mut diagnostics = match self {
            Self::Cargo => cargo::read(stdout, &places),
            Self::Tsc => Ok(tsc::read(stdout, &places)),
            Self::Pyright => pyright::read(stdout, &places),
            Self::Ruff => ruff::read(stdout, &places),
            Self::GoVet => go_vet::read(stderr, &places),
        }
        .map_err(|error| CheckError {
            format: self,
            message: error.to_string(),
            source: error.into(),
        })?;
        for diagnostic in &mut diagnostics {
            diagnostic.message = message_of(&diagnostic.message);
        }
        diagnostics.sort();
        // Several targets of one crate report the same problem of a file.
        diagnostics.dedup();
        diagnostics.truncate(DIAGNOSTICS);
        Ok(diagnostics)
    }
}

/// Turns the file names that a program prints into paths.
struct PathResolver<'a> {
    root: &'a str,
    folder: &'a WorkspacePath,
}

impl PathResolver<'_> {
    fn path(&self, name: &str) -> Option<WorkspacePath> {
        let path = if name.starts_with('/') {
            WorkspacePath::resolve(name, self.root)
        } else {
            self.folder.join(name)
        };
        path.ok().filter(|path| !path.is_root())
    }
}

#[cfg(test)]
mod tests;
