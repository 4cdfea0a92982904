//! The wire format of OpenAI's chat completions, which most servers speak. A pure function encodes a request;
//! [`Decoder`](crate::Decoder) reads the answer.
//!
//! # How the prefix is kept
//!
//! The encoded request is ordered so that what the requests of a conversation share comes first: `model`, `stream`,
//! `tools`, `messages`, and only then what differs between them (answer format, limits, thinking). Each message is
//! encoded by itself, so a conversation that grew by a message begins with the same bytes as before.
//!
//! With [`CacheAnnotations::ByName`] a model of Anthropic's gets the marks described next, but for the last tool, which
//! comes before the system instruction there.
//!
//! With [`CacheAnnotations::DashScope`] there are at most four marks: the system instruction, the last tool, the last
//! message that a later request can share, and the message before the model's last one, where the previous request
//! had its mark, because the provider only looks back some twenty blocks, fewer than the calls of one answer may be.
//! The first two are the same in every request. The others move as the conversation grows, so every text is encoded
//! as a list of one block with the mark as the last thing in it: all bytes before it, including the whole text of
//! that message, are those of the forked request. Caches compare the content, not the mark. The message to mark is
//! the last one, except in a request with a response schema: that is a single question whose last message is never
//! sent again, so the mark belongs on the one before. Writing a cache for the question would cost more than it could
//! ever save.

mod content;
mod effort;
mod encode;
mod options;
mod read;
mod thoughts;

pub use effort::Effort;
pub(crate) use effort::does_not_think;
pub use encode::encode;
pub(crate) use options::THOUGHTS_REQUIRED;
pub use options::{
    CacheAnnotations, CallIds, OutputLimit, ReturnedThoughts, StreamUsage, StructuredOutput, ThinkingSwitch,
    WireOptions,
};
pub(crate) use read::read;

/// Identifies what this format wrote into a conversation.
pub(crate) const ID: &str = "chat";
