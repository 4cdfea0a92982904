use serde_json::Value;

use crate::pairing::{PairingError, check_pairing};
use crate::{Cause, Message, Part, Role};

/// What is wrong with a history file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// The text is not JSON.
    #[error("the history is not valid JSON: {source}")]
    Json {
        /// What the parser found, with line and column.
        source: Cause,
    },
    /// The JSON is not an array.
    #[error("the history must be a JSON array of messages, but it is {found}")]
    NotAnArray {
        /// What it is.
        found: &'static str,
    },
    /// A message has the wrong shape.
    #[error("history entry {entry}{}: {message}", part.map(|part| format!(", part {part}")).unwrap_or_default())]
    Entry {
        /// Index of the message, from 0.
        entry: usize,
        /// Index of the part, from 0, if the error is about a part.
        part: Option<usize>,
        /// What is wrong, and what is expected.
        message: String,
    },
    /// The calls and results do not match.
    #[error(transparent)]
    Pairing(#[from] PairingError),
}

/// Reads a history file: a JSON array of messages, in which every call has its result.
///
/// A file that was written by hand may leave out the `id` of calls and results. Then the call gets the id
/// `call-ENTRY-PART`, and the n-th result without an id after it answers the n-th call.
pub fn parse_history(text: &str) -> Result<Vec<Message>, HistoryError> {
    let json: Value =
        serde_json::from_str(text).map_err(|error| HistoryError::Json { source: error.into() })?;
    let Value::Array(entries) = json else {
        return Err(HistoryError::NotAnArray { found: kind(&json) });
    };
    let mut ids = OpenIds::default();
    let mut messages = Vec::with_capacity(entries.len());
    for (entry, value) in entries.into_iter().enumerate() {
        messages.push(parse_message(entry, value, &mut ids)?);
    }
    check_pairing(&messages)?;
    Ok(messages)
}

fn parse_message(entry: usize, value: Value, ids: &mut OpenIds) -> Result<Message, HistoryError> {
    let wrong = |message: String| HistoryError::Entry { entry, part: None, message };
    let Value::Object(mut fields) = value else {
        return Err(wrong(format!("must be an object with `role` and `parts`, and is {}", kind(&value))));
    };
    let role = fields.remove("role").ok_or_else(|| wrong("`role` is missing".into()))?;
    let role: Role = serde_json::from_value(role)
        .map_err(|_| wrong("`role` must be \"user\", \"model\" or \"tool\"".into()))?;
    let parts = match fields.remove("parts") {
        Some(Value::Array(parts)) => parts,
        Some(other) => return Err(wrong(format!("`parts` must be an array, and is {}", kind(&other)))),
        None => return Err(wrong("`parts` is missing".into())),
    };
    if parts.is_empty() {
        return Err(wrong("`parts` is empty; leave the entry out or give it a text".into()));
    }
    if let Some(name) = fields.keys().next() {
        return Err(wrong(format!("unknown field `{name}`; an entry has `role` and `parts`")));
    }
    if role != Role::Tool {
        ids.clear();
    }
    let mut message = Message { role, parts: Vec::with_capacity(parts.len()) };
    for (index, value) in parts.into_iter().enumerate() {
        let part = parse_part(value, |fields| ids.fill(fields, entry, index))
            .map_err(|message| HistoryError::Entry { entry, part: Some(index), message })?;
        message.parts.push(part);
    }
    Ok(message)
}

type Fields = serde_json::Map<String, Value>;

fn parse_part(value: Value, fill_id: impl FnOnce(&mut Fields)) -> Result<Part, String> {
    let Value::Object(mut fields) = value else {
        return Err(format!("must be an object with `type`, and is {}", kind(&value)));
    };
    if fields.get("type").is_some_and(|kind| kind == "toolResult") {
        let outcomes = ["output", "error"].iter().filter(|name| fields.contains_key(**name)).count();
        if outcomes != 1 {
            return Err("a toolResult needs either `output` or `error`".into());
        }
        if fields.get("error").is_some_and(|error| !error.is_string()) {
            return Err("`error` must be a string".into());
        }
    }
    fill_id(&mut fields);
    serde_json::from_value(Value::Object(fields)).map_err(|error| error.to_string())
}

/// The ids of the calls that a result without an id can still answer.
#[derive(Default)]
struct OpenIds {
    ids: Vec<String>,
    answered: usize,
}

impl OpenIds {
    fn clear(&mut self) {
        *self = Self::default();
    }

