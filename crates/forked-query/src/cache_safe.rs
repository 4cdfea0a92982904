use std::collections::BTreeSet;
use std::sync::Arc;

use crate::cut::{MAX_HISTORY_ENTRIES, cut_history};
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
    /// Whether the history was too long once, so that this is the end of it.
    is_end: bool,
    /// The ids of the calls in the part of the history that is not kept.
    forgotten_ids: BTreeSet<String>,
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
        Self::of(system, tools, history.to_vec(), model.into(), (false, BTreeSet::new()))
    }

    fn of(
        system: Option<String>,
        tools: Vec<ToolSchema>,
        history: Vec<Message>,
        model: String,
        (was_end, mut forgotten_ids): (bool, BTreeSet<String>),
    ) -> Self {
        let whole = repair_pairing(history);
        let is_end = was_end || MAX_HISTORY_ENTRIES < whole.len();
        forgotten_ids.extend(ids_in(&whole).map(str::to_owned));
        let history = cut_history(whole, was_end);
        for id in ids_in(&history) {
            forgotten_ids.remove(id);
        }
        let snapshot = Snapshot { system, tools, history, is_end, forgotten_ids, model };
        Self { snapshot: Arc::new(snapshot), version: 1 }
    }

    /// A snapshot of what a successful main turn asked and what it added to the conversation.
    pub fn after_turn(request: &ModelRequest, added: &[Message]) -> Self {
        let history = [&request.messages, added].concat();
        Self::new(request.system.clone(), request.tools.clone(), &history, &request.model)
    }

    /// The snapshot after this was added to the conversation: by a turn, by an accept, or by work that may be accepted.
    ///
    /// It is the one that [`new`](Self::new) makes of the whole history, without the host having to keep that.
    #[must_use]
    pub fn extended(&self, added: &[Message]) -> Self {
        let Snapshot { system, tools, is_end, forgotten_ids, model, .. } = &*self.snapshot;
        let history = [self.history(), added].concat();
        let end = (*is_end, forgotten_ids.clone());
        let extended = Self::of(system.clone(), tools.clone(), history, model.clone(), end);
        extended.with_version(self.version)
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

    /// The ids of all calls in the conversation, those in the part that is not kept included: no other call may have
    /// one of them.
    pub fn call_ids(&self) -> impl Iterator<Item = &str> {
        ids_in(&self.snapshot.history).chain(self.snapshot.forgotten_ids.iter().map(String::as_str))
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

fn ids_in(messages: &[Message]) -> impl Iterator<Item = &str> {
    messages.iter().flat_map(Message::tool_calls).map(|call| call.id.as_str())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::testing::{legal_history, message, result, text, tools};
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

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// A host that keeps no history of its own, and one that does, fork the same requests.
        #[test]
        fn a_snapshot_that_grows_is_the_snapshot_of_the_whole(history in legal_history(1..120), place in 0..120_usize) {
            let mut history = history;
            // Each with a user at its beginning: without one there is nothing to go on from.
            history.insert(0, message(Role::User, [text("go")]));
            let ends: Vec<usize> = (1..=history.len()).filter(|end| check_pairing(&history[..*end]).is_ok()).collect();
            let split = ends[place % ends.len()];
            let whole = CacheSafeParams::new(None, tools(), &history, "m");
            let grown = CacheSafeParams::new(None, tools(), &history[..split], "m").extended(&history[split..]);
            prop_assert_eq!(grown.history(), whole.history());
            let all: BTreeSet<&str> = ids_in(&history).collect();
            prop_assert_eq!(whole.call_ids().collect::<BTreeSet<_>>(), all.clone());
            prop_assert_eq!(grown.call_ids().collect::<BTreeSet<_>>(), all);
        }
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
