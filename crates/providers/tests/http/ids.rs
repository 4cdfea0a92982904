//! Ids of calls: a server gets back exactly the id that it gave, and no other server does.

use headstart_forked_query::{
    Message, ModelEvent, ModelRequest, Part, Role, ToolOutcome, ToolResult, check_pairing,
};
use headstart_providers::{HttpModel, Provider};
use serde_json::{Value, json};

use crate::formats::{Format, answer_to, formats, short, without_errors};
use crate::request;
use crate::server::{Server, Step, response, streaming_as};

/// An answer with a call that has this id, and with a call of the same tool that has an id of the usual kind.
fn call(format: &Format, id: &str) -> Vec<Value> {
    match format.name() {
        "anthropic" => vec![json!({
            "type": "message", "stop_reason": "tool_use", "content": [
                {"type": "tool_use", "id": id, "name": "ls", "input": {}},
                {"type": "tool_use", "id": "toolu_1", "name": "ls", "input": {}},
            ],
        })],
        "gemini" => vec![json!({"candidates": [{"finishReason": "STOP", "content": {"parts": [
            {"functionCall": {"id": id, "name": "ls", "args": {}}},
            {"functionCall": {"id": "toolu_1", "name": "ls", "args": {}}},
        ]}}]})],
        "responses" => vec![json!({"object": "response", "output": [
            {"type": "function_call", "call_id": id, "name": "ls", "arguments": "{}"},
            {"type": "function_call", "call_id": "toolu_1", "name": "ls", "arguments": "{}"},
        ]})],
        _ => vec![
            json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "id": id, "function": {"name": "ls", "arguments": "{}"}}]}}]}),
            json!({"choices": [{"delta": {"tool_calls": [{"index": 1, "id": "toolu_1", "function": {"name": "ls", "arguments": "{}"}}]}}]}),
            json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}),
        ],
    }
}

fn script(format: &Format, events: &[Value]) -> Vec<Step> {
    let head = streaming_as(&format!("{}\r\nconnection: close", format.kind));
    let chunks = events.iter().map(|event| Step::Chunk(format.frame(&event.to_string())));
    [head].into_iter().chain(chunks).chain([Step::LastChunk]).collect()
}

/// The request with the answer and the results of its calls, read back from JSON as from a record on the disk.
fn answered(request: &ModelRequest, events: &crate::Events) -> ModelRequest {
    let mut parts = Vec::new();
    for event in without_errors(events) {
        match event {
            ModelEvent::ToolCall(call) => parts.push(Part::ToolCall(call.clone())),
            ModelEvent::Opaque(opaque) => parts.insert(0, Part::Opaque(opaque.clone())),
            _ => {}
        }
    }
    let model = Message { role: Role::Model, parts };
    let results = model.tool_calls().map(|call| {
        let outcome = ToolOutcome::Output("empty".into());
        Part::ToolResult(ToolResult { id: call.id.clone(), name: call.name.clone(), outcome })
    });
    let tool = Message { role: Role::Tool, parts: results.collect() };
    let messages = [request.messages.clone(), vec![model, tool]].concat();
    let kept = serde_json::to_string(&messages).unwrap();
    ModelRequest { messages: serde_json::from_str(&kept).unwrap(), ..request.clone() }
}