    /// Adds the id to a call or a result without one, if there is one for it.
    fn fill(&mut self, fields: &mut Fields, entry: usize, part: usize) {
        match fields.get("type").and_then(Value::as_str) {
            Some("toolCall") => {
                let id = fields.entry("id").or_insert_with(|| format!("call-{entry}-{part}").into());
                self.ids.push(id.as_str().unwrap_or_default().to_owned());
            }
            Some("toolResult") => {
                if let (None, Some(id)) = (fields.get("id"), self.ids.get(self.answered)) {
                    fields.insert("id".into(), id.clone().into());
                }
                self.answered += 1;
            }
            _ => {}
        }
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use std::error::Error;

    use super::*;
    use crate::ToolOutcome;

    #[test]
    fn a_history_survives_the_round_trip() {
        let text = r#"[{"role":"user","parts":[{"type":"text","text":"look"}]},
            {"role":"model","parts":[{"type":"text","text":"ok"},{"type":"toolCall","id":"a","name":"ls","args":{"path":"."}}]},
            {"role":"tool","parts":[{"type":"toolResult","id":"a","name":"ls","output":"x"}]}]"#;
        let messages = parse_history(text).unwrap();
        assert_eq!(parse_history(&serde_json::to_string(&messages).unwrap()).unwrap(), messages);
    }

    #[test]
    fn ids_that_a_hand_left_out_are_given_in_order() {
        let text = r#"[{"role":"model","parts":[{"type":"toolCall","name":"ls","args":{}},{"type":"toolCall","id":"own","name":"ls"}]},
            {"role":"tool","parts":[{"type":"toolResult","name":"ls","output":1},{"type":"toolResult","name":"ls","error":"no"}]}]"#;
        let messages = parse_history(text).unwrap();
        let ids: Vec<_> = messages[0].tool_calls().map(|call| call.id.as_str()).collect();
        assert_eq!(ids, ["call-0-0", "own"]);
        let Part::ToolResult(result) = &messages[1].parts[1] else { panic!("a result") };
        assert_eq!((result.id.as_str(), &result.outcome), ("own", &ToolOutcome::Error("no".into())));
    }

    #[test]
    fn what_is_no_json_has_the_parsers_error_below_it() {
        let error = parse_history("[{").unwrap_err();
        let json = error.source().and_then(<dyn Error>::downcast_ref::<serde_json::Error>).unwrap();
        assert!(json.is_eof() && json.line() == 1, "{json:?}");
    }

    #[test]
    fn errors_name_the_entry_and_what_to_do() {
        let cases = [
            ("{", "the history is not valid JSON: EOF while parsing an object at line 1 column 1"),
            ("{}", "the history must be a JSON array of messages, but it is an object"),
            ("[1]", "history entry 0: must be an object with `role` and `parts`, and is a number"),
            (r#"[{"parts":[]}]"#, "history entry 0: `role` is missing"),
            (
                r#"[{"role":"system","parts":[]}]"#,
                r#"history entry 0: `role` must be "user", "model" or "tool""#,
            ),
            (r#"[{"role":"user"}]"#, "history entry 0: `parts` is missing"),
            (
                r#"[{"role":"user","parts":"hi"}]"#,
                "history entry 0: `parts` must be an array, and is a string",
            ),
            (
                r#"[{"role":"user","parts":[]}]"#,
                "history entry 0: `parts` is empty; leave the entry out or give it a text",
            ),
            (
                r#"[{"role":"user","parts":[{"type":"text","text":"x"}],"time":1}]"#,
                "history entry 0: unknown field `time`; an entry has `role` and `parts`",
            ),
            (
                r#"[{"role":"user","parts":["hi"]}]"#,
                "history entry 0, part 0: must be an object with `type`, and is a string",
            ),
            (
                r#"[{"role":"user","parts":[{"type":"text","text":"x"},{"type":"text"}]}]"#,
                "history entry 0, part 1: missing field `text`",
            ),
            (
                r#"[{"role":"model","parts":[{"type":"sound"}]}]"#,
                "history entry 0, part 0: `type`: unknown variant `sound`, expected one of `text`, `image`, `toolCall`, `toolResult`, `opaque`",
            ),
            (
                r#"[{"role":"tool","parts":[{"type":"toolResult","id":"a","name":"ls"}]}]"#,
                "history entry 0, part 0: a toolResult needs either `output` or `error`",
            ),
            (
                r#"[{"role":"tool","parts":[{"type":"toolResult","id":"a","name":"ls","error":{}}]}]"#,
                "history entry 0, part 0: `error` must be a string",
            ),
            (
                r#"[{"role":"model","parts":[{"type":"toolCall","id":"a","name":"ls","args":[]}]}]"#,
                "history entry 0, part 0: `args`: invalid type: sequence, expected a map",
            ),
            (
                r#"[{"role":"model","parts":[{"type":"toolCall","id":"a","name":"ls"}]}]"#,
                "history entry 0: the call \"a\" has no result; add a tool message with its result right after it",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_history(text).unwrap_err().to_string(), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_history_or_an_error(text in r#"[\[\]{}",:a-z0-9 ]{0,60}"#) {
            let _ = parse_history(&text);
        }
    }
}
