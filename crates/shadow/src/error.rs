#[cfg(all(feature = "os", target_os = "linux"))]
use std::io;
use std::path::PathBuf;

use headstart_overlay_fs::{SystemError, TreeError};
use headstart_workspace_path::WorkspacePath;

/// A system call that a view needs and that was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The name of the call, as in its manual page.
    pub call: String,
    /// The path, file system or option that the call was about; may be empty.
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

/// Why there is no view, or why a view could not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShadowError {
    /// The system does not let this user make a view.
    #[error("this system gives no view: {0}")]
    Refused(Refusal),
    /// No view can be made of a workspace in this place.
    #[error("there is no view of {}: {reason}", path.display())]
    Workspace {
        /// The workspace.
        path: PathBuf,
        /// Why not, and what to do.
        reason: String,
    },
    /// The view has ended: a time limit, a signal, or its owner ended it. Start another one.
    #[error("the view has ended; start another")]
    Ended,
    /// The view was ended because its program wrote more build output than it may keep on the disk
    /// ([`BuildRoom::bytes`](crate::BuildRoom::bytes)).
    #[error("the view was ended, because too much build output was on the disk; start another")]
    Disk,
    /// The command could not be started, because its program or its folder does not exist, for example.
    #[error("the command cannot be started: {message}")]
    Command {
        /// The system's words.
        message: String,
        /// What the system answered, if it was the system.
        source: Option<SystemError>,
    },
    /// A path could not be shown in the view.
    #[error("{path} cannot be shown in the view: {message}")]
    Show {
        /// The path.
        path: WorkspacePath,
        /// The system's words.
        message: String,
        /// What the system answered, if it was the system.
        source: Option<SystemError>,
    },
    /// What a command left cannot be staged, so nothing of it is.
    #[error("{path} cannot be staged: {reason}")]
    Read {
        /// The path.
        path: WorkspacePath,
        /// What is wrong with it.
        reason: String,
        /// What the system answered, if it was the system.
        source: Option<SystemError>,
    },
    /// A command changed or removed one name of a file with several (hard links), or gave a file another name: an accept
    /// would part them. Nothing of what it left is staged.
    #[error("{path} cannot be staged: it has several names (hard links), and a change would part them")]
    HardLinks {
        /// The first such name.
        path: WorkspacePath,
    },
    /// The tree below the view could not be read, or the quota is exceeded.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The processes of the view sent something unexpected, or nothing in time.
    #[error("the view answers wrongly: {message}")]
    Protocol {
        /// What was expected.
        message: String,
        /// What the system answered, if it was the system.
        source: Option<SystemError>,
    },
}

#[cfg(all(feature = "os", target_os = "linux"))]
impl ShadowError {
    /// The system did not start the command.
    pub(crate) fn command(error: &io::Error) -> Self {
        Self::Command { message: error.to_string(), source: Some(error.into()) }
    }

    /// The system did not let the path be shown.
    pub(crate) fn show(path: &WorkspacePath, error: &io::Error) -> Self {
        Self::Show { path: path.clone(), message: error.to_string(), source: Some(error.into()) }
    }

    /// The system did not let what a command left be read.
    pub(crate) fn read(path: &WorkspacePath, error: &io::Error) -> Self {
        Self::Read { path: path.clone(), reason: error.to_string(), source: Some(error.into()) }
    }

    /// What a command left can be read but not staged.
    pub(crate) fn unstaged(path: &WorkspacePath, reason: impl Into<String>) -> Self {
        Self::Read { path: path.clone(), reason: reason.into(), source: None }
    }

    /// The system did not transmit a message to or from the view.
    pub(crate) fn unheard(error: &io::Error) -> Self {
        Self::Protocol { message: error.to_string(), source: Some(error.into()) }
    }

    /// The view sent something unexpected.
    pub(crate) fn protocol(message: impl Into<String>) -> Self {
        Self::Protocol { message: message.into(), source: None }
    }
}

#[cfg(all(test, feature = "os", target_os = "linux"))]
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
