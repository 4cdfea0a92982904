mod json_path;

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

pub use self::json_path::json_path;
use headstart_forked_query::{Cause, Usage};

/// The answers of a model, to be played again by [`Replay`](crate::Replay).
///
/// It contains what the model said and called, and never a request, a key or a header.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Recording {
    /// The answers in a conversation or a speculation, in the order of their requests.
    pub turns: Vec<RecordedTurn>,
    /// The answers to suggestion queries, in the order of their requests; an empty one means that there was no
    /// suggestion.
    pub suggestions: Vec<RecordedSuggestion>,
}

/// One answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RecordedTurn {
    /// What the model said.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The calls after that, all in this turn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<RecordedCall>,
    /// Milliseconds before the answer began.
    pub delay_ms: u64,
    /// Milliseconds from its beginning to its end.
    #[serde(skip_serializing_if = "is_zero")]
    pub stream_ms: u64,
    /// What it cost, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// One answer to a suggestion query. In JSON it is a plain string if only the text is known.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RecordedSuggestion {
    /// The suggestion; several candidates are on lines of their own, best first.
    pub text: String,
    /// The same in other words, if it is a single one.
    pub also: Vec<String>,
    /// Milliseconds before the answer began.
    pub delay_ms: u64,
    /// What it cost, if that is known.
    pub usage: Option<Usage>,
}

/// One tool call, which gets its id when it is played.
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
    #[error("the recording is not valid JSON: {source}")]
    Json {
        /// What the parser found, with line and column.
        source: Cause,
    },
    /// The JSON is not a recording.
    #[error("the recording is not valid at {path}: {message}")]
    Shape {
        /// The path, as in `turns[3].toolCalls[0].name`.
        path: String,
        /// What is wrong there.
        message: String,
        /// The parser's error, if there is one.
        source: Option<Cause>,
    },
    /// It contains no answers.
    #[error("the recording holds neither turns nor suggestions")]
    Empty,
}

impl Recording {
    /// Reads a recording: `{"turns":[{"text":"…","toolCalls":[{"name":"…","args":{…}}],"delayMs":0}],
    /// "suggestions":["…"]}`. Every field except a call's name may be absent.
    pub fn parse(text: &str) -> Result<Self, RecordingError> {
        if text.trim_start().starts_with('[') {
            // serde would accept a list as the fields in their order.
            let message = "must be an object with `turns` and `suggestions`, and is an array".into();
            return Err(RecordingError::Shape { path: TOP.to_owned(), message, source: None });
        }
        let mut parser = serde_json::Deserializer::from_str(text);
        let recording = Self::deserialize(&mut parser).map_err(|error| {
            if error.is_data() {
                let (path, message) = (path_or_top(text, &error), error.to_string());
                RecordingError::Shape { path, message, source: Some(error.into()) }
            } else {
                RecordingError::Json { source: error.into() }
            }
        })?;
        parser.end().map_err(|error| RecordingError::Json { source: error.into() })?;
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

impl From<&str> for RecordedSuggestion {
    fn from(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }
}

/// A suggestion with its timing in JSON.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SuggestionFields {
    text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    also: Vec<String>,
    #[serde(default)]
    delay_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
}

impl Serialize for RecordedSuggestion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { text, also, delay_ms, usage } = self.clone();
        if also.is_empty() && delay_ms == 0 && usage.is_none() {
            return serializer.serialize_str(&text);
        }
        SuggestionFields { text, also, delay_ms, usage }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RecordedSuggestion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextOrFields;
        impl<'de> Visitor<'de> for TextOrFields {
            type Value = RecordedSuggestion;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a string or an object with `text`")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(text.into())
            }

            fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Self::Value, A::Error> {
                let SuggestionFields { text, also, delay_ms, usage } =
                    SuggestionFields::deserialize(MapAccessDeserializer::new(fields))?;
                Ok(RecordedSuggestion { text, also, delay_ms, usage })
            }
        }
        deserializer.deserialize_any(TextOrFields)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The name for the recording as a whole in errors.
const TOP: &str = "its top level";

fn path_or_top(text: &str, error: &serde_json::Error) -> String {
    let path = json_path(text, error);
    if path.is_empty() { TOP.to_owned() } else { path }
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use super::*;

    #[test]
    fn everything_survives_the_round_trip() {
        let text = r#"{"turns":[{"text":"hi","toolCalls":[{"name":"ls","args":{"path":"."}},{"name":"shell"}],"delayMs":7,"streamMs":9,
            "usage":{"inputTokens":3,"cachedInputTokens":2,"outputTokens":1}},{}],"suggestions":["commit this","",{"text":"push it","delayMs":4,"usage":{"inputTokens":5}}]}"#;
        let recording = Recording::parse(text).unwrap();
        assert_eq!(recording.turns[0].tool_calls.len(), 2);
        assert_eq!(Recording::parse(&recording.to_json()).unwrap(), recording);
        insta::assert_snapshot!(recording.to_json());
    }

    #[test]
    fn what_the_parser_found_is_below_the_error() {
        for (text, is_json) in [("{\"turns\":[", false), (r#"{"suggestions":[null]}"#, true)] {
            let error = Recording::parse(text).unwrap_err();
            let json = error.source().and_then(<dyn Error>::downcast_ref::<serde_json::Error>).unwrap();
            assert_eq!((json.is_data(), json.is_eof()), (is_json, !is_json), "{json:?}");
        }
        assert!(Recording::parse("[1]").unwrap_err().source().is_none());
    }

    #[test]
    fn errors_name_the_place() {
        let cases = [
            ("{\"turns\":[", "the recording is not valid JSON: EOF while parsing a list at line 1 column 10"),
            ("{} x", "the recording is not valid JSON: trailing characters at line 1 column 4"),
            ("{}", "the recording holds neither turns nor suggestions"),
            (
                "[1]",
                "the recording is not valid at its top level: must be an object with `turns` and `suggestions`, and is an array",
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
                "the recording is not valid at turns[0].tool_calls: unknown field `tool_calls`, expected one of `text`, `toolCalls`, `delayMs`, `streamMs`, `usage` at line 1 column 23",
            ),
            (
                r#"{"suggestions":["",{"text":"x","delay":1}]}"#,
                "the recording is not valid at suggestions[1].delay: unknown field `delay`, expected one of `text`, `also`, `delayMs`, `usage` at line 1 column 38",
            ),
            (
                r#"{"suggestions":[null]}"#,
                "the recording is not valid at suggestions[0]: invalid type: null, expected a string or an object with `text` at line 1 column 20",
            ),
            (
                "{\"turns\":[{\"text\":\"a\"},\n{\"toolCalls\":[{\"name\":\"ls\",\"args\":[]}]}]}",
                "the recording is not valid at turns[1].toolCalls[0].args: invalid type: sequence, expected a map at line 2 column 34",
            ),
            (
                "7",
                "the recording is not valid at its top level: invalid type: integer `7`, expected struct Recording at line 1 column 1",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(Recording::parse(text).unwrap_err().to_string(), expected, "{text}");
        }
    }
}
