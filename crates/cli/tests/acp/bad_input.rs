//! Holds how messages are answered that no client should send.

use serde_json::{Value, json};

use super::User;
use crate::client::Client;

fn error_of(client: &mut Client, line: &str) -> (Value, Value) {
    client.write(line);
    let answer = client.until("an error", |message| message.get("error").is_some());
    (answer["id"].clone(), answer["error"]["code"].clone())
}

#[test]
pub(crate) fn every_bad_line_has_its_error_and_the_next_line_its_answer() {
    let user = User::new().says("still here");
    let model = user.model();
    let mut client = Client::start(&user.session, &["--model", &model]);
    let early = client.request("session/new", json!({ "cwd": "/", "mcpServers": [] }));
    assert_eq!(early["error"]["code"], -32600, "{early}");
    let wrong = client.request("initialize", json!({ "protocolVersion": "one" }));
    assert_eq!(wrong["error"]["code"], -32602, "{wrong}");
    let answer = client
        .request("initialize", json!({ "protocolVersion": 1, "unknown": { "x": 1 }, "_meta": { "y": 2 } }));
    assert_eq!(answer["result"]["agentInfo"]["name"], "headstart");
    assert_eq!(answer["result"]["authMethods"], json!([]), "{answer}");
    let twice = client.request("initialize", json!({ "protocolVersion": 1 }));
    assert_eq!(twice["error"]["code"], -32600, "{twice}");
    for line in ["", "{", "\u{0}", "no json"] {
        assert_eq!(error_of(&mut client, line), (Value::Null, json!(-32700)), "{line:?}");
    }
    for line in ["[]", "1", "{}", r#"{"jsonrpc":"2.0"}"#] {
        assert_eq!(error_of(&mut client, line), (Value::Null, json!(-32600)), "{line:?}");
    }
    let unknown = client.request("session/dance", json!({}));
    assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
    client.notify("session/dance", json!({}));
    client.notify("session/cancel", json!({ "sessionId": "nobody" }));
    client.notify("session/cancel", json!("nobody"));
    client.send(json!({ "jsonrpc": "2.0", "id": 99, "result": {} }));
    let cwd = user.session.workspace();
    let gone = cwd.join("gone");
    for (method, params, field) in [
        ("session/new", json!({ "cwd": 7, "mcpServers": [] }), "params.cwd: "),
        ("session/new", json!({ "cwd": "project", "mcpServers": [] }), "params.cwd: "),
        ("session/new", json!({ "cwd": gone, "mcpServers": [] }), "params.cwd: "),
        ("session/new", json!({ "cwd": cwd.join("notes.txt"), "mcpServers": [] }), "params.cwd: "),
        (
            "session/new",
            json!({ "cwd": cwd, "additionalDirectories": ["/"], "mcpServers": [] }),
            "params.additionalDirectories: ",
        ),
        ("session/new", json!([]), "params"),
        (
            "session/load",
            json!({ "sessionId": "../../x", "cwd": cwd, "mcpServers": [] }),
            "params.sessionId: ",
        ),
        ("session/delete", json!({ "sessionId": "../../x" }), "params.sessionId: "),
        ("session/close", json!({ "sessionId": "nobody" }), "params.sessionId: "),
        ("session/prompt", json!({ "sessionId": "nobody", "prompt": [] }), "params.sessionId: "),
        ("session/prompt", json!({ "sessionId": 7, "prompt": [] }), "params.sessionId: "),
    ] {
        let answer = client.request(method, params);
        let message = answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{answer}"));
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        assert!(message.starts_with(field), "{method}: {message}");
        assert!(!message.contains("--"), "an editor's user cannot add a flag: {message}");
    }
    let session = client.open(&user.session);
    for prompt in [
        json!([]),
        json!([{ "type": "text", "text": " " }]),
        json!([{ "type": "image", "data": "", "mimeType": "image/png" }]),
    ] {
        let answer = client.request("session/prompt", json!({ "sessionId": session, "prompt": prompt }));
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    assert_eq!(client.said(&session, "hello"), "end_turn");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn a_line_that_is_too_long_is_refused_and_the_next_one_answered() {
    let user = User::new();
    let mut client = user.client("default");
    let long = "x".repeat(16 * 1024 * 1024 + 1);
    assert_eq!(error_of(&mut client, &long), (Value::Null, json!(-32700)));
    assert_eq!(client.request("session/dance", json!({}))["error"]["code"], -32601);
}

#[test]
fn a_model_that_fails_is_an_error_of_the_prompt_and_the_session_goes_on() {
    let user = User::new().says("One.");
    let mut client = user.client("default");
    let session = client.open(&user.session);
    client.said(&session, "a");
    let id = client.prompt(&session, "b");
    let answer = client.answer_to(id);
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    let id = client.prompt(&session, "c");
    assert_eq!(client.answer_to(id)["error"]["code"], -32603);
}
