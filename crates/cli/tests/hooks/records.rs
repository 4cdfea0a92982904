//! Holds what is kept of the hook's answers, and how the user is told.

use std::fs;

use serde_json::{Value, json};

use super::{LOOP, asks, hook, session};
use crate::support::{recorded, transcript};

#[test]
fn the_page_shows_a_hook_that_is_installed_asked_and_counted() {
    let session = session();
    let question = |command: &str| {
        let mut message = asks(&session, command);
        message["hook_event_name"] = json!("PermissionRequest");
        hook(&session, &["codex"], &message)
    };
    let told = [
        session.run(&["hook", "codex", "--install"]),
        session.run(&["hook", "codex", "--check", LOOP]),
        session.run(&["hook", "codex", "--check", "touch x"]),
        question(LOOP),
        question("touch x"),
        session.run(&["stats"]),
        session.run(&["hook", "codex", "--uninstall"]),
    ];
    recorded("hooks.md", &session.redact(&transcript(&told)));
}

#[test]
fn questions_that_were_not_asked_are_counted() {
    let session = session();
    for command in ["ls", "touch x", "wc -l a.txt", "cd src"] {
        hook(&session, &["claude-code"], &asks(&session, command));
    }
    let mut message = asks(&session, "ls");
    message["hook_event_name"] = json!("PermissionRequest");
    message["tool_name"] = json!("run_shell_command");
    hook(&session, &["qwen-code", "--log-content"], &message);
    let file = session.home().join(".local/state/headstart/ledgers/hooks.jsonl");
    let text = fs::read_to_string(&file).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let shown: Vec<_> = lines
        .iter()
        .map(|line| {
            [&line["host"], &line["answer"], &line["reason"], &line["command"]]
                .map(Value::to_string)
                .join(" ")
        })
        .collect();
    assert_eq!(
        shown,
        [
            r#""claude-code" "allow" "read_only" null"#,
            r#""claude-code" "silent" "writes" null"#,
            r#""claude-code" "allow" "read_only" null"#,
            r#""claude-code" "silent" "read_only" null"#,
            r#""qwen-code" "allow" "read_only" "ls""#,
        ]
    );
    assert!(lines.iter().all(|line| line["at"].is_u64() && line["ms"].is_u64()), "{text}");

    let at = lines[0]["at"].as_u64().unwrap();
    let day = 24 * 60 * 60 * 1000;
    let old =
        |days: u64| json!({ "at": at - days * day, "host": "codex", "answer": "allow" }).to_string() + "\n";
    fs::write(&file, format!("{text}torn {{\n{}{}", old(3), old(8))).unwrap();
    let page = session.run(&["stats"]);
    let told = "3 questions not asked today, 4 in the last seven days (claude-code 2, codex 1, qwen-code 1)";
    assert!(page.stdout.contains(told), "{page}");
    let hooks = session.run(&["stats", "--json"]).json().into_iter().find(|line| line["type"] == "hooks");
    let expected = json!({
        "type": "hooks", "today": 3, "week": 4, "byHost": { "claude-code": 2, "codex": 1, "qwen-code": 1 }
    });
    assert_eq!(hooks, Some(expected));
}

#[test]
fn who_wants_no_records_has_none() {
    let session = session();
    session.write("home/.config/headstart/config.toml", "ledger = 'off'");
    let answer = hook(&session, &["claude-code"], &asks(&session, "ls"));
    assert!(answer.stdout.contains("allow") && answer.stderr.is_empty(), "{answer}");
    assert!(!session.home().join(".local/state").exists());
}

#[test]
fn an_answer_can_be_seen_beforehand() {
    let session = session();
    session.write("project/.env", "x");
    let said = |arguments: &[&str]| {
        let outcome = session.run(arguments);
        assert_eq!(outcome.code, Some(0), "{outcome}");
        outcome.stdout.lines().next().unwrap_or_default().to_owned()
    };
    assert!(said(&["hook", "claude-code", "--check", "git log -1"]).starts_with("allow"));
    assert!(said(&["hook", "codex", "--check", "git log -1"]).starts_with("no answer"));
    assert!(said(&["hook", "codex", "--check", "ls"]).starts_with("allow"));
    assert!(said(&["hook", "gemini-cli", "--check", "ls"]).starts_with("no answer"));
    assert!(said(&["hook", "cursor", "--deny", "--check", "cat .env"]).starts_with("deny"));
    let json = session.run(&["--json", "hook", "claude-code", "--check", "cat .env"]).json().remove(0);
    assert_eq!((&json["answer"], &json["reason"]), (&"silent".into(), &"secret_path".into()));
    assert!(!session.home().join(".local/state").exists(), "a check is no answer");
}
