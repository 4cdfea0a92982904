use serde_json::{Error, Value};

use crate::wire::{AnswerBuilder, CallFragment, EventError};
use headstart_forked_query::json::{Fields, FromJson};
use headstart_forked_query::{FinishReason, Usage};

/// Reads one piece of an answer, or a list of several from a gateway that does not stream events.
pub(crate) fn read(event: Value, answer: &mut AnswerBuilder) -> Result<(), EventError> {
    if let Value::Array(pieces) = event {
        return pieces.into_iter().try_for_each(|piece| read(piece, answer));
    }
    if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
        return Err(EventError::Reported(error.clone()));
    }
    let piece = ResponseChunk::from_json(event)?;
    for candidate in piece.candidates.unwrap_or_default() {
        if candidate.index.unwrap_or(0) != 0 {
            continue;
        }
        for part in candidate.content.and_then(|content| content.parts).unwrap_or_default() {
            read_part(part, answer);
        }
        if let Some(reason) = candidate.finish_reason.filter(|reason| !reason.is_empty()) {
            answer.finish(finish_reason(&reason, candidate.finish_message)?);
        }
    }
    if piece.prompt_feedback.is_some_and(|feedback| feedback.block_reason.is_some()) {
        answer.finish(FinishReason::ContentFilter);
    }
    answer.push_usage_as::<WireUsage>(piece.usage_metadata);
    Ok(())
}

/// The name in the answer to [`encode_cache`](super::encode_cache), and the number of tokens stored.
pub fn read_cache(body: &str) -> Option<(String, u64)> {
    let body: Value = serde_json::from_str(body).ok()?;
    let name = body.get("name")?.as_str()?;
    let id = name.strip_prefix("cachedContents/")?;
    // It becomes part of a URL.
    let is_plain =
        !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    let tokens = body.pointer("/usageMetadata/totalTokenCount").and_then(Value::as_u64);
    is_plain.then(|| (name.to_owned(), tokens.unwrap_or_default()))
}

fn read_part(part: WirePart, answer: &mut AnswerBuilder) {
    let signature = part.thought_signature.map(Value::String);
    let Some(call) = part.function_call else {
        match signature {
            _ if part.thought.unwrap_or(false) => answer.push_thought(part.text),
            // At the end of an answer a signature may come without words.
            Some(signature) => answer.push_text_with(part.text, signature),
            None => answer.push_text(part.text),
        }
        return;
    };
    answer.push_call(CallFragment {
        id: call.id.unwrap_or_default(),
        name: call.name.unwrap_or_default(),
        arguments: call.args.into(),
        with: signature,
        is_whole: true,
        ..CallFragment::default()
    });
}

fn finish_reason(reason: &str, message: Option<String>) -> Result<FinishReason, EventError> {
    Ok(match reason {
        "MAX_TOKENS" => FinishReason::Length,
        "SAFETY"
        | "RECITATION"
        | "LANGUAGE"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => FinishReason::ContentFilter,
        "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "TOO_MANY_TOOL_CALLS" => {
            return Err(meaning("the model's call cannot be read", reason, message));
        }
        "MALFORMED_RESPONSE" => return Err(meaning("the model's answer cannot be read", reason, message)),
        "MISSING_THOUGHT_SIGNATURE" => {
            return Err(meaning("a call of the conversation lacks its signature", reason, message));
        }
        // STOP, OTHER, and values that do not exist yet.
        _ => FinishReason::Stop,
    })
}

fn meaning(what: &str, reason: &str, message: Option<String>) -> EventError {
    let message = message.map(|message| format!(": {message}")).unwrap_or_default();
    EventError::Content(format!("{what} ({reason}){message}"))
}

struct ResponseChunk {
    candidates: Option<Vec<Candidate>>,
    prompt_feedback: Option<Feedback>,
    usage_metadata: Option<Value>,
}

impl FromJson for ResponseChunk {
    fn from_json(value: Value) -> Result<Self, Error> {
        let mut fields = Fields::of(value)?;
        Ok(Self {
            candidates: fields.may("candidates")?,
            prompt_feedback: fields.may("promptFeedback")?,
            usage_metadata: fields.may("usageMetadata")?,
        })
    }
}

struct Candidate {
    index: Option<u64>,
    content: Option<Content>,
    finish_reason: Option<String>,
    finish_message: Option<String>,
}

impl FromJson for Candidate {
    fn from_json(value: Value) -> Result<Self, Error> {
        let mut fields = Fields::of(value)?;
        Ok(Self {
            index: fields.may("index")?,
            content: fields.may("content")?,
            finish_reason: fields.may("finishReason")?,
            finish_message: fields.may("finishMessage")?,
        })
    }
}

struct Content {
    parts: Option<Vec<WirePart>>,
}

impl FromJson for Content {
    fn from_json(value: Value) -> Result<Self, Error> {
        let mut fields = Fields::of(value)?;
        Ok(Self { parts: fields.may("parts")? })
    }
}

struct WirePart {
    text: Option<String>,
    thought: Option<bool>,
    thought_signature: Option<String>,
    function_call: Option<FunctionCall>,
}

impl FromJson for WirePart {
    fn from_json(value: Value) -> Result<Self, Error> {
        let mut fields = Fields::of(value)?;
        Ok(Self {
            text: fields.may("text")?,
            thought: fields.may("thought")?,
            thought_signature: fields.may("thoughtSignature")?,
            function_call: fields.may("functionCall")?,
        })
    }
}

struct FunctionCall {
    id: Option<String>,
    name: Option<String>,
    args: Option<Value>,
}

impl FromJson for FunctionCall {
    fn from_json(value: Value) -> Result<Self, Error> {
        let mut fields = Fields::of(value)?;
        Ok(Self { id: fields.may("id")?, name: fields.may("name")?, args: fields.may("args")? })
    }
}

struct Feedback {
    block_reason: Option<String>,
}

impl FromJson for Feedback {
    fn from_json(value: Value) -> Result<Self, Error> {
        let mut fields = Fields::of(value)?;
        Ok(Self { block_reason: fields.may("blockReason")? })
    }
}

#[expect(clippy::struct_field_names, reason = "they are the provider's names")]
struct WireUsage {
    prompt_token_count: Option<u64>,
    tool_use_prompt_token_count: Option<u64>,
    cached_content_token_count: Option<u64>,
    candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
}

impl FromJson for WireUsage {
    fn from_json(value: Value) -> Result<Self, Error> {
        let mut fields = Fields::of(value)?;
        Ok(Self {
            prompt_token_count: fields.may("promptTokenCount")?,
            tool_use_prompt_token_count: fields.may("toolUsePromptTokenCount")?,
            cached_content_token_count: fields.may("cachedContentTokenCount")?,
            candidates_token_count: fields.may("candidatesTokenCount")?,
            thoughts_token_count: fields.may("thoughtsTokenCount")?,
        })
    }
}

impl From<WireUsage> for Usage {
    fn from(usage: WireUsage) -> Self {
        let sum = |one: Option<u64>, other: Option<u64>| {
            one.unwrap_or_default().saturating_add(other.unwrap_or_default())
        };
        Self {
            input_tokens: sum(usage.prompt_token_count, usage.tool_use_prompt_token_count),
            cached_input_tokens: usage.cached_content_token_count.unwrap_or_default(),
            output_tokens: sum(usage.candidates_token_count, usage.thoughts_token_count),
            ..Self::default()
        }
    }
}
