use headstart_overlay_fs::TreeError;
use headstart_workspace_path::WorkspacePath;

use crate::{CheckError, EditError, SpawnError, SymbolError};

/// Why a question has no answer, in words for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IntelError {
    /// No server knows files of this name.
    #[error("no language server is configured for {path}; those that are know {known}")]
    NoServer {
        /// The file.
        path: WorkspacePath,
        /// The endings that are known.
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
    /// The server has just been started.
    #[error("{server} is still loading the project{}; ask again later", loading(.progress.as_deref()))]
    Loading {
        /// Its name.
        server: String,
        /// What it says it is doing.
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
    /// The server ended by itself.
    #[error("{server} ended{}", last_words(.detail))]
    Ended {
        /// Its name.
        server: String,
        /// What it wrote last.
        detail: String,
    },
    /// The server ended again and again.
    #[error(
        "{server} ended {crashes} times within {minutes} min and is left alone for that long; last: {detail}"
    )]
    CrashLoop {
        /// Its name.
        server: String,
        /// How often.
        crashes: usize,
        /// Within how long.
        minutes: u64,
        /// Why, the last time.
        detail: String,
    },
    /// The server does not speak the protocol, or says too much.
    #[error("{server} was ended: {detail}")]
    Protocol {
        /// Its name.
        server: String,
        /// What it did.
        detail: String,
    },
    /// The server took more memory than it may have.
    #[error("{server} was ended: it took {mebibytes} MiB, more than the limit of {limit} MiB")]
    Memory {
        /// Its name.
        server: String,
        /// How much it took.
        mebibytes: u64,
        /// How much it may take.
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
    /// The server has no such function.
    #[error("{server} cannot do {question}")]
    Unsupported {
        /// Its name.
        server: String,
        /// What was asked.
        question: String,
    },
    /// The path is closed to whoever asks.
    #[error("{path} is closed; go on without it")]
    ClosedPath {
        /// The path.
        path: WorkspacePath,
    },
    /// The file is no text.
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
    /// The symbol is not where it was said to be.
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
    /// What the server wants to change is refused.
    #[error("nothing was changed: {0}")]
    Edit(#[from] EditError),
    /// A file could not be read or staged.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The place where servers run failed.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// What a compiler printed could not be read.
    #[error("{server}: {error}")]
    Check {
        /// The checker.
        server: String,
        /// What is wrong.
        #[source]
        error: CheckError,
    },
    /// Code intelligence runs compilers only.
    #[error("{question} needs a language server, and code intelligence is set to checks only")]
    ChecksOnly {
        /// What was asked.
        question: String,
    },
    /// Whoever drove the servers has stopped.
    #[error("code intelligence has ended")]
    Stopped,
}

fn loading(progress: Option<&str>) -> String {
    progress.map_or_else(String::new, |progress| format!(" ({progress})"))
}

fn last_words(detail: &str) -> String {
    if detail.is_empty() { String::new() } else { format!("; its last words: {detail}") }
}
