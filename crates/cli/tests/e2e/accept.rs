//! Holds what an accept does, and what it refuses to do.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::project::{call, farewell};
use crate::support::{Outcome, Session, transcript};

fn accepted_line(outcome: &Outcome) -> Value {
    accepted_line_with(outcome, 0)
}

fn accepted_line_with(outcome: &Outcome, code: i32) -> Value {
    assert_eq!(outcome.code, Some(code), "{outcome}");
    let line = outcome.json().pop().unwrap();
    assert_eq!(line["type"], "accepted", "{outcome}");
    line
}

#[test]
fn the_workspace_is_what_the_work_made_of_it_and_nothing_else() {
    let mut session = Session::with_project();
    let (_, id) = session.speculate(&farewell(), "auto-edit");
    // The same work is done by hand in a second workspace.
    let twin = Session::with_project();
    twin.write("project/greeting.txt", "hello\nmoon\n").write("project/src/farewell.txt", "bye\n");
    let outcome = session.run(&["accept", &id, "--json"]);
    accepted_line(&outcome);
    insta::assert_snapshot!(session.redact(&outcome.stdout), @r#"{"type":"accepted","id":"[ID]","status":"completed","changes":[{"path":"greeting.txt","type":"modify","added":1,"removed":1,"binary":false},{"path":"src/farewell.txt","type":"create","added":1,"removed":0,"binary":false}],"merged":[],"transcript":[{"role":"user","parts":[{"type":"text","text":"say farewell"}]},{"role":"model","parts":[{"type":"text","text":"I'll look first."},{"type":"toolCall","id":"replay-1-1","name":"read_file","args":{"file_path":"greeting.txt"}},{"type":"toolCall","id":"replay-1-2","name":"read_file","args":{"file_path":"notes.txt"}},{"type":"toolCall","id":"replay-1-3","name":"shell","args":{"command":"git status --short"}}]},{"role":"tool","parts":[{"type":"toolResult","id":"replay-1-1","name":"read_file","output":"hello\nworld\n"},{"type":"toolResult","id":"replay-1-2","name":"read_file","output":"remember the milk\n"},{"type":"toolResult","id":"replay-1-3","name":"shell","output":"[no output]"}]},{"role":"model","parts":[{"type":"toolCall","id":"replay-2-1","name":"edit","args":{"file_path":"greeting.txt","old_string":"world","new_string":"moon"}},{"type":"toolCall","id":"replay-2-2","name":"write_file","args":{"file_path":"src/farewell.txt","content":"bye\n"}}]},{"role":"tool","parts":[{"type":"toolResult","id":"replay-2-1","name":"edit","output":"replaced 1 occurrence in greeting.txt (line 2)"},{"type":"toolResult","id":"replay-2-2","name":"write_file","output":"created src/farewell.txt (1 line)"}]},{"role":"model","parts":[{"type":"toolCall","id":"replay-3-1","name":"grep","args":{"pattern":"bye|moon"}}]},{"role":"tool","parts":[{"type":"toolResult","id":"replay-3-1","name":"grep","output":"greeting.txt:2:moon\nsrc/farewell.txt:1:bye"}]},{"role":"model","parts":[{"type":"text","text":"Done."}]}],"pendingCall":null,"next":"run the tests","timeSavedMs":[TIME]}"#);
    // Git notes the times of files, so its own files differ between the two workspaces.
    for session in [&session, &twin] {
        fs::remove_dir_all(session.workspace().join(".git")).unwrap();
    }
    assert_eq!(session.hash(), twin.hash());
    assert_eq!(session.only_row()["status"], "accepted");
}

#[test]
fn gits_own_files_are_untouched() {
    let mut session = Session::with_project();
    let before = session.hash();
    let (_, id) = session.speculate(&farewell(), "auto-edit");
    accepted_line(&session.run(&["accept", &id, "--json"]));
    session.write("project/greeting.txt", "hello\nworld\n");
    fs::remove_file(session.workspace().join("src/farewell.txt")).unwrap();
    assert_eq!(session.hash(), before);
}

#[test]
fn the_modes_of_files_stay() {
    let mut session = Session::with_project();
    let recording = json!({"turns": [
        {"toolCalls": [
            call("read_file", &json!({"file_path": "src/run.sh"})),
            call("edit", &json!({"file_path": "src/run.sh", "old_string": "echo run", "new_string": "echo ran"})),
        ]},
        {"text": "Done."},
    ]});
    let twin = session.hash();
    let (_, id) = session.speculate(&recording, "auto-edit");
    accepted_line(&session.run(&["accept", &id, "--json"]));
    assert_eq!(session.text("src/run.sh").unwrap(), "#!/bin/sh\necho ran\n");
    session.write("project/src/run.sh", "#!/bin/sh\necho run\n");
    assert_eq!(session.hash(), twin);
}

#[test]
fn a_boundarys_prefix_is_applied_and_the_pending_call_is_handed_back() {
    let mut session = Session::with_project();
    let recording = json!({"turns": [{"toolCalls": [
        call("write_file", &json!({"file_path": "new.txt", "content": "new\n"})),
        call("shell", &json!({"command": "rm -rf src"})),
        call("write_file", &json!({"file_path": "never.txt", "content": ""})),
    ]}]});
    let (_, id) = session.speculate(&recording, "auto-edit");
    let line = accepted_line_with(&session.run(&["accept", &id, "--json"]), 3);
    assert_eq!(line["pendingCall"]["args"]["command"], "rm -rf src");
    assert_eq!(session.text("new.txt").as_deref(), Some("new\n"));
    assert_eq!(session.text("never.txt"), None);
    assert!(session.text("src/run.sh").is_some());
    assert_eq!(open_calls(&line["transcript"]), 0, "{line}");
    assert_eq!(session.only_row()["status"], "accepted");
    // The exit code is also 3 without --json. A second accept is refused, because it would do nothing.
    assert_eq!(session.run(&["undo", &id]).code, Some(0));
    let result = session.run(&["accept", &id]);
    assert_eq!(result.code, Some(3), "{result}");
    assert!(result.stdout.contains("not run, for it needs your consent"), "{result}");
    assert_eq!(session.text("new.txt").as_deref(), Some("new\n"));
    session.run(&["accept", &id]).assert_refused(1, &["accepted", &id]);
}

/// An accepted transcript that is appended to a history must again be a valid history.
#[test]
fn the_transcript_continues_the_conversation() {
    let mut session = Session::with_project();
    let (_, id) = session.speculate(&farewell(), "auto-edit");
    let line = accepted_line(&session.run(&["accept", &id, "--json"]));
    let history = session.history(&line["transcript"]);
    let model = session.recording(&json!({"suggestions": ["commit this"]}));
    let outcome = session.run(&["suggest", "--history", &history, "--model", &model]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "commit this\n"), "{outcome}");
}

