use std::sync::Arc;

use crate::cut::cut_history;
use crate::pairing::repair_pairing;
use crate::{BackgroundModel, Message, ModelRequest, Opaque, Part, ProviderRelation, ToolSchema};

/// An immutable snapshot of a conversation, from which requests are forked whose beginning is in the provider's
/// prefix cache.
///
/// A clone is cheap.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheSafeParams {
    snapshot: Arc<Snapshot>,
}

#[derive(Debug, PartialEq)]
struct Snapshot {
    system: Option<String>,
    tools: Vec<ToolSchema>,
    history: Vec<Message>,
    model: String,
}

impl CacheSafeParams {
    /// A snapshot of the whole history. An illegal history is [repaired](crate::repair_pairing).
    pub fn new(
        system: Option<String>,
        tools: Vec<ToolSchema>,
        history: &[Message],
        model: impl Into<String>,
    ) -> Self {
        let history = repair_pairing(history.to_vec());
        Self { snapshot: Arc::new(Snapshot { system, tools, history, model: model.into() }) }
    }

    /// The snapshot after messages were added to the conversation: by a turn, by an accept, or by work that may be
    /// accepted.
    ///
    /// It equals what [`new`](Self::new) makes of the whole history, which the host need not keep.
    #[must_use]
    pub fn extended(&self, added: &[Message]) -> Self {
        let Snapshot { system, tools, model, .. } = &*self.snapshot;
        let history = [self.history(), added].concat();
        Self::new(system.clone(), tools.clone(), &history, model.clone())
    }

    /// The system instruction.
    pub fn system(&self) -> Option<&str> {
        self.snapshot.system.as_deref()
    }

    /// The tools on offer.
    pub fn tools(&self) -> &[ToolSchema] {
        &self.snapshot.tools
    }

    /// The conversation.
    pub fn history(&self) -> &[Message] {
        &self.snapshot.history
    }

    /// The ids of all calls in the conversation, including those that a fork leaves out, because no other call may
    /// have the same id.
    pub fn call_ids(&self) -> impl Iterator<Item = &str> {
        self.snapshot.history.iter().flat_map(Message::tool_calls).map(|call| call.id.as_str())
    }

    /// The name of the conversation's own model.
    pub fn model(&self) -> &str {
        &self.snapshot.model
    }

    /// A request with the same system instruction, tools and history, and with thinking off. Append the messages of
    /// the fork to it.
    ///
    /// For the conversation's own model it is the whole conversation: encoded, it begins with the bytes of the
    /// conversation's own request, up to the end of the shared history. Another model, which has nothing of it
    /// cached, gets only the end of the conversation ([`ForkLimits::entries`](crate::ForkLimits::entries)), without
    /// the parts that only the model that wrote them understands. The conversation's own model gets the end too if
    /// the conversation is longer than its window.
    ///
    /// An end begins with a user's text, no call is separated from its result, and the place of the cut stays the
    /// same for many turns, so that consecutive forks share one prefix.
    pub fn fork(&self, background: &BackgroundModel) -> ModelRequest {
        let whole = ModelRequest {
            model: background.name.clone(),
            system: self.snapshot.system.clone(),
            tools: self.snapshot.tools.clone(),
            messages: self.snapshot.history.clone(),
            thinking: false,
            response_schema: None,
            max_output_tokens: None,
        };
        if background.shares_cache(self) && background.limits.holds(&whole) {
            return whole;
        }
        let mut messages = cut_history(whole.messages, background.limits.entries);
        for message in &mut messages {
            message.parts.retain(|part| Self::is_for(part, background));
        }
        // An answer that consisted only of such parts is empty now.
        messages.retain(|message| !message.parts.is_empty());
        ModelRequest { messages, ..whole }
    }

    /// For how many answers a [fork](Self::fork) leaves out what the model that gave them wants back, because another
    /// model is asked.
    pub fn left_out(&self, background: &BackgroundModel) -> usize {
        let parts = self.history().iter().flat_map(|message| &message.parts);
        parts.filter(|part| !Self::is_for(part, background)).count()
    }

