use aws_smithy_eventstream::frame::read_message_from;
use aws_smithy_types::event_stream::{HeaderValue, Message};
use serde_json::{Value, json};

use crate::wire::{FrameError, MAX_EVENT_BYTES};

/// Splits bytes that arrive in pieces of any size into messages, and returns each as the JSON of one event.
#[derive(Debug, Default)]
pub(crate) struct MessageDecoder {
    begun: Vec<u8>,
}

impl MessageDecoder {
    /// The events that are complete with these bytes: `{NAME: PAYLOAD}`, or `{"error": {…}}`.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<Vec<String>, FrameError> {
        self.begun.extend_from_slice(bytes);
        let mut events = Vec::new();
        let mut read = 0;
        while let Some(length) = self.begun[read..].first_chunk::<4>() {
            let length = u32::from_be_bytes(*length) as usize;
            if MAX_EVENT_BYTES < length {
                return Err(FrameError::TooLong);
            }
            let Some(message) = self.begun.get(read..read + length.max(4)) else { break };
            // This checks the lengths and both checksums before anything else.
            let message = read_message_from(message).map_err(|_| FrameError::Damaged)?;
            events.extend(event(&message)?);
            read += length.max(4);
        }
        self.begun.drain(..read);
        Ok(events)
    }
}

fn event(message: &Message) -> Result<Option<String>, FrameError> {
    let header = |name: &str| {
        let found = message.headers().iter().find(|header| header.name().as_str() == name)?;
        match found.value() {
            HeaderValue::String(text) => Some(text.as_str().to_owned()),
            _ => None,
        }
    };
    let text = std::str::from_utf8(message.payload()).map_err(|_| FrameError::NotUtf8)?;
    let payload: Value = serde_json::from_str(text).unwrap_or_default();
    let event = match header(":message-type").as_deref() {
        Some("exception") => {
            let kind = header(":exception-type").unwrap_or_default();
            let said = payload.get("message").and_then(Value::as_str).unwrap_or(text);
            json!({ "error": { "type": kind, "message": said } })
        }
        Some("error") => {
            let (code, said) = (header(":error-code"), header(":error-message"));
            json!({ "error": { "type": code, "message": said } })
        }
        _ => match header(":event-type") {
            Some(name) => json!({ name: payload }),
            None => return Ok(None),
        },
    };
    Ok(Some(event.to_string()))
}