fn open_calls(transcript: &Value) -> i64 {
    let parts =
        transcript.as_array().unwrap().iter().flat_map(|message| message["parts"].as_array().unwrap());
    parts.map(|part| i64::from(part["type"] == "toolCall") - i64::from(part["type"] == "toolResult")).sum()
}

#[test]
fn edits_in_different_places_of_a_text_are_merged_and_the_user_is_told() {
    let mut session = Session::with_project();
    session.write("project/list.txt", "one\ntwo\nthree\nfour\n");
    let edit = json!({"file_path": "list.txt", "old_string": "one", "new_string": "ONE"});
    let recording = json!({"turns": [
        {"toolCalls": [call("read_file", &json!({"file_path": "list.txt"})), call("edit", &edit)]},
        {"text": "Done."},
    ]});
    let (_, first) = session.speculate(&recording, "auto-edit");
    let (_, second) = session.speculate(&recording, "auto-edit");
    session.write("project/list.txt", "one\ntwo\nthree\nfour\nfive\n");
    let line = accepted_line(&session.run(&["accept", &first, "--json"]));
    assert_eq!(line["merged"], json!(["list.txt"]));
    assert_eq!(session.text("list.txt").as_deref(), Some("ONE\ntwo\nthree\nfour\nfive\n"));

    session.write("project/list.txt", "one\ntwo\nthree\n");
    let outcome = session.run(&["accept", &second]);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert!(
        outcome.stdout.contains("merged           list.txt  with what you changed meanwhile"),
        "{outcome}"
    );
    assert_eq!(session.text("list.txt").as_deref(), Some("ONE\ntwo\nthree\n"));
}

