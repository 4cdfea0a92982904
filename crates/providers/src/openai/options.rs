use serde_json::{Map, Value, json};

use super::Effort;
use crate::parameter::Parameter;

/// The differences between servers with chat completions. The default uses nothing that one of them lacks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WireOptions {
    /// How the prefix is marked for the cache.
    pub cache: CacheAnnotations,
    /// How thinking is turned off.
    pub thinking: ThinkingSwitch,
    /// How to ask for an answer with a given schema.
    pub structured_output: StructuredOutput,
    /// The name of the answer's limit.
    pub output_limit: OutputLimit,
    /// Whether to ask for the cost at the end of the stream.
    pub stream_usage: StreamUsage,
    /// `prompt_cache_key`: requests with the same key are more likely to hit the same cache.
    pub prompt_cache_key: Option<String>,
    /// How the ids of calls are sent.
    pub call_ids: CallIds,
    /// Which part of the model's thoughts is sent back.
    pub returned_thoughts: ReturnedThoughts,
}

/// How the ids of calls are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CallIds {
    /// As the server gave them, because some contain data.
    #[default]
    AsGiven,
    /// In at most 40 characters, which is all that OpenAI accepts.
    Short,
}

/// How the prefix is marked for the provider's cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CacheAnnotations {
    /// The provider finds shared prefixes by itself.
    #[default]
    None,
    /// `cache_control` marks in the messages for a model of Anthropic's by its name, which finds no prefix by itself. The
    /// gateways to it (`LiteLLM`, `OpenRouter`) pass them on.
    ByName,
    /// The header `X-DashScope-CacheControl` and `cache_control` marks in the body.
    DashScope,
}

impl CacheAnnotations {
    /// What is marked for this model.
    pub(super) fn for_model(self, model: &str) -> Self {
        let is_marked = self != Self::ByName || model.to_ascii_lowercase().contains("claude");
        if is_marked { self } else { Self::None }
    }
}

/// How thinking is turned off in a request that does without it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ThinkingSwitch {
    /// Not at all.
    #[default]
    None,
    /// `"enable_thinking": false` (DashScope).
    EnableThinking,
    /// `"chat_template_kwargs": {"enable_thinking": false}` in a question (vLLM, llama.cpp).
    ChatTemplate,
    /// `"thinking": {"type": "disabled"}` in a question (`DeepSeek`, Kimi, GLM). Work that runs ahead thinks as a
    /// turn does, because such servers refuse a conversation with calls that were made without a thought.
    Disabled,
    /// `"reasoning_effort"` in a question.
    ReasoningEffort(Effort),
}

/// Which part of the model's thoughts is sent back to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReturnedThoughts {
    /// Whatever the model gave, in its place.
    #[default]
    AsGiven,
    /// In addition, an empty `reasoning_content` with each call for which nothing was given (possibly by another
    /// model), because the server refuses calls without.
    Always,
    /// None, because the server refuses it.
    Never,
}

/// How to ask for an answer with a given schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StructuredOutput {
    /// In words, at the end of the question. This works everywhere, while some servers refuse a format together with
    /// tools.
    #[default]
    Instruction,
    /// In words, and `response_format` asks for any JSON object.
    JsonObject,
    /// `response_format` with the schema. The provider may put the schema before the system instruction, and then the
    /// prefix is no longer that of the conversation.
    JsonSchema,
}

/// The name of the answer's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutputLimit {
    /// `max_tokens`.
    #[default]
    MaxTokens,
    /// `max_completion_tokens`.
    MaxCompletionTokens,
    /// There is no limit, because the server knows neither name.
    Omitted,
}

/// Whether to ask for the cost at the end of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StreamUsage {
    /// `"stream_options": {"include_usage": true}`.
    #[default]
    Requested,
    /// Not asked for, because some servers refuse the field.
    Omitted,
}

impl OutputLimit {
    /// The parameter's name.
    pub(crate) const fn name(self) -> Option<&'static str> {
        match self {
            Self::MaxTokens => Some("max_tokens"),
            Self::MaxCompletionTokens => Some("max_completion_tokens"),
            Self::Omitted => None,
        }
    }

    /// The first of this name and the other one that is not refused.
    fn without_parameters(self, refused: &[&str]) -> Self {
        let other = if self == Self::MaxTokens { Self::MaxCompletionTokens } else { Self::MaxTokens };
        let is_taken = |limit: &Self| limit.name().is_some_and(|name| !refused.contains(&name));
        if self == Self::Omitted {
            return self;
        }
        [self, other].into_iter().find(is_taken).unwrap_or(Self::Omitted)
    }
}

