//! Holds what happens if the process of a speculation dies, or is told to stop.

use std::path::PathBuf;
use std::time::Instant;

use rustix::process::Signal;
use serde_json::json;

use crate::support::project::{RunningProcess, call, slow};
use crate::support::{Outcome, PATIENCE, Session};

/// A speculation that is still running and has staged a file.
fn working(session: &Session) -> RunningProcess {
    let model = session.recording(&slow());
    let mut live =
        session.live(&["speculate", "--json", "--mode", "auto-edit", "--model", &model, "half the work"]);
    live.wait_for("toolResult");
    live
}

#[test]
fn killed_in_the_middle_it_leaves_the_workspace_and_a_sweep_takes_the_rest() {
    let session = Session::with_project();
    let before = session.hash();
    let live = working(&session);
    assert_eq!(session.only_row()["status"], "running");
    assert_eq!(session.hash(), before);
    live.kill();
    assert_eq!(session.hash(), before);

    let row = once_it_is_noticed(&session);
    assert_eq!(row["status"], "interrupted");
    let id = row["id"].as_str().unwrap();
    session.run(&["accept", id]).assert_refused(1, &[id, "interrupted"]);
    let swept = session.run(&["sweep"]);
    assert_eq!(swept.code, Some(0), "{swept}");
    assert!(swept.stdout.contains("is dead") && swept.stdout.contains("1 removed, 0 kept"), "{swept}");
    assert_eq!(session.speculation_folders(), Vec::<PathBuf>::new());
    assert_eq!(session.hash(), before);
}

/// Waits until the killed process is noticed: a child that was just being started holds its locks until it has become
/// another program.
fn once_it_is_noticed(session: &Session) -> serde_json::Value {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let row = session.only_row();
        if row["status"] != "running" || deadline < Instant::now() {
            return row;
        }
    }
}

#[test]
fn while_it_runs_it_is_neither_swept_nor_accepted() {
    let session = Session::with_project();
    let live = working(&session);
    let id = session.only_row()["id"].as_str().unwrap().to_owned();
    let swept = session.run(&["sweep", "--older-than", "0", "--undecided"]);
    assert!(swept.stdout.contains("0 removed, 1 kept"), "{swept}");
    session.run(&["accept", &id]).assert_refused(1, &[&id, "still runs"]);
    assert_eq!(session.only_row()["status"], "running");
    live.kill();
}

#[test]
fn an_abort_from_another_process_ends_it_and_leaves_nothing() {
    let session = Session::with_project();
    let before = session.hash();
    let mut live = working(&session);
    let id = session.only_row()["id"].as_str().unwrap().to_owned();
    let abort = session.run(&["abort", &id, "--json"]);
    assert_eq!(abort.code, Some(0), "{abort}");
    assert_eq!(abort.json()[0]["wasRunning"], true, "{abort}");
    let error = live.wait_for("error");
    assert!(error["message"].as_str().unwrap().contains("given up"), "{error}");
    assert_eq!(live.exit_code(), Some(1));
    assert_eq!(session.speculation_folders(), Vec::<PathBuf>::new());
    assert_eq!(session.hash(), before);
}

#[test]
fn a_signal_ends_it_as_signals_do_and_leaves_nothing() {
    for (signal, name) in [(Signal::INT, "SIGINT"), (Signal::TERM, "SIGTERM"), (Signal::HUP, "SIGHUP")] {
        let session = Session::with_project();
        let before = session.hash();
        let mut live = working(&session);
        live.signal(signal);
        let error = live.wait_for("error");
        assert!(error["message"].as_str().unwrap().contains(&format!("ended by {name}")), "{error}");
        assert_eq!(live.ended_by(), Some(signal.as_raw()));
        assert_eq!(session.speculation_folders(), Vec::<PathBuf>::new());
        assert_eq!(session.hash(), before);
    }
}

