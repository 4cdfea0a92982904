//! Holds what the views of language servers keep on the disk, and how they are listed.

use std::fs;
use std::time::Instant;

use serde_json::{Value, json};

use super::intel::{at_one, diagnostics, edit, read, session, turns};
use crate::support::project::call;
use crate::support::{PATIENCE, Session};

/// A project with a folder of build output, whose server behaves as `part` says, and with these settings for views.
fn building(part: &str, settings: &str) -> Session {
    let session = session(part, "");
    let config = session.home().join(".config/headstart/config.toml");
    let config = fs::read_to_string(config).unwrap();
    session
        .write("home/.config/headstart/config.toml", format!("[shadow]\n{settings}\n{config}"))
        .write("project/Cargo.toml", "[package]\nname = \"sample\"\nversion = \"0.1.0\"\n")
        .write("project/.gitignore", "target\n");
    session
}

/// The views that `shadow list` shows.
fn list_views(session: &Session) -> Vec<Value> {
    let listed = session.run(&["shadow", "list", "--json"]);
    assert_eq!(listed.code, Some(0), "{listed}");
    listed.json().into_iter().filter(|line| line["type"] == "view").collect()
}

/// A server writes more than fits into the memory of a view. It begins on top of what was built ahead, and leaves room
/// for what is staged.
#[test]
fn a_server_builds_on_the_disk_over_what_was_built_ahead() {
    let mut session = building("builds", "bytes = '16MiB'");
    let warmed =
        session.run(&["shadow", "warm", "--", "bash", "-c", "mkdir -p target; echo ahead > target/warm"]);
    assert_eq!(warmed.code, Some(0), "{warmed}");
    let before = session.hash();
    let large = call("write_file", &json!({"file_path": "large", "content": "x".repeat(4 << 20)}));
    let recording = turns(&[diagnostics(), edit("one", "ERR"), large, edit("ERR", "one"), at_one("hover")]);
    let (outcome, _) = session.speculate(&recording, "auto-edit");
    assert_eq!(outcome.finished()["status"], "completed", "{outcome}");
    let read = read(&outcome);
    assert_eq!(read[0], "nothing new", "{outcome}");
    assert!(read[1].contains("[mock: 1 new error in a.mock]\na.mock:1:1: error: ERR"), "{outcome}");
    assert!(!read[3].contains("error"), "{outcome}");
    assert_eq!(read[4], "target/warm: ahead", "{outcome}");
    assert_eq!(session.hash(), before);
    assert!(list_views(&session).is_empty(), "a view goes with its server");
}

#[test]
fn a_server_that_builds_too_much_is_ended_and_says_why() {
    let mut session = building("builds too much", "build_bytes = '8MiB'");
    let (outcome, _) = session.speculate(&turns(&[at_one("hover")]), "auto-edit");
    assert_eq!(outcome.finished()["status"], "completed", "{outcome}");
    let read = read(&outcome);
    assert!(
        read[0].contains("mock was ended: it built too much") && read[0].contains("build_bytes"),
        "{outcome}"
    );
}

#[test]
fn a_view_of_a_server_is_listed_while_the_server_lives() {
    let session = building("silent", "");
    for (tier, name) in [("", "kernel"), ("copy", "copy")] {
        let mut command = session.command(&["shadow", "diagnostics", "a.mock"]);
        let mut child = command.env("HEADSTART_SHADOW", tier).spawn().unwrap();
        let began = Instant::now();
        let view = loop {
            let running = list_views(&session).into_iter().find(|view| view["running"] == true);
            match running {
                Some(view) => break view,
                None => assert!(began.elapsed() < PATIENCE, "no view is listed"),
            }
        };
        assert_eq!(
            (&view["id"], &view["tier"], &view["owner"]),
            (&json!("mock"), &json!(name), &json!(child.id()))
        );
        assert!(3 <= view["processes"].as_u64().unwrap(), "{view}");
        child.kill().unwrap();
        child.wait().unwrap();
        let began = Instant::now();
        while !list_views(&session).is_empty() {
            assert!(began.elapsed() < PATIENCE, "it stays listed");
        }
    }
}

/// A file that is kept although git ignores it is written to memory, as all others are.
#[test]
fn a_view_in_memory_is_listed() {
    let session = building("good", "");
    let mut child = session
        .command(&["shadow", "run", "--keep-ignored", "target/x", "--", "sleep", "60"])
        .spawn()
        .unwrap();
    let began = Instant::now();
    while !list_views(&session).iter().any(|view| view["id"] == "command" && view["running"] == true) {
        assert!(began.elapsed() < PATIENCE, "no view is listed");
    }
    child.kill().unwrap();
    child.wait().unwrap();
}
