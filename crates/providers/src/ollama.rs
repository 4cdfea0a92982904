//! The wire format of Ollama's own `/api/chat`. A pure function encodes a request; [`Decoder`](crate::Decoder) reads
//! the answer, one JSON document on each line.
//!
//! # How the prefix is kept
//!
//! The body begins with what the requests of a conversation share: `model`, `stream`, `tools`, `messages`; only then
//! come `think`, `format` and `options`. The server keeps the last prompt of a loaded model and only processes what
//! is new. If the context is too small for the conversation, the server silently cuts its beginning, so a host may
//! say how large it must be; it must be the same in every request, because another size loads the model anew.

mod encode;
mod read;

pub use encode::encode;
pub(crate) use read::read;

use crate::openai::StructuredOutput;
use crate::parameter::Parameter;

/// Identifies what this format wrote into a conversation.
pub(crate) const ID: &str = "ollama";

/// What a host may choose.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// How to ask for an answer with a given schema.
    pub structured_output: StructuredOutput,
    /// `num_ctx`: the context size in tokens.
    pub context_tokens: Option<u32>,
}

impl Options {
    pub(crate) fn parameters(&self) -> Vec<Parameter> {
        const FORMAT: Parameter = Parameter { name: "format", also: &["schema", "grammar"] };
        let has_format = self.structured_output != StructuredOutput::Instruction;
        has_format.then_some(FORMAT).into_iter().collect()
    }

    pub(crate) fn without_parameters(&self, refused: &[&str]) -> Self {
        let mut left = self.clone();
        if refused.contains(&"format") {
            left.structured_output = StructuredOutput::Instruction;
        }
        left
    }
}
