//! The port for running programs.

use std::collections::BTreeMap;
use std::error::Error;
use std::time::Duration;

use async_trait::async_trait;
use futures::io::{AsyncRead, AsyncWrite};
use headstart_forked_query::Cause;
use headstart_overlay_fs::ChangeSet;
use headstart_workspace_path::WorkspacePath;

/// A program and how it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Its name, which is searched for as a shell would.
    pub name: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables in addition to the view's own.
    pub environment: BTreeMap<String, String>,
    /// The folder in which it starts.
    pub folder: WorkspacePath,
}

/// A program that was started. Dropping it ends the program, and everything that it started.
pub struct Process {
    /// Its standard input.
    pub stdin: Box<dyn AsyncWrite + Send + Unpin>,
    /// Its standard output, which ends when the program does.
    pub stdout: Box<dyn AsyncRead + Send + Unpin>,
    /// Its standard error, whose end is shown if the program dies; `None` if somebody else reads it.
    pub stderr: Option<Box<dyn AsyncRead + Send + Unpin>>,
    /// Ends the program when it is dropped.
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
    /// There is no program with this name.
    #[error("there is no program {name}")]
    NoProgram {
        /// The name.
        name: String,
    },
    /// The host cannot run a program without risk for the user's files.
    #[error("no view of the workspace can be had here: {why}")]
    NoView {
        /// What is missing.
        why: String,
        /// The underlying error, if there is one.
        source: Option<Cause>,
    },
    /// Another error.
    #[error("{message}")]
    Failed {
        /// What it is, and what to do.
        message: String,
        /// The underlying error, if there is one.
        source: Option<Cause>,
    },
}

impl SpawnError {
    /// There is no view because of this error, whose own words are told.
    pub fn no_view_of(error: impl Error + Send + Sync + 'static) -> Self {
        Self::NoView { why: error.to_string(), source: Some(error.into()) }
    }

    /// Another error, whose own words are told.
    pub fn of(error: impl Error + Send + Sync + 'static) -> Self {
        Self::Failed { message: error.to_string(), source: Some(error.into()) }
    }
}

/// Makes language views, which show the project at its own path with staged files in it.
///
/// # Guarantees
///
/// What a program in a view writes reaches neither the workspace nor another view. Dropping a view ends everything
/// that runs in it.
///
/// # Not guaranteed
///
/// That there is a view: [`SpawnError::NoView`]. That a program behaves: the implementation limits its memory, time
/// and network.
#[async_trait]
pub trait LanguageHost: Send + Sync {
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
    /// The absolute path of the workspace, as programs in the view see it: without links in it, and without a `/` at
    /// its end.
    fn root(&self) -> &str;

    /// Makes the view show the project with exactly these changes. What was shown before and is not in `changes` is
    /// taken back. Only the difference is written.
    ///
    /// Afterwards a file whose content changed has a later time than everything that was written before, even if an
    /// old content comes back, because compilers skip what is older than their output. After an error the view may
    /// show anything, and the next call makes it right.
    async fn show(&mut self, changes: &ChangeSet) -> Result<(), SpawnError>;

    /// Takes into the view what changed in the workspace on disk since the view was made or this was last called;
    /// returns the paths, including those that appeared or vanished. Only what git does not ignore counts. The
    /// default does nothing, for a workspace that nobody else changes.
    async fn refresh(&mut self) -> Result<Vec<WorkspacePath>, SpawnError> {
        Ok(Vec::new())
    }

    /// Starts a program. It may be one of the project (`node_modules/.bin`), which only runs in the view.
    async fn start(&mut self, program: &Program) -> Result<Process, SpawnError>;

    /// The memory of everything that runs in the view, in bytes; `None` if it is unknown.
    async fn resident(&mut self) -> Option<u64>;

    /// Why the view ended the program, if it did. Called when the program's output has ended.
    async fn why_ended(&mut self) -> Option<String> {
        None
    }
}
