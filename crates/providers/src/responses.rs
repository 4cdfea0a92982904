//! The wire format of OpenAI's Responses. A pure function encodes a request; [`Decoder`](crate::Decoder) reads the answer.
//!
//! # How the prefix is kept
//!
//! The body begins with what the requests of a conversation share: `model`, `stream`, `store`, `instructions`,
//! `tools`, `input`; only then comes what differs between them (limit, answer format, effort). The provider stores
//! nothing (`store` is false), so every request contains the whole conversation, item by item. Reasoning items are
//! requested in encrypted form (`include`) and sent back unchanged, messages with their `phase`. Items are sent
//! without the provider's ids, because it would look for stored ones.

mod encode;
mod read;

pub use encode::encode;
pub(crate) use read::Reader;

use crate::openai::{Effort, StructuredOutput, does_not_think};
use crate::parameter::Parameter;

/// Identifies what this format wrote into a conversation.
pub(crate) const ID: &str = "responses";

/// What a host may choose.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// How to ask for an answer with a given schema.
    pub structured_output: StructuredOutput,
    /// `reasoning.effort` for a question.
    pub effort: Effort,
    /// `prompt_cache_key`: requests with the same key are more likely to hit the same cache.
    pub prompt_cache_key: Option<String>,
    /// Whether reasoning is requested in a form that can be sent back.
    pub encrypted_thoughts: EncryptedThoughts,
}

/// Whether `reasoning.encrypted_content` is requested. Models that do not reason refuse it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EncryptedThoughts {
    /// For every model that is not known to do without reasoning.
    #[default]
    ByName,
    /// Never.
    No,
}

impl EncryptedThoughts {
    pub(crate) fn is_wanted(self, model: &str) -> bool {
        self == Self::ByName && !does_not_think(model)
    }
}

impl Options {
    pub(crate) fn parameters(&self) -> Vec<Parameter> {
        const EFFORT: Parameter =
            Parameter { name: "reasoning", also: &["reasoning.effort", "reasoning_effort"] };
        const FORMAT: Parameter = Parameter { name: "text", also: &["text.format", "response_format"] };
        const INCLUDE: Parameter =
            Parameter { name: "include", also: &["reasoning.encrypted_content", "Encrypted content"] };
        let effort = self.effort.is_specified().then_some(EFFORT);
        let format = (self.structured_output != StructuredOutput::Instruction).then_some(FORMAT);
        let key = self.prompt_cache_key.is_some().then_some(Parameter::named("prompt_cache_key"));
        let thoughts = (self.encrypted_thoughts != EncryptedThoughts::No).then_some(INCLUDE);
        [effort, format, key, thoughts].into_iter().flatten().collect()
    }

    pub(crate) fn without_parameters(&self, refused: &[&str]) -> Self {
        let mut left = self.clone();
        left.effort = self.effort.after_refusals(refused.iter().filter(|name| **name == "reasoning").count());
        if refused.contains(&"text") {
            left.structured_output = StructuredOutput::Instruction;
        }
        if refused.contains(&"include") {
            left.encrypted_thoughts = EncryptedThoughts::No;
        }
        if refused.contains(&"prompt_cache_key") {
            left.prompt_cache_key = None;
        }
        left
    }
}
