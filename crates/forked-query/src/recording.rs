use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Usage;

/// The answers of a model, to be played again by [`Replay`](crate::Replay).
///
/// It holds what the model said and called; no request, no key, no header is ever in it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Recording {
    /// The answers in a conversation or a speculation, in the order they were asked for.
    pub turns: Vec<RecordedTurn>,
    /// The answers to suggestion queries, in the order they were asked for; an empty one is silence.
    pub suggestions: Vec<String>,
}

/// One answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RecordedTurn {
    /// What the model said.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// What it called after that, all of it in this turn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<RecordedCall>,
    /// Milliseconds before the answer began.
    pub delay_ms: u64,
    /// What it cost, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// One tool call; it gets its id when it is played.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RecordedCall {
    /// The tool's name.
    pub name: String,
    /// The arguments.
    #[serde(default)]
    pub args: Map<String, Value>,
}

/// What is wrong with a recording.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// The text is not JSON.
    #[error("the recording is not valid JSON: {message}")]
    Json {
        /// What the parser found, with line and column.
        message: String,
    },
    /// The JSON is not a recording.
    #[error("the recording is not valid at {path}: {message}")]
    Shape {
        /// Where, as in `turns[3].toolCalls[0].name`.
        path: String,
        /// What is wrong there.
        message: String,
    },
    /// There is nothing in it to play.
    #[error("the recording holds neither turns nor suggestions")]
    Empty,
}

impl Recording {
    /// Reads a recording: `{"turns":[{"text":"…","toolCalls":[{"name":"…","args":{…}}],"delayMs":0}],
    /// "suggestions":["…"]}`. Every field but a call's name may be left out.
    pub fn parse(text: &str) -> Result<Self, RecordingError> {
        if text.trim_start().starts_with('[') {
            // serde would take a list for the fields in their order.
            let message = "expected an object with `turns` and `suggestions`".into();
            return Err(RecordingError::Shape { path: place(".".into()), message });
        }
        let mut parser = serde_json::Deserializer::from_str(text);
        let recording: Self = serde_path_to_error::deserialize(&mut parser).map_err(|error| {
            let path = error.path().to_string();
            let message = error.into_inner();
            if message.is_data() {
                RecordingError::Shape { path: place(path), message: message.to_string() }
            } else {
                RecordingError::Json { message: message.to_string() }
            }
        })?;
        parser.end().map_err(|error| RecordingError::Json { message: error.to_string() })?;
        if recording.turns.is_empty() && recording.suggestions.is_empty() {
            return Err(RecordingError::Empty);
        }
        Ok(recording)
    }

    /// The recording as text that [`parse`](Self::parse) reads.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self)
            .expect("works because strings, numbers and JSON values are always JSON")
    }
}

fn place(path: String) -> String {
    if path == "." { "its top level".into() } else { path }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_survives_the_round_trip() {
        let text = r#"{"turns":[{"text":"hi","toolCalls":[{"name":"ls","args":{"path":"."}},{"name":"shell"}],"delayMs":7,
            "usage":{"inputTokens":3,"cachedInputTokens":2,"outputTokens":1}},{}],"suggestions":["commit this",""]}"#;
        let recording = Recording::parse(text).unwrap();
        assert_eq!(recording.turns[0].tool_calls.len(), 2);
        assert_eq!(Recording::parse(&recording.to_json()).unwrap(), recording);
        insta::assert_snapshot!(recording.to_json());
    }

    #[test]
    fn errors_name_the_place() {
        let cases = [
            ("{\"turns\":[", "the recording is not valid JSON: EOF while parsing a list at line 1 column 10"),
            ("{} x", "the recording is not valid JSON: trailing characters at line 1 column 4"),
            ("{}", "the recording holds neither turns nor suggestions"),
            (
                "[1]",
                "the recording is not valid at its top level: expected an object with `turns` and `suggestions`",
            ),
            (
                r#"{"turns":[{},{"toolCalls":[{"name":"ls"},{"args":{}}]}]}"#,
                "the recording is not valid at turns[1].toolCalls[1]: missing field `name` at line 1 column 52",
            ),
            (
                r#"{"turns":[{"delayMs":-1}]}"#,
                "the recording is not valid at turns[0].delayMs: invalid value: integer `-1`, expected u64 at line 1 column 23",
            ),
            (
                r#"{"turns":[{"tool_calls":[]}]}"#,
                "the recording is not valid at turns[0].tool_calls: unknown field `tool_calls`, expected one of `text`, `toolCalls`, `delayMs`, `usage` at line 1 column 23",
            ),
            (
                r#"{"suggestions":[null]}"#,
                "the recording is not valid at suggestions[0]: invalid type: null, expected a string at line 1 column 20",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(Recording::parse(text).unwrap_err().to_string(), expected, "{text}");
        }
    }
}
