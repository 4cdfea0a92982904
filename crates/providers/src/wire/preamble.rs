use serde_json::Value;

use super::Framing;

/// The most bytes that are kept of what an unknown server says.
const MAX_BYTES: usize = 4 * 1024;

/// What a server sent before the first event of the format, because at a wrong address any kind of server may answer.
#[derive(Debug, Default)]
pub(super) struct Preamble {
    bytes: Vec<u8>,
    /// Whether a complete event came that the format does not know.
    has_unknown_event: bool,
}

impl Preamble {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let room = MAX_BYTES.saturating_sub(self.bytes.len()).min(bytes.len());
        self.bytes.extend_from_slice(&bytes[..room]);
    }

    /// Whether nothing has come.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty() && !self.has_unknown_event
    }

    /// Takes an event that the format does not know. Always returns `true`, because that is an error.
    pub(super) fn push_unknown_event(&mut self, data: &str) -> bool {
        if self.bytes.is_empty() {
            self.push(data.as_bytes());
        }
        self.has_unknown_event = true;
        true
    }

    /// Whether what came may be the beginning of an answer that was cut before its first event was complete.
    pub(super) fn may_be_cut(&self, framing: Framing) -> bool {
        let text = self.text();
        let text = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        if text.is_empty() {
            return true;
        }
        let begins = match framing {
            Framing::Events => {
                let line = text.lines().next().unwrap_or_default();
                let may_begin = |field: &&str| line.starts_with(*field) || field.starts_with(line);
                ["data", "event", "id:", "retry:", ":"].iter().any(may_begin)
            }
            Framing::Lines | Framing::Document => text.starts_with(['{', '[']),
            // The first bytes of a message are its length, which is less than 16 MiB.
            #[cfg(feature = "bedrock")]
            Framing::Messages => text.starts_with('\0'),
        };
        begins && !self.has_unknown_event
    }

    /// The error in what came, if it is only an error.
    pub(super) fn error(&self) -> Option<Value> {
        let event = serde_json::from_slice(&self.bytes).ok()?;
        bare_error(&event).cloned()
    }

    /// What came, for a message.
    pub(super) fn quoted(&self) -> String {
        let text = self.text();
        let text = text.trim();
        if text.starts_with('<') { text.to_owned() } else { format!("\"{text}\"") }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// The error in an event that is not the format's own, because gateways report errors in their own format, even with
/// status 200.
pub(super) fn bare_error(event: &Value) -> Option<&Value> {
    if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
        return Some(error);
    }
    let has_words = ["message", "detail"].iter().any(|name| event.get(name).is_some_and(Value::is_string));
    has_words.then_some(event)
}
