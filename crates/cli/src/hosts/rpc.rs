//! What the protocols that are made of JSON-RPC 2.0 messages, one per line, have in common. Nothing here does IO.

use headstart_machine::lines::not_json;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::lines::request_id;

/// The code for a line that is not JSON.
pub(in crate::hosts) const PARSE_ERROR: i32 = -32700;
/// The code for JSON that is not a message.
const INVALID_REQUEST: i32 = -32600;

/// The code for parameters that do not fit.
pub(in crate::hosts) const INVALID_PARAMS: i32 = -32602;

/// A message, before its parameters are read.
#[derive(Debug, PartialEq)]
pub(in crate::hosts) struct Envelope {
    /// A text, a whole number or null; `None` if the message has no id.
    pub(in crate::hosts) id: Option<Value>,
    pub(in crate::hosts) method: Option<String>,
    /// All other fields.
    pub(in crate::hosts) fields: Map<String, Value>,
}

/// Why a line is not a message, and the id of the request that it was probably meant to be.
#[derive(Debug, PartialEq)]
pub(in crate::hosts) struct RejectedLine {
    pub(in crate::hosts) id: Value,
    pub(in crate::hosts) code: i32,
    pub(in crate::hosts) message: String,
}

/// Reads a message from a line.
pub(in crate::hosts) fn envelope(line: &[u8]) -> Result<Envelope, RejectedLine> {
    let value: Value = serde_json::from_slice(line).map_err(|error| RejectedLine {
        id: request_id(line),
        code: PARSE_ERROR,
        message: not_json(&error),
    })?;
    let Value::Object(mut fields) = value else {
        return Err(RejectedLine::invalid(
            Value::Null,
            "a message is one JSON object; batches are not taken",
        ));
    };
    let id = fields.remove("id");
    if id.as_ref().is_some_and(|id| !(id.is_string() || id.is_i64() || id.is_null())) {
        return Err(RejectedLine::invalid(Value::Null, "id: a text, a whole number or null"));
    }
    let known = || id.clone().unwrap_or_default();
    if fields.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(RejectedLine::invalid(known(), "jsonrpc: \"2.0\" is spoken here"));
    }
    let method = match fields.remove("method") {
        None if id.is_none() => {
            return Err(RejectedLine::invalid(Value::Null, "there is no method in it, and no id"));
        }
        None => None,
        Some(Value::String(method)) => Some(method),
        Some(_) => return Err(RejectedLine::invalid(known(), "method: a text")),
    };
    Ok(Envelope { id, method, fields })
}

impl RejectedLine {
    pub(in crate::hosts) fn invalid(id: Value, why: &str) -> Self {
        Self { id, code: INVALID_REQUEST, message: format!("not a request: {why}") }
    }
}

/// Reads parameters; the error names the field that is wrong, below the field `root`.
pub(in crate::hosts) fn read<T: DeserializeOwned>(root: &str, value: Value) -> Result<T, String> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let field = error.path().to_string();
        let place = match (root, field.as_str()) {
            ("", ".") => return error.into_inner().to_string(),
            (root, ".") => root.to_owned(),
            ("", field) => field.to_owned(),
            (root, field) => format!("{root}.{field}"),
        };
        format!("{place}: {}", error.into_inner())
    })
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_no_message_is_refused_with_its_id() {
        for (line, id, code) in [
            ("", Value::Null, -32700),
            ("{", Value::Null, -32700),
            (r#"{"id":3,"method":"x","params":}"#, json!(3), -32700),
            ("[]", Value::Null, -32600),
            ("1", Value::Null, -32600),
            ("{}", Value::Null, -32600),
            (r#"{"jsonrpc":"2.0"}"#, Value::Null, -32600),
            (r#"{"id":7,"method":"initialize"}"#, json!(7), -32600),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"x"}"#, Value::Null, -32600),
            (r#"{"jsonrpc":"2.0","id":{},"method":"x"}"#, Value::Null, -32600),
            (r#"{"jsonrpc":"2.0","id":"a","method":7}"#, json!("a"), -32600),
        ] {
            let refused = envelope(line.as_bytes()).unwrap_err();
            assert_eq!((refused.id, refused.code), (id, code), "{line}");
        }
    }

    #[test]
    fn a_message_is_taken_apart() {
        let read = envelope(br#"{"jsonrpc":"2.0","id":null,"method":"a","params":[1]}"#).unwrap();
        assert_eq!((read.id, read.method.as_deref()), (Some(Value::Null), Some("a")));
        assert_eq!(read.fields["params"], json!([1]));
        let read = envelope(br#"{"jsonrpc":"2.0","method":"a"}"#).unwrap();
        assert_eq!((read.id, read.method.as_deref()), (None, Some("a")));
        let read = envelope(br#"{"jsonrpc":"2.0","id":"q","result":1}"#).unwrap();
        assert_eq!((read.id, read.method), (Some(json!("q")), None));
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Parameters {
        #[expect(dead_code, reason = "only whether it can be read counts")]
        names: Vec<String>,
    }

    #[test]
    fn a_field_that_is_wrong_is_named() {
        for (value, root, said) in [
            (json!({ "names": [1] }), "", "names[0]: invalid type"),
            (json!({ "names": [1] }), "params", "params.names[0]: invalid type"),
            (json!({}), "", "missing field `names`"),
            (json!({}), "params", "params: missing field `names`"),
            (json!({ "names": [], "more": 1 }), "", "`more`"),
            (json!([1, 2]), "params", "params"),
        ] {
            let error = read::<Parameters>(root, value).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }
}
