//! Holds what becomes of permission bits between work ahead and its accept, and that what an accept would refuse is said
//! while the work can still do something about it.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::shadow::{events, session, shell};
use crate::support::Session;
use crate::support::project::call;

fn mode(session: &Session, name: &str) -> u32 {
    fs::metadata(session.workspace().join(name)).unwrap().permissions().mode() & 0o7777
}

fn set_mode(session: &Session, name: &str, mode: u32) {
    fs::set_permissions(session.workspace().join(name), fs::Permissions::from_mode(mode)).unwrap();
}

fn edit(file: &str) -> serde_json::Value {
    call("edit", &json!({"file_path": file, "old_string": "one", "new_string": "two"}))
}

#[test]
fn what_was_private_ahead_is_private_after_the_accept_and_as_before_after_an_undo() {
    let mut session = session();
    session.write("project/id_key.txt", "one\n").write("project/page.txt", "one\n");
    set_mode(&session, "id_key.txt", 0o600);
    let before = session.hash();
    let recording = json!({"turns": [
        {"toolCalls": [edit("id_key.txt"), shell("umask 077; mkdir vault; echo token > vault/token.txt")]},
        {"toolCalls": [
            call("write_file", &json!({"file_path": "vault/notes.txt", "content": "notes\n"})),
            shell("chmod 640 page.txt; echo '#!/bin/sh' > run; chmod 750 run; echo more >> vault/token.txt"),
        ]},
        {"text": "Done."},
    ]});
    let (outcome, id) = session.speculate(&recording, "auto-edit");
    assert_eq!(outcome.finished()["status"], "completed", "{outcome}");
    let diff = session.run(&["diff", &id]);
    assert!(diff.stdout.contains("new mode 100640"), "{diff}");
    let accepted = session.run(&["accept", &id]);
    assert_eq!(accepted.code, Some(0), "{accepted}");
    let expected = [
        ("id_key.txt", 0o600),
        ("vault", 0o700),
        ("vault/token.txt", 0o600),
        ("page.txt", 0o640),
        ("run", 0o750),
    ];
    for (name, bits) in expected {
        assert_eq!(mode(&session, name), bits, "{name} has {:o}", mode(&session, name));
    }
    assert_eq!(session.text("id_key.txt").as_deref(), Some("two\n"));
    assert_eq!(session.run(&["undo", &id]).code, Some(0));
    assert_eq!(session.hash(), before);
}

#[test]
fn a_read_only_file_is_refused_when_it_is_edited_and_the_rest_can_be_accepted() {
    let mut session = session();
    session.write("project/locked.txt", "one\n");
    set_mode(&session, "locked.txt", 0o444);
    let recording = json!({"turns": [
        {"toolCalls": [
            edit("locked.txt"),
            shell("sed -i s/one/three/ locked.txt"),
            call("write_file", &json!({"file_path": "other.txt", "content": "other\n"})),
        ]},
        {"text": "The file is locked."},
    ]});
    let (outcome, id) = session.speculate(&recording, "auto-edit");
    assert_eq!(outcome.finished()["status"], "completed", "{outcome}");
    let results = events(&outcome, "toolResult");
    for result in &results[..2] {
        let said = result["result"]["error"].as_str().unwrap_or_default();
        assert!(said.contains("the file is read-only; make it writable and try again"), "{outcome}");
    }
    let accepted = session.run(&["accept", &id]);
    assert_eq!(accepted.code, Some(0), "{accepted}");
    assert_eq!(session.text("other.txt").as_deref(), Some("other\n"));
    assert_eq!((session.text("locked.txt").as_deref(), mode(&session, "locked.txt")), (Some("one\n"), 0o444));
}

#[test]
fn a_file_that_the_work_made_writable_is_accepted_with_its_new_bits() {
    let mut session = session();
    for name in ["by_command.txt", "by_tool.txt"] {
        session.write(&format!("project/{name}"), "one\n");
        set_mode(&session, name, 0o444);
    }
    let recording = json!({"turns": [
        {"toolCalls": [
            shell("chmod u+w by_command.txt && echo two > by_command.txt; chmod 644 by_tool.txt"),
            edit("by_tool.txt"),
        ]},
        {"text": "Done."},
    ]});
    let (outcome, id) = session.speculate(&recording, "auto-edit");
    assert_eq!(outcome.finished()["status"], "completed", "{outcome}");
    let accepted = session.run(&["accept", &id]);
    assert_eq!(accepted.code, Some(0), "{accepted}");
    for name in ["by_command.txt", "by_tool.txt"] {
        assert_eq!((session.text(name).as_deref(), mode(&session, name)), (Some("two\n"), 0o644), "{name}");
    }
    assert_eq!(session.run(&["undo", &id]).code, Some(0));
    for name in ["by_command.txt", "by_tool.txt"] {
        assert_eq!((session.text(name).as_deref(), mode(&session, name)), (Some("one\n"), 0o444), "{name}");
    }
}
