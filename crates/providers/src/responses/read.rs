use std::collections::HashSet;

use serde_json::{Error, Map, Value};

use crate::wire::{AnswerBuilder, CallFragment, EventError};
use headstart_forked_query::json::{Fields, FromJson};
use headstart_forked_query::{FinishReason, Usage};

/// Reads the events of a response. They are numbered, so that a repeated one is noticed.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    last_number: Option<u64>,
    /// The items that were read, by their indices in the response.
    seen: HashSet<u64>,
    /// The calls that were begun: their indices in the response, and their names.
    begun: Vec<(u64, String)>,
}

impl Reader {
    pub(crate) fn read(&mut self, event: Value, answer: &mut AnswerBuilder) -> Result<(), EventError> {
        let kind = event.get("type").and_then(Value::as_str).unwrap_or_default();
        let error = event.get("error").filter(|error| !error.is_null());
        if kind == "error" || (kind.is_empty() && error.is_some()) {
            return Err(EventError::Reported(error.unwrap_or(&event).clone()));
        }
        // A gateway that does not stream sends only the response.
        if kind.is_empty() && event.get("object").is_some_and(|object| object == "response") {
            return self.whole(Response::from_json(event)?, answer);
        }
        if let Some(number) = event.get("sequence_number").and_then(Value::as_u64) {
            if self.last_number.is_some_and(|last| number <= last) {
                return Ok(());
            }
            self.last_number = Some(number);
        }
        match Event::from_json(event)? {
            Event::Text { delta } | Event::Refusal { delta } => answer.push_text(Some(delta)),
            Event::ReasoningSummary { delta } | Event::Reasoning { delta } => {
                answer.push_thought(Some(delta));
            }
            Event::CallBegun { output_index, name } => {
                self.begun.push((output_index, name));
                self.letters(output_index, String::new(), answer);
            }
            Event::Arguments { delta, .. } if delta.is_empty() => {}
            Event::Arguments { output_index, delta } => {
                answer.note_progress();
                self.letters(output_index, delta, answer);
            }
            Event::ItemDone { output_index, item } => self.item(output_index, item, answer),
            Event::Completed { response } | Event::Incomplete { response } => self.ended(response, answer),
            Event::Failed { response } => {
                return Err(EventError::Reported(response.error.unwrap_or_default()));
            }
            // Pieces of what comes complete later, and events that do not exist yet.
            Event::Other => {}
        }
        Ok(())
    }

    /// Shows what of a call is there so far. The arguments come again with its complete item.
    fn letters(&self, output_index: u64, letters: String, answer: &mut AnswerBuilder) {
        if let Some(index) = self.begun.iter().position(|(begun, _)| *begun == output_index) {
            answer.show_fragment(index, &self.begun[index].1, letters);
        }
    }

    fn item(&mut self, index: u64, item: Item, answer: &mut AnswerBuilder) {
        if matches!(item, Item::Other) || !self.seen.insert(index) {
            return;
        }
        match item {
            Item::FunctionCall { call_id, name, arguments } => answer.push_call(CallFragment {
                id: call_id,
                name,
                arguments: arguments.into(),
                is_whole: true,
                ..CallFragment::default()
            }),
            Item::Reasoning { item } => answer.push_raw(item),
            Item::Message { phase, .. } => answer.end_text(phase.map(Value::String)),
            Item::Other => {}
        }
    }

    fn ended(&mut self, response: Response, answer: &mut AnswerBuilder) {
        // Some servers send no events for single items.
        for (index, item) in (0_u64..).zip(response.output.unwrap_or_default()) {
            self.item(index, item, answer);
        }
        answer.push_usage_as::<WireUsage>(response.usage);
        let reason = response.incomplete_details.and_then(|details| details.reason);
        answer.finish(match reason.as_deref() {
            Some("max_output_tokens" | "max_tokens") => FinishReason::Length,
            Some("content_filter") => FinishReason::ContentFilter,
            _ => FinishReason::Stop,
        });
        answer.end();
    }

    fn whole(&mut self, mut response: Response, answer: &mut AnswerBuilder) -> Result<(), EventError> {
        if let Some(error) = &response.error {
            return Err(EventError::Reported(error.clone()));
        }
        for (index, item) in (0_u64..).zip(response.output.take().unwrap_or_default()) {
            if let Item::Message { content, .. } = &item {
                for part in content {
                    answer.push_text(part.text.clone().or_else(|| part.refusal.clone()));
                }
            }
            self.item(index, item, answer);
        }
        self.ended(response, answer);
        Ok(())
    }
}

enum Event {
    Text { delta: String },
    Refusal { delta: String },
    ReasoningSummary { delta: String },
    Reasoning { delta: String },
    CallBegun { output_index: u64, name: String },
    Arguments { output_index: u64, delta: String },
    ItemDone { output_index: u64, item: Item },
    Completed { response: Response },
    Incomplete { response: Response },
    Failed { response: Response },
    Other,
}

