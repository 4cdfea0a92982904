//! What a prompt brings along in a project that has rules.

use std::sync::Arc;

use async_trait::async_trait;
use headstart_context::{HostMention, MentionSource, ProjectRules, mention_budget, resolve_mentions};
use headstart_forked_query::CacheSafeParams;
use headstart_overlay_fs::Tree;
use headstart_speculation::Attachments;
use headstart_tool_gate::GateContext;

/// The mentioned files, and the rules that are new to the model.
pub(super) async fn attachments_for(
    prompt: &str,
    conversation: &CacheSafeParams,
    tree: &Arc<dyn Tree>,
    gate: &GateContext,
) -> Result<Attachments, String> {
    let room = mention_budget(None, conversation);
    let resolved = resolve_mentions(prompt, tree, gate, &NoMentions, room).await;
    let resolved = resolved.map_err(|error| error.to_string())?;
    let (system, history) = (conversation.system(), conversation.history());
    let rules = ProjectRules::read(tree, gate).await;
    let told = rules.rules_for_prompt(prompt, system, history, tree, gate).await;
    let texts: Vec<_> = resolved.text.into_iter().chain(told.text).collect();
    let text = (!texts.is_empty()).then(|| texts.join("\n\n"));
    Ok(Attachments { text, images: resolved.images, read: resolved.read })
}

/// A source of mentions that knows only files and rules.
struct NoMentions;

#[async_trait]
impl MentionSource for NoMentions {
    async fn resolve(&self, _what: HostMention, _prompt: &str) -> Result<String, String> {
        Err("is not known here".to_owned())
    }
}
