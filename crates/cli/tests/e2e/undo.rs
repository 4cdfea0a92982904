//! An accept taken back, and what happens when a process died before it could note what it had done.

use std::fs;

use serde_json::{Value, json};

use crate::support::Session;
use crate::support::project::farewell;

fn accepted(session: &mut Session) -> String {
    let (_, id) = session.speculate(&farewell(), "auto-edit");
    let outcome = session.run(&["accept", &id, "--json"]);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    id
}

/// As if the process had died before it could note what it did.
fn mark(session: &Session, id: &str, state: &str) {
    let file = session.store().join(id).join("record.json");
    let mut record: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    record["state"] = json!(state);
    fs::write(file.with_file_name("accepting"), "").unwrap();
    fs::write(file, record.to_string()).unwrap();
}

#[test]
fn an_accept_is_taken_back_and_made_again() {
    let mut session = Session::with_project();
    let before = session.hash();
    let id = accepted(&mut session);
    let after = session.hash();
    let outcome = session.run(&["undo", &id, "--json"]);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let line = outcome.json().pop().unwrap();
    assert_eq!(line, json!({"type": "undone", "id": id, "paths": ["greeting.txt", "src/farewell.txt"]}));
    assert_eq!(session.hash(), before);
    assert_eq!(session.only_row()["status"], "completed");
    let again = session.run(&["undo", &id]);
    assert_eq!(again.code, Some(1), "{again}");
    assert!(again.stderr.contains("was not accepted"), "{again}");
    assert_eq!(session.run(&["accept", &id]).code, Some(0));
    assert_eq!(session.hash(), after);
    assert_eq!(session.run(&["undo", &id]).code, Some(0));
    assert_eq!(session.hash(), before);
    assert_eq!(session.run(&["abort", &id]).code, Some(0));
}

#[test]
fn without_an_id_the_last_accept_is_taken_back() {
    let mut session = Session::with_project();
    let before = session.hash();
    let id = accepted(&mut session);
    let outcome = session.run(&["undo", "--json"]);
    assert_eq!(outcome.json().pop().unwrap()["id"], json!(id), "{outcome}");
    assert_eq!(session.hash(), before);
    assert_eq!(session.only_row()["status"], "completed");
    let outcome = session.run(&["undo"]);
    assert_eq!(outcome.code, Some(1), "{outcome}");
    assert!(outcome.stderr.contains("no accept in"), "{outcome}");
}

#[test]
fn what_has_changed_since_is_not_undone() {
    let mut session = Session::with_project();
    let id = accepted(&mut session);
    session.write("project/greeting.txt", "mine\n");
    let before = session.hash();
    for arguments in [&["undo", &id][..], &["undo"]] {
        let outcome = session.run(arguments);
        assert_eq!(outcome.code, Some(4), "{outcome}");
        assert!(outcome.stderr.contains("conflict: greeting.txt"), "{outcome}");
        assert_eq!(session.hash(), before);
    }
    assert_eq!(session.only_row()["status"], "accepted");
}

#[test]
fn an_accept_that_was_not_noted_is_no_conflict_the_next_time() {
    let mut session = Session::with_project();
    let id = accepted(&mut session);
    let after = session.hash();
    mark(&session, &id, "finished");
    let outcome = session.run(&["accept", &id, "--json"]);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert_eq!(outcome.json().pop().unwrap()["type"], "accepted");
    assert_eq!((session.hash(), session.only_row()["status"].clone()), (after, json!("accepted")));
}

#[test]
fn what_was_not_noted_can_be_undone_all_the_same() {
    let mut session = Session::with_project();
    let before = session.hash();
    let id = accepted(&mut session);
    mark(&session, &id, "finished");
    assert_eq!(session.run(&["undo", &id]).code, Some(0));
    assert_eq!(session.hash(), before);
    // And an undo that was not noted is told again.
    mark(&session, &id, "accepted");
    let outcome = session.run(&["undo", &id]);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert_eq!((session.hash(), session.only_row()["status"].clone()), (before, json!("completed")));
}

#[test]
fn what_is_kept_for_an_undo_is_outside_the_workspace() {
    let mut session = Session::with_project();
    accepted(&mut session);
    let names = fs::read_dir(session.workspace()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(names.into_iter().all(|name| !name.to_string_lossy().contains("staging")));
    let outcome = session.run(&["sweep", "--json"]);
    assert!(outcome.stdout.contains("headstart undo"), "{outcome}");
}
