//! No product should send these inputs, but every product may. They get no answer, one line that says why, and never
//! the exit code that refuses a call.

use std::fs;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{asks, hook, session};
use crate::support::Session;

const HOSTS: [&str; 6] = ["claude-code", "qwen-code", "codex", "copilot", "cursor", "gemini-cli"];

fn says_nothing(session: &Session, arguments: &[&str], input: impl Into<Vec<u8>>, why: &str) {
    let outcome = session.run_with_input(arguments, input);
    assert_eq!((outcome.stdout.as_str(), outcome.code), ("", Some(0)), "{outcome}");
    assert_eq!(outcome.stderr.lines().count(), 1, "{outcome}");
    assert!(outcome.stderr.contains(why), "{why}: {outcome}");
}

#[test]
fn what_is_not_understood_gets_no_answer_and_one_line() {
    let session = session();
    let message = asks(&session, "ls");
    let with = |field: &str, value: Value| {
        let mut message = message.clone();
        message[field] = value;
        message.to_string()
    };
    let without = |field: &str| {
        let mut message = message.clone();
        message.as_object_mut().unwrap().remove(field);
        message.to_string()
    };
    let cases = [
        (String::new(), "empty"),
        ("  \n".to_owned(), "empty"),
        ("ls".to_owned(), "not JSON"),
        (message.to_string()[..40].to_owned(), "not JSON"),
        ("[]".to_owned(), "not a JSON object"),
        (format!("{message}{message}"), "not JSON"),
        (without("tool_input"), "no command"),
        (with("tool_input", json!({})), "no command"),
        (with("tool_input", json!({ "command": ["ls"] })), "not text"),
        (with("tool_input", json!({ "command": " " })), "the command is empty"),
        (with("tool_input", json!({ "command": "ls\u{0}" })), "NUL"),
        (with("tool_input", json!("{\"command\":")), "not JSON"),
        (with("toolArgs", json!({ "command": "rm x" })), "several places"),
        (with("command", json!("rm x")), "several places"),
        (with("toolName", json!("Other")), "different things"),
        (without("cwd"), "cwd"),
        (with("cwd", json!(7)), "not text"),
        (with("cwd", json!("project")), "absolute"),
        (with("cwd", json!("/no/such/folder")), "/no/such/folder"),
        (without("tool_name"), "no name"),
        (with("hook_event_name", json!(1)), "not text"),
    ];
    for (input, why) in cases {
        says_nothing(&session, &["hook", "claude-code"], input, why);
    }
    let long = with("tool_input", json!({ "command": format!("echo {}", "x".repeat(16 * 1024 * 1024)) }));
    says_nothing(&session, &["hook", "claude-code"], long, "16 MiB");
    says_nothing(&session, &["hook", "codex"], vec![0xff, 0xfe], "not JSON");
    // No answer was given, so nothing is counted in a ledger.
    assert!(!session.home().join(".local/state/headstart/ledgers").exists());
}

#[test]
fn what_is_not_meant_gets_no_answer_and_no_line() {
    let session = session();
    for (field, value) in [
        ("tool_name", json!("PowerShell")),
        ("hook_event_name", json!("PostToolUse")),
        ("permission_mode", json!("bypassPermissions")),
    ] {
        let mut message = asks(&session, "ls");
        message[field] = value;
        let outcome = hook(&session, &["claude-code"], &message);
        assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str(), outcome.code), ("", "", Some(0)));
    }
    // With `--deny`, a call that would be a question is refused in a mode in which nobody would be asked.
    let mut message = asks(&session, "cat .env");
    message["permission_mode"] = json!("bypassPermissions");
    let denied = hook(&session, &["claude-code", "--deny"], &message);
    assert_eq!(denied.json()[0]["hookSpecificOutput"]["permissionDecision"], "deny", "{denied}");
    let mut message = asks(&session, "ls");
    message["tool_input"]["run_in_background"] = json!(true);
    assert_eq!(hook(&session, &["claude-code"], &message).stdout, "");
}

#[test]
fn no_mistake_around_it_refuses_a_call() {
    let session = session();
    let message = asks(&session, "ls").to_string();
    session.write("home/.config/headstart/config.toml", "deny = 7");
    says_nothing(&session, &["hook", "claude-code"], message.as_str(), "config.toml:1");
    session.write("home/.config/headstart/config.toml", "background = 'off'");
    assert_eq!(session.run_with_input(&["hook", "claude-code"], message.as_str()).stdout, "");
    fs::remove_file(session.home().join(".config/headstart/config.toml")).unwrap();
    for arguments in [
        &["hook", "claude-code", "--no-such-flag"][..],
        &["--json", "hook", "claude-code", "more"],
        &["hook", "codex", "--check"],
    ] {
        let outcome = session.run_with_input(arguments, message.as_str());
        assert_eq!((outcome.stdout.as_str(), outcome.code), ("", Some(1)), "{outcome}");
    }
    assert_eq!(session.run_with_input(&["hook", "no-such-product"], message.as_str()).code, Some(2));
    let session = session.variable("HEADSTART_BACKGROUND", "maybe");
    says_nothing(&session, &["hook", "claude-code"], message.as_str(), "HEADSTART_BACKGROUND");
    let session = super::session().variable("HEADSTART_STATE_DIR", "/proc/none");
    let outcome = session.run_with_input(&["hook", "claude-code"], asks(&session, "ls").to_string());
    assert!(outcome.stdout.contains("allow") && outcome.stderr.contains("not on record"), "{outcome}");
}

#[test]
fn a_reader_that_went_away_is_no_failure() {
    let session = session();
    let mut child =
        session.command(&["hook", "claude-code"]).stdin(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, asks(&session, "ls").to_string().as_bytes()).unwrap();
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    /// Random bytes, and messages with something else in one place, never get an allow or a refusal.
    #[test]
    fn no_input_is_an_allow_or_a_refusal_by_accident(
        host in prop::sample::select(&HOSTS[..]),
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        command in "[a-z ;|&<>$(){}'\"\\\\/.\n-]{0,40}",
        cut in 0_usize..400,
    ) {
        let session = session();
        let mut message = asks(&session, &format!("touch x; {command}")).to_string().into_bytes();
        let mut spoilt = message.clone();
        spoilt.truncate(cut);
        spoilt.extend(&bytes);
        message.extend(&bytes);
        for input in [bytes, spoilt, message] {
            let outcome = session.run_with_input(&["hook", host], input);
            prop_assert_eq!((outcome.stdout.as_str(), outcome.code), ("", Some(0)), "{}", outcome);
        }
    }
}
