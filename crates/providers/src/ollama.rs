//! The wire format of Ollama's own `/api/chat`. A pure function encodes a request; [`Decoder`](crate::Decoder) reads the
//! answer, one JSON document a line.
//!
//! # How the prefix is kept
//!
//! The body begins with what requests of a conversation share: `model`, `stream`, `tools`, `messages`; only then come
//! `think`, `format` and `options`. The server keeps the last prompt of a loaded model and works out only what is new. A
//! context that is too small for the conversation is cut at its beginning without a word, so a host may say how large it must be;
//! it must say the same in every request, for another size loads the model anew.

mod encode;
mod read;

pub use encode::encode;
pub(crate) use read::read;

use crate::openai::StructuredOutput;

/// Marks what this format wrote into a conversation.
pub(crate) const ID: &str = "ollama";

/// What a host may choose.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// How an answer of a given schema is asked for.
    pub structured_output: StructuredOutput,
    /// `num_ctx`: how many tokens the model must be able to see at once.
    pub context_tokens: Option<u32>,
}
