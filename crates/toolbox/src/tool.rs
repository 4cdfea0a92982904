use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use headstart_forked_query::{ToolCall, ToolSchema};
use headstart_overlay_fs::{Overlay, WorkspacePath};
use serde_json::{Map, Value};

/// How much a tool may return or search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one tool's output; what follows is cut and said to be cut.
    pub output_bytes: usize,
    /// Lines of a file that `read_file` returns at once.
    pub read_lines: usize,
    /// Matches of `grep` and paths of `glob` and `ls`.
    pub matches: usize,
    /// Files that one search visits.
    pub files: usize,
    /// A file larger than this is not read or searched.
    pub file_bytes: u64,
    /// A command that runs longer is ended.
    pub command_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            output_bytes: 32 * 1024,
            read_lines: 2_000,
            matches: 1_000,
            files: 100_000,
            file_bytes: 16 * 1024 * 1024,
            command_time: Duration::from_secs(120),
        }
    }
}

/// What a tool works on.
#[derive(Clone, Copy)]
pub struct ToolContext<'a> {
    /// The merged view: every read sees what is staged, every write is staged.
    pub view: &'a Overlay,
    /// The workspace's absolute path, only to understand absolute path arguments.
    pub workspace: &'a str,
    /// The limits in force.
    pub limits: &'a Limits,
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

/// A tool that an agent can call.
#[async_trait]
pub trait Tool: Send + Sync {
    /// How it is offered to the model.
    fn schema(&self) -> ToolSchema;

    /// Runs it. Everything it writes goes to `context.view`.
    async fn run(&self, args: &Map<String, Value>, context: ToolContext<'_>) -> Result<String, ToolError>;
}

/// A command for the system's shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandRequest {
    /// The command line, for `bash -c`.
    pub command: String,
    /// Where it runs.
    pub directory: WorkspacePath,
    /// Variables set for it, over the runner's clean environment.
    pub environment: BTreeMap<String, String>,
    /// It is ended after this time.
    pub time_limit: Duration,
    /// At most so many bytes of output are kept.
    pub output_limit: usize,
}

/// What came of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutput {
    /// Standard output and standard error, in the order they came.
    pub output: String,
    /// The exit code; `None` where a signal ended it.
    pub exit_code: Option<i32>,
    /// Whether the time limit ended it.
    pub timed_out: bool,
    /// Whether output was cut.
    pub truncated: bool,
}

/// The port to the system's shell, which sees the real tree, not the staged one.
///
/// # Guarantees
///
/// Dropping the future ends the command and what it started. Standard input is empty.
#[async_trait]
pub trait CommandRunner: Send + Sync {
    /// Runs a command to its end.
    async fn run(&self, request: CommandRequest) -> Result<CommandOutput, ToolError>;
}

/// The tools of one agent.
#[derive(Clone, Default)]
pub struct Toolbox {
    tools: Vec<Arc<dyn Tool>>,
}

impl Toolbox {
    /// `read_file`, `grep`, `glob`, `ls`, `edit`, `write_file`, and `shell` where there is a runner.
    pub fn standard(_runner: Option<Arc<dyn CommandRunner>>) -> Self {
        todo!()
    }

    /// Adds a tool of the host's own.
    #[must_use]
    pub fn with(mut self, tool: Arc<dyn Tool>) -> Self {
        self.tools.push(tool);
        self
    }

    /// The tools as they are offered to a model, in a fixed order.
    pub fn schemas(&self) -> Vec<ToolSchema> {
        self.tools.iter().map(|tool| tool.schema()).collect()
    }

    /// Runs one call; the name may be an alias.
    pub async fn run(&self, _call: &ToolCall, _context: ToolContext<'_>) -> Result<String, ToolError> {
        todo!()
    }
}
