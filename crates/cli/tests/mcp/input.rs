//! Holds what a client is answered whose lines or arguments are wrong.

use std::time::Duration;

use serde_json::{Value, json};

use super::{answer, call, here, user};
use crate::client::Client;
use crate::support::Session;

/// The code and the message of an error.
fn error(answer: &Value) -> (i64, String) {
    let error = &answer["error"];
    let message = error["message"].as_str().unwrap_or_else(|| panic!("{answer}"));
    (error["code"].as_i64().unwrap(), message.to_owned())
}

#[test]
fn an_argument_that_does_not_fit_is_named_and_the_next_call_is_answered() {
    let session = user();
    let mut client = here(&session);
    for (tool, arguments, field) in [
        ("judge", json!({}), "either command, or tool and args"),
        ("judge", json!({ "command": 7 }), "judge: command: "),
        ("judge", json!({ "tool": "ls", "args": [] }), "judge: args: "),
        ("judge", json!({ "command": "ls", "mode": "bogus" }), "judge: mode: "),
        ("judge", json!({ "command": "ls", "mode": 1 }), "judge: mode: "),
        ("judge", json!({ "command": "ls", "cwd": "/" }), "`cwd`"),
        ("run_read_only", json!({ "command": ["ls"] }), "run_read_only: command: "),
        ("run_read_only", json!({ "command": "ls", "workspace": "/" }), "`workspace`"),
        (
            "run_read_only",
            json!({ "command": "ls", "timeoutSeconds": "5" }),
            "run_read_only: timeoutSeconds: ",
        ),
        (
            "run_read_only",
            json!({ "command": "ls", "timeoutSeconds": 1.5 }),
            "run_read_only: timeoutSeconds: ",
        ),
        (
            "run_read_only",
            json!({ "command": "ls", "timeoutSeconds": 100_000 }),
            "run_read_only: timeoutSeconds: ",
        ),
        ("try_in_shadow", json!({ "command": "ls", "id": 7 }), "try_in_shadow: id: "),
        ("search_code", json!({ "query": 7 }), "search_code: query: "),
        ("search_code", json!({ "query": "x", "limit": -1 }), "search_code: limit: "),
        ("search_code", json!({ "query": "x", "limit": 0 }), "search_code: limit: "),
        ("search_code", json!({ "query": "x", "path": "a\0b" }), "search_code: path: "),
        ("diagnostics", json!({ "files": "x" }), "diagnostics: files: "),
        ("diagnostics", json!({ "files": ["a", 7] }), "diagnostics: files[1]: "),
        ("ahead_show", json!({}), "`id`"),
        ("ahead_accept", json!({ "id": 7 }), "ahead_accept: id: "),
        ("dance", json!({}), "params.name: there is no tool \"dance\""),
    ] {
        let answer = call(&mut client, tool, arguments);
        let (code, message) = error(&answer);
        assert!(code == -32602 && message.contains(field), "{tool}: {code}: {message}");
    }
    for (params, field) in [
        (json!({}), "`name`"),
        (json!({ "name": 5 }), "params.name: "),
        (json!({ "name": "judge", "arguments": [] }), "params.arguments: "),
        (json!([]), "params: "),
    ] {
        let (code, message) = error(&client.request("tools/call", params));
        assert!(code == -32602 && message.contains(field), "{code}: {message}");
    }
    assert_eq!(error(&client.request("foo/bar", json!({}))).0, -32601);
    // No command can leave the workspace for another folder.
    let out = answer(&mut client, "run_read_only", json!({ "command": "cat /etc/shadow" }));
    assert!(out["ran"] == false || out["exitCode"] != 0, "{out}");
    assert_eq!(answer(&mut client, "judge", json!({ "command": "ls" }))["decision"], "allow");
}

/// Sends a line, and returns the error that answers it.
fn refused(client: &mut Client, line: &str) -> (Value, i64) {
    client.write(line);
    let refused = client.until("an error", |message| message.get("error").is_some());
    assert!(refused.as_object().unwrap().contains_key("id"), "{refused}");
    (refused["id"].clone(), error(&refused).0)
}

#[test]
fn a_line_that_is_no_message_is_answered_and_the_next_line_too() {
    let session: Session = user();
    let mut client = here(&session);
    let long = "a".repeat(17 << 20);
    let call =
        format!(r#""method":"tools/call","params":{{"name":"judge","arguments":{{"command":"{long}"}}}}"#);
    for (line, id, code) in [
        ("garbage", Value::Null, -32700),
        ("{\"id\":", Value::Null, -32700),
        (r#"{"jsonrpc":"2.0","id":"x","method":"ping","params":}"#, json!("x"), -32700),
        ("[]", Value::Null, -32600),
        ("7", Value::Null, -32600),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, Value::Null, -32600),
        (r#"{"id":71,"method":"ping"}"#, json!(71), -32600),
        (r#"{"jsonrpc":"2.0","id":72,"method":7}"#, json!(72), -32600),
        // The protocol's own libraries write the id first or last.
        (&format!(r#"{{"jsonrpc":"2.0","id":77,{call}}}"#), json!(77), -32700),
        (&format!(r#"{{{call},"jsonrpc":"2.0","id":"q"}}"#), json!("q"), -32700),
        (&long, Value::Null, -32700),
    ] {
        assert_eq!(refused(&mut client, line), (id, code), "{}", &line[..line.len().min(80)]);
        assert_eq!(client.request("ping", json!({}))["result"], json!({}));
    }
    // Neither an empty line nor a notification that is not known has an answer.
    for line in ["", "\r", r#"{"jsonrpc":"2.0","method":"notifications/else","params":7}"#] {
        client.write(line);
    }
    assert_eq!(client.next_within(Duration::from_millis(200)), None);
    assert_eq!(answer(&mut client, "judge", json!({ "command": "ls" }))["decision"], "allow");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn what_comes_before_initialize_is_answered_or_ignored() {
    let session = user();
    let mut client = Client::of(session.command(&["mcp"]));
    client.notify("notifications/cancelled", json!({ "requestId": 7 }));
    client.respond(&json!({ "id": 7 }), json!({}));
    assert_eq!(refused(&mut client, "garbage"), (Value::Null, -32700));
    for (method, params) in [("initialize", json!({})), ("initialize", json!(7)), ("tools/list", json!({}))] {
        assert_eq!(error(&client.request(method, params.clone())).0, -32602, "{method} {params}");
    }
    let info = json!({ "name": "test", "version": "1" });
    let begin = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info });
    assert_eq!(client.request("initialize", begin)["result"]["serverInfo"]["name"], "headstart");
}
