//! Mentions in a prompt, which begin with `@`.

use std::sync::Arc;

use async_trait::async_trait;
use headstart_context::{
    HostMention, MentionSource, ResolvedMentions, ToolMentionSource, mention_budget, resolve_mentions,
};
use headstart_forked_query::CacheSafeParams;
use headstart_overlay_fs::Tree;
use headstart_speculation::PromptOrigin;
use headstart_tool_gate::GateContext;
use headstart_toolbox::Toolbox;

use crate::models::Models;
use crate::tool_servers::ServerTools;

/// Resolves the mentions of prompts.
pub struct Mentions {
    toolbox: Toolbox,
    /// The most tokens that the model sees at once, if that is known.
    window: Option<u64>,
    /// Whether the model accepts images.
    takes_images: bool,
    /// The servers whose resources may be mentioned.
    servers: Arc<ServerTools>,
}

/// The source of mentions: the tools and the servers.
struct Source<'a> {
    tools: ToolMentionSource<'a>,
    servers: &'a ServerTools,
}

#[async_trait]
impl MentionSource for Source<'_> {
    async fn resolve(&self, what: HostMention, prompt: &str) -> Result<String, String> {
        self.tools.resolve(what, prompt).await
    }

    async fn fetch(&self, address: &str) -> Result<Option<String>, String> {
        self.tools.fetch(address).await
    }

    async fn resource(&self, server: &str, uri: &str) -> Result<Option<String>, String> {
        if !self.servers.is_running(server) {
            return Ok(None);
        }
        if !self.tools.attended {
            return Err("is not read ahead of you".to_owned());
        }
        self.servers.read_resource(server, uri).await.transpose()
    }
}

impl Mentions {
    pub fn new(toolbox: Toolbox, models: &Models, servers: Arc<ServerTools>) -> Self {
        let window = models.background.limits.window_tokens;
        Self { toolbox, window, takes_images: models.takes_images, servers }
    }

    /// What the model is told for the mentions of a prompt. The error says which of them cannot be resolved.
    pub(crate) async fn resolve(
        &self,
        prompt: &str,
        whose: PromptOrigin,
        conversation: &CacheSafeParams,
        tree: &Arc<dyn Tree>,
        gate: &GateContext,
    ) -> Result<ResolvedMentions, String> {
        let tools =
            ToolMentionSource { toolbox: &self.toolbox, tree, gate, attended: whose == PromptOrigin::User };
        let source = Source { tools, servers: &self.servers };
        let room = mention_budget(self.window, conversation);
        let resolved = resolve_mentions(prompt, tree, gate, &source, room).await;
        let resolved = resolved.map_err(|error| error.to_string())?;
        if !self.takes_images && !resolved.images.is_empty() {
            let problem =
                "the prompt mentions an image, and your configuration says images = false of this model";
            return Err(format!(
                "{problem}; /model chooses another, and a backslash before the @ makes it plain text"
            ));
        }
        Ok(resolved)
    }
}
