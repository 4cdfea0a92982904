use std::sync::Arc;

use async_trait::async_trait;
use headstart_code_index::{View, repo_map};
use headstart_forked_query::ToolSchema;
use headstart_overlay_fs::{Tree as _, WorkspacePath};
use headstart_tool_gate::ours;
use serde_json::{Map, Value, json};

use super::call_view::IndexAccess;
use crate::arguments::Arguments;
use crate::location::locate;
use crate::output::OutputText;
use crate::{Tool, ToolContext, ToolError, ToolOutput};

/// The bytes of a map that count as one token, because names and numbers have short tokens.
const BYTES_OF_TOKEN: usize = 3;
const USUAL_TOKENS: usize = 1_000;

/// Shows the files on which most of the project depends, and what they define.
pub(super) struct RepoMap {
    pub(super) access: Arc<IndexAccess>,
}

#[async_trait]
impl Tool for RepoMap {
    fn schema(&self) -> ToolSchema {
        ToolSchema::of(
            &ours::REPO_MAP.name,
            "Shows a map of the project or of a folder: the files on which most of the rest is built, most important \
             first, each with its definitions as line: kind name. For a first look at what is where.",
            &json!({
                "tokens": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "How long the map may be, in tokens. Default: 1000."
                },
                "path": {
                    "type": "string",
                    "description": "The folder to show: relative to the workspace, or absolute inside it. Default: the \
                                    workspace."
                },
            }),
            &[],
        )
    }

    async fn run(
        &self,
        args: &Map<String, Value>,
        context: ToolContext<'_>,
    ) -> Result<ToolOutput, ToolError> {
        let arguments = Arguments::new(&ours::REPO_MAP, args, &["tokens", "path"])?;
        let tokens = arguments.count("tokens")?.unwrap_or(USUAL_TOKENS);
        let bytes = tokens.saturating_mul(BYTES_OF_TOKEN).min(context.limits.output_bytes);
        let below = locate(arguments.path()?.unwrap_or("."), context).await?;
        context.view.metadata(&below).await?;
        let view_of_call = self.access.call_view(context).await?;
        let (access, delta, asked) = (Arc::clone(&self.access), view_of_call.delta.clone(), below.clone());
        let (deny, consented) = (context.gate.deny.clone(), context.consented);
        let answer = self.access.with_index(move |moment| {
            let closes = |path: &WorkspacePath| deny.closes(path, consented);
            let staged = access.staged_layer(moment, &delta)?;
            let view = View::new(moment.snapshot, [staged.as_ref()]);
            let map = repo_map(&view, &asked, bytes, &closes)?;
            Ok::<_, headstart_code_index::IndexError>((map, moment.coverage.clone()))
        });
        let (map, coverage) = answer.await?.map_err(ToolError::of)?;
        let mut output = OutputText::new(context.limits.output_bytes);
        for line in map.lines() {
            output.push_line(line);
        }
        if map.is_empty() {
            output.note(&format!(
                "no definition is known in {below}, or none fits in so few tokens; ls and glob show files"
            ));
        }
        for note in coverage.notes() {
            output.note(&note);
        }
        Ok(output.finish().into())
    }
}
