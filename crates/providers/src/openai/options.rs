use serde_json::{Map, Value, json};

use super::Effort;
use crate::wire::Parameter;

/// What differs between servers that speak chat completions. The default asks for nothing that one of them lacks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WireOptions {
    /// How the prefix is marked for the cache.
    pub cache: CacheAnnotations,
    /// How thinking is turned off.
    pub thinking: ThinkingSwitch,
    /// How an answer of a given schema is asked for.
    pub structured_output: StructuredOutput,
    /// How the limit of the answer is called.
    pub output_limit: OutputLimit,
    /// Whether the stream is asked to end with what the request cost.
    pub stream_usage: StreamUsage,
    /// `prompt_cache_key`: requests with the same one are more likely to meet the same cache.
    pub prompt_cache_key: Option<String>,
    /// How the ids of calls are sent.
    pub call_ids: CallIds,
    /// What goes back of what the model gave with its answers.
    pub thoughts_back: ThoughtsBack,
}

/// How the ids of calls are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CallIds {
    /// As the server gave them: some carry data in them.
    #[default]
    AsGiven,
    /// In at most 40 letters, which is all that OpenAI takes.
    Short,
}

/// How the prefix is marked for the provider's cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CacheAnnotations {
    /// The provider finds shared prefixes by itself.
    #[default]
    None,
    /// The header `X-DashScope-CacheControl` and `cache_control` marks in the body.
    DashScope,
}

/// How thinking is turned off, for a request that does without.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ThinkingSwitch {
    /// There is no switch.
    #[default]
    None,
    /// `"enable_thinking": false` (DashScope).
    EnableThinking,
    /// `"chat_template_kwargs": {"enable_thinking": false}` in a question (vLLM, llama.cpp).
    ChatTemplate,
    /// `"thinking": {"type": "disabled"}` in a question (`DeepSeek`, Kimi, GLM). Work that runs ahead thinks as a turn does, for such
    /// servers refuse calls in a conversation that were made without a thought.
    Disabled,
    /// `"reasoning_effort"` in a question.
    ReasoningEffort(Effort),
}

/// What a model gave with its answers and wants back with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ThoughtsBack {
    /// It goes back where it was given.
    #[default]
    AsGiven,
    /// And where nothing was given with a call, which another model may have made, an empty `reasoning_content` goes: the server
    /// refuses calls without.
    Always,
    /// Nothing goes back: the server refuses it.
    Never,
}

/// How an answer of a given schema is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StructuredOutput {
    /// In words, at the end of the question: works everywhere, for some servers refuse a format beside tools.
    #[default]
    Instruction,
    /// In words, and `response_format` asks for some JSON object.
    JsonObject,
    /// `response_format` with the schema. The provider may put the schema before the system instruction, so that
    /// the prefix is not the conversation's any more.
    JsonSchema,
}

/// How the limit of the answer is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutputLimit {
    /// `max_tokens`.
    #[default]
    MaxTokens,
    /// `max_completion_tokens`.
    MaxCompletionTokens,
    /// It is not said: the server knows neither name.
    Unsaid,
}

/// Whether the stream is asked to end with what the request cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StreamUsage {
    /// `"stream_options": {"include_usage": true}`.
    #[default]
    Asked,
    /// It is not: some servers refuse the field, and tell or do not tell as they like.
    Unasked,
}

impl OutputLimit {
    /// The parameter's name.
    pub(crate) const fn name(self) -> Option<&'static str> {
        match self {
            Self::MaxTokens => Some("max_tokens"),
            Self::MaxCompletionTokens => Some("max_completion_tokens"),
            Self::Unsaid => None,
        }
    }

    /// The first of this name and the other one that is not refused.
    fn without(self, refused: &[&str]) -> Self {
        let other = if self == Self::MaxTokens { Self::MaxCompletionTokens } else { Self::MaxTokens };
        let is_taken = |limit: &Self| limit.name().is_some_and(|name| !refused.contains(&name));
        if self == Self::Unsaid {
            return self;
        }
        [self, other].into_iter().find(is_taken).unwrap_or(Self::Unsaid)
    }
}

