use serde_json::{Error, Value};

use crate::wire::layout::append_text;
use crate::wire::{AnswerBuilder, CallFragment, EventError};
use headstart_forked_query::json::{Fields, FromJson};
use headstart_forked_query::{FinishReason, Usage};

/// Reads one line.
pub(crate) fn read(event: Value, answer: &mut AnswerBuilder) -> Result<(), EventError> {
    if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
        return Err(EventError::Reported(error.clone()));
    }
    let line = Line::from_json(event)?;
    if let Some(message) = line.message {
        if let Some(thinking) = &message.thinking {
            append_text(answer.fields(), "thinking", thinking);
        }
        answer.push_thought(message.thinking);
        answer.push_text(message.content);
        for call in message.tool_calls.unwrap_or_default() {
            answer.push_call(CallFragment {
                id: call.id.unwrap_or_default(),
                name: call.function.name.unwrap_or_default(),
                arguments: call.function.arguments.into(),
                is_whole: true,
                ..CallFragment::default()
            });
        }
    }
    if line.done {
        if line.prompt_eval_count.is_some() || line.eval_count.is_some() {
            answer.push_usage(Usage {
                input_tokens: line.prompt_eval_count.unwrap_or_default(),
                output_tokens: line.eval_count.unwrap_or_default(),
                ..Usage::default()
            });
        }
        let is_cut = line.done_reason.is_some_and(|reason| reason == "length");
        answer.finish(if is_cut { FinishReason::Length } else { FinishReason::Stop });
        answer.end();
    }
    Ok(())
}

struct Line {
    message: Option<WireMessage>,
    done: bool,
    done_reason: Option<String>,
    prompt_eval_count: Option<u64>,
    eval_count: Option<u64>,
}

impl FromJson for Line {
    fn from_json(value: Value) -> Result<Self, Error> {
        let mut fields = Fields::of(value)?;
        Ok(Self {
            message: fields.may("message")?,
            done: fields.or_default("done")?,
            done_reason: fields.may("done_reason")?,
            prompt_eval_count: fields.may("prompt_eval_count")?,
            eval_count: fields.may("eval_count")?,
        })
    }
}

struct WireMessage {
    content: Option<String>,
    thinking: Option<String>,
    tool_calls: Option<Vec<WireCall>>,
}

impl FromJson for WireMessage {
    fn from_json(value: Value) -> Result<Self, Error> {
        let mut fields = Fields::of(value)?;
        Ok(Self {
            content: fields.may("content")?,
            thinking: fields.may("thinking")?,
            tool_calls: fields.may("tool_calls")?,
        })
    }
}

struct WireCall {
    id: Option<String>,
    function: Function,
}

impl FromJson for WireCall {
    fn from_json(value: Value) -> Result<Self, Error> {
        let mut fields = Fields::of(value)?;
        Ok(Self { id: fields.may("id")?, function: fields.must("function")? })
    }
}

struct Function {
    name: Option<String>,
    arguments: Option<Value>,
}

impl FromJson for Function {
    fn from_json(value: Value) -> Result<Self, Error> {
        let mut fields = Fields::of(value)?;
        Ok(Self { name: fields.may("name")?, arguments: fields.may("arguments")? })
    }
}
