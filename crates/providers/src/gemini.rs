//! The wire format of Gemini's `streamGenerateContent`. A pure function encodes a request; [`Decoder`](crate::Decoder)
//! reads the answer.
//!
//! # How the prefix is kept
//!
//! The body begins with what requests of a conversation share: `systemInstruction`, `tools`, `contents`; only
//! `generationConfig` follows. So the provider's implicit cache can be hit. A host that wants to be sure makes a cache of
//! its own: [`encode_cache`] is the body that creates one, [`read_cache`] reads the answer, and [`Options::cached`] names it
//! from then on. A request that does not begin with what is cached is sent whole. `PrefixKeeper` (feature `http`) does all of
//! it, the end included.
//!
//! # Thoughts
//!
//! They are dropped, but for the signatures of calls: newer models refuse a history in which a call of theirs lacks its
//! signature. It is kept in an [`Opaque`](headstart_forked_query::Opaque) part. A call without (of another provider, or
//! written by hand) gets the one that the provider documents for this; only the first of parallel calls needs any.

mod encode;
mod read;

use std::sync::Arc;
use std::time::Duration;

pub use encode::{encode, encode_cache};
pub(crate) use read::read;
pub use read::read_cache;

use crate::wire::Parameter;
use headstart_forked_query::ModelRequest;

/// Marks what this format wrote into a conversation.
pub(crate) const ID: &str = "gemini";

/// What a host may choose.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Options {
    /// How thinking is kept short, for a request that does without.
    pub thinking: ThinkingLimit,
    /// Whether calls and results carry their ids.
    pub call_ids: CallIds,
    /// A cache that the host made.
    pub cached: Option<CachedPrefix>,
}

impl Options {
    pub(crate) fn parameters(&self) -> Vec<Parameter> {
        const THINKING: Parameter = Parameter {
            name: "thinkingConfig",
            also: &[
                "thinking_config",
                "thinkingLevel",
                "thinking_level",
                "Thinking level",
                "thinkingBudget",
                "thinking_budget",
                "thinking budget",
                "Thinking",
                "thinking mode",
            ],
        };
        const CALL_IDS: Parameter = Parameter { name: "functionCall.id", also: &["Unknown name \"id\""] };
        let thinking = (self.thinking != ThinkingLimit::None).then_some(THINKING);
        let ids = (self.call_ids == CallIds::Sent).then_some(CALL_IDS);
        thinking.into_iter().chain(ids).collect()
    }

    pub(crate) fn without(&self, refused: &[&str]) -> Self {
        let mut left = self.clone();
        if refused.contains(&"thinkingConfig") {
            left.thinking = ThinkingLimit::None;
        }
        if refused.contains(&"functionCall.id") {
            left.call_ids = CallIds::Omitted;
        }
        left
    }
}

/// How thinking is kept short. No model of the newer families can be kept from it altogether.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ThinkingLimit {
    /// What the model's name calls for: no budget for 2.5 Flash, the least that there is for 2.5 Pro, a low level from
    /// 3 on, nothing for others.
    #[default]
    ByName,
    /// There is no switch.
    None,
    /// `thinkingBudget`, in tokens.
    Budget(u32),
    /// `thinkingLevel`.
    Level(String),
}

/// Whether calls and results carry their ids. Without, they pair by name and order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CallIds {
    /// They do.
    #[default]
    Sent,
    /// They do not: some gateways refuse the field.
    Omitted,
}

/// A prefix that the provider keeps under a name.
#[derive(Debug, Clone, PartialEq)]
pub struct CachedPrefix {
    /// As the provider named it: `cachedContents/…`.
    pub name: String,
    /// The request that was cached: model, system instruction, tools and all its messages.
    pub request: Arc<ModelRequest>,
    /// How many tokens of it are kept, as the provider counts; zero where it does not say.
    pub tokens: u64,
}

impl CachedPrefix {
    /// How many messages of this request are in the cache; `None` where it begins otherwise.
    pub fn covers(&self, request: &ModelRequest) -> Option<usize> {
        let cached = &self.request;
        let begins = cached.model == request.model
            && cached.system == request.system
            && cached.tools == request.tools
            && request.messages.starts_with(&cached.messages);
        // A request must ask something.
        (begins && cached.messages.len() < request.messages.len()).then_some(cached.messages.len())
    }
}

/// The longest that a cache is asked to live.
pub(crate) const LONGEST_CACHE: Duration = Duration::from_secs(24 * 60 * 60);

#[cfg(test)]
mod tests;
