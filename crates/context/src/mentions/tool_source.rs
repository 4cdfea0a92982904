use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use headstart_overlay_fs::Tree;
use headstart_tool_gate::{GateContext, ours};
use headstart_toolbox::Toolbox;
use serde_json::{Value, json};

use super::{HostMention, MentionSource};
use crate::ToolCaller;

/// How long a prompt waits for the answers of git and the index.
const TIME: Duration = Duration::from_secs(20);

/// Resolves mentions with tools of the conversation: `@diff` and `@codebase`, if `view_diff` and `codebase` are
/// offered.
pub struct ToolMentionSource<'a> {
    /// The tools.
    pub toolbox: &'a Toolbox,
    /// The tree that the work sees.
    pub tree: &'a Arc<dyn Tree>,
    /// The rules in force.
    pub gate: &'a GateContext,
    /// Whether it is for a prompt of the user.
    pub attended: bool,
}

impl ToolMentionSource<'_> {
    /// Whether there is a tool for this mention.
    pub fn supports(toolbox: &Toolbox, what: HostMention) -> bool {
        tool_of(what).is_some_and(|name| toolbox.offers(name))
    }

    async fn run(&self, name: &str, args: &Value) -> Result<String, String> {
        if !self.toolbox.offers(name) {
            return Err(format!("needs {name}, which is not offered here"));
        }
        let Self { toolbox, tree, gate, attended } = *self;
        ToolCaller { toolbox, tree, gate, attended, time: TIME }.run(name, args).await
    }
}

fn tool_of(what: HostMention) -> Option<&'static str> {
    match what {
        HostMention::Diff => Some(&ours::VIEW_DIFF.name),
        HostMention::Codebase => Some(&ours::CODEBASE.name),
        _ => None,
    }
}

#[async_trait]
impl MentionSource for ToolMentionSource<'_> {
    async fn resolve(&self, what: HostMention, prompt: &str) -> Result<String, String> {
        let Some(tool) = tool_of(what) else {
            return Err(match what {
                HostMention::Terminal
                | HostMention::Problems
                | HostMention::Open
                | HostMention::Selection => "is known in an editor only, not in this chat".to_owned(),
                _ => "is not known here".to_owned(),
            });
        };
        if what == HostMention::Diff && !self.attended && !self.tree.staged_changes().is_empty() {
            return Err("is not known ahead of you, where something is staged".to_owned());
        }
        let query = prompt.replace("@codebase", "");
        let args = if what == HostMention::Codebase { json!({ "query": query.trim() }) } else { json!({}) };
        self.run(tool, &args).await
    }

    async fn fetch(&self, address: &str) -> Result<Option<String>, String> {
        let fetch = &*ours::FETCH_URL.name;
        if !self.toolbox.offers(fetch) {
            return Ok(None);
        }
        if !self.attended {
            return Err("is not fetched ahead of you".to_owned());
        }
        self.run(fetch, &json!({ "url": address })).await.map(Some)
    }
}
