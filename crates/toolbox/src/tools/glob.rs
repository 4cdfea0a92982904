use async_trait::async_trait;
use headstart_forked_query::ToolSchema;
use headstart_overlay_fs::{EntryKind, Tree, WorkspacePath};
use headstart_tool_gate::built_in;
use headstart_workspace_path::Glob as Pattern;
use serde_json::{Map, Value, json};

use super::schema;
use crate::arguments::Arguments;
use crate::location::locate;
use crate::output::OutputText;
use crate::walk::Walk;
use crate::{Tool, ToolContext, ToolError, ToolOutput};

/// Finds files whose path matches a pattern.
pub(crate) struct Glob;

#[async_trait]
impl Tool for Glob {
    fn schema(&self) -> ToolSchema {
        schema(
            &built_in::GLOB,
            "Finds files and links whose path matches a glob pattern and returns their paths, relative to the workspace and \
             sorted. * and ? stay within one folder, ** spans folders, {a,b} and [abc] choose. What .gitignore \
             leaves out is not found, unless path or the beginning of pattern names an ignored folder.",
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

    async fn run(
        &self,
        args: &Map<String, Value>,
        context: ToolContext<'_>,
    ) -> Result<ToolOutput, ToolError> {
        let arguments = Arguments::new(&built_in::GLOB, args, &["pattern", "path"])?;
        let given = arguments.required_text("pattern")?;
        let (pattern, path) = anchored(given, arguments.path()?, &context.gate.workspace)?;
        let (folders, rest) = split(pattern);
        let matcher = compile(rest).map_err(|message| arguments.invalid(&message))?;
        let mut start = locate(path, context).await?;

        let mut output = OutputText::new(context.limits.output_bytes);
        let nothing = format!("no file below {start} matches {given}");
        if !folders.is_empty() {
            // These folders are named on purpose, as a path is, so they are searched even if they are ignored.
            start = locate(&format!("{start}/{folders}"), context).await?;
            if !is_folder(&start, context).await {
                output.note(&nothing);
                return Ok(output.finish_items());
            }
        }
        let mut walk = Walk::new(start.clone(), context).await?;
        let (shown, more) = search(&mut walk, &matcher, &start, context, &mut output).await;
        if more {
            output.note(&format!("stopped after {shown} paths; a narrower pattern or path shows the rest"));
        } else if shown == 0 {
            output.note(&nothing);
            if !given.contains('/') {
                output
                    .note(&format!("the pattern stays in that folder; **/{given} searches those below too"));
            }
        }
        for note in walk.notes() {
            output.note(&note);
        }
        Ok(output.finish_items())
    }
}

/// Compiles a glob pattern in which only `**` crosses `/`.
pub(super) fn compile(pattern: &str) -> Result<Pattern, String> {
    let pattern = pattern.trim_start_matches("./");
    if pattern.is_empty() {
        return Err("the pattern is empty; **/* matches every file".to_owned());
    }
    Pattern::new(pattern).map_err(|error| format!("the pattern is not a valid glob: {error}"))
}

/// An absolute pattern starts in the workspace, whatever the path is. No pattern leads out.
fn anchored<'a>(
    pattern: &'a str,
    path: Option<&'a str>,
    workspace: &str,
) -> Result<(&'a str, &'a str), ToolError> {
    let refused = |why: &str| Err(ToolError::failed(format!("{pattern:?} {why}")));
    if pattern.split('/').any(|name| name == "..") {
        return refused("contains ..; use path for the folder to search");
    }
    if !pattern.starts_with('/') {
        return Ok((pattern, path.unwrap_or(".")));
    }
    match pattern.strip_prefix(workspace.trim_end_matches('/')).and_then(|rest| rest.strip_prefix('/')) {
        Some(rest) => Ok((rest, ".")),
        None => refused("is outside the workspace; use a pattern inside it"),
    }
}

/// The folders before the first special character of a pattern, and the rest.
fn split(pattern: &str) -> (&str, &str) {
    let special = pattern.find(['*', '?', '[', ']', '{', '}', '\\']).unwrap_or(pattern.len());
    pattern[..special].rfind('/').map_or(("", pattern), |slash| (&pattern[..slash], &pattern[slash + 1..]))
}

async fn is_folder(path: &WorkspacePath, context: ToolContext<'_>) -> bool {
    context.view.metadata(path).await.is_ok_and(|metadata| metadata.kind == EntryKind::Directory)
}

/// Searches; returns how many paths were found and written, and whether there are more.
async fn search(
    walk: &mut Walk<'_>,
    matcher: &Pattern,
    start: &WorkspacePath,
    context: ToolContext<'_>,
    output: &mut OutputText,
) -> (usize, bool) {
    let mut shown = 0;
    while let Some(found) = walk.next().await {
        let is_file = matches!(found.kind, EntryKind::File | EntryKind::Symlink);
        let below = found.path.strip_prefix(start).unwrap_or_default();
        if !is_file || !matcher.is_match(below.as_bytes()) {
            continue;
        }
        if context.limits.matches <= shown || !output.push_at(&found.path, None, &found.path.to_string()) {
            return (shown, true);
        }
        shown += 1;
    }
    (shown, false)
}
