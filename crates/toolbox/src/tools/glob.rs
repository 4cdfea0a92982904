use async_trait::async_trait;
use globset::{GlobBuilder, GlobMatcher};
use headstart_forked_query::ToolSchema;
use headstart_overlay_fs::{EntryKind, WorkspacePath};
use headstart_tool_gate::BuiltinTool;
use serde_json::{Map, Value, json};

use super::schema;
use crate::arguments::Arguments;
use crate::location::locate;
use crate::output::Output;
use crate::walk::Walk;
use crate::{Tool, ToolContext, ToolError};

/// Finds files whose path matches a pattern.
pub(crate) struct Glob;

#[async_trait]
impl Tool for Glob {
    fn schema(&self) -> ToolSchema {
        schema(
            BuiltinTool::Glob,
            "Finds files whose path matches a glob pattern and returns their paths, relative to the workspace and \
             sorted. * and ? stay within one folder, ** spans folders, {a,b} and [abc] choose. What .gitignore \
             leaves out is not found, unless path names an ignored folder.",
            &json!({
                "pattern": {
                    "type": "string",
                    "description": "The pattern, relative to path: *.rs for files in that very folder, **/*.rs for \
                                    files at any depth."
                },
                "path": {
                    "type": "string",
                    "description": "The folder to search: relative to the workspace, or absolute inside it. Default: \
                                    the workspace."
                },
            }),
            &["pattern"],
        )
    }

    async fn run(&self, args: &Map<String, Value>, context: ToolContext<'_>) -> Result<String, ToolError> {
        let arguments = Arguments::new(BuiltinTool::Glob, args, &["pattern", "path"])?;
        let pattern = arguments.required_text("pattern")?;
        let path = arguments.path()?;
        let (pattern, path) = anchored(pattern, path, context.workspace);
        let matcher = compile(pattern).map_err(|message| arguments.invalid(&message))?;
        let start = locate(path, context).await?;

        let mut walk = Walk::new(start.clone(), context).await?;
        let mut output = Output::new(context.limits.output_bytes);
        let mut shown = 0;
        let mut more = false;
        while let Some(found) = walk.next().await {
            let is_file = matches!(found.kind, EntryKind::File | EntryKind::Symlink);
            if !is_file || !matches(&matcher, &found.path, &start) {
                continue;
            }
            if context.limits.matches <= shown || !output.push_line(&found.path.to_string()) {
                more = true;
                break;
            }
            shown += 1;
        }
        if shown == 0 && !more {
            output.note(&format!("no file below {start} matches {pattern}"));
            if !pattern.contains('/') {
                output.note(&format!(
                    "the pattern stays in that folder; **/{pattern} searches those below too"
                ));
            }
        }
        if more {
            output.note(&format!("stopped after {shown} paths; a narrower pattern or path shows the rest"));
        }
        for note in walk.notes() {
            output.note(&note);
        }
        Ok(output.finish())
    }
}

/// A glob pattern in which only `**` crosses `/`.
pub(super) fn compile(pattern: &str) -> Result<GlobMatcher, String> {
    let pattern = pattern.trim_start_matches("./");
    if pattern.is_empty() {
        return Err("the pattern is empty; **/* matches every file".to_owned());
    }
    if pattern.split('/').any(|name| name == "..") {
        return Err("the pattern must not contain ..; use path for the folder to search".to_owned());
    }
    GlobBuilder::new(pattern)
        .literal_separator(true)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|error| format!("the pattern is not a valid glob: {}", error.kind()))
}

/// A pattern below the workspace's absolute path means the pattern from the workspace.
fn anchored<'a>(pattern: &'a str, path: Option<&'a str>, workspace: &str) -> (&'a str, &'a str) {
    let below = pattern.strip_prefix(workspace.trim_end_matches('/')).and_then(|rest| rest.strip_prefix('/'));
    match (below, path) {
        (Some(rest), None) if pattern.starts_with('/') => (rest, "."),
        _ => (pattern, path.unwrap_or(".")),
    }
}

fn matches(matcher: &GlobMatcher, path: &WorkspacePath, start: &WorkspacePath) -> bool {
    path.strip_prefix(start).is_some_and(|below| matcher.is_match(below.to_string()))
}
