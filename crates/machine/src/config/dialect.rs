//! How one model is asked, where this differs from what its provider's name implies: the other fields of
//! `[models."NAME"]`.

use std::collections::BTreeMap;
use std::ops::Range;

use headstart_providers::openai::OutputLimit;
use headstart_providers::{KeyHeader, ToolSupport};
use toml::Spanned;

use super::per_model::ModelFields;
use super::source::Source;
use crate::error::CliError;
use crate::model_spec::{ModelSpec, Provider};

/// What the user says about how one model is asked. A field that is not set follows the provider.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Dialect {
    /// The header that carries the key.
    pub(crate) key_header: Option<KeyHeader>,
    /// Additional headers, by name.
    pub(crate) headers: BTreeMap<String, HeaderText>,
    /// The name of the field that limits an answer, in chat completions.
    pub(crate) output_limit: Option<OutputLimit>,
    /// The name of the cache, in chat completions and Responses.
    pub(crate) prompt_cache_key: Option<String>,
    /// How many tokens the model can see at once.
    pub(crate) context_tokens: Option<u32>,
    /// Whether the model accepts images.
    pub(crate) images: Option<bool>,
    /// Whether the model is given tools, and how.
    pub(crate) tools: Option<ToolSupport>,
    /// Whether and how much the model thinks in the user's own turns.
    pub(crate) thinking: Option<Thinking>,
    /// How much effort the model makes in the user's own turns, in the provider's own word.
    pub(crate) effort: Option<String>,
}

/// Whether and how much a model thinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thinking {
    Off,
    On,
    /// At most this many tokens.
    Tokens(u32),
}

/// The value of a header. It is not printed, because it may be a secret.
#[derive(Clone, PartialEq, Eq)]
pub enum HeaderText {
    /// The value as it is sent.
    Plain(String),
    /// The variable of the environment that holds the value, so that the value is not in a file.
    Variable(String),
}

impl std::fmt::Debug for HeaderText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Plain(_) => f.write_str("***"),
            Self::Variable(name) => write!(f, "${name}"),
        }
    }
}

/// The most characters that the name of a cache may have.
const MAX_CACHE_KEY: usize = 64;

/// The allowed windows in tokens. A smaller window has no room for tools, and no model has a larger one.
const CONTEXT: Range<u32> = 1_024..100_000_001;

impl Dialect {
    /// Reads what a file says about the model of this name.
    pub(super) fn of_user(model: &str, fields: &ModelFields, source: &Source) -> Result<Self, CliError> {
        let reader = Reader { model, provider: provider(model), source };
        let mut headers = BTreeMap::new();
        for (name, value) in &fields.headers {
            headers.insert(name.clone(), reader.header(name, value)?);
        }
        Ok(Self {
            key_header: reader
                .read("key_header", fields.key_header.as_ref(), |name| parse_key_header(name))?,
            headers,
            output_limit: reader
                .only("output_limit", fields.output_limit.as_ref(), &[Provider::OpenAi, Provider::DashScope])?
                .read("output_limit", fields.output_limit.as_ref(), |name| parse_output_limit(name))?,
            prompt_cache_key: reader
                .only(
                    "prompt_cache_key",
                    fields.prompt_cache_key.as_ref(),
                    &[Provider::OpenAi, Provider::Responses, Provider::DashScope],
                )?
                .read("prompt_cache_key", fields.prompt_cache_key.as_ref(), |key| parse_cache_key(key))?,
            context_tokens: reader.read("context_tokens", fields.context_tokens.as_ref(), |tokens| {
                let problem = || format!("must be a number from {} to {}", CONTEXT.start, CONTEXT.end - 1);
                CONTEXT.contains(tokens).then_some(*tokens).ok_or_else(problem)
            })?,
            images: fields.images,
            tools: reader.read("tools", fields.tools.as_ref(), |name| parse_tools(name))?,
            thinking: reader
                .only(
                    "thinking",
                    fields.thinking.as_ref(),
                    &[
                        Provider::Anthropic,
                        Provider::Gemini,
                        Provider::OpenAi,
                        Provider::DashScope,
                        Provider::Ollama,
                    ],
                )?
                .read("thinking", fields.thinking.as_ref(), parse_thinking)?,
            effort: reader
                .only(
                    "effort",
                    fields.effort.as_ref(),
                    &[
                        Provider::Anthropic,
                        Provider::Gemini,
                        Provider::OpenAi,
                        Provider::Responses,
                        Provider::Ollama,
                    ],
                )?
                .read("effort", fields.effort.as_ref(), |word| parse_effort(word))?,
        })
    }
}

/// The provider of a model, if its name contains one. The name of an Ollama model may contain a colon too.
fn provider(model: &str) -> Option<Provider> {
    model.parse().ok().and_then(|spec: ModelSpec| spec.provider())
}

/// Reads the fields of one model.
struct Reader<'a> {
    model: &'a str,
    provider: Option<Provider>,
    source: &'a Source,
}

