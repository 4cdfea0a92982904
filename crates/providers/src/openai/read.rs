use serde_json::{Error, Value};

use super::content::Content;
use super::thoughts::Thoughts;
use crate::wire::{AnswerBuilder, CallFragment, EventError};
use headstart_forked_query::json::{Fields, FromJson};
use headstart_forked_query::{FinishReason, Usage};

/// Reads one chunk of a chat completion, or a whole one from a server that does not stream.
pub(crate) fn read(event: Value, answer: &mut AnswerBuilder) -> Result<(), EventError> {
    // An error may come after the answer has begun, with or without choices in the same event.
    if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
        return Err(EventError::Reported(error.clone()));
    }
    let is_whole = event.get("object").is_some_and(|object| object == "chat.completion");
    let chunk = Chunk::from_json(event)?;
    let choices = chunk.choices.unwrap_or_default();
    for choice in choices.into_iter().filter(|choice| choice.index.unwrap_or(0) == 0) {
        // A server that does not stream sends a message in place of deltas.
        let delta = choice.delta.or(choice.message).unwrap_or_default();
        delta.thoughts.add_to(answer);
        delta.content.add_to(answer);
        answer.push_text(delta.refusal);
        for call in delta.tool_calls.unwrap_or_default() {
            answer.push_call(call.into());
        }
        if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
            answer.finish(finish_reason(&reason));
        } else if is_whole {
            answer.finish(FinishReason::Stop);
        }
    }
    answer.push_usage_as::<WireUsage>(chunk.usage);
    Ok(())
}

struct Chunk {
    choices: Option<Vec<Choice>>,
    usage: Option<Value>,
}

impl FromJson for Chunk {
    fn from_json(value: Value) -> Result<Self, Error> {
        let mut fields = Fields::of(value)?;
        Ok(Self { choices: fields.may("choices")?, usage: fields.may("usage")? })
    }
}

struct Choice {
    index: Option<u64>,
    delta: Option<Delta>,
    message: Option<Delta>,
    finish_reason: Option<String>,
}

impl FromJson for Choice {
    fn from_json(value: Value) -> Result<Self, Error> {
        let mut fields = Fields::of(value)?;
        Ok(Self {
            index: fields.may("index")?,
            delta: fields.may("delta")?,
            message: fields.may("message")?,
            finish_reason: fields.may("finish_reason")?,
        })
    }
}

#[derive(Default)]
struct Delta {
    content: Content,
    refusal: Option<String>,
    thoughts: Thoughts,
    tool_calls: Option<Vec<CallDelta>>,
}

impl FromJson for Delta {
    fn from_json(value: Value) -> Result<Self, Error> {
        let mut fields = Fields::of(value)?;
        Ok(Self {
            content: fields.may("content")?.unwrap_or_default(),
            refusal: fields.may("refusal")?,
            thoughts: Thoughts {
                reasoning_content: fields.may("reasoning_content")?,
                reasoning: fields.may("reasoning")?,
                reasoning_details: fields.may("reasoning_details")?,
                extra_content: fields.may("extra_content")?,
            },
            tool_calls: fields.may("tool_calls")?,
        })
    }
}

struct CallDelta {
    index: Option<u64>,
    id: Option<String>,
    function: Option<FunctionDelta>,
    extra_content: Option<Value>,
}

impl FromJson for CallDelta {
    fn from_json(value: Value) -> Result<Self, Error> {
        let mut fields = Fields::of(value)?;
        Ok(Self {
            index: fields.may("index")?,
            id: fields.may("id")?,
            function: fields.may("function")?,
            extra_content: fields.may("extra_content")?,
        })
    }
}

#[derive(Default)]
struct FunctionDelta {
    name: Option<String>,
    arguments: Option<Value>,
}

impl FromJson for FunctionDelta {
    fn from_json(value: Value) -> Result<Self, Error> {
        let mut fields = Fields::of(value)?;
        Ok(Self { name: fields.may("name")?, arguments: fields.may("arguments")? })
    }
}

impl From<CallDelta> for CallFragment {
    fn from(delta: CallDelta) -> Self {
        let function = delta.function.unwrap_or_default();
        Self {
            index: delta.index,
            id: delta.id.unwrap_or_default(),
            name: function.name.unwrap_or_default(),
            arguments: function.arguments.into(),
            with: delta.extra_content,
            ..Self::default()
        }
    }
}

struct WireUsage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
    /// The name of this field at `DeepSeek`.
    prompt_cache_hit_tokens: Option<u64>,
    /// At gateways to Anthropic, as the provider itself calls them.
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

impl FromJson for WireUsage {
    fn from_json(value: Value) -> Result<Self, Error> {
        let mut fields = Fields::of(value)?;
        Ok(Self {
            prompt_tokens: fields.may("prompt_tokens")?,
            completion_tokens: fields.may("completion_tokens")?,
            prompt_tokens_details: fields.may("prompt_tokens_details")?,
            prompt_cache_hit_tokens: fields.may("prompt_cache_hit_tokens")?,
            cache_read_input_tokens: fields.may("cache_read_input_tokens")?,
            cache_creation_input_tokens: fields.may("cache_creation_input_tokens")?,
        })
    }
}

#[derive(Default)]
#[expect(clippy::struct_field_names, reason = "they are the providers' names")]
struct PromptDetails {
    cached_tokens: Option<u64>,
    /// At `DashScope`, if the request marks what to cache.
    cache_creation_input_tokens: Option<u64>,
    /// At OpenAI, whose newer models charge for it.
    cache_write_tokens: Option<u64>,
}

impl FromJson for PromptDetails {
    fn from_json(value: Value) -> Result<Self, Error> {
        let mut fields = Fields::of(value)?;
        Ok(Self {
            cached_tokens: fields.may("cached_tokens")?,
            cache_creation_input_tokens: fields.may("cache_creation_input_tokens")?,
            cache_write_tokens: fields.may("cache_write_tokens")?,
        })
    }
}

impl From<WireUsage> for Usage {
    fn from(usage: WireUsage) -> Self {
        let details = usage.prompt_tokens_details.unwrap_or_default();
        let created = details.cache_creation_input_tokens.or(details.cache_write_tokens);
        let created = created.or(usage.cache_creation_input_tokens);
        let cached = details.cached_tokens.or(usage.cache_read_input_tokens);
        Self {
            input_tokens: usage.prompt_tokens.unwrap_or_default(),
            cached_input_tokens: cached.or(usage.prompt_cache_hit_tokens).unwrap_or_default(),
            output_tokens: usage.completion_tokens.unwrap_or_default(),
            cache_creation_tokens: created.unwrap_or_default(),
            ..Self::default()
        }
    }
}

fn finish_reason(reason: &str) -> FinishReason {
    match reason {
        "length" => FinishReason::Length,
        "content_filter" => FinishReason::ContentFilter,
        // stop, tool_calls, function_call, and other values with the same meaning.
        _ => FinishReason::Stop,
    }
}

#[cfg(test)]
mod tests;
