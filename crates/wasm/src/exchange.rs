//! What a model is asked and answers, as JSON.

use headstart_forked_query::{FinishReason, ModelEvent, ModelRequest, ToolCall, Usage};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::failure::{Failure, json};
use crate::input::parse;

pub(crate) fn request_to_json(request: &ModelRequest) -> String {
    json(request)
}

pub(crate) fn request_from_json(text: &str) -> Result<ModelRequest, Failure> {
    parse("request", text)
}

/// A [`ModelEvent`], tagged as everything is that leaves the crates.
#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum EventFields {
    Text {
        text: String,
    },
    Thought {
        text: String,
    },
    ToolCall {
        /// The engine gives one to a call that has none.
        #[serde(default)]
        id: String,
        name: String,
        #[serde(default)]
        args: Map<String, Value>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    Usage {
        usage: Usage,
    },
    Finished {
        reason: FinishReason,
    },
}

/// An event as JSON; `None` for one that JavaScript has no word for.
pub(crate) fn event_to_json(event: ModelEvent) -> Option<String> {
    let fields = match event {
        ModelEvent::Text(text) => EventFields::Text { text },
        ModelEvent::Thought(text) => EventFields::Thought { text },
        ModelEvent::ToolCall(ToolCall { id, name, args, signature }) => {
            EventFields::ToolCall { id, name, args, signature }
        }
        ModelEvent::Usage(usage) => EventFields::Usage { usage },
        ModelEvent::Finished(reason) => EventFields::Finished { reason },
        _ => return None,
    };
    Some(json(&fields))
}

pub(crate) fn event_from_json(text: &str) -> Result<ModelEvent, Failure> {
    Ok(match parse("event", text)? {
        EventFields::Text { text } => ModelEvent::Text(text),
        EventFields::Thought { text } => ModelEvent::Thought(text),
        EventFields::ToolCall { id, name, args, signature } => {
            ModelEvent::ToolCall(ToolCall { id, name, args, signature })
        }
        EventFields::Usage { usage } => ModelEvent::Usage(usage),
        EventFields::Finished { reason } => ModelEvent::Finished(reason),
    })
}
