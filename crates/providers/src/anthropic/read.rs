use serde_json::{Error, Map, Value, json};

use crate::wire::layout::append_text;
use crate::wire::{AnswerBuilder, CallFragment, EventError};
use headstart_forked_query::json::{Fields, FromJson};
use headstart_forked_query::{FinishReason, Usage};

/// Reads the events of a message, whose usage comes in two parts.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    usage: WireUsage,
}

impl Reader {
    pub(crate) fn read(&mut self, event: Value, answer: &mut AnswerBuilder) -> Result<(), EventError> {
        let kind = event.get("type").and_then(Value::as_str).unwrap_or_default();
        if kind == "error" || (kind.is_empty() && event.get("error").is_some()) {
            return Err(EventError::Reported(event.get("error").unwrap_or(&event).clone()));
        }
        if kind == "message" {
            return self.whole(event, answer);
        }
        match Event::from_json(event)? {
            Event::MessageStart { message } => self.usage(message.usage, answer),
            Event::ContentBlockStart { index, content_block } => match content_block {
                StartedBlock::Text { text } => answer.push_text(text),
                StartedBlock::Thinking { block } => {
                    answer.push_thought(block.get("thinking").and_then(Value::as_str).map(str::to_owned));
                    answer.push_raw(block);
                }
                StartedBlock::Redacted { block } => answer.push_raw(block),
                StartedBlock::ToolUse { id, name, input } => answer.push_call(CallFragment {
                    index: Some(index),
                    id,
                    name,
                    arguments: input.into(),
                    ..CallFragment::default()
                }),
                StartedBlock::Other => {}
            },
            Event::ContentBlockDelta { index, delta } => match delta {
                Delta::TextDelta { text } => answer.push_text(Some(text)),
                Delta::ThinkingDelta { thinking } => {
                    thought(answer, |block| append_text(block, "thinking", &thinking));
                    answer.push_thought(Some(thinking));
                }
                Delta::SignatureDelta { signature } => {
                    thought(answer, |block| _ = block.insert("signature".into(), signature.into()));
                }
                Delta::InputJsonDelta { partial_json } => answer.push_call(CallFragment {
                    index: Some(index),
                    arguments: Some(Value::String(partial_json)).into(),
                    ..CallFragment::default()
                }),
                // Citations.
                Delta::Other => {}
            },
            Event::MessageDelta { delta, usage } => {
                self.usage(usage, answer);
                if let Some(reason) = delta.stop_reason {
                    answer.finish(finish_reason(&reason));
                }
            }
            Event::MessageStop => answer.end(),
            // Ends of blocks, pings, and events that do not exist yet.
            Event::Other => {}
        }
        Ok(())
    }

    /// Reads a whole message from a server that does not stream, as if each block had begun and ended.
    fn whole(&mut self, message: Value, answer: &mut AnswerBuilder) -> Result<(), EventError> {
        let mut fields = Fields::of(message)?;
        match fields.may::<Value>("content")? {
            Some(Value::String(text)) => answer.push_text(Some(text)),
            Some(blocks) => {
                for (index, block) in Vec::<Value>::from_json(blocks)?.into_iter().enumerate() {
                    let event =
                        json!({ "type": "content_block_start", "index": index, "content_block": block });
                    self.read(event, answer)?;
                }
            }
            None => {}
        }
        self.usage(fields.may("usage")?, answer);
        let reason: Option<String> = fields.may("stop_reason")?;
        answer.finish(finish_reason(reason.as_deref().unwrap_or_default()));
        answer.end();
        Ok(())
    }

    /// Takes over the numbers that the usage contains; later ones replace earlier ones.
    fn usage(&mut self, usage: Option<Value>, answer: &mut AnswerBuilder) {
        let Some(Ok(usage)) = usage.map(WireUsage::from_json) else { return };
        let before = &self.usage;
        self.usage = WireUsage {
            input_tokens: usage.input_tokens.or(before.input_tokens),
            output_tokens: usage.output_tokens.or(before.output_tokens),
            cache_read_input_tokens: usage.cache_read_input_tokens.or(before.cache_read_input_tokens),
            cache_creation_input_tokens: usage
                .cache_creation_input_tokens
                .or(before.cache_creation_input_tokens),
        };
        answer.push_usage(self.usage.total());
    }
}

/// Changes the current thought, or begins one if its beginning was missing.
fn thought(answer: &mut AnswerBuilder, change: impl FnOnce(&mut Map<String, Value>)) {
    if answer.last_raw().is_none() {
        answer.push_raw(Map::from_iter([("type".to_owned(), "thinking".into())]));
    }
    if let Some(block) = answer.last_raw() {
        change(block);
    }
}

enum Event {
    MessageStart { message: StartedMessage },
    ContentBlockStart { index: u64, content_block: StartedBlock },
    ContentBlockDelta { index: u64, delta: Delta },
    MessageDelta { delta: MessageDelta, usage: Option<Value> },
    MessageStop,
    Other,
}