impl ThinkingSwitch {
    fn name(&self) -> Option<&'static str> {
        match self {
            Self::None | Self::ReasoningEffort(Effort::Unsaid) => None,
            Self::Disabled => Some("thinking"),
            Self::EnableThinking => Some("enable_thinking"),
            Self::ChatTemplate => Some("chat_template_kwargs"),
            Self::ReasoningEffort(_) => Some("reasoning_effort"),
        }
    }
}

impl StructuredOutput {
    /// `{"type": "json_object"}`, where some JSON object is asked for.
    pub(crate) fn json_object(self) -> Option<Value> {
        (self == Self::JsonObject).then(|| json!({ "type": "json_object" }))
    }

    /// The named schema, where it is asked for by itself.
    pub(crate) fn json_schema(self, schema: &Value) -> Option<Map<String, Value>> {
        if self != Self::JsonSchema {
            return None;
        }
        // Strict schemas must close every object; others are taken as a hint.
        let strict = schema.get("additionalProperties") == Some(&Value::Bool(false));
        let fields = [("name", json!("answer")), ("strict", json!(strict)), ("schema", schema.clone())];
        Some(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

/// `messages[2].tool_calls[0].id`, and the id in a result.
const CALL_IDS: Parameter = Parameter { name: "tool_call_id", also: &["].id"] };

/// What stands among the refused parameters for a field that is missed.
pub(crate) const THOUGHTS_MISSED: &str = "missing reasoning_content";

impl WireOptions {
    /// Whether a server refuses a request for what the model thought, which it lacks.
    pub(crate) fn misses_thoughts(&self, body: &str) -> bool {
        const WORDS: [&str; 4] = ["missing", "must be passed back", "must be provided", "is required"];
        let body = body.to_lowercase();
        self.thoughts_back == ThoughtsBack::AsGiven
            && body.contains("reasoning_content")
            && WORDS.iter().any(|word| body.contains(word))
    }

    pub(crate) fn parameters(&self) -> Vec<Parameter> {
        let names = [
            self.output_limit.name(),
            self.thinking.name(),
            (self.structured_output != StructuredOutput::Instruction).then_some("response_format"),
            (self.stream_usage == StreamUsage::Asked).then_some("stream_options"),
            (self.cache != CacheAnnotations::None).then_some("cache_control"),
            self.prompt_cache_key.is_some().then_some("prompt_cache_key"),
        ];
        let thoughts = Parameter {
            name: "reasoning_content",
            also: &["reasoning_details", "extra_content", "reasoning"],
        };
        let goes_back = self.thoughts_back != ThoughtsBack::Never;
        let ids = (self.call_ids == CallIds::AsGiven).then_some(CALL_IDS);
        let plain = names.into_iter().flatten().map(Parameter::named);
        plain.chain(ids).chain(goes_back.then_some(thoughts)).collect()
    }

    pub(crate) fn without(&self, refused: &[&str]) -> Self {
        let has = |name| refused.contains(&name);
        let mut left = self.clone();
        left.output_limit = self.output_limit.without(refused);
        if let ThinkingSwitch::ReasoningEffort(effort) = &self.thinking {
            let times = refused.iter().filter(|name| **name == "reasoning_effort").count();
            left.thinking = ThinkingSwitch::ReasoningEffort(effort.without(times));
        } else if self.thinking.name().is_some_and(has) {
            left.thinking = ThinkingSwitch::None;
        }
        if has(THOUGHTS_MISSED) {
            left.thoughts_back = ThoughtsBack::Always;
        }
        if has("reasoning_content") {
            left.thoughts_back = ThoughtsBack::Never;
        }
        if has("response_format") {
            left.structured_output = StructuredOutput::Instruction;
        }
        if has("stream_options") {
            left.stream_usage = StreamUsage::Unasked;
        }
        if has("cache_control") {
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
            CacheAnnotations::None => &[],
            CacheAnnotations::DashScope => &[("x-dashscope-cachecontrol", "enable")],
        }
    }
}
