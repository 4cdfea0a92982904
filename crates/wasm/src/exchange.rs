//! Requests to a model and its answers, as JSON.

use headstart_forked_query::{FinishReason, ModelEvent, ModelRequest, Opaque, ToolCall, Usage};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::failure::{Failure, json};
use crate::fields::Fields;
use crate::input::parse;

pub(crate) fn request_to_json(request: &ModelRequest) -> String {
    json(request)
}

pub(crate) fn request_from_json(text: &str) -> Result<ModelRequest, Failure> {
    parse("request", text)
}

/// A [`ModelEvent`], tagged like everything that leaves the crates.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum EventFields {
    Text { text: String },
    Thought { text: String },
    ToolCall { id: String, name: String, args: Map<String, Value> },
    Opaque { format: String, model: String, data: Value },
    Usage { usage: Usage },
    Finished { reason: FinishReason },
}

/// An event as JSON; `None` for an event that JavaScript does not know.
pub(crate) fn event_to_json(event: ModelEvent) -> Option<String> {
    let fields = match event {
        ModelEvent::Text(text) => EventFields::Text { text },
        ModelEvent::Thought(text) => EventFields::Thought { text },
        ModelEvent::ToolCall(ToolCall { id, name, args }) => EventFields::ToolCall { id, name, args },
        ModelEvent::Opaque(Opaque { format, model, data }) => EventFields::Opaque { format, model, data },
        ModelEvent::Usage(usage) => EventFields::Usage { usage },
        ModelEvent::Finished(reason) => EventFields::Finished { reason },
        _ => return None,
    };
    Some(json(&fields))
}

pub(crate) fn event_from_json(text: &str) -> Result<ModelEvent, Failure> {
    let fields = Fields::parse("event", text)?;
    let own = |name: &str| fields.text(name).map(str::to_owned);
    Ok(match fields.text("type")? {
        "text" => ModelEvent::Text(own("text")?),
        "thought" => ModelEvent::Thought(own("text")?),
        "toolCall" => ModelEvent::ToolCall(ToolCall {
            // The engine gives an id to a call that has none.
            id: fields.optional_text("id")?.unwrap_or_default().to_owned(),
            name: own("name")?,
            args: fields.object("args")?.cloned().unwrap_or_default(),
        }),
        "opaque" => ModelEvent::Opaque(Opaque {
            format: own("format")?,
            model: own("model")?,
            data: fields.read("data")?,
        }),
        "usage" => ModelEvent::Usage(fields.read("usage")?),
        "finished" => ModelEvent::Finished(fields.read("reason")?),
        other => return Err(Failure::input("type", format!("there is no event {other:?}"))),
    })
}
