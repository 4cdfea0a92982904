use serde_json::Value;

use super::Framing;

/// So much is kept of what somebody says who may be somebody else.
const HEARD_BYTES: usize = 4 * 1024;

/// Whoever answers, until an event of the format has come: a wrong address is answered by all kinds of servers.
#[derive(Debug, Default)]
pub(super) struct Stranger {
    heard: Vec<u8>,
    /// Whether a whole event came that the format does not know.
    has_spoken: bool,
}

impl Stranger {
    pub(super) fn hear(&mut self, bytes: &[u8]) {
        let room = HEARD_BYTES.saturating_sub(self.heard.len()).min(bytes.len());
        self.heard.extend_from_slice(&bytes[..room]);
    }

    /// Whether nothing has come.
    pub(super) fn is_silent(&self) -> bool {
        self.heard.is_empty() && !self.has_spoken
    }

    /// An event that the format does not know. Always `true`: what is wrong with it is that.
    pub(super) fn take(&mut self, data: &str) -> bool {
        if self.heard.is_empty() {
            self.hear(data.as_bytes());
        }
        self.has_spoken = true;
        true
    }

    /// Whether what came may be the beginning of an answer that was cut before its first event was whole.
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
            // The first letters of a message are its length, which is less than 16 MiB.
            #[cfg(feature = "bedrock")]
            Framing::Messages => text.starts_with('\0'),
        };
        begins && !self.has_spoken
    }

    /// The error in what came, where it is nothing else.
    pub(super) fn error(&self) -> Option<Value> {
        let event = serde_json::from_slice(&self.heard).ok()?;
        bare_error(&event).cloned()
    }

    /// What came, for a message.
    pub(super) fn said(&self) -> String {
        let text = self.text();
        let text = text.trim();
        if text.starts_with('<') { text.to_owned() } else { format!("\"{text}\"") }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.heard).into_owned()
    }
}

/// The error in an event that is none of the format's own: gateways answer in their own words, with status 200, too.
pub(super) fn bare_error(event: &Value) -> Option<&Value> {
    if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
        return Some(error);
    }
    let has_words = ["message", "detail"].iter().any(|name| event.get(name).is_some_and(Value::is_string));
    has_words.then_some(event)
}
