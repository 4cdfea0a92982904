//! JSON-RPC 2.0, one message per line: reads messages from text and writes them. Nothing here does IO.

use agent_client_protocol_schema::v1::{Error, RequestId};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// A message from the client.
#[derive(Debug, PartialEq)]
pub(super) enum Message {
    Request { id: RequestId, method: String, params: Value },
    Notification { method: String, params: Value },
    Response { id: RequestId, result: Result<Value, Error> },
}

/// Why a line is not a message, and the id of the request that it was probably meant to be.
#[derive(Debug, PartialEq)]
pub(super) struct RejectedMessage {
    pub(super) id: RequestId,
    pub(super) error: Error,
}

/// Reads a message from a line.
pub(super) fn parse(line: &[u8]) -> Result<Message, Box<RejectedMessage>> {
    let value: Value = serde_json::from_slice(line).map_err(|error| {
        let error = Error::new(-32700, format!("the line is not JSON: {error}"));
        Box::new(RejectedMessage { id: RequestId::Null, error })
    })?;
    let Value::Object(mut fields) = value else {
        return invalid(RequestId::Null, "a message is one JSON object; batches are not taken");
    };
    let id = match fields.remove("id") {
        None => None,
        Some(id) => match serde_json::from_value(id) {
            Ok(id) => Some(id),
            Err(_) => return invalid(RequestId::Null, "id: a text, a whole number or null"),
        },
    };
    let known = id.clone().unwrap_or(RequestId::Null);
    if fields.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return invalid(known, "jsonrpc: \"2.0\" is spoken here");
    }
    let params = fields.remove("params").unwrap_or_else(|| json!({}));
    match (fields.remove("method"), id) {
        (Some(Value::String(method)), Some(id)) => Ok(Message::Request { id, method, params }),
        (Some(Value::String(method)), None) => Ok(Message::Notification { method, params }),
        (Some(_), _) => invalid(known, "method: a text"),
        (None, Some(id)) => answer(id, fields),
        (None, None) => invalid(known, "there is no method in it, and no id"),
    }
}

fn answer(id: RequestId, mut fields: Map<String, Value>) -> Result<Message, Box<RejectedMessage>> {
    match (fields.remove("result"), fields.remove("error")) {
        (Some(result), None) => Ok(Message::Response { id, result: Ok(result) }),
        (None, Some(error)) => {
            let error = serde_json::from_value(error).unwrap_or_else(|_| Error::internal_error());
            Ok(Message::Response { id, result: Err(error) })
        }
        _ => invalid(id, "there is neither a method in it nor one of result and error"),
    }
}

fn invalid<T>(id: RequestId, why: &str) -> Result<T, Box<RejectedMessage>> {
    Err(Box::new(RejectedMessage { id, error: Error::new(-32600, format!("not a request: {why}")) }))
}

/// The parameters of a method; the error names the field that is wrong.
pub(super) fn params<T: DeserializeOwned>(params: Value) -> Result<T, Error> {
    serde_path_to_error::deserialize(params).map_err(|error| {
        let field = error.path().to_string();
        let place = if field == "." { "params".to_owned() } else { format!("params.{field}") };
        wrong(&place, &error.into_inner().to_string())
    })
}

/// The error for a parameter that cannot be used.
pub(super) fn wrong(field: &str, why: &str) -> Error {
    Error::new(-32602, format!("{field}: {why}"))
}

pub(super) fn request(id: i64, method: &str, params: &impl Serialize) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

pub(super) fn notification(method: &str, params: &impl Serialize) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

pub(super) fn response(id: &RequestId, result: Result<Value, Error>) -> Value {
    match result {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_message_is_refused_with_its_id() {
        for (line, id, code) in [
            ("", RequestId::Null, -32700),
            ("{", RequestId::Null, -32700),
            ("[]", RequestId::Null, -32600),
            ("1", RequestId::Null, -32600),
            ("{}", RequestId::Null, -32600),
            (r#"{"id":7,"method":"initialize"}"#, RequestId::Number(7), -32600),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"x"}"#, RequestId::Null, -32600),
            (r#"{"jsonrpc":"2.0","id":"a","method":7}"#, RequestId::Str("a".into()), -32600),
            (r#"{"jsonrpc":"2.0","id":"a"}"#, RequestId::Str("a".into()), -32600),
            (r#"{"jsonrpc":"2.0","id":1,"result":1,"error":{}}"#, RequestId::Number(1), -32600),
        ] {
            let refused = parse(line.as_bytes()).unwrap_err();
            assert_eq!((refused.id, i32::from(refused.error.code)), (id, code), "{line}");
        }
    }

    #[test]
    fn messages_are_told_apart() {
        let parsed = |line: &str| parse(line.as_bytes()).unwrap();
        let request = parsed(r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":1}}"#);
        let expected =
            Message::Request { id: RequestId::Number(1), method: "a".into(), params: json!({ "x": 1 }) };
        assert_eq!(request, expected);
        let message = parsed(r#"{"jsonrpc":"2.0","method":"a"}"#);
        assert_eq!(message, Message::Notification { method: "a".into(), params: json!({}) });
        let answer = parsed(r#"{"jsonrpc":"2.0","id":"q","error":{"code":-32601,"message":"no"}}"#);
        let error = Err(Error::new(-32601, "no"));
        assert_eq!(answer, Message::Response { id: RequestId::Str("q".into()), result: error });
    }

    #[test]
    fn a_wrong_field_is_named() {
        use agent_client_protocol_schema::v1::{NewSessionRequest, PromptRequest};
        let text_of = |error: Error| error.message;
        let cwd = params::<NewSessionRequest>(json!({ "cwd": 7, "mcpServers": [] })).unwrap_err();
        assert!(text_of(cwd).starts_with("params.cwd: "));
        let missing = params::<NewSessionRequest>(json!({})).unwrap_err();
        assert!(text_of(missing).contains("`cwd`"));
        let prompt = params::<PromptRequest>(json!({ "sessionId": "x", "prompt": "hello" })).unwrap_err();
        assert!(text_of(prompt).starts_with("params.prompt: "));
    }
}
