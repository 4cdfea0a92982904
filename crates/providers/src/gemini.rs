//! The wire format of Gemini's `streamGenerateContent`. A pure function encodes a request; [`Decoder`](crate::Decoder)
//! reads the answer.
//!
//! # How the prefix is kept
//!
//! The body begins with what the requests of a conversation share: `systemInstruction`, `tools`, `contents`; only
//! `generationConfig` follows. So the provider's implicit cache can be hit. A host that wants to be sure makes a
//! cache of its own: [`encode_cache`] is the body that creates one, [`read_cache`] reads the answer, and
//! [`Options::cached`] names it from then on. A request that does not begin with the cached content is sent whole.
//! `PrefixCachingModel` (feature `http`) does all of this, including the deletion.
//!
//! # Thoughts
//!
//! They are dropped, except for the signatures of calls, because newer models refuse a history in which one of their
//! calls lacks its signature. It is kept in an [`Opaque`](headstart_forked_query::Opaque) part. A call without one
//! (of another provider, or written by hand) gets the placeholder that the provider documents; only the first of
//! parallel calls needs any.

mod encode;
mod read;

use std::sync::Arc;
use std::time::Duration;

pub use encode::{encode, encode_cache};
pub(crate) use read::read;
pub use read::read_cache;

use crate::parameter::Parameter;
use crate::wire::encoded;
use headstart_forked_query::ModelRequest;

/// Identifies what this format wrote into a conversation.
pub(crate) const ID: &str = "gemini";

/// What a host may choose.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Options {
    /// How thinking is kept short in a request that does without it.
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

    pub(crate) fn without_parameters(&self, refused: &[&str]) -> Self {
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

/// How thinking is kept short. Models of the newer families cannot be kept from it completely.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ThinkingLimit {
    /// According to the model's name: no budget for 2.5 Flash, the smallest possible one for 2.5 Pro, a low level
    /// from 3 on, nothing for others.
    #[default]
    ByName,
    /// Not at all.
    None,
    /// `thinkingBudget`, in tokens.
    Budget(u32),
    /// `thinkingLevel`.
    Level(String),
}

/// Whether calls and results carry their ids. Without ids, they are paired by name and order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CallIds {
    /// They do.
    #[default]
    Sent,
    /// They do not: some gateways refuse the field.
    Omitted,
}

/// A prefix that the provider stores under a name.
#[derive(Debug, Clone, PartialEq)]
pub struct CachedPrefix {
    /// The name that the provider gave it: `cachedContents/…`.
    pub name: String,
    /// The request that was cached: model, system instruction, tools and all its messages.
    pub request: Arc<ModelRequest>,
    /// The number of tokens stored, as the provider counts; 0 if it does not say.
    pub tokens: u64,
}

impl CachedPrefix {
    /// How many messages of this request are in the cache; `None` if the request begins differently.
    pub fn covers(&self, request: &ModelRequest) -> Option<usize> {
        let cached = &self.request;
        let begins = cached.model == request.model
            && cached.system == request.system
            && cached.tools == request.tools
            && request.messages.starts_with(&cached.messages);
        // At least one message must remain, because a request must ask something.
        (begins && cached.messages.len() < request.messages.len()).then_some(cached.messages.len())
    }
}

/// The longest lifetime that is requested for a cache.
pub(crate) const LONGEST_CACHE: Duration = Duration::from_secs(24 * 60 * 60);

/// The part behind the base URL in a request to this model. Its name may say its kind (`tunedModels/mine`), and nothing
/// else in it is a step of the path.
pub(crate) fn path(model: &str) -> String {
    let is_name = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.contains('/');
    match model.split_once('/').filter(|(kind, name)| is_name(kind) && is_name(name)) {
        Some((kind, name)) => format!("/{}/{}:streamGenerateContent", encoded(kind), encoded(name)),
        None => format!("/models/{}:streamGenerateContent", encoded(model)),
    }
}

#[cfg(test)]
mod tests;
