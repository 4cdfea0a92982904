//! The wire format of Anthropic's Messages. A pure function encodes a request; [`Decoder`](crate::Decoder) reads the answer.
//!
//! # How the prefix is kept
//!
//! The body begins with what the requests of a conversation share: `model`, `stream`, `tools`, `system`, `messages`;
//! only `max_tokens` follows. Thinking is never requested: switching it on for a turn and off for its fork would make
//! the cached messages useless, and a history with calls would have to contain the signed thoughts that led to them.
//! What newer models think without being asked is dropped; the limit of an answer leaves room for it.
//!
//! At most four marks (`cache_control`) say where a cached prefix may end: the last tool, the system instruction, the
//! last message that a later request can share, and the message before the model's last one, where the previous
//! request had its mark. The previous mark is needed because the provider only looks back some twenty blocks, and
//! many parallel calls may lie in between. As a conversation grows, the marks on messages move. Each is the last
//! thing in its block, so all other bytes stay the same, and the cache compares content, not marks.
//!
//! A request with a response schema is a single question. Its last message is never sent again, so the mark is on the
//! one before, and the schema follows it in words.

mod encode;
mod read;

pub use encode::encode;
pub(crate) use read::Reader;

/// Identifies what this format wrote into a conversation.
pub(crate) const ID: &str = "anthropic";

/// What a host may choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The limit of an answer if the request has none, because the provider requires one in every request.
    pub max_tokens: u32,
}

impl Default for Options {
    /// The largest limit that every current model accepts.
    fn default() -> Self {
        Self { max_tokens: 32_000 }
    }
}

#[cfg(test)]
mod tests;
