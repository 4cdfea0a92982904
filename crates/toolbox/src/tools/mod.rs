//! The tools, one a file.

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
pub(crate) use read_file::ReadFile;
pub(crate) use shell::Shell;
pub(crate) use write_file::WriteFile;

use headstart_forked_query::ToolSchema;
use headstart_overlay_fs::{Metadata, Overlay, Tree, WorkspacePath};
use headstart_tool_gate::BuiltinTool;
use serde_json::{Value, json};

use crate::ToolError;

/// A schema whose arguments are exactly `properties`.
fn schema(tool: BuiltinTool, description: &str, properties: &Value, required: &[&str]) -> ToolSchema {
    ToolSchema {
        name: tool.name().to_owned(),
        description: description.to_owned(),
        parameters: json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        }),
    }
}

/// Stages the whole content of a file; one that was executable stays so.
async fn stage(
    view: &Overlay,
    path: &WorkspacePath,
    content: Vec<u8>,
    before: Option<&Metadata>,
) -> Result<(), ToolError> {
    view.write(path, content).await?;
    if before.is_some_and(|before| before.executable) && !view.metadata(path).await?.executable {
        view.set_executable(path, true).await?;
    }
    Ok(())
}
