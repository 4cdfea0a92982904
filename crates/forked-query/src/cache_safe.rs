use std::sync::Arc;

use crate::cut::cut_history;
use crate::pairing::repair_pairing;
use crate::{BackgroundModel, Message, ModelRequest, ToolSchema};

/// A snapshot of a conversation from which requests are forked that the provider's prefix cache already knows.
///
/// It never changes, and a clone costs nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheSafeParams {
    snapshot: Arc<Snapshot>,
    version: u64,
}

#[derive(Debug, PartialEq)]
struct Snapshot {
    system: Option<String>,
    tools: Vec<ToolSchema>,
    history: Vec<Message>,
    model: String,
}

impl CacheSafeParams {
    /// A snapshot of at most [`MAX_HISTORY_ENTRIES`](crate::MAX_HISTORY_ENTRIES) entries of the history, its version 1.
    ///
    /// A history that is not legal is [repaired](crate::repair_pairing). One that is too long loses its beginning:
    /// it then begins with a user's text, no call is parted from its result, and the place of the cut stays the
    /// same for many turns, so that consecutive forks share one prefix.
    pub fn new(
        system: Option<String>,
        tools: Vec<ToolSchema>,
        history: &[Message],
        model: impl Into<String>,
    ) -> Self {
        let history = cut_history(repair_pairing(history.to_vec()));
        Self { snapshot: Arc::new(Snapshot { system, tools, history, model: model.into() }), version: 1 }
    }

    /// A snapshot of what a successful main turn asked and what it added to the conversation.
    pub fn after_turn(request: &ModelRequest, added: &[Message]) -> Self {
        let history = [&request.messages, added].concat();
        Self::new(request.system.clone(), request.tools.clone(), &history, &request.model)
    }

    /// The system instruction.
    pub fn system(&self) -> Option<&str> {
        self.snapshot.system.as_deref()
    }

    /// The tools on offer.
    pub fn tools(&self) -> &[ToolSchema] {
        &self.snapshot.tools
    }

    /// The conversation, as far as it is kept.
    pub fn history(&self) -> &[Message] {
        &self.snapshot.history
    }

    /// The name of the conversation's own model.
    pub fn model(&self) -> &str {
        &self.snapshot.model
    }

    /// Raised by [`CacheSlots::save`](crate::CacheSlots::save) when system instruction or tools change.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// A request with the same system instruction, tools and history, thinking off: put the messages of the fork
    /// at its end. Encoded, it begins with the bytes of the conversation's own request, up to the end of the
    /// shared history.
    pub fn fork(&self, background: &BackgroundModel) -> ModelRequest {
        ModelRequest {
            model: background.name.clone(),
            system: self.snapshot.system.clone(),
            tools: self.snapshot.tools.clone(),
            messages: self.snapshot.history.clone(),
            thinking: false,
            response_schema: None,
            max_output_tokens: None,
        }
    }

    pub(crate) fn with_version(self, version: u64) -> Self {
        Self { version, ..self }
    }

    /// What a change of the version is about, as bytes: equal maps in another order are another prefix.
    pub(crate) fn configuration(&self) -> String {
        serde_json::to_string(&(&self.snapshot.system, &self.snapshot.tools))
            .expect("works because strings and JSON values are always JSON")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{message, result, text, tools};
    use crate::{Role, check_pairing};

    #[test]
    fn an_illegal_history_is_repaired() {
        let history = [message(Role::User, [text("go")]), message(Role::Tool, [result("ghost")])];
        let params = CacheSafeParams::new(None, tools(), &history, "m");
        assert_eq!(params.history(), &history[..1]);
        assert_eq!(check_pairing(params.history()), Ok(()));
    }

    #[test]
    fn what_a_turn_added_is_part_of_the_snapshot() {
        let params = CacheSafeParams::new(Some("s".into()), tools(), &[Message::text(Role::User, "a")], "m");
        let request = ModelRequest { messages: params.history().to_vec(), thinking: true, ..bare(&params) };
        let after = CacheSafeParams::after_turn(&request, &[Message::text(Role::Model, "b")]);
        assert_eq!(after.history().len(), 2);
        assert_eq!(after.configuration(), params.configuration());
    }

    fn bare(params: &CacheSafeParams) -> ModelRequest {
        ModelRequest {
            model: params.model().into(),
            system: params.system().map(Into::into),
            tools: params.tools().to_vec(),
            messages: Vec::new(),
            thinking: false,
            response_schema: None,
            max_output_tokens: None,
        }
    }
}