impl ThinkingSwitch {
    fn name(&self) -> Option<&'static str> {
        match self {
            Self::None | Self::ReasoningEffort(Effort::Unspecified) => None,
            Self::Disabled => Some("thinking"),
            Self::EnableThinking => Some("enable_thinking"),
            Self::ChatTemplate => Some("chat_template_kwargs"),
            Self::ReasoningEffort(_) => Some("reasoning_effort"),
        }
    }
}

impl StructuredOutput {
    /// `{"type": "json_object"}`, if a JSON object is to be requested.
    pub(crate) fn json_object(self) -> Option<Value> {
        (self == Self::JsonObject).then(|| json!({ "type": "json_object" }))
    }

    /// The named schema, if it is to be requested by a field.
    pub(crate) fn json_schema(self, schema: &Value) -> Option<Map<String, Value>> {
        if self != Self::JsonSchema {
            return None;
        }
        // A strict schema must close every object; any other one is sent as a hint.
        let strict = schema.get("additionalProperties") == Some(&Value::Bool(false));
        let fields = [("name", json!("answer")), ("strict", json!(strict)), ("schema", schema.clone())];
        Some(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

/// `messages[2].tool_calls[0].id`, and the id in a result.
const CALL_IDS: Parameter = Parameter { name: "tool_call_id", also: &["].id"] };

/// The marks, and what holds them: without marks a content is a text and no list.
const CACHE_CONTROL: Parameter =
    Parameter { name: "cache_control", also: &["].content", "content must be", "content should be"] };

/// Stands among the refused parameters for a field that the server requires.
pub(crate) const THOUGHTS_REQUIRED: &str = "missing reasoning_content";

impl WireOptions {
    /// Whether a server refuses a request because thoughts of the model are missing in it.
    pub(crate) fn requires_thoughts(&self, body: &str) -> bool {
        const WORDS: [&str; 4] = ["missing", "must be passed back", "must be provided", "is required"];
        let body = body.to_lowercase();
        self.returned_thoughts == ReturnedThoughts::AsGiven
            && body.contains("reasoning_content")
            && WORDS.iter().any(|word| body.contains(word))
    }

    pub(crate) fn parameters(&self) -> Vec<Parameter> {
        let names = [
            self.output_limit.name(),
            self.thinking.name(),
            (self.structured_output != StructuredOutput::Instruction).then_some("response_format"),
            (self.stream_usage == StreamUsage::Requested).then_some("stream_options"),
            self.prompt_cache_key.is_some().then_some("prompt_cache_key"),
        ];
        let thoughts = Parameter {
            name: "reasoning_content",
            also: &["reasoning_details", "extra_content", "reasoning"],
        };
        let goes_back = self.returned_thoughts != ReturnedThoughts::Never;
        let cache = (self.cache != CacheAnnotations::None).then_some(CACHE_CONTROL);
        let ids = (self.call_ids == CallIds::AsGiven).then_some(CALL_IDS);
        let plain = names.into_iter().flatten().map(Parameter::named);
        plain.chain(cache).chain(ids).chain(goes_back.then_some(thoughts)).collect()
    }

    pub(crate) fn without_parameters(&self, refused: &[&str]) -> Self {
        let has = |name| refused.contains(&name);
        let mut left = self.clone();
        left.output_limit = self.output_limit.without_parameters(refused);
        if let ThinkingSwitch::ReasoningEffort(effort) = &self.thinking {
            let times = refused.iter().filter(|name| **name == "reasoning_effort").count();
            left.thinking = ThinkingSwitch::ReasoningEffort(effort.after_refusals(times));
        } else if self.thinking.name().is_some_and(has) {
            left.thinking = ThinkingSwitch::None;
        }
        if has(THOUGHTS_REQUIRED) {
            left.returned_thoughts = ReturnedThoughts::Always;
        }
        if has("reasoning_content") {
            left.returned_thoughts = ReturnedThoughts::Never;
        }
        if has("response_format") {
            left.structured_output = StructuredOutput::Instruction;
        }
        if has("stream_options") {
            left.stream_usage = StreamUsage::Omitted;
        }
        if has(CACHE_CONTROL.name) {
            left.cache = CacheAnnotations::None;
        }
        if has(CALL_IDS.name) {
            left.call_ids = CallIds::Short;
        }
        if has("prompt_cache_key") {
            left.prompt_cache_key = None;
        }
        left
    }

    /// The headers that a request has besides those of every JSON request.
    pub fn headers(&self) -> &'static [(&'static str, &'static str)] {
        match self.cache {
            CacheAnnotations::None | CacheAnnotations::ByName => &[],
            CacheAnnotations::DashScope => &[("x-dashscope-cachecontrol", "enable")],
        }
    }
}