impl FromJson for Event {
    fn from_json(value: Value) -> Result<Self, Error> {
        let mut fields = Fields::of(value)?;
        Ok(match fields.must::<String>("type")?.as_str() {
            "response.output_text.delta" => Self::Text { delta: fields.must("delta")? },
            "response.refusal.delta" => Self::Refusal { delta: fields.must("delta")? },
            "response.reasoning_summary_text.delta" => {
                Self::ReasoningSummary { delta: fields.must("delta")? }
            }
            "response.reasoning_text.delta" => Self::Reasoning { delta: fields.must("delta")? },
            "response.function_call_arguments.delta" => Self::Arguments {
                output_index: fields.or_default("output_index")?,
                delta: fields.or_default("delta")?,
            },
            "response.output_item.added" => {
                let item = fields.may::<Value>("item")?.unwrap_or_default();
                match item["name"].as_str().filter(|_| item["type"] == "function_call") {
                    Some(name) => Self::CallBegun {
                        output_index: fields.or_default("output_index")?,
                        name: name.to_owned(),
                    },
                    None => Self::Other,
                }
            }
            "response.output_item.done" => Self::ItemDone {
                output_index: fields.or_default("output_index")?,
                item: fields.must("item")?,
            },
            "response.completed" => Self::Completed { response: fields.must("response")? },
            "response.incomplete" => Self::Incomplete { response: fields.must("response")? },
            "response.failed" => Self::Failed { response: fields.must("response")? },
            _ => Self::Other,
        })
    }
}

enum Item {
    FunctionCall {
        call_id: String,
        name: String,
        arguments: Option<Value>,
    },
    Message {
        content: Vec<Part>,
        /// Whether it precedes the answer or is the answer, which the model wants to know.
        phase: Option<String>,
    },
    /// An item of reasoning, as it is sent back.
    Reasoning {
        item: Map<String, Value>,
    },
    /// Tools of the provider itself.
    Other,
}

impl FromJson for Item {
    fn from_json(value: Value) -> Result<Self, Error> {
        if value.get("type").is_some_and(|kind| kind == "reasoning") {
            return Ok(reasoning(Map::from_json(value)?));
        }
        let mut fields = Fields::of(value)?;
        Ok(match fields.must::<String>("type")?.as_str() {
            "function_call" => Self::FunctionCall {
                call_id: fields.or_default("call_id")?,
                name: fields.or_default("name")?,
                arguments: fields.may("arguments")?,
            },
            "message" => Self::Message {
                content: match fields.may::<Value>("content")? {
                    Some(Value::String(text)) => vec![Part { text: Some(text), refusal: None }],
                    Some(parts) => Vec::from_json(parts)?,
                    None => Vec::new(),
                },
                phase: fields.may("phase")?,
            },
            _ => Self::Other,
        })
    }
}

/// Removes what only a provider that stores the item could use. Without content nothing is left of it.
fn reasoning(mut item: Map<String, Value>) -> Item {
    let says = |content: &Value| match content {
        Value::String(text) => !text.is_empty(),
        Value::Array(parts) => !parts.is_empty(),
        _ => false,
    };
    if !["encrypted_content", "content"].iter().any(|name| item.get(*name).is_some_and(says)) {
        return Item::Other;
    }
    item.retain(|name, value| !matches!(name.as_str(), "id" | "status") && !value.is_null());
    item.entry("summary").or_insert_with(|| Value::Array(Vec::new()));
    Item::Reasoning { item }
}

struct Part {
    text: Option<String>,
    refusal: Option<String>,
}

impl FromJson for Part {
    fn from_json(value: Value) -> Result<Self, Error> {
        let mut fields = Fields::of(value)?;
        Ok(Self { text: fields.may("text")?, refusal: fields.may("refusal")? })
    }
}

struct Response {
    output: Option<Vec<Item>>,
    usage: Option<Value>,
    error: Option<Value>,
    incomplete_details: Option<Incomplete>,
}

impl FromJson for Response {
    fn from_json(value: Value) -> Result<Self, Error> {
        let mut fields = Fields::of(value)?;
        Ok(Self {
            output: fields.may("output")?,
            usage: fields.may("usage")?,
            error: fields.may("error")?,
            incomplete_details: fields.may("incomplete_details")?,
        })
    }
}

struct Incomplete {
    reason: Option<String>,
}

impl FromJson for Incomplete {
    fn from_json(value: Value) -> Result<Self, Error> {
        let mut fields = Fields::of(value)?;
        Ok(Self { reason: fields.may("reason")? })
    }
}

struct WireUsage {
    input_tokens: Option<u64>,
    input_tokens_details: Option<InputDetails>,
    output_tokens: Option<u64>,
}

impl FromJson for WireUsage {
    fn from_json(value: Value) -> Result<Self, Error> {
        let mut fields = Fields::of(value)?;
        Ok(Self {
            input_tokens: fields.may("input_tokens")?,
            input_tokens_details: fields.may("input_tokens_details")?,
            output_tokens: fields.may("output_tokens")?,
        })
    }
}

#[derive(Default)]
struct InputDetails {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

impl FromJson for InputDetails {
    fn from_json(value: Value) -> Result<Self, Error> {
        let mut fields = Fields::of(value)?;
        Ok(Self {
            cached_tokens: fields.may("cached_tokens")?,
            cache_write_tokens: fields.may("cache_write_tokens")?,
        })
    }
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
