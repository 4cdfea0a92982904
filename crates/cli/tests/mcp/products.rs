//! Agents of other projects, which `.ci/install hosts` installs next to the build, with `headstart mcp` among their
//! servers and a model that repeats what it is told.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{here_arguments, node_environment, user};
use crate::support::server::{ScriptedResponse, Server, calls, messages_call, messages_say, says};
use crate::support::{Session, installed};

const PROMPT: &str = "what would it do?";

/// The results of calls, as text, that a request tells the agent's model.
fn results(body: &Value) -> Vec<String> {
    let messages = body["messages"].as_array().cloned().unwrap_or_default();
    let parts = messages.into_iter().flat_map(|message| match (&message["role"], &message["content"]) {
        (role, content) if role == "tool" => vec![content.clone()],
        (_, Value::Array(parts)) => {
            parts.iter().filter(|part| part["type"] == "tool_result").cloned().collect()
        }
        _ => Vec::new(),
    });
    parts.map(|part| part.to_string()).collect()
}

/// A model that calls `judge` for a command, has another command run, and is done. The agent offers the server's tools
/// with `prefix` before their names.
fn model(prefix: &'static str) -> Server {
    Server::answering(move |request| {
        let is_messages = request.head.contains("/messages");
        if !is_messages && !request.head.contains("/chat/completions") {
            return ScriptedResponse::Whole { status: "404 Not Found", headers: "", body: "{}".to_owned() };
        }
        let body = request.json();
        let name = |tool: &str| format!("{prefix}{tool}");
        let judge = name("judge");
        let is = |offered: &Value| offered["name"] == judge || offered["function"]["name"] == judge;
        let offers = body["tools"].as_array().is_some_and(|tools| tools.iter().any(is));
        let done = results(&body).len();
        let next = match done {
            _ if !offers || !body["messages"].to_string().contains(PROMPT) => None,
            0 => Some((judge, json!({ "command": "rm -r ." }))),
            1 => Some((name("run_read_only"), json!({ "command": "cat notes.txt" }))),
            _ => None,
        };
        match (is_messages, next) {
            (true, Some((tool, args))) => messages_call(&format!("toolu_{done}"), &tool, &args),
            (true, None) => messages_say("Done."),
            (false, Some((tool, args))) => calls(&[(tool.as_str(), args)]),
            (false, None) => says("Done."),
        }
    })
}

/// Holds what the model was told in the end: the verdict, and what the other command printed.
fn check(model: &Server, output: &std::process::Output, session: &Session) {
    let requests = model.requests();
    let bodies = requests.iter().filter(|request| !request.body.is_empty());
    let told = bodies.map(|request| results(&request.json())).max_by_key(Vec::len).unwrap_or_default();
    assert_eq!(told.len(), 2, "{told:?}\n{output:?}");
    assert!(told[0].contains("boundary") && told[0].contains("decision"), "{told:?}");
    assert!(told[1].contains("ran") && told[1].contains("one"), "{told:?}");
    assert!(session.workspace().join("notes.txt").exists());
}

#[test]
#[ignore = "needs Claude Code; .ci/long installs it"]
fn claude_code_asks_for_a_verdict_and_a_read_only_run() {
    let session = user();
    let model = model("mcp__headstart__");
    let arguments = here_arguments(&session);
    let server = json!({ "command": env!("CARGO_BIN_EXE_headstart"), "args": arguments });
    session.write("home/mcp.json", json!({ "mcpServers": { "headstart": server } }).to_string());
    let mut claude = Command::new(installed(".bin/claude"));
    node_environment(&mut claude, &session);
    claude.args(["-p", PROMPT, "--strict-mcp-config", "--mcp-config"]).arg(session.home().join("mcp.json"));
    claude.args(["--allowedTools", "mcp__headstart__judge,mcp__headstart__run_read_only"]);
    // Otherwise the product offers tools of servers only to a model that searches for them.
    claude.env("ENABLE_TOOL_SEARCH", "false");
    claude.env("ANTHROPIC_BASE_URL", model.base_url.trim_end_matches("/v1")).env("ANTHROPIC_API_KEY", "none");
    claude.env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1").env("DISABLE_AUTOUPDATER", "1");
    let output = claude.stdin(Stdio::null()).output().unwrap();
    check(&model, &output, &session);
}

#[test]
#[ignore = "needs OpenCode; .ci/long installs it"]
fn opencode_asks_for_a_verdict_and_a_read_only_run() {
    let session = user();
    session.git(&["init", "-q"]);
    let model = model("headstart_");
    let command: Vec<_> =
        [env!("CARGO_BIN_EXE_headstart").to_owned()].into_iter().chain(here_arguments(&session)).collect();
    let server = json!({ "type": "local", "command": command, "enabled": true });
    session.configure_opencode(&model.base_url, &json!({ "mcp": { "headstart": server } }));
    let mut opencode = Command::new(installed("opencode-linux-x64/bin/opencode"));
    node_environment(&mut opencode, &session);
    opencode
        .args(["run", PROMPT])
        .env("OPENCODE_DISABLE_MODELS_FETCH", "1")
        .env("OPENCODE_DISABLE_AUTOUPDATE", "1");
    let output = opencode.stdin(Stdio::null()).output().unwrap();
    check(&model, &output, &session);
}
