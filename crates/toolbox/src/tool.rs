use std::error::Error;
use std::sync::Arc;

use async_trait::async_trait;
use headstart_forked_query::{Cause, ToolSchema};
use headstart_overlay_fs::{Overlay, TreeError, WorkspacePath};
use headstart_tool_gate::{GateContext, Hardened};
use serde_json::{Map, Value};

use crate::location::{locate, locate_for_write};
use crate::{Limits, ToolOutput, Wording};

/// What a tool works on, and under which rules.
#[derive(Clone, Copy)]
pub struct ToolContext<'a> {
    /// The merged view: every read sees what is staged, every write is staged. What a call staged that fails, or that is
    /// dropped, is taken back. A tool stages nothing after its end: that may be lost, or be taken for another call's.
    pub view: &'a Arc<Overlay>,
    /// The rules under which the call was judged: the workspace, and the paths that no tool reads, writes or lists. Links
    /// are resolved before a rule is asked, so that a second name opens nothing.
    pub gate: &'a GateContext,
    /// The limits in force.
    pub limits: &'a Limits,
    /// The form in which the gate allowed a command, where its plain form is not enough.
    pub hardened: Option<&'a Hardened>,
    /// Whether the user approved this very call: a command then runs in the user's own environment.
    pub consented: bool,
    /// Whether the user's own turn runs it. What a tool sends to another machine it sends only then: work ahead has no network.
    pub attended: bool,
}

impl ToolContext<'_> {
    /// Whether a path is left out of listings and searches: for a deny rule, or as a file that holds a secret by its name, unless
    /// the user was asked about this call.
    pub(crate) fn closes(&self, path: &WorkspacePath) -> bool {
        self.gate.deny.closes(path, self.consented)
    }
}

impl ToolContext<'_> {
    /// The path that an argument of a host's own tool means: inside the workspace, links resolved, closed by no deny rule.
    pub async fn locate(self, path: &str) -> Result<WorkspacePath, ToolError> {
        locate(path, self).await
    }

    /// The same for a path that is written: no link leads to it into a folder that decides what other programs do.
    pub async fn locate_for_write(self, path: &str) -> Result<WorkspacePath, ToolError> {
        locate_for_write(path, self).await
    }
}

/// Looks at each file that an edit was staged for.
///
/// The edit stands, whatever comes of this; a model waits for its answer all the while, so an implementation sets itself a
/// limit of time.
#[async_trait]
pub trait EditObserver: Send + Sync {
    /// `edit` or `write_file` staged this file. What is returned follows their own answer; `None`: nothing to say.
    async fn edited(&self, path: &WorkspacePath, context: ToolContext<'_>) -> Option<String>;
}

/// Why a tool did not do it, in words for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// No tool of that name.
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
        /// Which argument, what is expected.
        message: String,
    },
    /// The tool ran and failed.
    #[error("{message}")]
    Failed {
        /// What went wrong and what to do.
        message: String,
        /// The error that it comes from, where there is one; no model sees it.
        source: Option<Cause>,
    },
    /// The command was to run in a view, and there is none: nothing ran.
    #[error("there is no view to run it in: {why}")]
    NoView {
        /// Why, in words for the user.
        why: String,
        /// The error that it comes from, where there is one.
        source: Option<Cause>,
    },
    /// The overlay is full: the whole speculation ends, not only this call.
    #[error("{message}")]
    Quota {
        /// Which limit.
        message: String,
    },
}

impl ToolError {
    /// The tool ran and failed, which no other error says.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::Failed { message: message.into(), source: None }
    }

    /// The tool ran and failed because of this.
    pub fn caused(message: impl Into<String>, cause: impl Into<Cause>) -> Self {
        Self::Failed { message: message.into(), source: Some(cause.into()) }
    }

    /// The tool ran and failed because of this error, in whose words the model is told.
    pub fn of(error: impl Error + Send + Sync + 'static) -> Self {
        Self::caused(error.to_string(), error)
    }

    /// There is no view for the command, which no other error says.
    pub fn no_view(why: impl Into<String>) -> Self {
        Self::NoView { why: why.into(), source: None }
    }

    /// There is no view for the command because of this error, in whose words the user is told.
    pub fn no_view_of(error: impl Error + Send + Sync + 'static) -> Self {
        Self::NoView { why: error.to_string(), source: Some(error.into()) }
    }
}

/// A quota stays a quota; every other refusal of the tree is a failure of this call.
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
/// The gate knows what the built-in ones do. One of a host's own runs ahead where the host declares what it does
/// ([`GateContext::tools`]). Otherwise it is a boundary there, and in a turn it asks (in `yolo` it runs, in `plan` it is
/// refused).
#[async_trait]
pub trait Tool: Send + Sync {
    /// How it is offered to the model.
    fn schema(&self) -> ToolSchema;

    /// It and its calls in words, for the user.
    fn wording(&self) -> Wording {
        Wording::of(&self.schema().name)
    }

    /// Runs it. Everything it writes goes to `context.view`.
    async fn run(&self, args: &Map<String, Value>, context: ToolContext<'_>) -> Result<String, ToolError>;

    /// The same, with the things of which the answer is made, where they have names and places. The text of both is the same; only this one is
    /// asked by a [`Toolbox`](crate::Toolbox).
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

    /// Also where its words are cut, for a model reads the words and a program the cause.
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
