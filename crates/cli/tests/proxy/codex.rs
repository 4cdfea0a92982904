//! Runs codex-acp itself, which `.ci/install hosts` installs next to the build, with a scripted model.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{NEXT, PATIENCE, list_sessions};
use crate::client::Client;
use crate::support::server::{
    Request, ScriptedResponse, Server, responses_call, responses_say, responses_text_call,
};
use crate::support::{Session, installed};

/// The last text of the user in a request, and the results of tools that follow it.
fn last_user_text(body: &Value) -> (String, Vec<Value>) {
    let (mut text, mut results) = (String::new(), Vec::new());
    for item in body["input"].as_array().into_iter().flatten() {
        match (item["type"].as_str(), item["role"].as_str()) {
            (Some("message"), Some("user")) => (text, results) = (item["content"].to_string(), Vec::new()),
            (Some("function_call_output" | "custom_tool_call_output"), _) => {
                results.push(item["output"].clone());
            }
            _ => {}
        }
    }
    (text, results)
}

/// Checks that the first request of a fork begins with all of the first agent's last request, so that the provider's
/// cache is hit. Ids of requests, turns and items may differ.
fn begins_alike(model: &Server) {
    fn remove_volatile_fields(value: &mut Value) {
        if let Some(fields) = value.as_object_mut() {
            fields.retain(|name, _| name != "id" && !name.ends_with("_id") && !name.starts_with("internal_"));
            fields.values_mut().for_each(remove_volatile_fields);
        } else if let Some(items) = value.as_array_mut() {
            items.iter_mut().for_each(remove_volatile_fields);
        }
    }
    let requests = model.requests();
    let mut bodies: Vec<_> =
        requests.iter().filter(|request| request.head.contains("/responses")).map(Request::json).collect();
    bodies.iter_mut().for_each(remove_volatile_fields);
    let of = |words: &'static str| bodies.iter().filter(move |body| last_user_text(body).0.contains(words));
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

const PATCH: &str = "*** Begin Patch\n*** Update File: notes.txt\n@@\n-one\n+two\n*** End Patch\n";

/// A model that suggests [`NEXT`], and then makes the calls of `work`, one after another.
fn model(work: impl Fn(usize) -> Option<(&'static str, Value)> + Send + Sync + 'static) -> Server {
    Server::answering(move |request| {
        if !request.head.contains("/responses") {
            return ScriptedResponse::Whole { status: "404 Not Found", headers: "", body: "{}".to_owned() };
        }
        match last_user_text(&request.json()) {
            (text, _) if text.contains("A question from the program") => {
                responses_say(&json!({ "suggestion": NEXT }).to_string())
            }
            (text, done) if text.contains(NEXT) => match work(done.len()) {
                Some((name, Value::String(input))) => responses_text_call(name, &input),
                Some((name, arguments)) => responses_call(name, &arguments),
                None => responses_say("It is made."),
            },
            _ => responses_say("Hello there."),
        }
    })
}

/// A user of codex-acp with this model.
fn user(model: &Server) -> Session {
    let session = Session::new().variable("HEADSTART_SHADOW", "");
    session.write("project/notes.txt", "one\n");
    session.git(&["init", "-q"]);
    session.configure_codex(&model.base_url, "");
    let path = format!("{}:/usr/bin:/bin", installed("node/bin").display());
    session
        .variable("PATH", &path)
        .variable("SHELL", "/bin/bash")
        .variable("NO_BROWSER", "1")
        .variable("OPENAI_API_KEY", "none")
}

fn log(session: &Session) -> String {
    fs::read_to_string(session.home().join("log")).unwrap_or_default()
}

/// An editor that has opened a session and has had two turns in it, and the id of the session.
fn after_two_turns(session: &Session) -> (Client, String) {
    let program = installed("@agentclientprotocol/codex-acp/dist/index.js").display().to_string();
    let node = installed("node/bin/node").display().to_string();
    let log = session.home().join("log").display().to_string();
    super::after_two_turns(session, &["--log", &log], &[&node, &program])
}

#[test]
#[ignore = "needs codex-acp; .ci/long installs it"]
fn codex_acp_works_ahead_and_its_work_is_taken() {
    let model = model(|done| match done {
        0 => Some(("exec_command", json!({ "cmd": "echo shell > by-shell.txt" }))),
        1 => Some(("exec_command", json!({ "cmd": "cat notes.txt by-shell.txt" }))),
        2 => Some(("apply_patch", json!(PATCH))),
        _ => None,
    });
    let session = user(&model);
    let (mut client, id) = after_two_turns(&session);
    let before = session.tree();
    client.suggested(NEXT, Some("ready"));
    assert_eq!(session.tree(), before, "nothing is written before it is taken");
    begins_alike(&model);
    let prompt = client.prompt(&id, "/next");
    client.answer_question("write");
    assert_eq!(client.answer_to(prompt)["result"]["stopReason"], "end_turn");
    let read = |path: &str| fs::read_to_string(session.workspace().join(path)).ok();
    assert_eq!(
        (read("notes.txt").as_deref(), read("by-shell.txt").as_deref()),
        (Some("two\n"), Some("shell\n"))
    );
    // A later request begins with everything that ran ahead.
    assert_eq!(client.said(&id, "what now?"), "end_turn");
    let bodies: Vec<_> = model
        .requests()
        .iter()
        .filter(|request| request.head.contains("/responses"))
        .map(Request::json)
        .collect();
    let now =
        bodies.iter().find(|body| last_user_text(body).0.contains("what now?")).unwrap()["input"].to_string();
    for part in ["by-shell.txt", "Update File", "It is made."] {
        assert_eq!(now.matches(part).count(), if part == "by-shell.txt" { 2 } else { 1 }, "{part}: {now}");
    }
    assert_eq!(list_sessions(&mut client), [id.as_str()]);
    assert_eq!(client.end(), Some(0));
}

/// The user's own rules let the command run outside its sandbox without a question. The model calls it both in its
/// answer to the proxy's question and in the work ahead; neither may run it.
#[test]
#[ignore = "needs codex-acp; .ci/long installs it"]
fn codex_acp_runs_nothing_ahead_that_the_gate_does_not_allow() {
    let address = Arc::new(OnceLock::<String>::new());
    let attacks = Arc::new(AtomicBool::new(true));
    let works = Arc::new(AtomicBool::new(false));
    let (known, attacking, working) = (Arc::clone(&address), Arc::clone(&attacks), Arc::clone(&works));
    let model = Server::answering(move |request| {
        if !request.head.contains("/responses") {
            return ScriptedResponse::Whole { status: "404 Not Found", headers: "", body: "{}".to_owned() };
        }
        let curl = json!({ "cmd": format!("curl -s {}/pwned", known.get().unwrap()) });
        match last_user_text(&request.json()) {
            (text, done) if text.contains("A question from the program") => match done.len() {
                0 if attacking.load(Ordering::Relaxed) => responses_call("exec_command", &curl),
                _ => responses_say(&json!({ "suggestion": NEXT }).to_string()),
            },
            (text, done) if text.contains(NEXT) && done.is_empty() => {
                let work =
                    if working.load(Ordering::Relaxed) { json!({ "cmd": "touch made.txt" }) } else { curl };
                responses_call("exec_command", &work)
            }
            _ => responses_say("Hello there."),
        }
    });
    address.set(model.base_url.clone()).unwrap();
    let session = user(&model);
    let allow = |program: &str| format!("prefix_rule(pattern=[\"{program}\"], decision=\"allow\")\n");
    let rules = allow("curl") + &allow("touch");
    session.write("home/.codex/rules/default.rules", &rules);
    session.write("project/.codex/rules/project.rules", &rules);
    let (mut client, id) = after_two_turns(&session);
    let before = session.tree();
    let shown = |message: &Value| {
        let first = &message["params"]["update"]["_meta"]["promptSuggestions"]["suggestions"][0];
        (first["text"] == NEXT).then(|| first.get("_meta").is_none())
    };
    let deadline = Instant::now() + PATIENCE;
    while !log(&session).contains("was to run a command without a question") {
        assert!(Instant::now() < deadline, "{}", log(&session));
        assert!(
            client.next_within(Duration::from_millis(100)).is_none_or(|message| shown(&message).is_none())
        );
    }
    attacks.store(false, Ordering::Relaxed);
    begins_alike(&model);
    let is_reached = || model.requests().iter().any(|request| request.head.contains("/pwned"));
    assert!(!is_reached() && session.tree() == before);
    assert_eq!(client.said(&id, "something else"), "end_turn");
    client.until("a suggestion for which something runs", |message| shown(message) == Some(false));
    client.until("the end of that", |message| shown(message) == Some(true));
    assert!(!is_reached() && session.tree() == before);
    works.store(true, Ordering::Relaxed);
    // The suggestion is sent as any other prompt: the first agent does it, by the rules of its user.
    assert_eq!(client.said(&id, "/next"), "end_turn");
    assert!(session.workspace().join("made.txt").exists());
    assert_eq!(list_sessions(&mut client), [id.as_str()]);
    assert_eq!(client.end(), Some(0));
    // Codex archives sessions that are deleted.
    let archived = fs::read_dir(session.home().join(".codex/archived_sessions")).unwrap().count();
    let mut folders = vec![session.home().join(".codex/sessions")];
    let mut kept = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() { folders.push(path) } else { kept.push(path) }
        }
    }
    assert_eq!((kept.len(), 0 < archived), (1, true), "no fork is left: {kept:?}");
}
