//! JSON-RPC 2.0, one message per line: reads messages from text and writes them. Nothing here does IO.

use agent_client_protocol_schema::v1::{Error, RequestId};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::hosts::rpc::{self, Envelope, INVALID_PARAMS, RejectedLine};

/// A message from the client.
#[derive(Debug, PartialEq)]
pub(super) enum Message {
    Request { id: RequestId, method: String, params: Value },
    Notification { method: String, params: Value },
    Response { id: RequestId, result: Result<Value, Error> },
}

/// Reads a message from a line.
pub(super) fn parse(line: &[u8]) -> Result<Message, RejectedLine> {
    let Envelope { id, method, mut fields } = rpc::envelope(line)?;
    let id = id.map(|id| read_id(&id));
    let params = fields.remove("params").unwrap_or_else(|| json!({}));
    match (method, id) {
        (Some(method), Some(id)) => Ok(Message::Request { id, method, params }),
        (Some(method), None) => Ok(Message::Notification { method, params }),
        (None, id) => response_of(id.unwrap_or(RequestId::Null), fields),
    }
}

/// The id as the protocol's type. Anything but a text and a whole number is null.
pub(super) fn read_id(id: &Value) -> RequestId {
    RequestId::deserialize(id).unwrap_or(RequestId::Null)
}

fn response_of(id: RequestId, mut fields: Map<String, Value>) -> Result<Message, RejectedLine> {
    match (fields.remove("result"), fields.remove("error")) {
        (Some(result), None) => Ok(Message::Response { id, result: Ok(result) }),
        (None, Some(error)) => {
            let error = serde_json::from_value(error).unwrap_or_else(|_| Error::internal_error());
            Ok(Message::Response { id, result: Err(error) })
        }
        _ => {
            let why = "there is neither a method in it nor one of result and error";
            Err(RejectedLine::invalid(json!(id), why))
        }
    }
}

/// The parameters of a method; the error names the field that is wrong.
pub(super) fn params<T: DeserializeOwned>(params: Value) -> Result<T, Error> {
    rpc::read("params", params).map_err(|why| Error::new(INVALID_PARAMS, why))
}

/// The error for a parameter that cannot be used.
pub(super) fn wrong(field: &str, why: &str) -> Error {
    Error::new(INVALID_PARAMS, format!("{field}: {why}"))
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
    fn an_answer_that_is_none_is_refused_with_its_id() {
        for (line, id) in [
            (r#"{"jsonrpc":"2.0","id":"a"}"#, json!("a")),
            (r#"{"jsonrpc":"2.0","id":1,"result":1,"error":{}}"#, json!(1)),
        ] {
            let refused = parse(line.as_bytes()).unwrap_err();
            assert_eq!((refused.id, refused.code), (id, -32600), "{line}");
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