    fn is_for(part: &Part, background: &BackgroundModel) -> bool {
        match part {
            Part::Opaque(Opaque { model, .. }) => {
                background.provider == ProviderRelation::Same && *model == background.name
            }
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::testing::{Script, legal_history, message, result, text, tools};
    use crate::{ForkLimits, Role, check_pairing};

    #[test]
    fn an_illegal_history_is_repaired() {
        let history = [message(Role::User, [text("go")]), message(Role::Tool, [result("ghost")])];
        let params = CacheSafeParams::new(None, tools(), &history, "m");
        assert_eq!(params.history(), &history[..1]);
        assert_eq!(check_pairing(params.history()), Ok(()));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// A host that only keeps the snapshot and one that keeps the whole history fork the same requests.
        #[test]
        fn a_snapshot_that_grows_is_the_snapshot_of_the_whole(history in legal_history(1..120), place in 0..120_usize) {
            let ends: Vec<usize> = (0..=history.len()).filter(|end| check_pairing(&history[..*end]).is_ok()).collect();
            let split = ends[place % ends.len()];
            let whole = CacheSafeParams::new(None, tools(), &history, "m");
            let grown = CacheSafeParams::new(None, tools(), &history[..split], "m").extended(&history[split..]);
            prop_assert_eq!(grown, whole);
        }
    }

    fn long() -> Vec<Message> {
        let opaque = |model: &str| {
            Part::Opaque(Opaque { format: "chat".into(), model: model.into(), data: json!([]) })
        };
        let turn = |turn: usize| {
            let author = if turn.is_multiple_of(2) { "m" } else { "fast" };
            [
                message(Role::User, [text(&turn.to_string())]),
                message(Role::Model, [opaque(author), text("ok")]),
            ]
        };
        (0..30).flat_map(turn).collect()
    }

    fn background(name: &str, provider: ProviderRelation) -> BackgroundModel {
        BackgroundModel::fast(Script::answering([]), name, provider)
    }

    #[test]
    fn the_main_model_gets_the_whole_conversation_and_another_one_its_end() {
        let params = CacheSafeParams::new(None, tools(), &long(), "m");
        let main = background("m", ProviderRelation::Same);
        assert_eq!(params.fork(&main).messages, long());
        // The other model's thoughts are in the messages, and the wire format leaves them out.
        assert_eq!(params.left_out(&main), 15);
        // Only words, or what the model wrote itself.
        let cases = [
            ("fast", ProviderRelation::Same, 10, 15),
            ("m", ProviderRelation::Other, 0, 30),
            ("fast", ProviderRelation::Other, 0, 30),
        ];
        for (name, provider, wanted_back, left_out) in cases {
            let other = background(name, provider);
            let messages = params.fork(&other).messages;
            let opaque: Vec<_> = messages.iter().filter_map(Message::opaque).collect();
            assert!(opaque.iter().all(|opaque| opaque.model == name), "{name}");
            assert_eq!((messages.len(), opaque.len()), (40, wanted_back), "{name}");
            assert_eq!(params.left_out(&other), left_out, "{name}");
            assert_eq!(messages.last().unwrap().to_text(), "ok");
        }
        let few = BackgroundModel {
            limits: ForkLimits { entries: 12, ..ForkLimits::default() },
            ..background("fast", ProviderRelation::Same)
        };
        assert!((6..=12).contains(&params.fork(&few).messages.len()));
    }

    /// If the conversation does not fit the window, no request with all of it is accepted, but its end may fit.
    #[test]
    fn what_is_longer_than_the_window_is_cut() {
        let params = CacheSafeParams::new(None, Vec::new(), &long(), "m");
        let length = |tokens| {
            let limits = ForkLimits { window_tokens: tokens, ..ForkLimits::default() };
            params.fork(&BackgroundModel { limits, ..background("m", ProviderRelation::Same) }).messages.len()
        };
        assert_eq!([length(None), length(Some(4_000)), length(Some(500))], [60, 60, 40]);
    }
}
