//! Finds out which part of a request a server refuses that other servers of the same format accept, and writes the
//! request without it.
//!
//! Names of parameters differ between servers of one format and between models of one server, and no server says in
//! advance what it accepts. So the refusal is parsed: it names the parameter and says that it is not known or not
//! supported.

use serde_json::Value;

use super::Wire;
use crate::openai;
use crate::parameter::Parameter;

impl Wire {
    /// Which parameter of a request in this format a server refuses, judging by the status and the body of its
    /// answer. `None` if it refuses something else: the key, the model, the length of the conversation, the value of
    /// a limit.
    ///
    /// Add it to those that were refused before and send the request again [without](Self::without_parameters) them.
    pub fn refused_parameter(&self, status: u16, body: &str) -> Option<&'static str> {
        if !matches!(status, 400 | 422) {
            return None;
        }
        if matches!(self, Self::Chat(options) if options.requires_thoughts(body)) {
            return Some(openai::THOUGHTS_REQUIRED);
        }
        if !is_about_unsupported(body) {
            return None;
        }
        let parameters = self.parameters();
        // OpenAI's format has a field for it, which takes precedence, because the words may name other parameters as
        // the remedy.
        let body: &str = &match named_by_field(body) {
            Some(name) => name,
            None => body.replace("\\\"", "\""),
        };
        parameters.into_iter().find(|parameter| parameter.is_named_in(body)).map(|parameter| parameter.name)
    }

    /// Adds the parameter that this answer refuses to `refused`, the ones that were refused before. Returns whether
    /// the request is worth another attempt, because one that cannot be written differently would be refused for
    /// ever.
    pub fn add_refused_parameter(&self, refused: &mut Vec<&'static str>, status: u16, body: &str) -> bool {
        let now = self.without_parameters(refused);
        let Some(parameter) = now.refused_parameter(status, body) else { return false };
        refused.push(parameter);
        self.without_parameters(refused) != now
    }

    /// The same format without the parameters that a server refused, in any order. A parameter with another name or a
    /// milder value gets that first, and is left out once that is refused too (the list then contains it twice).
    #[must_use]
    pub fn without_parameters(&self, refused: &[&str]) -> Self {
        match self {
            Self::Chat(options) => Self::Chat(options.without_parameters(refused)),
            Self::Gemini(options) => Self::Gemini(options.without_parameters(refused)),
            Self::Responses(options) => Self::Responses(options.without_parameters(refused)),
            Self::Ollama(options) => Self::Ollama(options.without_parameters(refused)),
            Self::Anthropic(_) => self.clone(),
            #[cfg(feature = "bedrock")]
            Self::Bedrock(_) => self.clone(),
        }
    }

    fn parameters(&self) -> Vec<Parameter> {
        match self {
            Self::Chat(options) => options.parameters(),
            Self::Gemini(options) => options.parameters(),
            Self::Responses(options) => options.parameters(),
            Self::Ollama(options) => options.parameters(),
            Self::Anthropic(_) => Vec::new(),
            #[cfg(feature = "bedrock")]
            Self::Bedrock(_) => Vec::new(),
        }
    }
}

/// The field in `{"error": {"param": "max_tokens"}}`, also without the object around it.
fn named_by_field(body: &str) -> Option<String> {
    let body: Value = serde_json::from_str(body).ok()?;
    let param = ["/error/param", "/param"].into_iter().find_map(|place| body.pointer(place)?.as_str())?;
    (!param.is_empty()).then(|| param.to_owned())
}

/// Whether a refusal is about something that the server does not know, judging by the words of known servers. A value
/// that is too large does not count.
fn is_about_unsupported(body: &str) -> bool {
    const WORDS: [&str; 19] = [
        "unsupported",
        "not support",
        "unrecognized",
        "unknown",
        "unexpected",
        "extra_forbidden",
        "extra fields",
        "not permitted",
        "not allowed",
        "not enabled",
        "not available",
        "not implemented",
        "cannot find field",
        "only works in",
        // This is about an id; a conversation that is too long is reported in other words.
        "string too long",
        "must be one of",
        "cannot be disabled",
        "can't be disabled",
        "cannot be turned off",
    ];
    let body = body.to_lowercase();
    WORDS.iter().any(|word| body.contains(word))
}

#[cfg(test)]
mod tests;
