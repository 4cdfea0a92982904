use std::sync::Arc;

use async_trait::async_trait;
use headstart_forked_query::ToolSchema;
use headstart_overlay_fs::{MemoryTree, Overlay, Quota, WorkspacePath};
use headstart_tool_gate::ours;
use serde_json::{Map, Value, json};

use crate::arguments::Arguments;
use crate::content::read_text;
use crate::location::locate_for_write;
use crate::output::truncate_output;
use crate::replacement::{error_message, replace};
use crate::{Tool, ToolContext, ToolError, ToolOutput};

/// The most edits of one call.
const MAX_EDITS: usize = 200;

/// Replaces several texts in a file: all of them, or none.
pub(super) struct MultiEdit;

struct Edit<'a> {
    old: &'a str,
    new: &'a str,
    all: bool,
}

#[async_trait]
impl Tool for MultiEdit {
    fn schema(&self) -> ToolSchema {
        ToolSchema::of(
            &ours::MULTI_EDIT.name,
            "Replaces several texts in one file, in order, each in what the ones before left: all of them or, where one does not apply, none. Each \
             is as a call of edit. Returns the change as a diff.",
            &json!({
                "file_path": {
                    "type": "string",
                    "description": "The file: relative to the workspace, or absolute inside it."
                },
                "edits": {
                    "type": "array",
                    "minItems": 1,
                    "items": {
                        "type": "object",
                        "properties": {
                            "old_string": { "type": "string", "description": "The text to replace, exactly, and unique at that moment." },
                            "new_string": { "type": "string", "description": "The text in its place." },
                            "replace_all": { "type": "boolean", "description": "Replace every occurrence. Default: false." }
                        },
                        "required": ["old_string", "new_string"],
                        "additionalProperties": false
                    }
                },
            }),
            &["file_path", "edits"],
        )
    }

    async fn run(
        &self,
        args: &Map<String, Value>,
        context: ToolContext<'_>,
    ) -> Result<ToolOutput, ToolError> {
        let arguments = Arguments::new(&ours::MULTI_EDIT, args, &["file_path", "edits"])?;
        let given = arguments.required_text("file_path")?;
        let edits = edits(&arguments)?;
        let path = locate_for_write(given, context).await?;
        let before = read_text(&path, context).await?;
        let mut after = before.bytes.clone();
        let mut count = 0;
        for (index, edit) in edits.iter().enumerate() {
            before.check_holds(&path, edit.new)?;
            let replaced = replace(&after, edit.old, edit.new, edit.all).map_err(|reason| {
                let number = index + 1;
                let seen = if index == 0 { "" } else { " as the edits before leave it" };
                let message = format!(
                    "edit {number} of {}, nothing is changed: {}{seen}{}",
                    edits.len(),
                    error_message(&path, &reason),
                    before.missing_hint(edit.old)
                );
                ToolError::failed(message)
            })?;
            after = replaced.content;
            count += replaced.lines.len();
        }
        if after == before.bytes {
            return Err(arguments.invalid("the edits together leave the file as it is"));
        }
        let diff = diff(&path, before.bytes.clone(), after.clone()).await;
        context.view.write(&path, before.encoded(after)).await?;
        let noun = if count == 1 { "text" } else { "texts" };
        Ok(truncate_output(format!("replaced {count} {noun} in {path}\n{diff}"), context.limits.output_bytes)
            .into())
    }
}

fn edits<'a>(arguments: &Arguments<'a>) -> Result<Vec<Edit<'a>>, ToolError> {
    let list = arguments.list("edits")?;
    if list.is_empty() || MAX_EDITS < list.len() {
        return Err(arguments.invalid(&format!("the argument edits must hold 1 to {MAX_EDITS} edits")));
    }
    let mut edits = Vec::new();
    for (index, value) in list.iter().enumerate() {
        let number = index + 1;
        let wrong = |what: &str| arguments.invalid(&format!("edit {number}: {what}"));
        let Value::Object(edit) = value else {
            return Err(wrong("it is an object with old_string and new_string"));
        };
        if let Some(key) =
            edit.keys().find(|key| !["old_string", "new_string", "replace_all"].contains(&key.as_str()))
        {
            return Err(wrong(&format!(
                "there is no field {key:?}; it takes old_string, new_string, replace_all"
            )));
        }
        let text = |name: &str| {
            edit.get(name).and_then(Value::as_str).ok_or_else(|| wrong(&format!("{name} must be a string")))
        };
        let all = match edit.get("replace_all") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(all)) => *all,
            Some(_) => return Err(wrong("replace_all must be true or false")),
        };
        let edit = Edit { old: text("old_string")?, new: text("new_string")?, all };
        if edit.old.is_empty() {
            return Err(wrong("old_string is empty; create_file makes a file"));
        }
        if edit.old == edit.new {
            return Err(wrong("old_string and new_string are the same; nothing would change"));
        }
        edits.push(edit);
    }
    Ok(edits)
}

/// The changes of this call alone.
async fn diff(path: &WorkspacePath, before: Vec<u8>, after: Vec<u8>) -> String {
    let tree = MemoryTree::new();
    tree.write(path, before);
    let overlay = Overlay::new(Arc::new(tree), Quota::default());
    match overlay.write(path, after).await {
        Ok(()) => overlay.change_set().diff().trim_end().to_owned(),
        Err(_) => String::new(),
    }
}
