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
            &properties(),
            &[],
        )
    }

    async fn run(&self, args: &Map<String, Value>, context: ToolContext<'_>) -> Result<String, ToolError> {
        let known: &[&str] = if cfg!(feature = "more") { &["path", "recursive"] } else { &["path"] };
        let arguments = Arguments::new(BuiltinTool::Ls, args, known)?;
        let folder = locate(arguments.path()?.unwrap_or("."), context).await?;
        #[cfg(feature = "more")]
        if arguments.flag("recursive")? {
            return all_below(folder, context).await;
        }
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
            let mark = mark(entry.kind);
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

fn properties() -> Value {
    let path = json!({
        "type": "string",
        "description": "The folder: relative to the workspace, or absolute inside it. Default: the workspace."
    });
    #[cfg(feature = "more")]
    return json!({
        "path": path,
        "recursive": {
            "type": "boolean",
            "description": "Also what is in the folders below, each by its whole path, up to 200. Default: false."
        },
    });
    #[cfg(not(feature = "more"))]
    json!({ "path": path })
}

fn mark(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::Directory => "/",
        EntryKind::Symlink => "@",
        EntryKind::File | EntryKind::Other => "",
    }
}

/// Entries of a listing that goes down.
#[cfg(feature = "more")]
const MOST_BELOW: usize = 200;

#[cfg(feature = "more")]
async fn all_below(
    folder: headstart_overlay_fs::WorkspacePath,
    context: ToolContext<'_>,
) -> Result<String, ToolError> {
    let mut output = Output::new(context.limits.output_bytes);
    let mut walk = crate::walk::Walk::new(folder.clone(), context).await?;
    let (mut shown, mut left_out) = (0, 0);
    while let Some(found) = walk.next().await {
        if shown < MOST_BELOW && output.push_line(&format!("{}{}", found.path, mark(found.kind))) {
            shown += 1;
        } else {
            left_out += 1;
        }
    }
    if shown == 0 {
        output.note(&format!("{folder} has no entries to show"));
    }
    if 0 < left_out {
        output.note(&format!("{left_out} more entries; name a folder below, or glob"));
    }
    walk.notes().iter().for_each(|note| output.note(note));
    Ok(output.finish())
}
