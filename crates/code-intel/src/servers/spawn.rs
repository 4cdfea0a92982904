//! The port to where programs run.

use async_trait::async_trait;
use futures::io::{AsyncRead, AsyncWrite};
use headstart_overlay_fs::ChangeSet;
use std::collections::BTreeMap;
use std::time::Duration;

use headstart_workspace_path::WorkspacePath;

/// A program and how it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Its name, looked for as a shell would.
    pub name: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables that are set over the view's own.
    pub environment: BTreeMap<String, String>,
    /// The folder in which it starts.
    pub folder: WorkspacePath,
}

/// A program that was started: dropping it ends it, and what it started.
pub struct Process {
    /// Its standard input.
    pub stdin: Box<dyn AsyncWrite + Send + Unpin>,
    /// Its standard output; it ends when the program does.
    pub stdout: Box<dyn AsyncRead + Send + Unpin>,
    /// Its standard error, of which the end is shown when it dies. `None`: somebody else reads it.
    pub stderr: Option<Box<dyn AsyncRead + Send + Unpin>>,
    /// What ends the program when it is dropped.
    pub guard: Box<dyn Send>,
}

impl std::fmt::Debug for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Process").finish_non_exhaustive()
    }
}

/// Why a view or a program could not be started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// There is no program of this name.
    #[error("there is no program {name}")]
    NoProgram {
        /// The name.
        name: String,
    },
    /// The host has no place in which a program could be run without touching the user's files.
    #[error("no view of the workspace can be had here: {why}")]
    NoView {
        /// What is missing.
        why: String,
    },
    /// Something else went wrong.
    #[error("{message}")]
    Failed {
        /// What, and what to do.
        message: String,
    },
}

/// Makes language views: places that show the project at its own path with staged files in it.
///
/// # Guarantees
///
/// What a program in a view writes reaches neither the workspace nor another view. A view that is dropped is gone, with all
/// that runs in it.
///
/// # Not guaranteed
///
/// That there is one: [`SpawnError::NoView`]. That a program behaves: limits on its memory, time and network are the implementation's.
#[async_trait]
pub trait Spawn: Send + Sync {
    /// A view in which nothing is staged.
    async fn view(&self) -> Result<Box<dyn LanguageView>, SpawnError>;

    /// Time since some fixed moment.
    fn now(&self) -> Duration;

    /// Resolves after `time`.
    async fn sleep(&self, time: Duration);
}

/// One view.
#[async_trait]
pub trait LanguageView: Send {
    /// The absolute path of the workspace, as programs in the view see it: without a link in it, and without an end in `/`.
    fn root(&self) -> &str;

    /// Makes the view show the project with exactly these changes: what was shown before and is in `changes` no more is taken back. Only the
    /// difference is written.
    ///
    /// After it a file whose content changed has a time later than all that was written before, also where an old content comes back:
    /// compilers take what is older than their output for done. On an error the view may show anything, and the next call says again what
    /// is to be shown.
    async fn show(&mut self, changes: &ChangeSet) -> Result<(), SpawnError>;

    /// Takes over into the view what changed in the workspace on disk since the view was made, or since this was asked last: the paths, and those
    /// that came or went. Only what git does not ignore counts. By itself, for a workspace that nobody else changes, nothing.
    async fn refresh(&mut self) -> Result<Vec<WorkspacePath>, SpawnError> {
        Ok(Vec::new())
    }

    /// Starts a program. It may be one of the project (`node_modules/.bin`), which is run in the view only.
    async fn start(&mut self, program: &Program) -> Result<Process, SpawnError>;

    /// The memory of all that runs in the view, in bytes; `None`: unknown.
    async fn resident(&mut self) -> Option<u64>;

    /// Why the view ended the program, of which the output has ended, if it did.
    async fn why_ended(&mut self) -> Option<String> {
        None
    }
}
