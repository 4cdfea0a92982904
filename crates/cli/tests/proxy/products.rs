//! A product itself, which `.ci/install hosts` puts beside the build, against a model that says what it is told. Nothing of this leaves the machine, and no home but an
//! empty one is touched.

use std::time::Duration;

use serde_json::{Value, json};

use super::{NEXT, listed};
use crate::client::Client;
use crate::support::server::{Answer, Request, Server, messages_call, messages_say};
use crate::support::{Session, installed};

/// A product that has to start, twice, and to ask a model several times.
const PATIENCE: Duration = Duration::from_secs(120);

/// The parts of the user's messages, and how many results of tools came after the last words of theirs.
fn asked(body: &Value) -> (String, usize) {
    let (mut text, mut results) = (String::new(), 0);
    for message in
        body["messages"].as_array().into_iter().flatten().filter(|message| message["role"] == "user")
    {
        let parts = message["content"]
            .as_array()
            .cloned()
            .unwrap_or_else(|| vec![json!({ "type": "text", "text": message["content"] })]);
        let found = parts.iter().filter(|part| part["type"] == "tool_result").count();
        let words: String = parts.iter().filter_map(|part| part["text"].as_str()).collect();
        if 0 < found {
            results += found;
        } else if !words.is_empty() {
            (text, results) = (words, 0);
        }
    }
    (text, results)
}

/// A model that suggests [`NEXT`], and writes a file by a tool and one by a shell when it is asked for that.
fn model(file: String) -> Server {
    Server::answering(move |request| {
        if !request.head.contains("/messages") {
            return Answer::Whole { status: "404 Not Found", headers: "", body: "{}".to_owned() };
        }
        let body = request.json();
        match asked(&body) {
            (text, _) if text.contains("A question from the program") => {
                messages_say(&json!({ "suggestion": NEXT }).to_string())
            }
            (text, 0) if text.contains(NEXT) => {
                messages_call("toolu_1", "Write", &json!({ "file_path": file, "content": "made\n" }))
            }
            (text, 1) if text.contains(NEXT) => messages_call(
                "toolu_2",
                "Bash",
                &json!({ "command": "echo shell > by-shell.txt", "description": "to see" }),
            ),
            (text, _) if text.contains(NEXT) => messages_say("It is made."),
            _ => messages_say("Hello there."),
        }
    })
}

/// The requests of turns, which offer tools, without what only says where a provider's cache is to begin.
fn turns(model: &Server, words: &str) -> Vec<Value> {
    fn bare(value: &mut Value) {
        if let Some(fields) = value.as_object_mut() {
            fields.shift_remove("cache_control");
            fields.values_mut().for_each(bare);
        } else if let Some(items) = value.as_array_mut() {
            items.iter_mut().for_each(bare);
        }
    }
    let requests = model.requests();
    let bodies = requests.iter().filter(|request| request.head.contains("/messages")).map(Request::json);
    let turns = bodies.filter(|body| {
        body["tools"].as_array().is_some_and(|tools| !tools.is_empty()) && asked(body).0.contains(words)
    });
    turns
        .map(|mut body| {
            bare(&mut body);
            body
        })
        .collect()
}

#[test]
#[ignore = "needs claude-agent-acp; .ci/long installs it"]
fn claude_agent_acp_works_ahead_and_its_work_is_taken() {
    let session = Session::new().variable("HEADSTART_SHADOW", "");
    session.write("project/notes.txt", "one\n");
    session.git(&["init", "-q"]);
    let workspace = session.workspace().canonicalize().unwrap();
    let model = model(workspace.join("made.txt").display().to_string());
    let path = format!("{}:/usr/bin:/bin", installed("node/bin").display());
    let session = session
        .variable("PATH", &path)
        .variable("SHELL", "/bin/bash")
        .variable("ANTHROPIC_BASE_URL", model.base_url.trim_end_matches("/v1"))
        .variable("ANTHROPIC_API_KEY", "none")
        .variable("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .variable("DISABLE_AUTOUPDATER", "1");
    let program = installed("@agentclientprotocol/claude-agent-acp/dist/index.js").display().to_string();
    let node = installed("node/bin/node").display().to_string();
    let mut client = Client::of(session.command(&["acp-proxy", "--", &node, &program]));
    client.wait_longer(PATIENCE);
    client.request("initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} }));
    let opened = client.request("session/new", json!({ "cwd": workspace, "mcpServers": [] }));
    let id = opened["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("{opened}")).to_owned();
    assert_eq!(client.said(&id, "hello"), "end_turn");
    assert_eq!(client.said(&id, "hello again"), "end_turn");
    let before = session.tree();
    client.suggested(NEXT, Some("ready"));
    assert_eq!(session.tree(), before, "nothing is written before it is taken");
    // The fork begins with what was sent before: system, tools and all of the history.
    let last = turns(&model, "hello again").pop().unwrap();
    let first = turns(&model, NEXT).into_iter().next().unwrap();
    let history = last["messages"].as_array().unwrap();
    assert_eq!((&first["system"], &first["tools"]), (&last["system"], &last["tools"]));
    assert_eq!(&first["messages"].as_array().unwrap()[..history.len()], &history[..]);
    let prompt = client.prompt(&id, "/next");
    client.answer_question("write");
    assert_eq!(client.answer_to(prompt)["result"]["stopReason"], "end_turn");
    let read = |path: &str| std::fs::read_to_string(session.workspace().join(path)).ok();
    assert_eq!(
        (read("made.txt").as_deref(), read("by-shell.txt").as_deref()),
        (Some("made\n"), Some("shell\n"))
    );
    assert_eq!(client.said(&id, "what now?"), "end_turn");
    let ahead = turns(&model, NEXT).pop().unwrap();
    let now = turns(&model, "what now?").into_iter().next().unwrap();
    let ahead = ahead["messages"].as_array().unwrap();
    assert_eq!(
        &now["messages"].as_array().unwrap()[..ahead.len()],
        &ahead[..],
        "it goes on where the work ahead ended"
    );
    assert_eq!(listed(&mut client), [id.as_str()]);
    assert_eq!(client.end(), Some(0));
}
