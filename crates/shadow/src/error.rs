#[cfg(feature = "os")]
use std::io;
use std::path::PathBuf;

use headstart_overlay_fs::{SystemError, TreeError};
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
        /// What the system answered, where it was the system.
        source: Option<SystemError>,
    },
    /// A path could not be shown in the view.
    #[error("{path} cannot be shown in the view: {message}")]
    Show {
        /// The path.
        path: WorkspacePath,
        /// The system's words.
        message: String,
        /// What the system answered, where it was the system.
        source: Option<SystemError>,
    },
    /// What a command left cannot be staged, and so nothing is.
    #[error("{path} cannot be staged: {reason}")]
    Read {
        /// The path.
        path: WorkspacePath,
        /// What is wrong with it.
        reason: String,
        /// What the system answered, where it was the system.
        source: Option<SystemError>,
    },
    /// The tree that the view lies over could not be read, or the quota is exceeded.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The processes of the view said something that makes no sense, or nothing in time.
    #[error("the view answers wrongly: {message}")]
    Protocol {
        /// What was expected.
        message: String,
        /// What the system answered, where it was the system.
        source: Option<SystemError>,
    },
}

#[cfg(feature = "os")]
impl ShadowError {
    /// The system did not start the command.
    pub(crate) fn command(error: &io::Error) -> Self {
        Self::Command { message: error.to_string(), source: Some(error.into()) }
    }

    /// The system did not show the path.
    pub(crate) fn show(path: &WorkspacePath, error: &io::Error) -> Self {
        Self::Show { path: path.clone(), message: error.to_string(), source: Some(error.into()) }
    }

    /// The system did not read what a command left.
    pub(crate) fn read(path: &WorkspacePath, error: &io::Error) -> Self {
        Self::Read { path: path.clone(), reason: error.to_string(), source: Some(error.into()) }
    }

    /// What a command left can be read, and not staged.
    pub(crate) fn unstaged(path: &WorkspacePath, reason: impl Into<String>) -> Self {
        Self::Read { path: path.clone(), reason: reason.into(), source: None }
    }

    /// The system did not carry what the view was told or said.
    pub(crate) fn unheard(error: &io::Error) -> Self {
        Self::Protocol { message: error.to_string(), source: Some(error.into()) }
    }

    /// The view said what makes no sense.
    pub(crate) fn protocol(message: impl Into<String>) -> Self {
        Self::Protocol { message: message.into(), source: None }
    }
}

#[cfg(all(test, feature = "os"))]
mod tests {
    use std::error::Error;

    use super::*;

    #[test]
    fn what_the_system_answered_is_below_the_error() {
        let denied = io::Error::from(rustix::io::Errno::ACCESS);
        let path = WorkspacePath::root();
        let all = [
            ShadowError::command(&denied),
            ShadowError::show(&path, &denied),
            ShadowError::read(&path, &denied),
            ShadowError::unheard(&denied),
            TreeError::io(path.clone(), &denied).into(),
        ];
        for error in all {
            let system = error.source().and_then(<dyn Error>::downcast_ref::<SystemError>);
            let number = system.and_then(|system| system.number);
            assert_eq!(number, denied.raw_os_error(), "{error:?}");
        }
        assert!(ShadowError::unstaged(&path, "a device").source().is_none());
    }
}