impl FromJson for Event {
    fn from_json(value: Value) -> Result<Self, Error> {
        let mut fields = Fields::of(value)?;
        Ok(match fields.must::<String>("type")?.as_str() {
            "message_start" => Self::MessageStart { message: fields.must("message")? },
            "content_block_start" => Self::ContentBlockStart {
                index: fields.or_default("index")?,
                content_block: fields.must("content_block")?,
            },
            "content_block_delta" => {
                Self::ContentBlockDelta { index: fields.or_default("index")?, delta: fields.must("delta")? }
            }
            "message_delta" => {
                Self::MessageDelta { delta: fields.must("delta")?, usage: fields.may("usage")? }
            }
            "message_stop" => Self::MessageStop,
            _ => Self::Other,
        })
    }
}

struct StartedMessage {
    usage: Option<Value>,
}

impl FromJson for StartedMessage {
    fn from_json(value: Value) -> Result<Self, Error> {
        let mut fields = Fields::of(value)?;
        Ok(Self { usage: fields.may("usage")? })
    }
}

enum StartedBlock {
    Text {
        text: Option<String>,
    },
    Thinking {
        block: Map<String, Value>,
    },
    /// A thought that only the model can read.
    Redacted {
        block: Map<String, Value>,
    },
    ToolUse {
        id: String,
        name: String,
        input: Option<Value>,
    },
    /// Tools that the provider runs itself.
    Other,
}

impl FromJson for StartedBlock {
    fn from_json(value: Value) -> Result<Self, Error> {
        match value.get("type").and_then(Value::as_str) {
            Some("thinking") => return Ok(Self::Thinking { block: Map::from_json(value)? }),
            Some("redacted_thinking") => return Ok(Self::Redacted { block: Map::from_json(value)? }),
            _ => {}
        }
        let mut fields = Fields::of(value)?;
        Ok(match fields.must::<String>("type")?.as_str() {
            "text" => Self::Text { text: fields.may("text")? },
            "tool_use" => Self::ToolUse {
                id: fields.or_default("id")?,
                name: fields.or_default("name")?,
                input: fields.may("input")?,
            },
            _ => Self::Other,
        })
    }
}

#[expect(clippy::enum_variant_names, reason = "they are the provider's names")]
enum Delta {
    TextDelta { text: String },
    ThinkingDelta { thinking: String },
    SignatureDelta { signature: String },
    InputJsonDelta { partial_json: String },
    Other,
}

impl FromJson for Delta {
    fn from_json(value: Value) -> Result<Self, Error> {
        let mut fields = Fields::of(value)?;
        Ok(match fields.must::<String>("type")?.as_str() {
            "text_delta" => Self::TextDelta { text: fields.must("text")? },
            "thinking_delta" => Self::ThinkingDelta { thinking: fields.must("thinking")? },
            "signature_delta" => Self::SignatureDelta { signature: fields.must("signature")? },
            "input_json_delta" => Self::InputJsonDelta { partial_json: fields.must("partial_json")? },
            _ => Self::Other,
        })
    }
}

struct MessageDelta {
    stop_reason: Option<String>,
}

impl FromJson for MessageDelta {
    fn from_json(value: Value) -> Result<Self, Error> {
        let mut fields = Fields::of(value)?;
        Ok(Self { stop_reason: fields.may("stop_reason")? })
    }
}

#[derive(Debug, Default)]
#[expect(clippy::struct_field_names, reason = "they are the provider's names")]
struct WireUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

impl FromJson for WireUsage {
    fn from_json(value: Value) -> Result<Self, Error> {
        let mut fields = Fields::of(value)?;
        Ok(Self {
            input_tokens: fields.may("input_tokens")?,
            output_tokens: fields.may("output_tokens")?,
            cache_read_input_tokens: fields.may("cache_read_input_tokens")?,
            cache_creation_input_tokens: fields.may("cache_creation_input_tokens")?,
        })
    }
}

impl WireUsage {
    /// Adds up the three parts in which the provider counts what the model read.
    fn total(&self) -> Usage {
        let [input, cached, created, output] = [
            self.input_tokens,
            self.cache_read_input_tokens,
            self.cache_creation_input_tokens,
            self.output_tokens,
        ]
        .map(Option::unwrap_or_default);
        Usage {
            input_tokens: input.saturating_add(cached).saturating_add(created),
            cached_input_tokens: cached,
            cache_creation_tokens: created,
            output_tokens: output,
            ..Usage::default()
        }
    }
}

fn finish_reason(reason: &str) -> FinishReason {
    match reason {
        "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
        "refusal" => FinishReason::ContentFilter,
        // end_turn, tool_use, stop_sequence, pause_turn.
        _ => FinishReason::Stop,
    }
}
