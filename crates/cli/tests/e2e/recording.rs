//! Holds that `--record` and `replay:` keep what was said and how fast, without any secret.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::Session;
use crate::support::server::{ScriptedResponse, Server, StreamStep};

const KEY: &str = "a-key-that-nobody-must-see";
const OTHER: &str = "0ther-value-of-the-environment";
const SHAPED: &str = "ghp_aB3dE5fG7haB3dE5fG7haB3dE5fG7h";

/// A text with every secret in it.
fn text_with_secrets() -> String {
    format!("I found {KEY}, {OTHER} and {SHAPED}; send Authorization: Basic dXNlcjpwYXNzd29yZA== then.")
}

fn chunk(delta: &Value, finish: Option<&str>) -> StreamStep {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
    StreamStep::Data(json!({"choices": [choice]}).to_string())
}

/// An answer in the pieces that a provider sends: a text that is split in the middle of every secret, and perhaps a
/// call that contains all secrets.
fn answer(call: bool, wait: Duration) -> ScriptedResponse {
    let words = text_with_secrets();
    let mut steps = vec![StreamStep::Wait(wait)];
    let letters: Vec<char> = words.chars().collect();
    steps.extend(
        letters.chunks(7).map(|piece| chunk(&json!({"content": piece.iter().collect::<String>()}), None)),
    );
    if call {
        let args = json!({"command": words, "deep": [{"list": [words]}], &words: 1, "password": "hunter"})
            .to_string();
        let function = json!({"name": format!("tool {words}"), "arguments": args});
        let call = json!({"index": 0, "id": KEY, "type": "function", "function": function});
        steps.push(chunk(&json!({"tool_calls": [call]}), None));
    }
    steps.push(StreamStep::Wait(wait));
    steps.push(chunk(&json!({}), Some(if call { "tool_calls" } else { "stop" })));
    steps.push(StreamStep::Data("[DONE]".to_owned()));
    ScriptedResponse::Stream(steps)
}

fn session() -> Session {
    Session::with_project().variable("OPENAI_API_KEY", KEY).variable("MY_OTHER_TOKEN", OTHER)
}

fn recorded(session: &Session) -> String {
    fs::read_to_string(session.workspace().join("../record.json")).unwrap()
}

