//! Holds that a task, from the search to the passing test, works in a real repository both as a turn and ahead of its
//! user.

use std::process::Command;

use serde_json::{Value, json};

use crate::shadow::{crate_session, edit, events, shell};
use crate::support::project::call;
use crate::support::{Outcome, Session};

/// A recording in which the model looks around, makes a mistake, reads of it in the output of the tests, and fixes it.
fn task() -> Value {
    let calls = [
        call("grep", &json!({"pattern": "fn one"})),
        call("read_file", &json!({"file_path": "src/lib.rs"})),
        call("ls", &json!({"path": "src"})),
        edit("pub fn one() -> u32 { 1 }", "pub fn one() -> u32 { two() - 2 }\n\nfn two() -> u32 { 2 }"),
        shell("cargo test --offline"),
        edit("two() - 2", "two() - 1"),
        shell("cargo test --offline"),
    ];
    let turns = calls.into_iter().map(|call| json!({"toolCalls": [call]}));
    let turns: Vec<Value> = turns.chain([json!({"text": "It is one again, by way of two."})]).collect();
    json!({ "turns": turns })
}

fn repository() -> Session {
    let session = crate_session();
    for words in [
        vec!["init", "-q", "."],
        vec!["add", "-A"],
        vec!["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "one"],
    ] {
        let made = Command::new("git").args(&words).current_dir(session.workspace()).status();
        assert!(made.unwrap().success(), "git {words:?}");
    }
    session
}

fn results(outcome: &Outcome) -> Vec<String> {
    let text = |line: &Value| line["result"]["output"].as_str().unwrap_or_default().to_owned();
    events(outcome, "toolResult").iter().map(text).collect()
}

/// Checks what the model read on its way, whether in a turn or ahead.
fn assert_model_read(outcome: &Outcome) {
    let read = results(outcome);
    assert_eq!(read.len(), 7, "{outcome}");
    assert!(read[0].contains("src/lib.rs:1:pub fn one() -> u32 { 1 }"), "{outcome}");
    assert!(read[1].contains("assert_eq!(one(), 1)") && read[2].contains("lib.rs"), "{outcome}");
    assert!(read[4].contains("it_is_one ... FAILED") && read[4].contains("[exit code 101]"), "{outcome}");
    assert!(read[6].contains("1 passed") && !read[6].contains("[exit code"), "{outcome}");
}

/// The only file that differs from the commit, and its text.
fn changed_file(session: &Session) -> (String, String) {
    let status = Command::new("git").args(["status", "--short"]).current_dir(session.workspace()).output();
    let status = String::from_utf8(status.unwrap().stdout).unwrap();
    (status, session.text("src/lib.rs").unwrap())
}

#[test]
fn a_task_is_the_same_as_a_turn_and_ahead_of_its_user() {
    let turn = repository();
    let model = turn.recording(&task());
    let outcome = turn
        .run_with_input(&["chat", "--json", "--mode", "yolo", "--model", &model], "count by way of two\n");
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert_model_read(&outcome);
    let by_turn = changed_file(&turn);
    assert_eq!(by_turn.0, " M src/lib.rs\n");
    assert!(by_turn.1.contains("two() - 1"), "{}", by_turn.1);

    let mut ahead = repository();
    let before = ahead.hash();
    let (outcome, id) = ahead.speculate(&task(), "auto-edit");
    assert_eq!(outcome.finished()["status"], "completed", "{outcome}");
    assert_model_read(&outcome);
    assert_eq!(ahead.hash(), before, "nothing changes before an accept");
    let accepted = ahead.run(&["accept", &id]);
    assert_eq!(accepted.code, Some(0), "{accepted}");
    assert_eq!(changed_file(&ahead), by_turn);
}
