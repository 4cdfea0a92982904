//! The tools, one in each file.

mod edit;
mod glob;
mod grep;
mod ls;
mod read_file;
mod shell;
mod write_file;

pub(crate) use edit::Edit;
pub(crate) use glob::Glob;
pub(crate) use grep::Grep;
pub(crate) use ls::Ls;
pub(crate) use read_file::{ReadFile, text_of_page};
pub(crate) use shell::Shell;
#[cfg(feature = "more")]
pub(crate) use shell::{in_folder, required_command};
pub(crate) use write_file::WriteFile;

use headstart_forked_query::ToolSchema;
use headstart_tool_gate::Declaration;
use serde_json::Value;

/// A schema with exactly these arguments.
fn schema(tool: &Declaration, description: &str, properties: &Value, required: &[&str]) -> ToolSchema {
    ToolSchema::of(&tool.name, description, properties, required)
}
