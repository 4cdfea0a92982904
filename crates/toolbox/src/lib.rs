//! The built-in tools over a merged view.

mod tool;

pub use tool::{CommandOutput, CommandRequest, CommandRunner, Limits, Tool, ToolContext, ToolError, Toolbox};
