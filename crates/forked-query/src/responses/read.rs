use std::collections::HashSet;

use serde::Deserialize;
use serde_json::Value;

use crate::wire::{Answer, Fragment, Wrong};
use crate::{FinishReason, Usage};

/// Reads the events of a response. They are numbered, so that one that comes twice is noticed.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    last_number: Option<u64>,
    /// The calls that have come, by their places in the response.
    seen: HashSet<u64>,
}

impl Reader {
    pub(crate) fn read(&mut self, event: Value, answer: &mut Answer) -> Result<(), Wrong> {
        let kind = event.get("type").and_then(Value::as_str).unwrap_or_default();
        let error = event.get("error").filter(|error| !error.is_null());
        if kind == "error" || (kind.is_empty() && error.is_some()) {
            return Err(Wrong::Error(error.unwrap_or(&event).clone()));
        }
        // A gateway that does not stream sends the response alone.
        if kind.is_empty() && event.get("object").is_some_and(|object| object == "response") {
            return self.whole(serde_json::from_value(event)?, answer);
        }
        if let Some(number) = event.get("sequence_number").and_then(Value::as_u64) {
            if self.last_number.is_some_and(|last| number <= last) {
                return Ok(());
            }
            self.last_number = Some(number);
        }
        match serde_json::from_value(event)? {
            Event::Text { delta } | Event::Refusal { delta } => answer.text(Some(delta)),
            Event::ReasoningSummary { delta } | Event::Reasoning { delta } => answer.thought(Some(delta)),
            Event::Arguments { delta } if delta.is_empty() => {}
            // They come whole with their item; a long text takes its time.
            Event::Arguments { .. } => answer.step(),
            Event::ItemDone { output_index, item } => self.item(output_index, item, answer),
            Event::Completed { response } | Event::Incomplete { response } => self.ended(response, answer),
            Event::Failed { response } => return Err(Wrong::Error(response.error.unwrap_or_default())),
            // Pieces of what comes whole later, and what is yet to be invented.
            Event::Other => {}
        }
        Ok(())
    }

    fn item(&mut self, index: u64, item: Item, answer: &mut Answer) {
        if let Item::FunctionCall { call_id, name, arguments } = item
            && self.seen.insert(index)
        {
            answer.call(Fragment {
                id: call_id,
                name,
                arguments: arguments.into(),
                is_whole: true,
                ..Fragment::default()
            });
        }
    }

    fn ended(&mut self, response: Response, answer: &mut Answer) {
        // Some servers send no events for single items.
        for (index, item) in (0_u64..).zip(response.output.unwrap_or_default()) {
            self.item(index, item, answer);
        }
        answer.usage_as::<WireUsage>(response.usage);
        let reason = response.incomplete_details.and_then(|details| details.reason);
        answer.finish(match reason.as_deref() {
            Some("max_output_tokens" | "max_tokens") => FinishReason::Length,
            Some("content_filter") => FinishReason::ContentFilter,
            _ => FinishReason::Stop,
        });
        answer.end();
    }

    fn whole(&mut self, response: Response, answer: &mut Answer) -> Result<(), Wrong> {
        if let Some(error) = &response.error {
            return Err(Wrong::Error(error.clone()));
        }
        for item in response.output.iter().flatten() {
            if let Item::Message { content } = item {
                for part in content {
                    answer.text(part.text.clone().or_else(|| part.refusal.clone()));
                }
            }
        }
        self.ended(response, answer);
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Event {
    #[serde(rename = "response.output_text.delta")]
    Text { delta: String },
    #[serde(rename = "response.refusal.delta")]
    Refusal { delta: String },
    #[serde(rename = "response.reasoning_summary_text.delta")]
    ReasoningSummary { delta: String },
    #[serde(rename = "response.reasoning_text.delta")]
    Reasoning { delta: String },
    #[serde(rename = "response.function_call_arguments.delta")]
    Arguments {
        #[serde(default)]
        delta: String,
    },
    #[serde(rename = "response.output_item.done")]
    ItemDone {
        #[serde(default)]
        output_index: u64,
        item: Item,
    },
    #[serde(rename = "response.completed")]
    Completed { response: Response },
    #[serde(rename = "response.incomplete")]
    Incomplete { response: Response },
    #[serde(rename = "response.failed")]
    Failed { response: Response },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item {
    FunctionCall {
        #[serde(default)]
        call_id: String,
        #[serde(default)]
        name: String,
        arguments: Option<Value>,
    },
    Message {
        #[serde(default)]
        content: Vec<Part>,
    },
    /// Reasoning, and the provider's own tools.
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Part {
    text: Option<String>,
    refusal: Option<String>,
}

#[derive(Deserialize)]
struct Response {
    output: Option<Vec<Item>>,
    usage: Option<Value>,
    error: Option<Value>,
    incomplete_details: Option<Incomplete>,
}

#[derive(Deserialize)]
struct Incomplete {
    reason: Option<String>,
}

#[derive(Deserialize)]
struct WireUsage {
    input_tokens: Option<u64>,
    input_tokens_details: Option<InputDetails>,
    output_tokens: Option<u64>,
}

#[derive(Deserialize, Default)]
struct InputDetails {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

impl From<WireUsage> for Usage {
    fn from(usage: WireUsage) -> Self {
        let details = usage.input_tokens_details.unwrap_or_default();
        Self {
            input_tokens: usage.input_tokens.unwrap_or_default(),
            cached_input_tokens: details.cached_tokens.unwrap_or_default(),
            cache_creation_tokens: details.cache_write_tokens.unwrap_or_default(),
            output_tokens: usage.output_tokens.unwrap_or_default(),
            ..Self::default()
        }
    }
}
