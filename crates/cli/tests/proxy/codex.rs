//! codex-acp itself, which `.ci/install hosts` puts beside the build, against a model that says what it is told.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{NEXT, PATIENCE, listed, opened};
use crate::support::server::{Answer, Request, Server, responses_call, responses_say};
use crate::support::{Session, installed};

/// The last words of the user's, and the results of tools that came after them.
fn asked(body: &Value) -> (String, Vec<Value>) {
    let (mut text, mut results) = (String::new(), Vec::new());
    for item in body["input"].as_array().into_iter().flatten() {
        match (item["type"].as_str(), item["role"].as_str()) {
            (Some("message"), Some("user")) => (text, results) = (item["content"].to_string(), Vec::new()),
            (Some("function_call_output"), _) => results.push(item["output"].clone()),
            _ => {}
        }
    }
    (text, results)
}

/// The first request of a fork begins with all of the last one of the first agent, but for what names a request, a turn or an item.
fn begins_alike(model: &Server) {
    fn bare(value: &mut Value) {
        if let Some(fields) = value.as_object_mut() {
            fields.retain(|name, _| name != "id" && !name.ends_with("_id") && !name.starts_with("internal_"));
            fields.values_mut().for_each(bare);
        } else if let Some(items) = value.as_array_mut() {
            items.iter_mut().for_each(bare);
        }
    }
    let requests = model.requests();
    let mut bodies: Vec<_> =
        requests.iter().filter(|request| request.head.contains("/responses")).map(Request::json).collect();
    bodies.iter_mut().for_each(bare);
    let of = |words: &'static str| bodies.iter().filter(move |body| asked(body).0.contains(words));
    let (last, first) =
        (of("hello again").next_back().unwrap(), of("A question from the program").next().unwrap());
    for name in ["model", "instructions", "tools", "tool_choice", "reasoning"] {
        assert_eq!(first[name], last[name], "{name}");
    }
    let history = last["input"].as_array().unwrap();
    for (number, (item, before)) in first["input"].as_array().unwrap().iter().zip(history).enumerate() {
        assert_eq!(item, before, "item {number} of {}", history.len());
    }
    assert!(history.len() < first["input"].as_array().unwrap().len());
}

/// The user's own rules let the command run outside its sandbox without a question, and the model calls it in answer to our question.
#[test]
#[ignore = "needs codex-acp; .ci/long installs it"]
fn codex_acp_suggests_and_runs_nothing() {
    let address = Arc::new(OnceLock::<String>::new());
    let attacks = Arc::new(AtomicBool::new(true));
    let (known, attacking) = (Arc::clone(&address), Arc::clone(&attacks));
    let model = Server::answering(move |request| {
        if !request.head.contains("/responses") {
            return Answer::Whole { status: "404 Not Found", headers: "", body: "{}".to_owned() };
        }
        let curl = json!({ "cmd": format!("curl -s {}/pwned", known.get().unwrap()) });
        match asked(&request.json()) {
            (text, done) if text.contains("A question from the program") => match done.len() {
                0 if attacking.load(Ordering::Relaxed) => responses_call("exec_command", &curl),
                1 => responses_call("exec_command", &json!({ "cmd": "touch pwned.txt" })),
                _ => responses_say(&json!({ "suggestion": NEXT }).to_string()),
            },
            (text, done) if text.contains(NEXT) && done.is_empty() => {
                responses_call("exec_command", &json!({ "cmd": "touch made.txt" }))
            }
            _ => responses_say("Hello there."),
        }
    });
    address.set(model.base_url.clone()).unwrap();
    let session = Session::new().variable("HEADSTART_SHADOW", "");
    session.write("project/notes.txt", "one\n");
    session.git(&["init", "-q"]);
    let allow = |program: &str| format!("prefix_rule(pattern=[\"{program}\"], decision=\"allow\")\n");
    let rules = allow("curl") + &allow("touch");
    session.write("home/.codex/rules/default.rules", &rules);
    session.write("project/.codex/rules/project.rules", &rules);
    session.write(
        "home/.codex/config.toml",
        format!(
            "model = \"gpt-6.1-sol\"\nmodel_provider = \"here\"\n[model_providers.here]\nname = \"here\"\n\
             base_url = \"{}\"\nwire_api = \"responses\"\nenv_key = \"OPENAI_API_KEY\"\n",
            model.base_url
        ),
    );
    let path = format!("{}:/usr/bin:/bin", installed("node/bin").display());
    let session = session
        .variable("PATH", &path)
        .variable("SHELL", "/bin/bash")
        .variable("NO_BROWSER", "1")
        .variable("OPENAI_API_KEY", "none");
    let program = installed("@agentclientprotocol/codex-acp/dist/index.js").display().to_string();
    let node = installed("node/bin/node").display().to_string();
    let log = session.home().join("log").display().to_string();
    let (mut client, id) = opened(&session, &["--log", &log], &[&node, &program]);
    let before = session.tree();
    assert_eq!(client.said(&id, "hello"), "end_turn");
    assert_eq!(client.said(&id, "hello again"), "end_turn");
    let shown = |message: &Value| {
        let first = &message["params"]["update"]["_meta"]["promptSuggestions"]["suggestions"][0];
        (first["text"] == NEXT).then(|| first.get("_meta").is_none())
    };
    // The work ends with the first command, unless the agent does not tell of it, for its sandbox cannot be made.
    let deadline = Instant::now() + PATIENCE;
    let said = || fs::read_to_string(&log).unwrap_or_default();
    while !said().contains("did not ask about")
        && client.next_within(Duration::from_millis(100)).is_none_or(|message| shown(&message).is_none())
    {
        assert!(Instant::now() < deadline, "{}", said());
    }
    attacks.store(false, Ordering::Relaxed);
    begins_alike(&model);
    let is_reached = || model.requests().iter().any(|request| request.head.contains("/pwned"));
    assert!(!is_reached() && session.tree() == before);
    assert_eq!(client.said(&id, "something else"), "end_turn");
    let suggested = client.until("a suggestion", |message| shown(message).is_some());
    assert_eq!(shown(&suggested), Some(true), "nothing runs for it: {suggested}");
    assert!(!is_reached() && session.tree() == before);
    // It is a prompt as any other: the first agent does it, by the rules of its user.
    assert_eq!(client.said(&id, "/next"), "end_turn");
    assert!(session.workspace().join("made.txt").exists());
    assert_eq!(listed(&mut client), [id.as_str()]);
    assert_eq!(client.end(), Some(0));
    let mut kept = Vec::new();
    let mut folders = vec![session.home().join(".codex")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            match entry.path() {
                path if path.is_dir() => folders.push(path),
                path if path.extension().is_some_and(|kind| kind == "jsonl") => {
                    kept.push(path.file_name().unwrap().to_string_lossy().into_owned());
                }
                _ => {}
            }
        }
    }
    let conversations: Vec<_> = kept.iter().filter(|name| name.starts_with("rollout-")).collect();
    assert_eq!(conversations.len(), 1, "no fork is left: {kept:?}");
}
