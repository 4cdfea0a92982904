use headstart_forked_query::{ToolOutcome, ToolResult};
use serde_json::{Value, json};

use super::*;

fn began(name: &str, args: &Value) -> Event {
    let args = args.as_object().cloned().unwrap_or_default();
    Event::ToolCall { call: ToolCall { id: "1".into(), name: name.into(), args } }
}

fn done(name: &str) -> Event {
    let outcome = ToolOutcome::Output(Value::from("x"));
    Event::ToolResult { result: ToolResult { id: "1".into(), name: name.into(), outcome }, items: Vec::new() }
}

fn in_a_view(staged: usize) -> Event {
    Event::ShadowRan {
        command: "cargo test".into(),
        exit_code: Some(0),
        millis: 1,
        staged,
        warm: Vec::new(),
        not_kept: Vec::new(),
        network: 0,
        view: headstart_toolbox::Tier::Kernel,
        tests: Some("4 tests pass".into()),
        git: None,
    }
}

fn summaries() -> Vec<ChangeSummary> {
    let row = |path: &str, added, removed| json!({ "path": path, "type": "modify", "added": added, "removed": removed, "binary": false });
    serde_json::from_value(json!([row("a.rs", 12, 3), row("b.rs", 2, 0)])).unwrap_or_default()
}

/// Reading calls only count as looks, while edits and commands count as work.
#[test]
fn progress_tells_looks_from_work() {
    let tests = began("shell", &json!({ "command": "cargo test" }));
    let commands = [tests.clone(), done("shell")];
    let cases: [(&[Event], _); 7] = [
        (&[], (0, false, false, 0)),
        (&[began("read_file", &json!({})), done("read_file"), done("grep")], (2, false, false, 0)),
        (&[done("read_file"), done("edit")], (1, true, false, 2)),
        (&[done("edit"), tests], (0, true, true, 2)),
        (&commands[..1], (0, false, true, 0)),
        (&commands, (0, true, false, 0)),
        (&[in_a_view(1)], (0, false, false, 2)),
    ];
    for (events, expected) in cases {
        let mut progress = WorkProgress::default();
        for event in events {
            progress.apply(event, &Toolbox::standard(None), summaries);
        }
        let WorkProgress { read_calls, did_more_than_read, command, staged, .. } = progress;
        assert_eq!((read_calls, did_more_than_read, command.is_some(), staged.len()), expected, "{events:?}");
    }
}

/// What is staged is only computed again after an event that may have changed it.
#[test]
fn what_is_staged_is_asked_for_only_where_it_may_have_changed() {
    let mut progress = WorkProgress::default();
    for event in [in_a_view(0), done("grep"), began("edit", &json!({}))] {
        progress.apply(&event, &Toolbox::standard(None), || panic!("{event:?} stages nothing"));
    }
    assert_eq!(progress.tests.as_deref(), Some("4 tests pass"));
}