/// An accept writes two files and removes a third, and its process dies before the last step: to rename the journal.
fn killed_in_an_accept(session: &mut Session) -> String {
    let write =
        |path: &str, content: &str| call("write_file", &json!({"file_path": path, "content": content}));
    let calls = [
        call("read_file", &json!({"file_path": "notes.txt"})),
        call("read_file", &json!({"file_path": "greeting.txt"})),
        write("notes.txt", "buy the milk\n"),
        write("greeting.txt", "good day\n"),
        write("made.txt", "made\n"),
    ];
    let turns: Vec<_> = calls.iter().map(|call| json!({"toolCalls": [call]})).collect();
    let turns: Vec<_> = turns.into_iter().chain([json!({"text": "Done."})]).collect();
    let (_, id) = session.speculate(&json!({"turns": turns}), "auto-edit");
    let accepted = session.run(&["accept", &id]);
    assert_eq!(accepted.code, Some(0), "{accepted}");
    let staging = session.home().join(".local/state/headstart/staging");
    let folders = |path: &PathBuf| {
        std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir())
    };
    let journals: Vec<_> = folders(&staging)
        .flat_map(|home| folders(&home).collect::<Vec<_>>())
        .map(|folder| folder.join("committed"))
        .filter(|journal| journal.is_file())
        .collect();
    let [journal] = journals.as_slice() else { panic!("{journals:?}") };
    std::fs::rename(journal, journal.with_file_name("applying")).unwrap();
    id
}

/// Where the words say that the former content of a file is.
fn former(outcome: &Outcome, path: &str) -> String {
    let begin = format!("  {path} stays as it is now; what it held before is in ");
    let told = outcome.stderr.lines().find_map(|line| line.strip_prefix(&begin));
    told.unwrap_or_else(|| panic!("{outcome}")).to_owned()
}

#[test]
fn what_was_edited_after_an_accept_was_killed_stays_and_is_told_with_the_original() {
    for first in [&["list"][..], &["undo"], &["speculate", "go on"]] {
        let mut session = Session::with_project();
        let id = killed_in_an_accept(&mut session);
        let model = session.recording(&json!({"turns": [{"text": "Done."}]}));
        session = session.variable("HEADSTART_MODEL", &model);
        session
            .write("project/notes.txt", "buy the milk, and bread\n")
            .write("project/made.txt", "made, edited\n");
        let told = session.run(first);
        assert!(told.stderr.contains("an accept or undo was cut off when its process died"), "{told}");
        let copy = former(&told, "notes.txt");
        assert_eq!(std::fs::read_to_string(&copy).unwrap(), "remember the milk\n", "{told}");
        assert!(told.stderr.contains("made.txt stays as it is now; it was not there before"), "{told}");
        let texts = ["notes.txt", "made.txt", "greeting.txt"].map(|path| session.text(path).unwrap());
        assert_eq!(texts, ["buy the milk, and bread\n", "made, edited\n", "hello\nworld\n"], "{told}");

        // As long as the original is there, the list names it.
        assert_eq!(former(&session.run(&["list"]), "notes.txt"), copy);
        session.run(&["accept", &id]);
        std::fs::remove_dir_all(PathBuf::from(&copy).parent().unwrap()).unwrap();
        let quiet = session.run(&["list"]);
        assert!(!quiet.stderr.contains("stays as it is now"), "{quiet}");
    }
}

#[test]
fn an_accept_that_was_killed_is_told_by_the_list_though_nothing_was_edited() {
    let mut session = Session::with_project();
    let before = session.hash();
    killed_in_an_accept(&mut session);
    assert_ne!(session.hash(), before);
    let told = session.run(&["list"]);
    assert!(told.stderr.contains("the workspace is as it was before that accept"), "{told}");
    assert_eq!(session.hash(), before);
    let quiet = session.run(&["list"]);
    assert!(quiet.stderr.is_empty(), "{quiet}");
}
