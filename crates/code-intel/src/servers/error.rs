use headstart_forked_query::Cause;
use headstart_overlay_fs::TreeError;
use headstart_workspace_path::WorkspacePath;

use crate::{CheckError, EditError, SpawnError, SymbolError};

/// Why a question has no answer, in words for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IntelError {
    /// No server handles files of this kind.
    #[error("no language server is configured for {path}; those that are know {known}")]
    NoServer {
        /// The file.
        path: WorkspacePath,
        /// The extensions that are handled.
        known: String,
    },
    /// The server is not installed.
    #[error("{server} is not installed; {install} installs it")]
    Missing {
        /// Its name.
        server: String,
        /// A command, or what to do.
        install: String,
    },
    /// The server was just started.
    #[error("{server} is still loading the project{}; ask again later", loading(.progress.as_deref()))]
    Loading {
        /// Its name.
        server: String,
        /// What it reports to be doing.
        progress: Option<String>,
    },
    /// The server did not answer.
    #[error("{server} did not answer {question} within {seconds} s")]
    TimedOut {
        /// Its name.
        server: String,
        /// What was asked.
        question: String,
        /// How long it had.
        seconds: u64,
    },
    /// The server ended unexpectedly.
    #[error("{server} ended{}", last_words(.detail))]
    Ended {
        /// Its name.
        server: String,
        /// The end of its output.
        detail: String,
    },
    /// The server ended unexpectedly several times.
    #[error(
        "{server} ended {crashes} times within {minutes} min and is left alone for that long; last: {detail}"
    )]
    CrashLoop {
        /// Its name.
        server: String,
        /// How many times.
        crashes: usize,
        /// Within how many minutes.
        minutes: u64,
        /// The reason, the last time.
        detail: String,
    },
    /// The server does not follow the protocol, or sends too much.
    #[error("{server} was ended: {detail}")]
    Protocol {
        /// Its name.
        server: String,
        /// What it did.
        detail: String,
        /// What could not be read of what it sent, if that was the reason.
        source: Option<Cause>,
    },
    /// The server used more memory than it may.
    #[error("{server} was ended: it took {mebibytes} MiB, more than the limit of {limit} MiB")]
    Memory {
        /// Its name.
        server: String,
        /// How much it used, in MiB.
        mebibytes: u64,
        /// How much it may use, in MiB.
        limit: u64,
    },
    /// The server answered with an error.
    #[error("{server} refused: {message}")]
    Refused {
        /// Its name.
        server: String,
        /// Its words.
        message: String,
    },
    /// The server does not support the question.
    #[error("{server} cannot do {question}")]
    Unsupported {
        /// Its name.
        server: String,
        /// What was asked.
        question: String,
    },
    /// The path is closed for this question.
    #[error("{path} is closed; go on without it")]
    ClosedPath {
        /// The path.
        path: WorkspacePath,
    },
    /// The file is not text.
    #[error("{path} is no text in UTF-8")]
    NoText {
        /// The path.
        path: WorkspacePath,
    },
    /// The file is too large for a server.
    #[error("{path} has {bytes} bytes, more than a server is given ({limit})")]
    TooLarge {
        /// The path.
        path: WorkspacePath,
        /// Its length.
        bytes: usize,
        /// The most.
        limit: usize,
    },
    /// The symbol is not at the place that was named.
    #[error("{path}: {error}")]
    Symbol {
        /// The file.
        path: WorkspacePath,
        /// What is wrong.
        #[source]
        error: SymbolError,
    },
    /// No code action has this title.
    #[error("there is no code action {title:?} here; there are: {known}")]
    NoAction {
        /// The title that was asked for.
        title: String,
        /// Those there are.
        known: String,
    },
    /// The server's edit is refused.
    #[error("nothing was changed: {0}")]
    Edit(#[from] EditError),
    /// A file could not be read or staged.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The host could not make a view or start a program.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// The output of a compiler could not be read.
    #[error("{server}: {error}")]
    Check {
        /// The checker.
        server: String,
        /// What is wrong.
        #[source]
        error: CheckError,
    },
    /// Only compilers are run, so this question has no answer.
    #[error("{question} needs a language server, and code intelligence is set to checks only")]
    ChecksOnly {
        /// What was asked.
        question: String,
    },
    /// The future that drives the servers has ended.
    #[error("code intelligence has ended")]
    Stopped,
}

fn loading(progress: Option<&str>) -> String {
    progress.map_or_else(String::new, |progress| format!(" ({progress})"))
}

fn last_words(detail: &str) -> String {
    if detail.is_empty() { String::new() } else { format!("; its last words: {detail}") }
}
