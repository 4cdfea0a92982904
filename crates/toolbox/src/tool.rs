use std::collections::BTreeMap;

use async_trait::async_trait;
use headstart_forked_query::ToolSchema;
use headstart_overlay_fs::{Overlay, TreeError, WorkspacePath};
use serde_json::{Map, Value};

use crate::Limits;

/// Says whether a path is closed to every tool: the gate's compiled deny rules.
///
/// A folder that is denied closes what is below it, whatever the answer for the paths below.
pub type Denied<'a> = dyn Fn(&WorkspacePath) -> bool + Send + Sync + 'a;

/// What a tool works on.
#[derive(Clone, Copy)]
pub struct ToolContext<'a> {
    /// The merged view: every read sees what is staged, every write is staged.
    pub view: &'a Overlay,
    /// The workspace's absolute path, only to understand absolute path arguments.
    pub workspace: &'a str,
    /// The limits in force.
    pub limits: &'a Limits,
    /// Paths that no tool reads, writes or lists. Links are resolved first, so that a second name opens nothing.
    pub denied: &'a Denied<'a>,
    /// Variables for a command of this call, over the runner's own: the hardened ones that the verdict asks for.
    pub environment: &'a BTreeMap<String, String>,
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
    },
    /// The overlay is full: the whole speculation ends, not only this call.
    #[error("{message}")]
    Quota {
        /// Which limit.
        message: String,
    },
}

/// A quota stays a quota; every other refusal of the tree is a failure of this call.
impl From<TreeError> for ToolError {
    fn from(error: TreeError) -> Self {
        let message = error.to_string();
        match error {
            TreeError::Quota { .. } => Self::Quota { message },
            _ => Self::Failed { message },
        }
    }
}

/// A tool that an agent can call.
#[async_trait]
pub trait Tool: Send + Sync {
    /// How it is offered to the model.
    fn schema(&self) -> ToolSchema;

    /// Runs it. Everything it writes goes to `context.view`.
    async fn run(&self, args: &Map<String, Value>, context: ToolContext<'_>) -> Result<String, ToolError>;
}
