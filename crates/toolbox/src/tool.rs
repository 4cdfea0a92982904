use std::error::Error;
use std::sync::Arc;

use async_trait::async_trait;
use headstart_forked_query::{Cause, ToolSchema};
use headstart_overlay_fs::{Overlay, TreeError, WorkspacePath};
use headstart_tool_gate::{GateContext, Hardened};
use serde_json::{Map, Value};

use crate::location::{locate, locate_for_write};
use crate::{Limits, ToolOutput, Wording};

/// What a tool works with, and the rules for it.
#[derive(Clone, Copy)]
pub struct ToolContext<'a> {
    /// The merged view: every read sees what is staged, every write is staged. If a call fails or is dropped, what it
    /// staged is taken back. A tool must not stage anything after its end, because that may be lost or be attributed
    /// to another call.
    pub view: &'a Arc<Overlay>,
    /// The rules by which the call was judged: the workspace, and the paths that no tool reads, writes or lists.
    /// Links are resolved before a rule is checked, so that a second name of a path opens nothing.
    pub gate: &'a GateContext,
    /// The limits of the call.
    pub limits: &'a Limits,
    /// How the gate wants a command to run, if its plain form is not enough.
    pub hardened: Option<&'a Hardened>,
    /// Whether the user approved exactly this call: then a command runs in the user's own environment.
    pub consented: bool,
    /// Whether the user's own turn runs it. Only then may a tool send something to another machine, because work
    /// ahead has no network.
    pub attended: bool,
}

impl ToolContext<'_> {
    /// Whether listings and searches leave out a path: because of a deny rule, or because its name says that it holds
    /// a secret, unless the user was asked about this call.
    pub(crate) fn closes(&self, path: &WorkspacePath) -> bool {
        self.gate.deny.closes(path, self.consented)
    }
}

impl ToolContext<'_> {
    /// The path that an argument of a host's own tool names: inside the workspace, links resolved, not closed by a
    /// deny rule.
    pub async fn locate(self, path: &str) -> Result<WorkspacePath, ToolError> {
        locate(path, self).await
    }

    /// As [`locate`](Self::locate), for a path that is written: no link may lead into a folder that decides what
    /// other programs do.
    pub async fn locate_for_write(self, path: &str) -> Result<WorkspacePath, ToolError> {
        locate_for_write(path, self).await
    }
}

/// Is told of each file for which an edit was staged.
///
/// The edit stays, whatever this returns. The model waits for the answer meanwhile, so an implementation should limit
/// its time.
#[async_trait]
pub trait EditObserver: Send + Sync {
    /// `edit` or `write_file` staged this file. The returned text is added to their answer; `None` for nothing.
    async fn edited(&self, path: &WorkspacePath, context: ToolContext<'_>) -> Option<String>;
}

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

/// A tool that an agent can call.
///
/// The gate knows what the built-in tools do. A host's own tool runs ahead if the host declares what it does
/// ([`GateContext::tools`]). Otherwise it is a boundary there, and a turn asks (in `yolo` it runs, in `plan` it is
/// refused).
#[async_trait]
pub trait Tool: Send + Sync {
    /// How it is offered to the model.
    fn schema(&self) -> ToolSchema;

    /// How the user is told of the tool and its calls.
    fn wording(&self) -> Wording {
        Wording::of(&self.schema().name)
    }

    /// Runs it. Everything it writes goes to `context.view`.
    async fn run(&self, args: &Map<String, Value>, context: ToolContext<'_>) -> Result<String, ToolError>;

    /// As [`run`](Self::run), with the items of which the answer consists, if they have names and places. The text of
    /// both is the same. A [`Toolbox`](crate::Toolbox) only calls this one.
    async fn run_items(
        &self,
        args: &Map<String, Value>,
        context: ToolContext<'_>,
    ) -> Result<ToolOutput, ToolError> {
        self.run(args, context).await.map(ToolOutput::Text)
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use headstart_overlay_fs::SystemError;

    use super::*;
    use crate::output::error_within;

    /// This also holds if the words are cut, because a model reads the words and a program the source.
    #[test]
    fn the_answer_of_the_system_is_below_the_failure_of_a_tool() {
        let path = WorkspacePath::parse("a.txt").unwrap();
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        let error = error_within(TreeError::io(path.clone(), &denied).into(), 10);
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