/// Something that the user does between the work and its accept.
type Interference = fn(&Session);

#[test]
fn what_the_user_did_meanwhile_wins() {
    let cases: [(&str, &str, Interference); 6] = [
        ("edited the same line", "greeting.txt", |session| {
            session.write("project/greeting.txt", "hello\nsun\n");
        }),
        ("edited a file that was only read", "notes.txt", |session| {
            session.write("project/notes.txt", "remember the bread\n");
        }),
        ("made the file that would be made", "src/farewell.txt", |session| {
            session.write("project/src/farewell.txt", "mine\n");
        }),
        ("removed the file", "greeting.txt", |session| {
            fs::remove_file(session.workspace().join("greeting.txt")).unwrap();
        }),
        ("put a folder in its place", "src/farewell.txt", |session| {
            fs::create_dir(session.workspace().join("src/farewell.txt")).unwrap();
        }),
        ("put a link in its place", "greeting.txt", |session| {
            fs::remove_file(session.workspace().join("greeting.txt")).unwrap();
            std::os::unix::fs::symlink("notes.txt", session.workspace().join("greeting.txt")).unwrap();
        }),
    ];
    for (what, path, meanwhile) in cases {
        let mut session = Session::with_project();
        let (_, id) = session.speculate(&farewell(), "auto-edit");
        meanwhile(&session);
        let theirs = session.hash();
        for _ in 0..2 {
            let outcome = session.run(&["accept", &id, "--json"]);
            assert_eq!(outcome.code, Some(4), "{what}: {outcome}");
            assert_eq!(session.hash(), theirs, "{what}");
            let line = outcome.json().pop().unwrap();
            assert_eq!(line["type"], "conflict", "{what}: {outcome}");
            let paths: Vec<_> =
                line["conflicts"].as_array().unwrap().iter().map(|conflict| &conflict["path"]).collect();
            assert!(paths.iter().any(|found| *found == path), "{what}: {outcome}");
            assert!(outcome.stderr.contains("nothing was changed"), "{what}: {outcome}");
        }
        // Nothing is lost: the work waits for another decision.
        assert_eq!(session.only_row()["status"], "completed", "{what}");
    }
}

#[test]
fn what_it_never_looked_at_may_change() {
    let mut session = Session::with_project();
    let mut recording = farewell();
    // A search reads every file, so this recording has none.
    recording["turns"].as_array_mut().unwrap().remove(2);
    recording["turns"][0]["toolCalls"].as_array_mut().unwrap().pop();
    let (_, id) = session.speculate(&recording, "auto-edit");
    session.write("project/src/run.sh", "#!/bin/sh\n");
    session.write("project/deep/new.txt", "mine\n");
    accepted_line(&session.run(&["accept", &id, "--json"]));
    assert_eq!(session.text("src/run.sh").unwrap(), "#!/bin/sh\n");
    assert_eq!(session.text("greeting.txt").unwrap(), "hello\nmoon\n");
}

#[test]
fn a_mode_withdrawn_meanwhile_counts() {
    let session = Session::with_project().variable("HEADSTART_MODE", "auto-edit");
    let model = session.recording(&farewell());
    let id =
        session.run(&["speculate", "--json", "--model", &model, "say farewell"]).finished()["id"].clone();
    let before = session.hash();
    let withdrawn = session.run(&["accept", id.as_str().unwrap(), "--json", "--mode", "plan"]);
    assert_eq!(withdrawn.code, Some(3), "{withdrawn}");
    let line = withdrawn.json().pop().unwrap();
    assert_eq!((&line["type"], &line["call"]["name"]), (&json!("withdrawn"), &json!("edit")), "{withdrawn}");
    assert_eq!(session.hash(), before);
    // The environment changes. The mode was not set by a flag, so the one that is in force now counts.
    let session = session.variable("HEADSTART_MODE", "plan");
    assert_eq!(session.run(&["accept", id.as_str().unwrap()]).code, Some(3));
    assert_eq!(session.hash(), before);
    let session = session.variable("HEADSTART_MODE", "auto-edit");
    accepted_line(&session.run(&["accept", id.as_str().unwrap(), "--json"]));
}

