use serde::Deserialize;
use serde_json::Value;

use crate::wire::{Answer, Fragment, Wrong};
use crate::{FinishReason, Usage};

/// Takes one chunk of a chat completion, or a whole one, from a server that does not stream.
pub(crate) fn read(event: Value, answer: &mut Answer) -> Result<(), Wrong> {
    // After the answer has begun, with the choices of the event beside it or without.
    if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
        return Err(Wrong::Error(error.clone()));
    }
    let chunk: Chunk = serde_json::from_value(event)?;
    let choices = chunk.choices.unwrap_or_default();
    for choice in choices.into_iter().filter(|choice| choice.index.unwrap_or(0) == 0) {
        // A server that does not stream sends a message where the others send deltas.
        let delta = choice.delta.or(choice.message).unwrap_or_default();
        answer.thought(delta.reasoning_content.or(delta.reasoning));
        answer.text(delta.content);
        answer.text(delta.refusal);
        for call in delta.tool_calls.unwrap_or_default() {
            answer.call(call.into());
        }
        if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
            answer.finish(finish_reason(&reason));
        }
    }
    answer.usage_as::<WireUsage>(chunk.usage);
    Ok(())
}

#[derive(Deserialize)]
struct Chunk {
    choices: Option<Vec<Choice>>,
    usage: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    index: Option<u64>,
    delta: Option<Delta>,
    message: Option<Delta>,
    finish_reason: Option<String>,
}

#[derive(Deserialize, Default)]
struct Delta {
    content: Option<String>,
    refusal: Option<String>,
    reasoning_content: Option<String>,
    reasoning: Option<String>,
    tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Deserialize)]
struct CallDelta {
    index: Option<u64>,
    id: Option<String>,
    function: Option<FunctionDelta>,
}

#[derive(Deserialize, Default)]
struct FunctionDelta {
    name: Option<String>,
    arguments: Option<Value>,
}

impl From<CallDelta> for Fragment {
    fn from(delta: CallDelta) -> Self {
        let function = delta.function.unwrap_or_default();
        Self {
            index: delta.index,
            id: delta.id.unwrap_or_default(),
            name: function.name.unwrap_or_default(),
            arguments: function.arguments.into(),
            ..Self::default()
        }
    }
}

#[derive(Deserialize)]
struct WireUsage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
    /// How `DeepSeek` calls the cached ones.
    prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Deserialize, Default)]
#[expect(clippy::struct_field_names, reason = "they are the providers' names")]
struct PromptDetails {
    cached_tokens: Option<u64>,
    /// Of `DashScope`, where the request marks what to cache.
    cache_creation_input_tokens: Option<u64>,
    /// Of OpenAI, whose newer models charge for it.
    cache_write_tokens: Option<u64>,
}

impl From<WireUsage> for Usage {
    fn from(usage: WireUsage) -> Self {
        let details = usage.prompt_tokens_details.unwrap_or_default();
        let created = details.cache_creation_input_tokens.or(details.cache_write_tokens);
        let cached = details.cached_tokens;
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
        // stop, tool_calls, function_call, and what servers of their own mind say for them.
        _ => FinishReason::Stop,
    }
}

#[cfg(test)]
mod tests;
