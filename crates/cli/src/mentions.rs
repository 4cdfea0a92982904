//! What a prompt names with an `@`, where only this program can tell it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use headstart_context::{MentionSource, Outside, Resolved, Window, resolve_mentions};
use headstart_forked_query::{CacheSafeParams, Gauge, ModelRequest};
use headstart_overlay_fs::Tree;
use headstart_speculation::PromptOf;
use headstart_tool_gate::GateContext;
use headstart_toolbox::Toolbox;
use serde_json::{Value, json};

use crate::asked_of_tools::Asking;

/// What mentions take of a prompt where nobody knows what the model sees at once, in bytes.
const MOST_BYTES: u64 = 256 * 1024;
/// As long a prompt waits for what git and the index say.
const TIME: Duration = Duration::from_secs(20);

/// Tells what prompts mention.
pub(crate) struct Mentions {
    toolbox: Toolbox,
    /// What the model sees at once.
    window: Option<u64>,
}

impl Mentions {
    pub(crate) fn new(toolbox: Toolbox, window: Option<u64>) -> Self {
        Self { toolbox, window }
    }

    /// What the model reads of the mentions of a prompt; the error says which of them cannot be told.
    pub(crate) async fn resolve(
        &self,
        prompt: &str,
        whose: PromptOf,
        conversation: &CacheSafeParams,
        tree: &Arc<dyn Tree>,
        gate: &GateContext,
    ) -> Result<Resolved, String> {
        let source = Source { toolbox: &self.toolbox, tree, gate, attended: whose == PromptOf::User };
        let room = usize::try_from(self.room(conversation)).unwrap_or(usize::MAX);
        resolve_mentions(prompt, tree, gate, &source, room).await.map_err(|error| error.to_string())
    }

    /// Half of what the conversation leaves of the window, in bytes.
    fn room(&self, conversation: &CacheSafeParams) -> u64 {
        let Some(tokens) = self.window else { return MOST_BYTES };
        let spent = Gauge::default().tokens(&ModelRequest {
            model: String::new(),
            system: conversation.system().map(str::to_owned),
            tools: conversation.tools().to_vec(),
            messages: conversation.history().to_vec(),
            thinking: true,
            response_schema: None,
            max_output_tokens: None,
        });
        let left = Window { tokens, ..Window::default() }.most().saturating_sub(spent);
        (left * 7 / 4).min(MOST_BYTES)
    }
}

struct Source<'a> {
    toolbox: &'a Toolbox,
    tree: &'a Arc<dyn Tree>,
    gate: &'a GateContext,
    /// Whether it is a prompt of the user's own.
    attended: bool,
}

#[async_trait]
impl MentionSource for Source<'_> {
    async fn tell(&self, what: Outside, prompt: &str) -> Result<String, String> {
        match what {
            Outside::Diff if !self.attended && !self.tree.staged_changes().is_empty() => {
                Err("is not known ahead of you, where something is staged".to_owned())
            }
            Outside::Diff => self.run("view_diff", &json!({})).await,
            Outside::Codebase => {
                let query = prompt.replace("@codebase", "");
                self.run("codebase", &json!({ "query": query.trim() })).await
            }
            Outside::Terminal | Outside::Problems | Outside::Open => {
                Err("is known in an editor only, not in this chat".to_owned())
            }
            _ => Err("is not known here".to_owned()),
        }
    }
}

impl Source<'_> {
    async fn run(&self, name: &str, args: &Value) -> Result<String, String> {
        if !self.toolbox.offers(name) {
            return Err(format!("needs {name}, which is not offered here"));
        }
        let Self { toolbox, tree, gate, attended } = *self;
        Asking { toolbox, tree, gate, attended, time: TIME }.run(name, args).await
    }
}
