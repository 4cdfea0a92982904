//! The wire format of Anthropic's Messages. A pure function encodes a request; [`Decoder`](crate::Decoder) reads the answer.
//!
//! # How the prefix is kept
//!
//! The body begins with what requests of a conversation share: `model`, `stream`, `tools`, `system`, `messages`; only
//! `max_tokens` follows. Thinking is never asked for. To switch it between a turn and its fork would void the cached
//! messages, and a history of calls would have to carry the signed thoughts that led to them. What a model thinks unasked,
//! as newer ones do, is dropped; a limit of the answer leaves room for it.
//!
//! At most four marks (`cache_control`) say where a cached prefix may end: the last tool, the system instruction, the last
//! message that a later request can share, and the message before the model's last one, where the request before this
//! one had its mark. That one is found even when many parallel calls lie in between, for the provider looks back only some
//! twenty blocks. As a conversation grows, the marks on messages move. Each is the last thing in its block, so all
//! other bytes stay as they were, and the cache compares content, not marks.
//!
//! A request with a response schema is a single question. Its last message is never seen again, so the mark is on
//! the one before, and the schema is put into words after it.

mod encode;
mod read;

pub use encode::encode;
pub(crate) use read::Reader;

/// Marks what this format wrote into a conversation.
pub(crate) const ID: &str = "anthropic";

/// What a host may choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The limit of an answer where the request has none; the provider wants one in every request.
    pub max_tokens: u32,
}

impl Default for Options {
    /// As much as every current model may write.
    fn default() -> Self {
        Self { max_tokens: 32_000 }
    }
}

#[cfg(test)]
mod tests;
