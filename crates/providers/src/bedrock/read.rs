use serde_json::{Map, Value};

use crate::wire::{AnswerBuilder, CallFragment, EventError, FragmentArguments};
use headstart_forked_query::json::FromJson;
use headstart_forked_query::{FinishReason, Usage};

/// Reads one event, `{NAME: PAYLOAD}`. Events with other names are not needed.
pub(crate) fn read(event: Value, answer: &mut AnswerBuilder) -> Result<(), EventError> {
    let mut event = Map::from_json(event)?;
    if let Some(error) = event.remove("error") {
        return Err(EventError::Reported(error));
    }
    let Some((name, payload)) = event.into_iter().next() else { return Ok(()) };
    let index = payload.get("contentBlockIndex").and_then(Value::as_u64);
    let text = |place: &str| payload.pointer(place).and_then(Value::as_str).map(str::to_owned);
    match name.as_str() {
        "contentBlockStart" => {
            if let Some(id) = text("/start/toolUse/toolUseId") {
                let name = text("/start/toolUse/name").unwrap_or_default();
                answer.push_call(CallFragment { index, id, name, ..CallFragment::default() });
            }
        }
        "contentBlockDelta" => {
            answer.push_text(text("/delta/text"));
            answer.push_thought(text("/delta/reasoningContent/text"));
            if let Some(letters) = text("/delta/toolUse/input") {
                answer.push_call(CallFragment {
                    index,
                    arguments: FragmentArguments::More(letters),
                    ..CallFragment::default()
                });
            }
        }
        "messageStop" => answer.finish(match text("/stopReason").as_deref() {
            Some("max_tokens" | "model_context_window_exceeded") => FinishReason::Length,
            Some("guardrail_intervened" | "content_filtered") => FinishReason::ContentFilter,
            _ => FinishReason::Stop,
        }),
        "metadata" => {
            let count = |name: &str| payload["usage"].get(name).and_then(Value::as_u64).unwrap_or_default();
            let (cached, written) = (count("cacheReadInputTokens"), count("cacheWriteInputTokens"));
            if payload.get("usage").is_some() {
                answer.push_usage(Usage {
                    // Tokens read from the cache, or written into it, are counted separately.
                    input_tokens: count("inputTokens").saturating_add(cached).saturating_add(written),
                    cached_input_tokens: cached,
                    cache_creation_tokens: written,
                    output_tokens: count("outputTokens"),
                    ..Usage::default()
                });
            }
            // This event is the last one.
            answer.end();
        }
        _ => answer.note_progress(),
    }
    Ok(())
}
