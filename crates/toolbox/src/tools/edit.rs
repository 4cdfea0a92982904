use async_trait::async_trait;
use headstart_forked_query::ToolSchema;
use headstart_overlay_fs::{Tree, TreeError};
use headstart_tool_gate::built_in;
use serde_json::{Map, Value, json};

use super::schema;
use crate::arguments::Arguments;
use crate::content::read_text;
use crate::location::locate_for_write;
use crate::replacement::{Replacement, error_message, list_lines, replace};
use crate::{Tool, ToolContext, ToolError, ToolOutput};

/// Replaces text in a file.
pub(crate) struct Edit;

struct EditArgs<'a> {
    file_path: &'a str,
    old_string: &'a str,
    new_string: &'a str,
    replace_all: bool,
}

impl<'a> EditArgs<'a> {
    fn parse(args: &'a Map<String, Value>) -> Result<Self, ToolError> {
        let known = ["file_path", "old_string", "new_string", "replace_all"];
        let arguments = Arguments::new(&built_in::EDIT, args, &known)?;
        let parsed = Self {
            file_path: arguments.required_path("file_path")?,
            old_string: arguments.required_text("old_string")?,
            new_string: arguments.required_text("new_string")?,
            replace_all: arguments.flag("replace_all")?,
        };
        if parsed.old_string == parsed.new_string {
            return Err(arguments.invalid("old_string and new_string are the same; nothing would change"));
        }
        Ok(parsed)
    }
}

#[async_trait]
impl Tool for Edit {
    fn schema(&self) -> ToolSchema {
        schema(
            &built_in::EDIT,
            "Replaces a text in a file. old_string must be found exactly once, unless replace_all is true. Line ends \
             (LF or CRLF) stay as the file has them. An empty old_string creates a file that does not exist or \
             fills one that is empty.",
            &json!({
                "file_path": {
                    "type": "string",
                    "description": "The file: relative to the workspace, or absolute inside it."
                },
                "old_string": {
                    "type": "string",
                    "description": "The text to replace, exactly as read_file shows it, with enough of the lines \
                                    around it to be unique."
                },
                "new_string": { "type": "string", "description": "The text in its place." },
                "replace_all": {
                    "type": "boolean",
                    "description": "Replace every occurrence. Default: false."
                },
            }),
            &["file_path", "old_string", "new_string"],
        )
    }

    async fn run(
        &self,
        args: &Map<String, Value>,
        context: ToolContext<'_>,
    ) -> Result<ToolOutput, ToolError> {
        let args = EditArgs::parse(args)?;
        let path = locate_for_write(args.file_path, context).await?;
        match context.view.metadata(&path).await {
            Err(TreeError::NotFound { .. }) if args.old_string.is_empty() => {
                context.view.write(&path, args.new_string.into()).await?;
                return Ok(format!("created {path}").into());
            }
            Err(TreeError::NotFound { .. }) => {
                let message = format!("{path} does not exist; write_file creates it, glob finds another");
                return Err(ToolError::failed(message));
            }
            Err(error) => return Err(error.into()),
            Ok(_) => {}
        }
        let before = read_text(&path, context).await?;
        if args.old_string.is_empty() {
            if !before.bytes.is_empty() {
                let message = format!(
                    "old_string is empty but {path} is not; give the text to replace, or use write_file"
                );
                return Err(ToolError::failed(message));
            }
            context.view.write(&path, args.new_string.into()).await?;
            return Ok(format!("filled {path}, which was empty").into());
        }
        before.check_holds(&path, args.new_string)?;
        let Replacement { content: after, lines } =
            replace(&before.bytes, args.old_string, args.new_string, args.replace_all).map_err(|reason| {
                let hint = before.missing_hint(args.old_string);
                ToolError::failed(format!("{}{hint}", error_message(&path, &reason)))
            })?;
        context.view.write(&path, before.encoded(after)).await?;
        let occurrences = if lines.len() == 1 { "occurrence" } else { "occurrences" };
        Ok(format!("replaced {} {occurrences} in {path} ({})", lines.len(), list_lines(&lines)).into())
    }
}
