use async_trait::async_trait;
use headstart_forked_query::ToolSchema;
use headstart_overlay_fs::{EntryKind, Tree, TreeError};
use headstart_tool_gate::built_in;
use serde_json::{Map, Value, json};

use super::schema;
use crate::arguments::Arguments;
use crate::content::{BOM, FileText, with_line_ends_of};
use crate::location::locate_for_write;
use crate::{Tool, ToolContext, ToolError, ToolOutput};

/// Writes a whole file.
pub(crate) struct WriteFile;

#[async_trait]
impl Tool for WriteFile {
    fn schema(&self) -> ToolSchema {
        schema(
            &built_in::WRITE_FILE,
            "Writes a whole text file, new or in place of the old content; missing folders are made. A file keeps its \
             encoding, its line ends, a byte order mark and the executable bit. For a change in an existing file \
             use edit.",
            &json!({
                "file_path": {
                    "type": "string",
                    "description": "The file: relative to the workspace, or absolute inside it."
                },
                "content": { "type": "string", "description": "The whole new content." },
            }),
            &["file_path", "content"],
        )
    }

    async fn run(
        &self,
        args: &Map<String, Value>,
        context: ToolContext<'_>,
    ) -> Result<ToolOutput, ToolError> {
        let arguments = Arguments::new(&built_in::WRITE_FILE, args, &["file_path", "content"])?;
        let path = arguments.required_path("file_path")?;
        let given = arguments.required_text("content")?;
        let path = locate_for_write(path, context).await?;

        let before = match context.view.metadata(&path).await {
            Ok(metadata) => metadata,
            Err(TreeError::NotFound { .. }) => {
                context.view.write(&path, given.into()).await?;
                return Ok(format!("created {path} ({})", lines(given)).into());
            }
            Err(error) => return Err(error.into()),
        };
        if before.kind != EntryKind::File {
            let kind = if before.kind == EntryKind::Directory { "a directory" } else { "not a regular file" };
            return Err(ToolError::failed(format!("{path} is {kind}; name a file")));
        }
        let old = context.view.read(&path).await?;
        let Some(text) = FileText::of(old.clone()) else {
            let message = format!(
                "{path} is a binary file ({} bytes), and not replaced by text; if it is to be, remove it first",
                old.len()
            );
            return Err(ToolError::failed(message));
        };
        text.check_holds(&path, given)?;
        let (given_ends, line_ends) = with_line_ends_of(&text.bytes, given);
        let kept = format!("{line_ends}{}", text.kept());
        let mut new = given_ends.into_owned().into_bytes();
        if text.bytes.starts_with(BOM) && !new.starts_with(BOM) {
            new.splice(0..0, BOM.iter().copied());
        }
        let new = text.encoded(new);
        if new == old {
            return Ok(format!("{path} has this content already; nothing changed").into());
        }
        context.view.write(&path, new).await?;
        Ok(format!("replaced the content of {path} ({}{kept})", lines(given)).into())
    }
}

fn lines(text: &str) -> String {
    match text.lines().count() {
        1 => "1 line".to_owned(),
        count => format!("{count} lines"),
    }
}