/// All ids in a body in their order: first those of calls, then those of results.
fn ids(body: &Value) -> Vec<String> {
    fn find(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| find(item, found)),
            Value::Object(fields) => {
                for (name, value) in fields {
                    match value {
                        Value::String(id)
                            if ["id", "tool_use_id", "call_id", "tool_call_id"].contains(&name.as_str()) =>
                        {
                            found.push(id.clone());
                        }
                        value => find(value, found),
                    }
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    find(body, &mut found);
    found
}

fn body(server: &Server, number: usize) -> Value {
    serde_json::from_str(&server.requests()[number].1).unwrap()
}

/// A server may refuse a conversation whose ids are not those that it gave, and other servers may refuse those ids.
#[tokio::test]
async fn a_server_gets_back_the_id_that_it_gave_whatever_it_is() {
    let long = format!("call_7__thought__{}", "CiQB/+Zm9v=".repeat(40));
    for id in [long.as_str(), "functions.ls:0", "a b", "größe"] {
        for format in formats().iter().filter(|format| format.name() != "ollama") {
            let again = script(format, &call(format, id));
            let server =
                Server::start_each([script(format, &call(format, id)), again, format.whole(&[])]).await;
            let client = format.client(&server.base_url, short());
            let events = answer_to(&client, &request()).await;
            let turn = answered(&request(), &events);
            check_pairing(&turn.messages).unwrap();
            let own: Vec<_> = turn.messages[1].tool_calls().map(|call| call.id.clone()).collect();
            let is_plain = |id: &String| {
                id.len() <= 64 && id.bytes().all(|c| c.is_ascii_alphanumeric() || b"-_".contains(&c))
            };
            assert!(own.iter().all(is_plain) && own[1] == "toolu_1", "{own:?}");

            // The same server gives the id once more. No two calls of a conversation may have the same id, so the
            // client makes new ones for the second answer.
            let next = answered(&turn, &answer_to(&client, &turn).await);
            check_pairing(&next.messages).unwrap();
            answer_to(&client, &next).await;
            let sent = ids(&body(&server, 1));
            assert_eq!(sent, [id, "toolu_1", id, "toolu_1"], "{}", format.name());
            let sent = ids(&body(&server, 2));
            assert_eq!(sent[..4], [id, "toolu_1", id, "toolu_1"], "{}", format.name());
            assert!(sent[4..].iter().all(is_plain) && sent[4] == sent[6] && sent[5] == sent[7], "{sent:?}");

            // Another model and another format get an id that every server accepts.
            for other in formats().iter().filter(|other| other.name() != "ollama") {
                let encoded =
                    other.provider.wire.encode(&ModelRequest { model: "other".into(), ..turn.clone() });
                let sent = ids(&serde_json::from_slice(&encoded).unwrap());
                assert_eq!(sent, [&own[..], &own[..]].concat(), "{} to {}", format.name(), other.name());
            }
        }
    }
}

/// OpenAI accepts ids of at most 40 characters, but other servers of its format give longer ones.
#[tokio::test]
async fn ids_that_are_too_long_for_a_server_are_shortened_for_it() {
    let id = "chatcmpl-tool-0123456789abcdef0123456789abcdef";
    let format = formats().into_iter().find(|format| format.name() == "chat").unwrap();
    let vllm = Server::start(script(&format, &call(&format, id))).await;
    let turn = answered(&request(), &answer_to(&format.client(&vllm.base_url, short()), &request()).await);
    assert_eq!(turn.messages[1].tool_calls().next().unwrap().id, id);
    let refusal = json!({"error": {
        "message": "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 46 instead.",
        "type": "invalid_request_error", "param": "messages[2].tool_calls[0].id", "code": "string_above_max_length",
    }});
    let refused = response("400 Bad Request", "connection: close\r\n", &refusal.to_string());
    let server = Server::start_each([refused, script(&format, &[]), script(&format, &[])]).await;
    let client = HttpModel::new(Provider::openai().with_base_url(&server.base_url), None, short()).unwrap();
    for _ in 0..2 {
        answer_to(&client, &turn).await;
    }
    assert_eq!(ids(&body(&server, 0)), [id, "toolu_1", id, "toolu_1"]);
    for number in [1, 2] {
        let sent = ids(&body(&server, number));
        assert!(sent[0].len() == 40 && sent[0] != id && sent[0] == sent[2], "{sent:?}");
        assert_eq!((sent[1].as_str(), sent[3].as_str()), ("toolu_1", "toolu_1"));
    }
}
