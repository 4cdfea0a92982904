use async_trait::async_trait;
use headstart_forked_query::ToolSchema;
use headstart_overlay_fs::{EntryKind, Tree, TreeError};
use headstart_tool_gate::built_in;
use serde_json::{Map, Value, json};

use super::schema;
use crate::arguments::Arguments;
use crate::content::BOM;
use crate::location::locate_for_write;
use crate::replacement::with_line_ends_of;
use crate::{Tool, ToolContext, ToolError, ToolOutput};

/// Writes a whole file.
pub(crate) struct WriteFile;

#[async_trait]
impl Tool for WriteFile {
    fn schema(&self) -> ToolSchema {
        schema(
            &built_in::WRITE_FILE,
            "Writes a whole text file, new or in place of the old content; missing folders are made. A file that has \
             CRLF line ends, a byte order mark or the executable bit keeps them. For a change in an existing file \
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
        // A file that is too large to be read is replaced without a look; the overlay's quota decides.
        let small = before.len <= context.limits.file_bytes;
        let old = if small { context.view.read(&path).await? } else { Vec::new() };
        let text = with_line_ends_of(&old, given);
        let kept = if matches!(text, std::borrow::Cow::Owned(_)) { "; CRLF line ends kept" } else { "" };
        let mut new = text.into_owned().into_bytes();
        if old.starts_with(BOM) && !new.starts_with(BOM) {
            new.splice(0..0, BOM.iter().copied());
        }
        if new == old && before.len == new.len() as u64 {
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