fn assert_clean(text: &str) {
    for secret in [KEY, OTHER, SHAPED, "dXNlcjpwYXNzd29yZA", "hunter"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    assert!(text.contains("I found [scrubbed], [scrubbed] and [scrubbed]"), "{text}");
}

#[test]
fn a_recording_holds_no_secret_and_can_be_played() {
    let none = Duration::ZERO;
    let server = Server::start(vec![answer(true, none), answer(false, none), answer(false, none)]);
    let session = session();
    let model = ["--model", "openai:m", "--base-url", &server.base_url, "--record", "../record.json"];
    let live = session.run(&[&["speculate", "--json", "say hello"][..], &model].concat());
    // The call names no tool that exists, so the model is told, and then says its last text.
    assert_eq!(live.finished()["status"], "completed", "{live}");
    assert_clean(&recorded(&session));
    let recording: Value = serde_json::from_str(&recorded(&session)).unwrap();
    assert_eq!(recording["turns"].as_array().unwrap().len(), 2);
    assert_eq!(recording["turns"][0]["toolCalls"][0]["args"]["password"], "[scrubbed]");

    let played = session.run(&["speculate", "--json", "--model", "replay:../record.json", "say hello"]);
    assert_eq!(played.finished()["status"], "completed", "{played}");
}

#[test]
fn a_suggestion_and_the_ledger_hold_no_secret_either() {
    let server = Server::start(vec![answer(false, Duration::ZERO)]);
    let session = session();
    let settings = "ledger = 'prompts'\n[models.'openai:m']\nfree = false\n";
    session.write("home/.config/headstart/config.toml", settings);
    let history = session.history(&json!([
        {"role": "user", "parts": [{"type": "text", "text": "begin"}]},
        {"role": "model", "parts": [{"type": "text", "text": "One."}]},
        {"role": "user", "parts": [{"type": "text", "text": "go on"}]},
        {"role": "model", "parts": [{"type": "text", "text": "Two."}]},
    ]));
    let model = ["--model", "openai:m", "--base-url", &server.base_url, "--record", "../record.json"];
    session.run(&[&["suggest", "--history", &history][..], &model].concat());
    let text = recorded(&session);
    assert_clean(&text);
    assert!(
        serde_json::from_str::<Value>(&text).unwrap()["suggestions"].as_array().unwrap().len() == 1,
        "{text}"
    );

    let recording = session.recording(&json!({"turns": [{"text": "Done."}]}));
    session.run(&["speculate", "--model", &recording, &text_with_secrets()]);
    let ledger = fs::read_to_string(session.ledger()).unwrap();
    let line = ledger.lines().last().unwrap();
    assert_clean(line.strip_suffix('}').unwrap());
}

#[test]
fn the_timing_is_recorded_and_speed_divides_it() {
    let wait = Duration::from_millis(400);
    let server = Server::start(vec![answer(false, wait)]);
    let session = session();
    let model = ["--model", "openai:m", "--base-url", &server.base_url, "--record", "../record.json"];
    session.run(&[&["speculate", "say hello"][..], &model].concat());
    let recording: Value = serde_json::from_str(&recorded(&session)).unwrap();
    let turn = &recording["turns"][0];
    for field in ["delayMs", "streamMs"] {
        let measured = turn[field].as_u64().unwrap();
        assert!((350..5_000).contains(&measured), "{field}: {turn}");
    }
    let time = |speed: &str| {
        let started = Instant::now();
        let arguments =
            ["speculate", "--json", "--speed", speed, "--model", "replay:../record.json", "say hello"];
        let outcome = session.run(&arguments);
        assert_eq!(outcome.finished()["status"], "completed", "{outcome}");
        (started.elapsed(), outcome.finished()["usage"]["modelMs"].as_u64().unwrap())
    };
    let (slow, fast) = (time("1"), time("100"));
    assert!(700 <= slow.1 && fast.1 < 700, "{slow:?} {fast:?}");
    assert!(Duration::from_millis(700) <= slow.0, "{slow:?}");
    // A speed that is not a factor is an error of usage.
    assert_eq!(
        session.run(&["speculate", "--speed", "0", "--model", "replay:../record.json", "x"]).code,
        Some(2)
    );
}

#[test]
fn a_place_that_cannot_hold_a_recording_is_refused_before_the_first_request() {
    let session = Session::with_project();
    let model = session.recording(&json!({"turns": [{"text": "Done."}]}));
    session.write("precious.txt", "mine\n").write("home/kept.json", "{\"turns\": 1}");
    std::os::unix::fs::symlink("nowhere.json", session.home().join("dangling")).unwrap();
    let cases = [
        ("../precious.txt", "is no recording; move it away, or name another file"),
        ("../home/kept.json", "is no recording"),
        ("../no/such/record.json", "its folder does not exist"),
        ("../home", "no regular file"),
        ("/dev/null", "no regular file"),
        ("../home/dangling", "a link that leads nowhere"),
    ];
    for (place, words) in cases {
        for command in [&["speculate", "say hello"][..], &["chat"]] {
            let outcome = session.run(&[command, &["--model", &model, "--record", place]].concat());
            outcome.assert_refused(1, &["cannot record to", place, words]);
            assert_eq!(outcome.stdout, "", "{outcome}");
        }
    }
    assert_eq!(session.speculation_folders(), Vec::<std::path::PathBuf>::new());
    assert_eq!(fs::read_to_string(session.workspace().join("../precious.txt")).unwrap(), "mine\n");
}

#[test]
fn a_recording_replaces_a_recording_and_an_empty_one_nothing() {
    let session = Session::with_project();
    let model = session.recording(&json!({"turns": [{"text": "Done."}]}));
    let old = r#"{"turns":[{"text":"an older one"}]}"#;
    session.write("record.json", old);
    // The chat has no input, so it asks nothing and keeps the old recording.
    let outcome = session.run(&["chat", "--model", &model, "--record", "../record.json"]);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert_eq!(recorded(&session), old);
    let outcome = session.run(&["speculate", "--model", &model, "--record", "../record.json", "say hello"]);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert!(recorded(&session).contains("Done."), "{}", recorded(&session));
    let root = session.home().with_file_name("");
    let names = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.filter(|name| name.starts_with(".headstart-")).count(), 0);
}

#[test]
fn what_was_done_is_told_although_its_recording_cannot_be_kept() {
    let session = Session::with_project();
    session.write("home/records/.keep", "");
    let model = session.recording(&json!({"turns": [
        {"toolCalls": [{"name": "read_file", "args": {"file_path": "greeting.txt"}}]},
        {"text": "Done.", "delayMs": 700},
    ]}));
    let arguments = ["speculate", "--json", "--model", &model, "--record", "../home/records/r.json", "go"];
    let mut live = session.live(&arguments);
    live.wait_for("toolResult");
    fs::remove_dir_all(session.home().join("records")).unwrap();
    let finished = live.wait_for("finished");
    assert_eq!(finished["id"], session.only_row()["id"]);
    assert!(live.wait_for("error")["message"].as_str().unwrap().contains("r.json"));
    assert_eq!(live.exit_code(), Some(1));
}
