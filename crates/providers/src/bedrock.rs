//! The wire format of Bedrock's `ConverseStream`, which is the same for all its models. A pure function encodes a
//! request; [`Decoder`](crate::Decoder) reads the answer, a stream of binary messages with checksums.
//!
//! # How the prefix is kept
//!
//! The body begins with what the requests of a conversation share: `toolConfig`, `system`, `messages`. Models that
//! cache prefixes get cache points where Anthropic's own format has its marks: behind tools and system instruction,
//! and behind the messages of this request and of the previous one.
//!
//! # Limitations
//!
//! Thoughts are shown and not sent back, so models are not asked to think.

mod encode;
mod messages;
mod read;

pub use encode::encode;
pub(crate) use messages::MessageDecoder;
pub(crate) use read::read;

/// Identifies what this format wrote into a conversation.
pub(crate) const ID: &str = "bedrock";

/// What a host may choose.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// Texts at which the model stops. Blank ones are left out, and only the first four of the rest are sent, because
    /// the service refuses more.
    pub stop_sequences: Vec<String>,
}

/// The part behind the base URL in a request to this model, whose name may be an ARN.
pub(crate) fn path(model: &str) -> String {
    format!("/model/{}/converse-stream", crate::wire::encoded(model))
}

#[cfg(test)]
mod tests;
