//! Runs `OpenCode` itself, which `.ci/install hosts` installs next to the build, with a scripted model.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{NEXT, PATIENCE, answer_kind, list_sessions};
use crate::client::Client;
use crate::support::server::{Request, ScriptedResponse, Server, calls, says};
use crate::support::{Session, installed};

/// The last text of the user in a request, and the number of results of tools that follow it.
fn last_user_text(body: &Value) -> (String, usize) {
    let (mut text, mut results) = (String::new(), 0);
    for message in body["messages"].as_array().into_iter().flatten() {
        match message["role"].as_str() {
            Some("user") => (text, results) = (message["content"].to_string(), 0),
            Some("tool") => results += 1,
            _ => {}
        }
    }
    (text, results)
}

/// A model that suggests [`NEXT`], and then makes the calls of `work`, one after another. For `change it`, it edits
/// what it wrote.
fn model(work: impl Fn(usize) -> Option<(&'static str, Value)> + Send + Sync + 'static) -> Server {
    Server::answering(move |request| {
        if !request.head.contains("/chat/completions") {
            return ScriptedResponse::Whole { status: "404 Not Found", headers: "", body: "{}".to_owned() };
        }
        let body = request.json();
        let offers_tools = body["tools"].as_array().is_some_and(|tools| !tools.is_empty());
        match last_user_text(&body) {
            (text, _) if text.contains("A question from the program") => {
                says(&json!({ "suggestion": NEXT }).to_string())
            }
            (text, done) if text.contains(NEXT) && offers_tools => match work(done) {
                Some(call) => calls(&[call]),
                None => says("It is made."),
            },
            (text, 0) if text.contains("change it") && offers_tools => {
                let edit = json!({ "filePath": "notes.txt", "oldString": "two", "newString": "three" });
                calls(&[("edit", edit)])
            }
            _ => says("Hello there."),
        }
    })
}

/// A user of `OpenCode` with this model.
fn user(model: &Server) -> Session {
    let session = Session::new().variable("HEADSTART_SHADOW", "");
    session.write("project/notes.txt", "one\n");
    session.git(&["init", "-q"]);
    session.configure_opencode(&model.base_url, &json!({}));
    let path = format!("{}:/usr/bin:/bin", installed("node/bin").display());
    session
        .variable("PATH", &path)
        .variable("SHELL", "/bin/bash")
        .variable("OPENCODE_DISABLE_MODELS_FETCH", "1")
        .variable("OPENCODE_DISABLE_AUTOUPDATE", "1")
}

fn log(session: &Session) -> String {
    fs::read_to_string(session.home().join("log")).unwrap_or_default()
}

/// An editor that has opened a session and has had two turns in it, and the id of the session.
fn after_two_turns(session: &Session) -> (Client, String) {
    let program = installed("opencode-linux-x64/bin/opencode").display().to_string();
    let log = session.home().join("log").display().to_string();
    super::after_two_turns(session, &["--log", &log], &[&program, "acp"])
}

/// The requests of turns, which offer tools, whose last text of the user contains `words`.
fn turns(model: &Server, words: &str) -> Vec<Value> {
    let requests = model.requests();
    let bodies =
        requests.iter().filter(|request| request.head.contains("/chat/completions")).map(Request::json);
    bodies
        .filter(|body| {
            body["tools"].as_array().is_some_and(|tools| !tools.is_empty())
                && last_user_text(body).0.contains(words)
        })
        .collect()
}

fn begins_with(request: &Value, before: &Value) {
    let history = before["messages"].as_array().unwrap();
    assert_eq!(&request["messages"].as_array().unwrap()[..history.len()], &history[..]);
    assert_eq!(request["tools"], before["tools"]);
}

#[test]
#[ignore = "needs OpenCode; .ci/long installs it"]
fn opencode_works_ahead_and_its_work_is_taken() {
    let model = model(|done| match done {
        0 => Some(("bash", json!({ "command": "echo shell > by-shell.txt", "description": "to see" }))),
        1 => Some(("read", json!({ "filePath": "notes.txt" }))),
        2 => Some(("edit", json!({ "filePath": "notes.txt", "oldString": "one", "newString": "two" }))),
        _ => None,
    });
    let session = user(&model);
    let (mut client, id) = after_two_turns(&session);
    let before = session.tree();
    client.suggested(NEXT, Some("ready"));
    assert_eq!(session.tree(), before, "nothing is written before it is taken");
    for words in ["A question from the program", NEXT] {
        begins_with(&turns(&model, words)[0], turns(&model, "hello again").last().unwrap());
    }
    let prompt = client.prompt(&id, "/next");
    client.answer_question("write");
    assert_eq!(client.answer_to(prompt)["result"]["stopReason"], "end_turn");
    let read = |path: &str| fs::read_to_string(session.workspace().join(path)).ok();
    assert_eq!(
        (read("notes.txt").as_deref(), read("by-shell.txt").as_deref()),
        (Some("two\n"), Some("shell\n"))
    );
    // The first agent knows the file that the second agent wrote, so it edits the file without reading it again.
    assert_eq!(client.said(&id, "change it"), "end_turn");
    assert_eq!(read("notes.txt").as_deref(), Some("three\n"));
    let now = turns(&model, "change it");
    assert_eq!(now.len(), 2, "one call, and its answer");
    begins_with(&now[0], turns(&model, NEXT).last().unwrap());
    assert_eq!(list_sessions(&mut client), [id.as_str()]);
    assert_eq!(client.end(), Some(0));
}

#[test]
#[ignore = "needs OpenCode; .ci/long installs it"]
fn what_opencode_asks_ahead_is_answered_in_the_editor() {
    for kind in ["allow_once", "reject_once"] {
        let model = model(|done| {
            let run = ("bash", json!({ "command": "bash ./script.sh", "description": "to see" }));
            (done == 0).then_some(run)
        });
        let session = user(&model);
        session.write("project/script.sh", "echo ran >> count.txt\n");
        let (mut client, id) = after_two_turns(&session);
        client.suggested(NEXT, Some("boundary"));
        let before = session.tree();
        let prompt = client.prompt(&id, "/next");
        let question = answer_kind(&mut client, kind);
        assert_eq!(question["params"]["sessionId"], id.as_str());
        assert_eq!(session.tree(), before);
        if kind == "allow_once" {
            client.answer_question("write");
        }
        let answer = client.answer_to(prompt);
        assert_eq!(client.said(&id, "what now?"), "end_turn", "{answer}");
        let ran = fs::read_to_string(session.workspace().join("count.txt")).ok();
        assert_eq!(ran.as_deref(), (kind == "allow_once").then_some("ran\n"));
        let history = turns(&model, "what now?").pop().unwrap();
        let results =
            history["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "tool");
        assert_eq!(results.count(), 1, "the answer is in the history, once: {history}");
        assert_eq!(list_sessions(&mut client), [id.as_str()]);
        assert_eq!(client.end(), Some(0));
    }
}

#[test]
#[ignore = "needs OpenCode; .ci/long installs it"]
fn what_opencode_would_do_outside_its_view_waits() {
    let address = std::sync::Arc::new(std::sync::OnceLock::<String>::new());
    let attack = std::sync::Arc::new(AtomicUsize::new(0));
    let (known, number) = (std::sync::Arc::clone(&address), std::sync::Arc::clone(&attack));
    let model = model(move |done| {
        let url = format!("{}/pwned", known.get().unwrap());
        let command = |line: String| ("bash", json!({ "command": line, "description": "to see" }));
        let call = match number.load(Ordering::Relaxed) {
            0 => command(format!("curl -s {url}")),
            1 => ("webfetch", json!({ "url": url, "format": "text" })),
            2 => command("git push origin main".to_owned()),
            3 => command("echo pwned > ~/pwned".to_owned()),
            _ => ("task", json!({ "description": "x", "prompt": NEXT, "subagent_type": "general" })),
        };
        (done == 0).then_some(call)
    });
    address.set(model.base_url.clone()).unwrap();
    let session = user(&model);
    let (mut client, id) = after_two_turns(&session);
    for number in 0..5 {
        client.suggested(NEXT, Some("boundary"));
        attack.store(number + 1, Ordering::Relaxed);
        assert_eq!(client.said(&id, "something else"), "end_turn");
    }
    assert!(!model.requests().iter().any(|request| request.head.contains("/pwned")), "it was reached");
    assert!(!session.home().join("pwned").exists());
    assert_eq!(list_sessions(&mut client), [id.as_str()]);
    assert_eq!(client.end(), Some(0));
}

#[test]
#[ignore = "needs OpenCode; .ci/long installs it"]
fn opencode_with_rules_of_its_users_does_nothing_ahead() {
    let model = model(|_| None);
    for (file, settings) in [
        ("project/opencode.json", json!({ "permission": { "bash": { "git push *": "allow" } } })),
        ("project/opencode.json", json!({ "agent": { "build": { "permission": { "bash": "allow" } } } })),
    ] {
        let session = user(&model);
        session.write(file, settings.to_string());
        let (mut client, _) = after_two_turns(&session);
        let deadline = Instant::now() + PATIENCE;
        while !log(&session).contains("may act without a question") {
            assert!(Instant::now() < deadline, "{}", log(&session));
            assert!(
                client
                    .next_within(Duration::from_millis(100))
                    .is_none_or(|message| { !message.to_string().contains("promptSuggestions") })
            );
        }
        assert_eq!(client.end(), Some(0));
    }
    assert!(turns(&model, "A question from the program").is_empty());
}
