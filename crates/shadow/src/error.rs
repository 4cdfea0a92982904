use std::path::PathBuf;

use headstart_overlay_fs::TreeError;
use headstart_workspace_path::WorkspacePath;

/// A call of the system that a view needs and that was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The call, as its manual page names it.
    pub call: String,
    /// What it was about: a path, a file system, an option; may be empty.
    pub about: String,
    /// The system's words.
    pub message: String,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { call, about, message } = self;
        if about.is_empty() {
            write!(f, "{call}: {message}")
        } else {
            write!(f, "{call} ({about}): {message}")
        }
    }
}

/// Why there is no view, or why it did not do what it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShadowError {
    /// The system does not let this user make a view.
    #[error("this system gives no view: {0}")]
    Refused(Refusal),
    /// The workspace lies where no view of it can be made.
    #[error("there is no view of {}: {reason}", path.display())]
    Workspace {
        /// The workspace.
        path: PathBuf,
        /// What is in the way, and what to do.
        reason: String,
    },
    /// The view has ended: a time limit, a kill, or its owner ended it. Start another.
    #[error("the view has ended; start another")]
    Ended,
    /// The view was ended because its program built more than there is room for on the disk ([`BuildRoom::bytes`](crate::BuildRoom::bytes)).
    #[error("the view was ended, because too much build output was on the disk; start another")]
    Disk,
    /// The command could not be started: the program is not there, the folder is not.
    #[error("the command cannot be started: {message}")]
    Command {
        /// The system's words.
        message: String,
    },
    /// A path could not be shown in the view.
    #[error("{path} cannot be shown in the view: {message}")]
    Show {
        /// The path.
        path: WorkspacePath,
        /// The system's words.
        message: String,
    },
    /// What a command left cannot be staged, and so nothing is.
    #[error("{path} cannot be staged: {reason}")]
    Read {
        /// The path.
        path: WorkspacePath,
        /// What is wrong with it.
        reason: String,
    },
    /// The tree that the view lies over could not be read, or the quota is exceeded.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The processes of the view said something that makes no sense, or nothing in time.
    #[error("the view answers wrongly: {message}")]
    Protocol {
        /// What was expected.
        message: String,
    },
}
