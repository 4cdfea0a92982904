use std::collections::HashSet;

use serde::Deserialize;
use serde_json::Value;

use super::calls::{CallDelta, Calls};
use crate::{FinishReason, Message, ModelError, ModelEvent, ModelRequest, Provider, Usage};

/// Turns the data of server-sent events into the events of an answer.
///
/// Give it the data of each event as it comes, then call [`end`](Self::end). After an error, and after the answer
/// is complete, it gives nothing more. It is total: whatever comes is events or an error.
#[derive(Debug)]
pub struct Decoder {
    provider: Provider,
    calls: Calls,
    ids: HashSet<String>,
    finish: Option<FinishReason>,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Closed,
}

impl Decoder {
    /// A decoder for the answer to `request`: calls get ids that no call in it has.
    pub fn new(provider: &Provider, request: &ModelRequest) -> Self {
        let calls = request.messages.iter().flat_map(Message::tool_calls);
        Self {
            provider: provider.clone(),
            calls: Calls::default(),
            ids: calls.map(|call| call.id.clone()).collect(),
            finish: None,
            state: State::Open,
        }
    }

    /// Takes the data of one event.
    pub fn data(&mut self, data: &str) -> Result<Vec<ModelEvent>, ModelError> {
        let data = data.trim();
        if self.state == State::Closed || data.is_empty() {
            return Ok(Vec::new());
        }
        if data == "[DONE]" {
            self.finish.get_or_insert(FinishReason::Stop);
            return self.end();
        }
        let read = self.chunk(data);
        if read.is_err() {
            self.state = State::Closed;
        }
        read
    }

    /// The stream has ended: gives what was held back, or [`ModelError::Cut`] where the answer is not complete.
    pub fn end(&mut self) -> Result<Vec<ModelEvent>, ModelError> {
        if self.state == State::Closed {
            return Ok(Vec::new());
        }
        self.state = State::Closed;
        let Some(finish) = self.finish else {
            return Err(ModelError::Cut { provider: self.provider.name.clone() });
        };
        let calls = self.calls.take(&mut self.ids).map_err(|message| self.provider.malformed(message))?;
        let calls = calls.into_iter().map(ModelEvent::ToolCall);
        Ok(calls.chain([ModelEvent::Finished(finish)]).collect())
    }

    /// Whether the provider has said that the answer is complete, though the stream may go on (with the usage).
    pub fn is_complete(&self) -> bool {
        self.finish.is_some()
    }

    /// Whether nothing more can come.
    pub fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// Ends it where it is: the connection failed.
    #[cfg(feature = "http")]
    pub(crate) fn close(&mut self) {
        self.state = State::Closed;
    }

    fn chunk(&mut self, data: &str) -> Result<Vec<ModelEvent>, ModelError> {
        let malformed = |error: serde_json::Error| self.provider.malformed(format!("{error} in: {data}"));
        let value: Value = serde_json::from_str(data).map_err(malformed)?;
        if let Some(error) = error_in(&value) {
            return Err(self.provider.error_in_stream(error));
        }
        let chunk: Chunk = serde_json::from_value(value).map_err(malformed)?;
        let mut events = Vec::new();
        let choices = chunk.choices.unwrap_or_default();
        for choice in choices.into_iter().filter(|choice| choice.index.unwrap_or(0) == 0) {
            // A server that does not stream sends a message where the others send deltas.
            let delta = choice.delta.or(choice.message).unwrap_or_default();
            let thoughts = delta.reasoning_content.or(delta.reasoning);
            events.extend(thoughts.filter(|text| !text.is_empty()).map(ModelEvent::Thought));
            let texts = [delta.content, delta.refusal].into_iter().flatten();
            events.extend(texts.filter(|text| !text.is_empty()).map(ModelEvent::Text));
            for call in delta.tool_calls.unwrap_or_default() {
                self.calls.add(call);
            }
            if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
                self.finish = Some(finish_reason(&reason));
            }
        }
        // A usage that cannot be read is no reason to lose an answer.
        let usage: Option<WireUsage> = chunk.usage.and_then(|usage| serde_json::from_value(usage).ok());
        events.extend(usage.map(|usage| ModelEvent::Usage(usage.into())));
        Ok(events)
    }
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
struct WireUsage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
    /// How `DeepSeek` calls the cached ones.
    prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u64>,
}

impl From<WireUsage> for Usage {
    fn from(usage: WireUsage) -> Self {
        let cached = usage.prompt_tokens_details.and_then(|details| details.cached_tokens);
        Self {
            input_tokens: usage.prompt_tokens.unwrap_or_default(),
            cached_input_tokens: cached.or(usage.prompt_cache_hit_tokens).unwrap_or_default(),
            output_tokens: usage.completion_tokens.unwrap_or_default(),
        }
    }
}

/// The error that a provider sends with status 200, after the answer has begun.
fn error_in(value: &Value) -> Option<&Value> {
    if let Some(error) = value.get("error").filter(|error| !error.is_null()) {
        return Some(error);
    }
    let says_error = value.get("object").is_some_and(|object| object == "error");
    let only_a_message =
        value.get("choices").is_none() && value.get("code").is_some() && value.get("message").is_some();
    (says_error || only_a_message).then_some(value)
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