impl Reader<'_> {
    fn refuse(&self, field: &str, span: &Range<usize>, problem: impl std::fmt::Display) -> CliError {
        let field = format!("models.{:?}.{field}", self.model);
        self.source.refuse(self.source.line(span), &field, problem)
    }

    fn read<T, V>(
        &self,
        field: &str,
        value: Option<&Spanned<V>>,
        parse: impl FnOnce(&V) -> Result<T, String>,
    ) -> Result<Option<T>, CliError> {
        let Some(value) = value else { return Ok(None) };
        parse(value.get_ref()).map(Some).map_err(|problem| self.refuse(field, &value.span(), problem))
    }

    /// Reads a field that only has a meaning for models of these providers.
    fn only<V>(
        &self,
        field: &str,
        value: Option<&Spanned<V>>,
        providers: &[Provider],
    ) -> Result<&Self, CliError> {
        if let (Some(value), Some(provider)) = (value, self.provider)
            && !providers.contains(&provider)
        {
            let names: Vec<_> = providers.iter().map(|provider| provider.prefix()).collect();
            let problem = format!("means nothing to {}, but to {}", provider.prefix(), names.join(", "));
            return Err(self.refuse(field, &value.span(), problem));
        }
        Ok(self)
    }

    fn header(&self, name: &str, value: &Spanned<String>) -> Result<HeaderText, CliError> {
        let refuse = |problem: &str| self.refuse(&format!("headers.{name:?}"), &value.span(), problem);
        let is_name = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_');
        if name.is_empty() || !name.bytes().all(is_name) {
            return Err(refuse("is no name of a header; it has letters, digits and hyphens"));
        }
        if OWN_HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
            return Err(refuse("is set by headstart itself; leave it out"));
        }
        let text = value.get_ref();
        if let Some(variable) = text.strip_prefix('$') {
            let is_variable =
                !variable.is_empty() && variable.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_');
            let problem = "what begins with $ names a variable of the environment, of letters, digits and _";
            return is_variable
                .then(|| HeaderText::Variable(variable.to_owned()))
                .ok_or_else(|| refuse(problem));
        }
        let is_plain = text.bytes().all(|c| c == b' ' || c.is_ascii_graphic());
        is_plain
            .then(|| HeaderText::Plain(text.clone()))
            .ok_or_else(|| refuse("a value has visible characters of ASCII and spaces only"))
    }
}

/// Headers whose values a request sets itself, because it does not work with others.
const OWN_HEADERS: [&str; 6] =
    ["accept", "connection", "content-length", "content-type", "host", "transfer-encoding"];

/// Reads `bearer`, or the name of the header that holds nothing but the key.
fn parse_key_header(name: &str) -> Result<KeyHeader, String> {
    Ok(match name.to_ascii_lowercase().as_str() {
        "bearer" => KeyHeader::Bearer,
        "x-api-key" => KeyHeader::Named("x-api-key"),
        "api-key" => KeyHeader::Named("api-key"),
        "x-goog-api-key" => KeyHeader::Named("x-goog-api-key"),
        _ => return Err(format!("{name:?} is none of bearer, x-api-key, api-key and x-goog-api-key")),
    })
}

fn parse_output_limit(name: &str) -> Result<OutputLimit, String> {
    Ok(match name {
        "max_tokens" => OutputLimit::MaxTokens,
        "max_completion_tokens" => OutputLimit::MaxCompletionTokens,
        "none" => OutputLimit::Omitted,
        _ => return Err(format!("{name:?} is none of max_tokens, max_completion_tokens and none")),
    })
}

fn parse_tools(name: &str) -> Result<ToolSupport, String> {
    Ok(match name {
        "native" => ToolSupport::Native,
        "text" => ToolSupport::Text,
        "none" => ToolSupport::None,
        _ => return Err(format!("{name:?} is none of native, text and none")),
    })
}

/// Reads `true`, `false`, or the largest number of tokens.
fn parse_thinking(value: &toml::Value) -> Result<Thinking, String> {
    const TOKENS: Range<i64> = 1_024..1_000_001;
    match value {
        toml::Value::Boolean(true) => Ok(Thinking::On),
        toml::Value::Boolean(false) => Ok(Thinking::Off),
        toml::Value::Integer(tokens) if TOKENS.contains(tokens) => {
            Ok(Thinking::Tokens(u32::try_from(*tokens).unwrap_or(u32::MAX)))
        }
        _ => Err(format!(
            "must be true, false or a number of tokens from {} to {}",
            TOKENS.start,
            TOKENS.end - 1
        )),
    }
}

fn parse_effort(word: &str) -> Result<String, String> {
    const WORDS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
    let is_known = WORDS.contains(&word);
    is_known.then(|| word.to_owned()).ok_or_else(|| format!("{word:?} is none of {}", WORDS.join(", ")))
}

fn parse_cache_key(key: &str) -> Result<String, String> {
    let is_key = !key.is_empty() && key.len() <= MAX_CACHE_KEY && key.bytes().all(|c| c.is_ascii_graphic());
    is_key
        .then(|| key.to_owned())
        .ok_or_else(|| format!("must be 1 to {MAX_CACHE_KEY} visible characters of ASCII without a space"))
}