/// In default mode edits are staged, and the user is asked when they are applied. A user who names the work to `accept`
/// has answered that question.
#[test]
fn in_default_mode_the_command_is_the_yes_unless_writes_ahead_are_a_boundary() {
    let mut session = Session::with_project();
    let before = session.hash();
    let (outcome, id) = session.speculate(&farewell(), "default");
    assert_eq!((outcome.code, &outcome.finished()["status"]), (Some(0), &json!("completed")), "{outcome}");
    assert_eq!(session.hash(), before);

    let config = "home/.config/headstart/config.toml";
    session.write(config, "ahead_writes = 'boundary'\n");
    let withdrawn = session.run(&["accept", &id, "--json"]);
    assert_eq!((withdrawn.code, session.hash() == before), (Some(3), true), "{withdrawn}");
    session.write(config, "deny = ['src/']\n");
    let denied = session.run(&["accept", &id, "--json"]);
    assert_eq!((denied.code, session.hash() == before), (Some(3), true), "{denied}");
    session.write(config, "");
    let planned = session.run(&["accept", &id, "--mode", "plan"]);
    assert_eq!((planned.code, session.hash() == before), (Some(3), true), "{planned}");

    let accepted = session.run(&["accept", &id]);
    assert_eq!(accepted.code, Some(0), "{accepted}");
    assert!(accepted.stdout.contains("greeting.txt  +1 -1"), "it says what it applied: {accepted}");
    assert!(accepted.stdout.ends_with(&format!("\nheadstart undo {id} takes it back\n")), "{accepted}");
    assert_eq!(session.text("greeting.txt").unwrap(), "hello\nmoon\n");
    assert_eq!(session.text("src/farewell.txt").unwrap(), "bye\n");
}

#[test]
fn a_deny_rule_made_meanwhile_counts() {
    for denied in ["greeting.txt", "notes.txt", "src/"] {
        let mut session = Session::with_project();
        let (_, id) = session.speculate(&farewell(), "auto-edit");
        let before = session.hash();
        session.write("home/.config/headstart/config.toml", format!("deny = ['{denied}']"));
        let outcome = session.run(&["accept", &id, "--json"]);
        assert_eq!(outcome.code, Some(3), "{denied}: {outcome}");
        assert_eq!(session.hash(), before, "{denied}");
    }
}

#[test]
fn accepting_twice_applies_once() {
    let mut session = Session::with_project();
    let (_, id) = session.speculate(&farewell(), "auto-edit");
    accepted_line(&session.run(&["accept", &id, "--json"]));
    session.write("project/greeting.txt", "mine again\n");
    let after = session.hash();
    let again = session.run(&["accept", &id]);
    again.assert_refused(1, &["accepted", &id]);
    assert_eq!(session.hash(), after);
}

#[test]
fn of_two_accepts_at_once_one_applies() {
    for _ in 0..3 {
        let mut session = Session::with_project();
        let (_, id) = session.speculate(&farewell(), "auto-edit");
        let arguments = ["accept", id.as_str()];
        let children = [(); 3].map(|()| session.command(&arguments).spawn().unwrap());
        let outcomes = children.map(|child| session.outcome(&arguments, child));
        let mut codes = outcomes.each_ref().map(|outcome| outcome.code);
        codes.sort();
        assert_eq!(codes, [Some(0), Some(1), Some(1)], "{}", transcript(&outcomes));
        assert_eq!(session.text("greeting.txt").unwrap(), "hello\nmoon\n");
        assert_eq!(session.only_row()["status"], "accepted");
    }
}

#[test]
fn an_abort_afterwards_or_before_leaves_the_workspace_alone() {
    let mut session = Session::with_project();
    let (_, id) = session.speculate(&farewell(), "auto-edit");
    let before = session.hash();
    assert_eq!(session.run(&["abort", &id]).code, Some(0));
    assert_eq!(session.hash(), before);
    assert_eq!(session.speculation_folders(), Vec::<PathBuf>::new());
    session.run(&["accept", &id]).assert_refused(1, &["there is no speculation", &id]);
}

#[test]
fn work_that_had_not_ended_is_handed_over_as_such() {
    let mut session = Session::with_project();
    let mut recording = farewell();
    recording["turns"].as_array_mut().unwrap().truncate(2);
    let (_, id) = session.speculate(&recording, "auto-edit");
    let outcome = session.run(&["accept", &id]);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert_eq!(session.text("greeting.txt").unwrap(), "hello\nmoon\n");
    assert!(outcome.stderr.contains("not finished: an error: the recording has no turn left"), "{outcome}");
}

