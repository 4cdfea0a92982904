use async_trait::async_trait;
use headstart_forked_query::ToolSchema;
use headstart_overlay_fs::{Tree, TreeError};
use headstart_tool_gate::ours;
use serde_json::{Map, Value, json};

use crate::arguments::Arguments;
use crate::location::locate_for_write;
use crate::{Tool, ToolContext, ToolError, ToolOutput};

/// Makes a file, but replaces none.
pub(super) struct CreateFile;

#[async_trait]
impl Tool for CreateFile {
    fn schema(&self) -> ToolSchema {
        ToolSchema::of(
            &ours::CREATE_FILE.name,
            "Makes a new text file; missing folders are made. Where something is at the path already nothing changes, and the error says so: \
             edit changes an existing file, write_file replaces it.",
            &json!({
                "file_path": {
                    "type": "string",
                    "description": "The file: relative to the workspace, or absolute inside it."
                },
                "content": { "type": "string", "description": "The whole content." },
            }),
            &["file_path", "content"],
        )
    }

    async fn run(
        &self,
        args: &Map<String, Value>,
        context: ToolContext<'_>,
    ) -> Result<ToolOutput, ToolError> {
        let arguments = Arguments::new(&ours::CREATE_FILE, args, &["file_path", "content"])?;
        let path = locate_for_write(arguments.required_text("file_path")?, context).await?;
        let text = arguments.required_text("content")?;
        match context.view.metadata(&path).await {
            Err(TreeError::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
            Ok(_) => {
                let message = format!("{path} exists already; edit changes it, write_file replaces it");
                return Err(ToolError::failed(message));
            }
        }
        context.view.write(&path, text.into()).await?;
        let lines = text.lines().count();
        Ok(format!("created {path} ({lines} {})", if lines == 1 { "line" } else { "lines" }).into())
    }
}
