//! Holds that commands run on while a conversation goes on, and end with it.

use std::io::Write as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::codebase::{call, recording};
use crate::support::server::{ScriptedResponse, Server, StreamStep, calls, says};
use crate::support::{PATIENCE, Session};

const USER: &str = "home/.config/headstart/config.toml";
/// A command that writes its own process id and that of a child, and runs longer than any test.
const LONG: &str = "echo up; sleep 300 & echo $! > child.txt; echo $$ > own.txt; wait";

fn session() -> Session {
    let session = Session::with_project().variable("OPENAI_API_KEY", "sk-run-0123456789");
    session.write(USER, "[tools]\nrun_in_background = 'automatic'\n");
    session
}

fn start(command: &str) -> ScriptedResponse {
    calls(&[("run_in_background", json!({ "command": command }))])
}

fn chat(server: &Server) -> [&str; 6] {
    ["--json", "chat", "--model", "openai:test", "--base-url", &server.base_url]
}

/// The last message of a request, which is the answer to a call.
fn last_message(server: &Server, request: usize) -> String {
    let body: Value = server.requests()[request].json();
    body["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned()
}

/// Whether the process runs whose id is in a file; a zombie does not count.
fn runs(session: &Session, file: &str) -> bool {
    let id = session.text(file).unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", id.trim())).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn is_gone(session: &Session) {
    wait_until("the command and its child end", || !runs(session, "own.txt") && !runs(session, "child.txt"));
}

#[test]
fn a_command_is_started_read_and_stopped() {
    let session = session();
    let server = Server::start(vec![
        start(LONG),
        calls(&[("command_output", json!({"number": 1, "wait_seconds": 0}))]),
        calls(&[("stop_command", json!({"number": 1}))]),
        start("head -c 1500000 /dev/zero | tr '\\0' x; echo; echo end; exit 3"),
        calls(&[("command_output", json!({"number": 2}))]),
        calls(&[("command_output", json!({"number": 7}))]),
        says("Done."),
    ]);
    let outcome = session.run_with_input(&chat(&server), "try it\n");
    assert_eq!(last_message(&server, 1), "command 1 is started\nup\n[it runs, since 0 s]", "{outcome}");
    assert!(last_message(&server, 2).starts_with("[no new output]\n[it runs, since "), "{outcome}");
    assert!(last_message(&server, 3).starts_with("[no new output]\n[it ended after "), "{outcome}");
    is_gone(&session);
    let both = last_message(&server, 4) + &last_message(&server, 5);
    assert!(both.contains("\nend\n[it ended after ") && both.contains(" s, exit code 3]"), "{both}");
    assert!(both.contains("bytes before this are left out]") && both.len() < 80_000, "{}", both.len());
    assert_eq!(last_message(&server, 6), "Error: there is no command 7 in the background");
}

#[test]
fn what_runs_ends_with_the_conversation() {
    let session = session();
    let server = Server::start(vec![start(LONG), says("It is up.")]);
    let outcome = session.run_with_input(&chat(&server), "start it\n");
    assert_eq!(outcome.code, Some(0), "{outcome}");
    is_gone(&session);
}

/// Holds that commands end however headstart ends. Here it is killed, so it cannot do anything about them.
#[test]
fn what_runs_ends_with_a_killed_headstart() {
    let session = session();
    let hangs = ScriptedResponse::Stream(vec![StreamStep::UntilClientLeaves]);
    let server = Server::start(vec![start(LONG), hangs]);
    let mut headstart = session.command(&chat(&server)).stdin(Stdio::piped()).spawn().unwrap();
    headstart.stdin.as_mut().unwrap().write_all(b"start it\n").unwrap();
    wait_until("the model hears that it runs", || server.requests().len() == 2);
    assert!(runs(&session, "own.txt") && runs(&session, "child.txt"));
    headstart.kill().unwrap();
    headstart.wait().unwrap();
    is_gone(&session);
}

#[test]
fn nothing_runs_in_the_background_ahead_or_unasked() {
    let mut session = session();
    for (tool, args) in [
        ("run_in_background", json!({"command": "touch ran.txt"})),
        ("run_in_background", json!({"command": "ls"})),
        ("command_output", json!({"number": 1})),
        ("stop_command", json!({"number": 1})),
    ] {
        for mode in ["plan", "default", "auto-edit", "yolo"] {
            let (outcome, _) = session.speculate(&recording(&[call(tool, args.clone())]), mode);
            assert_eq!(outcome.finished()["status"], "boundary", "{mode} {tool} {outcome}");
        }
    }
    // Behind a pipe there is nobody to ask, and a rule for certain commands only covers whole lines.
    for settings in [
        "",
        "[[tools.rule]]\ntool = 'run_in_background'\nwhen = { command = 'npm *' }\npolicy = 'automatic'\n",
    ] {
        session.write(USER, settings);
        let server = Server::start(vec![start("npm run dev; touch ran.txt"), says("Done.")]);
        session.run_with_input(&chat(&server), "start it\n");
    }
    assert_eq!(session.text("ran.txt"), None);
}