#[test]
fn where_nothing_was_done_there_is_nothing_to_accept() {
    let mut session = Session::with_project();
    let recording = json!({"suggestions": ["x"]});
    let model = session.recording(&recording);
    let failed = session.run(&["speculate", "--model", &model, "say farewell"]);
    assert_eq!(failed.code, Some(1), "{failed}");
    assert!(failed.stderr.contains("nothing was done that could be accepted"), "{failed}");
    assert!(!failed.stderr.contains("applies them"), "{failed}");
    assert!(failed.stderr.contains("headstart: the recording has no turn left"), "{failed}");
    let (_, id) = session.speculate(&recording, "auto-edit");
    let before = session.hash();
    session.run(&["accept", &id]).assert_refused(1, &[&id, "nothing that could be accepted"]);
    assert_eq!(session.hash(), before);
}

#[test]
fn where_the_workspace_is_gone_no_flag_is_named_that_would_not_help() {
    let mut session = Session::with_project();
    let (_, accepted) = session.speculate(&farewell(), "auto-edit");
    accepted_line(&session.run(&["accept", &accepted, "--json"]));
    let (_, waiting) = session.speculate(&farewell(), "auto-edit");
    fs::rename(session.workspace(), session.home().join("moved")).unwrap();
    for arguments in [["accept", &waiting], ["undo", &accepted]] {
        let child = session.command(&arguments).current_dir(session.home()).spawn().unwrap();
        let outcome = session.outcome(&arguments, child);
        outcome.assert_refused(1, &["is gone", arguments[1], "project"]);
        assert!(!outcome.stderr.contains("--workspace"), "{outcome}");
    }
}

/// The staging folders of the only workspace that has some.
fn staging_folders(session: &Session) -> Vec<PathBuf> {
    let homes = session.home().join(".local/state/headstart/staging");
    let inside = |at: &Path| fs::read_dir(at).into_iter().flatten().map(|entry| entry.unwrap().path());
    inside(&homes).flat_map(|home| inside(&home).collect::<Vec<_>>()).filter(|at| at.is_dir()).collect()
}

/// Prepared work waits on the disk for an accept by another process, however its own process has ended since.
#[test]
fn what_one_process_prepared_another_one_moves() {
    let mut session = Session::with_project();
    let (_, id) = session.speculate(&farewell(), "auto-edit");
    let waiting = staging_folders(&session);
    assert!(waiting.len() == 1 && waiting[0].join("waiting").exists(), "{waiting:?}");
    let swept = session.run(&["sweep"]);
    assert!(swept.stdout.contains("it holds finished work that waits to be accepted"), "{swept}");
    assert_eq!(staging_folders(&session), waiting);
    let inode = |at: PathBuf| fs::metadata(at).unwrap().ino();
    let prepared: Vec<_> =
        fs::read_dir(&waiting[0]).unwrap().map(|entry| inode(entry.unwrap().path())).collect();
    accepted_line(&session.run(&["accept", &id, "--json"]));
    for name in ["greeting.txt", "src/farewell.txt"] {
        assert!(prepared.contains(&inode(session.workspace().join(name))), "{name} was written anew");
    }
    assert_eq!(staging_folders(&session), waiting, "it holds what was replaced now");
    assert_eq!(session.run(&["undo", &id]).code, Some(0));
}

#[test]
fn what_is_not_wanted_does_not_wait() {
    let mut session = Session::with_project();
    let (_, id) = session.speculate(&farewell(), "auto-edit");
    assert_eq!(staging_folders(&session).len(), 1);
    assert_eq!(session.run(&["abort", &id]).code, Some(0));
    assert_eq!(staging_folders(&session), Vec::<PathBuf>::new());

    // The record of the work has disappeared without an abort.
    let (_, id) = session.speculate(&farewell(), "auto-edit");
    fs::remove_dir_all(session.store().join(id)).unwrap();
    assert_eq!(staging_folders(&session).len(), 1);
    let swept = session.run(&["sweep"]);
    assert!(swept.stdout.contains("nothing in it is needed any more"), "{swept}");
    assert_eq!(staging_folders(&session), Vec::<PathBuf>::new());
}
