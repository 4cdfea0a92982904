//! The built-in tools of a coding agent, over a merged view of staged and real files.

mod arguments;
mod command;
mod content;
mod ignore_rules;
mod limits;
mod line_search;
mod location;
mod output;
mod replacement;
mod tool;
mod toolbox;
mod tools;
mod walk;

pub use command::{CommandOutput, CommandRequest, CommandRunner};
pub use limits::Limits;
pub use tool::{Denied, Tool, ToolContext, ToolError};
pub use toolbox::Toolbox;
