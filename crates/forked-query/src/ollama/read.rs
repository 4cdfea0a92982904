use serde::Deserialize;
use serde_json::Value;

use crate::wire::{Answer, Fragment, Wrong};
use crate::{FinishReason, Usage};

/// Takes one line.
pub(crate) fn read(event: Value, answer: &mut Answer) -> Result<(), Wrong> {
    if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
        return Err(Wrong::Error(error.clone()));
    }
    let line: Line = serde_json::from_value(event)?;
    if let Some(message) = line.message {
        answer.thought(message.thinking);
        answer.text(message.content);
        for call in message.tool_calls.unwrap_or_default() {
            answer.call(Fragment {
                id: call.id.unwrap_or_default(),
                name: call.function.name.unwrap_or_default(),
                arguments: call.function.arguments.into(),
                is_whole: true,
                ..Fragment::default()
            });
        }
    }
    if line.done {
        if line.prompt_eval_count.is_some() || line.eval_count.is_some() {
            answer.usage(Usage {
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

#[derive(Deserialize)]
struct Line {
    message: Option<WireMessage>,
    #[serde(default)]
    done: bool,
    done_reason: Option<String>,
    prompt_eval_count: Option<u64>,
    eval_count: Option<u64>,
}

#[derive(Deserialize)]
struct WireMessage {
    content: Option<String>,
    thinking: Option<String>,
    tool_calls: Option<Vec<WireCall>>,
}

#[derive(Deserialize)]
struct WireCall {
    id: Option<String>,
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: Option<String>,
    arguments: Option<Value>,
}
