//! Holds that `--log` writes what each port of a chat did, and never a key.

#![expect(clippy::unwrap_used, reason = "a log that is not there stops the test")]

use serde_json::Value;

use crate::fixture::{Chat, project};
use crate::provider::{ProviderReply, serve};
use crate::support::Session;

/// Texts from the prompt, an answer, the arguments of a call, a suggestion, and the answer to the suggestion.
const CONTENT: [&str; 5] = ["a raspberry", "A quince", "elderberry.txt", "eat the quince", "Eaten ahead"];
const KEY: &str = "walnut-key-of-mine-1";

/// Has a chat with a refused request, a call, an answer and a suggestion. Returns the events of its log, and the log's
/// text.
fn logged(more: &[&str]) -> (Vec<Value>, String) {
    let answers = vec![
        ProviderReply::Refuse(503),
        ProviderReply::Write("elderberry.txt"),
        ProviderReply::Says("A quince, and the key walnut-key-of-mine-1."),
        ProviderReply::Suggests("eat the quince"),
        ProviderReply::Says("Eaten ahead."),
    ];
    let (url, _requests) = serve(answers);
    let project = project().variable("OPENAI_API_KEY", KEY);
    let arguments =
        ["chat", "--model", "openai:m", "--base-url", &url, "--mode", "auto-edit", "--log", "log.jsonl"];
    let arguments: Vec<_> = arguments.iter().chain(more).map(|argument| (*argument).to_owned()).collect();
    let mut chat = Chat::spawn(project, &arguments, 72, 40);
    chat.send("a raspberry\r");
    chat.wait_for("A quince");
    chat.wait_for("ahead ✓ ready");
    let mut logged = (Vec::new(), String::new());
    chat.leave_keeping(|session| logged = read(session));
    logged
}

fn read(session: &Session) -> (Vec<Value>, String) {
    let text = std::fs::read_to_string(session.workspace().join("log.jsonl")).unwrap();
    let events = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (events, text)
}

fn said<'a>(events: &'a [Value], message: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["message"] == message).collect()
}

#[test]
fn each_port_is_in_the_log_and_no_content() {
    let (events, text) = logged(&[]);
    for word in CONTENT.iter().chain([&KEY]) {
        assert!(!text.contains(word), "{word}: {text}");
    }
    let statuses: Vec<_> = said(&events, "a server was asked").iter().map(|event| &event["status"]).collect();
    assert_eq!(statuses[..3], [503, 200, 200], "{text}");
    assert_eq!(said(&events, "a request waits before it is made again")[0]["error"], "server");
    let judged = said(&events, "the gate judged a call")[0];
    assert_eq!((&judged["tool"], &judged["decision"]), (&"write_file".into(), &"redirect".into()));
    assert_eq!(judged["spans"][0]["name"], "turn");
    assert_eq!(said(&events, "the workspace took its changes")[0]["committed"], true);
    assert_eq!(said(&events, "the run ended")[0]["status"], "Completed");
    assert_eq!(said(&events, "the model answered a query")[0]["error"], Value::Null, "{text}");
    assert_eq!(said(&events, "work ahead begins").len(), 1, "{text}");
    assert_eq!(said(&events, "what goes along with a prompt was read")[0]["mentioned"], 0);
    let ran = said(&events, "a tool ran");
    assert!(ran.iter().any(|ran| ran["tool"] == "write_file" && ran["failed"] == false), "{text}");
    for store in ["ledger", "session"] {
        let told = said(&events, "a store answered");
        let kept = told.iter().filter(|event| event["store"] == store && event["kept"] == true);
        assert!(0 < kept.count(), "{store}: {text}");
    }
    let begun = events.iter().position(|event| event["message"] == "headstart begins");
    assert_eq!(begun, Some(0));
    assert_eq!(events.last().unwrap()["message"], "headstart ends");
}

#[test]
fn content_is_in_the_log_where_it_is_asked_for_and_no_key() {
    let (_, text) = logged(&["--log-content"]);
    for word in CONTENT {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert!(!text.contains(KEY), "{text}");
    assert!(text.contains("[scrubbed]"), "{text}");
}

#[test]
fn a_log_is_added_to_and_only_its_user_reads_it() {
    use std::os::unix::fs::PermissionsExt;

    let session = Session::new();
    for _ in 0..2 {
        assert_eq!(session.run(&["list", "--log", "log.jsonl"]).code, Some(0));
    }
    let (events, _) = read(&session);
    assert_eq!(said(&events, "headstart begins").len(), 2);
    let metadata = std::fs::metadata(session.workspace().join("log.jsonl")).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_log_that_cannot_be_opened_is_an_error_before_anything_is_done() {
    let session = Session::new();
    let ended = session.run(&["list", "--log", "no/such/folder/log.jsonl"]);
    assert_ne!(ended.code, Some(0));
    let error = ended.stderr;
    assert!(error.starts_with("headstart: cannot open the log no/such/folder/log.jsonl: "), "{error}");
    let ended = session.run(&["list", "--log-content"]);
    assert!(ended.stderr.contains("--log <FILE>"), "{}", ended.stderr);
}

#[test]
fn a_recovery_a_sweep_and_a_tool_server_are_in_the_log() {
    let session = Session::new();
    session.write("home/.config/headstart/config.toml", "[mcp.absent]\ncommand = [\"/no/such/server\"]\n");
    session.write("project/notes.txt", "one\n");
    let swept = session.run(&["sweep", "--log", "log.jsonl"]);
    assert_eq!(swept.code, Some(0), "{swept}");
    let listed = session.run(&["tool-servers", "test", "absent", "--log", "log.jsonl"]);
    let (events, text) = read(&session);
    assert_eq!(said(&events, "the workspace was swept").len(), 1, "{text}");
    let started = said(&events, "a tool server was started");
    assert!(
        matches!(started[..], [server] if server["server"] == "absent" && server["tools"].is_null()),
        "{listed} {text}"
    );
}
