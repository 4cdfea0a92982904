use async_trait::async_trait;
use headstart_forked_query::ToolSchema;
use headstart_overlay_fs::{EntryKind, Tree};
use headstart_tool_gate::BuiltinTool;
use serde_json::{Map, Value, json};

use super::schema;
use crate::arguments::Arguments;
use crate::ignore_rules::IgnoreRules;
use crate::location::locate;
use crate::output::Output;
use crate::{Tool, ToolContext, ToolError};

/// Lists one folder: a line an entry, a folder with `/`, a link with `@`.
pub(crate) struct Ls;

#[async_trait]
impl Tool for Ls {
    fn schema(&self) -> ToolSchema {
        schema(
            BuiltinTool::Ls,
            "Lists the names in a folder, one a line; folders end with /, symbolic links with @. What .gitignore \
             leaves out is only counted, unless the folder itself is ignored; .git is not shown.",
            &json!({
                "path": {
                    "type": "string",
                    "description": "The folder: relative to the workspace, or absolute inside it. Default: the \
                                    workspace."
                },
            }),
            &[],
        )
    }

    async fn run(&self, args: &Map<String, Value>, context: ToolContext<'_>) -> Result<String, ToolError> {
        let arguments = Arguments::new(BuiltinTool::Ls, args, &["path"])?;
        let folder = locate(arguments.path()?.unwrap_or("."), context).await?;
        let entries = context.view.list(&folder).await?;
        let rules = IgnoreRules::at_start(&folder, context).await.enter(&folder, context).await;

        let mut output = Output::new(context.limits.output_bytes);
        let (mut shown, mut ignored, mut left_out) = (0, 0, 0);
        for entry in entries {
            let Ok(path) = folder.join_bytes(&entry.name) else { continue };
            if entry.name == b".git" || context.closes(&path) {
                continue;
            }
            if rules.ignores(&path, entry.kind) {
                ignored += 1;
                continue;
            }
            let mark = match entry.kind {
                EntryKind::Directory => "/",
                EntryKind::Symlink => "@",
                EntryKind::File | EntryKind::Other => "",
            };
            let line = format!("{}{mark}", String::from_utf8_lossy(&entry.name));
            if shown < context.limits.matches && output.push_line(&line) {
                shown += 1;
            } else {
                left_out += 1;
            }
        }
        if shown == 0 {
            output.note(&format!("{folder} has no entries to show"));
        }
        if 0 < left_out {
            output.note(&format!("{left_out} more entries; glob with a narrower pattern shows them"));
        }
        if 0 < ignored {
            output.note(&format!("{ignored} more ignored by .gitignore; name one as path to look into it"));
        }
        Ok(output.finish())
    }
}
