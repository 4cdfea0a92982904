//! Holds what happens if the process of a speculation dies, or is told to stop.

use std::path::PathBuf;
use std::time::Instant;

use rustix::process::Signal;

use crate::support::project::{RunningProcess, slow};
use crate::support::{PATIENCE, Session};

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
