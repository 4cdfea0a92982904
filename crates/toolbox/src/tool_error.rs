use std::error::Error;

use headstart_forked_query::Cause;
use headstart_overlay_fs::TreeError;

/// Why a tool failed, in words for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// There is no tool of this name.
    #[error("there is no tool {name:?}; the tools are {known}")]
    UnknownTool {
        /// What was asked for.
        name: String,
        /// The names there are, separated by commas.
        known: String,
    },
    /// An argument is missing, unknown or of the wrong type.
    #[error("{tool}: {message}")]
    InvalidArgument {
        /// The tool.
        tool: String,
        /// The argument, and what is expected.
        message: String,
    },
    /// The tool ran and failed.
    #[error("{message}")]
    Failed {
        /// What went wrong, and what to do.
        message: String,
        /// The underlying error, if there is one. No model sees it.
        source: Option<Cause>,
    },
    /// The command needs a view, and there is none, so nothing ran.
    #[error("there is no view to run it in: {why}")]
    NoView {
        /// Why, in words for the user.
        why: String,
        /// The underlying error, if there is one.
        source: Option<Cause>,
    },
    /// The overlay is full. This ends the whole speculation, not only this call.
    #[error("{message}")]
    Quota {
        /// Which limit.
        message: String,
    },
}

impl ToolError {
    /// An error without an underlying one.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::Failed { message: message.into(), source: None }
    }

    /// An error with its underlying one.
    pub fn caused(message: impl Into<String>, cause: impl Into<Cause>) -> Self {
        Self::Failed { message: message.into(), source: Some(cause.into()) }
    }

    /// An error whose own words the model is told.
    pub fn of(error: impl Error + Send + Sync + 'static) -> Self {
        Self::caused(error.to_string(), error)
    }

    /// There is no view, without an underlying error.
    pub fn no_view(why: impl Into<String>) -> Self {
        Self::NoView { why: why.into(), source: None }
    }

    /// There is no view because of this error, whose own words the user is told.
    pub fn no_view_of(error: impl Error + Send + Sync + 'static) -> Self {
        Self::NoView { why: error.to_string(), source: Some(error.into()) }
    }
}

/// A quota error stays one; every other error of the tree is a failure of this call.
impl From<TreeError> for ToolError {
    fn from(error: TreeError) -> Self {
        match error {
            TreeError::Quota { .. } => Self::Quota { message: error.to_string() },
            _ => Self::of(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use headstart_overlay_fs::{SystemError, WorkspacePath};

    use super::*;
    use crate::output::truncate_error;

    /// This also holds if the words are cut, because a model reads the words and a program the source.
    #[test]
    fn the_answer_of_the_system_is_below_the_failure_of_a_tool() {
        let path = WorkspacePath::parse("a.txt").unwrap();
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        let error = truncate_error(TreeError::io(path.clone(), &denied).into(), 10);
        let tree = error.source().unwrap();
        assert!(matches!(tree.downcast_ref(), Some(TreeError::Io { path: of, .. }) if *of == path));
        let system = tree.source().and_then(<dyn Error>::downcast_ref::<SystemError>).unwrap();
        assert_eq!(system.kind, io::ErrorKind::PermissionDenied);
        assert!(error.to_string().starts_with("a.txt: pe"), "{error}");

        let failed = ToolError::caused("the command was lost", io::Error::from(io::ErrorKind::BrokenPipe));
        assert_eq!(failed.to_string(), "the command was lost");
        let below = failed.source().and_then(<dyn Error>::downcast_ref::<io::Error>);
        assert_eq!(below.map(io::Error::kind), Some(io::ErrorKind::BrokenPipe));
        assert!(ToolError::failed("it is no file").source().is_none());
    }
}
