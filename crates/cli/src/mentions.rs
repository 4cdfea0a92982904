//! What a prompt names with an `@`.

use std::sync::Arc;

use headstart_context::{Resolved, ToldByTools, mention_room, resolve_mentions};
use headstart_forked_query::CacheSafeParams;
use headstart_overlay_fs::Tree;
use headstart_speculation::PromptOf;
use headstart_tool_gate::GateContext;
use headstart_toolbox::Toolbox;

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
        let source = ToldByTools { toolbox: &self.toolbox, tree, gate, attended: whose == PromptOf::User };
        let room = mention_room(self.window, conversation);
        resolve_mentions(prompt, tree, gate, &source, room).await.map_err(|error| error.to_string())
    }
}
