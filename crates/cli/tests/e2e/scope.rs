//! Holds that commands about speculations are about the workspace in which their user is.

use std::fs;
use std::process::Stdio;

use serde_json::json;

use crate::pty::Pty;
use crate::support::project::farewell;
use crate::support::{Outcome, Session, records};

/// A session with work in `project`, and a second folder `home/other` to run commands in.
fn session() -> (Session, String) {
    let mut session = Session::with_project();
    fs::create_dir(session.home().join("other")).unwrap();
    let (_, id) = session.speculate(&farewell(), "auto-edit");
    (session, id)
}

/// Runs a command in the second folder.
fn run_in_second_folder(session: &Session, arguments: &[&str]) -> Outcome {
    let mut command = session.command(arguments);
    session.outcome(arguments, command.current_dir(session.home().join("other")).spawn().unwrap())
}

#[test]
fn a_list_is_of_this_workspace_unless_all_are_asked_for() {
    let (session, id) = session();
    let other = run_in_second_folder(&session, &["list"]);
    assert_eq!((other.code, other.stdout.as_str()), (Some(0), ""), "{other}");
    for words in ["no speculations of this workspace", "1 of another workspace: `headstart list --all`"] {
        assert!(other.stderr.contains(words), "{other}");
    }
    let workspace = session.workspace();
    let workspace = workspace.to_str().unwrap();
    for arguments in [vec!["list", "--all"], vec!["list", "--workspace", workspace]] {
        let outcome = run_in_second_folder(&session, &arguments);
        assert!(outcome.stdout.contains(&id), "{outcome}");
        assert_eq!(outcome.stdout.contains("WORKSPACE"), arguments.contains(&"--all"), "{outcome}");
    }
    session.run(&["list", "--all", "--workspace", "."]).assert_refused(2, &["--all"]);
}

#[test]
fn the_newest_comes_first() {
    let session = Session::new();
    let young = records::store(&session, &records::interrupted(&session, "aaaa000000"));
    let mut old = records::interrupted(&session, "bbbb000000");
    old["createdAt"] = json!(old["createdAt"].as_u64().unwrap() - 1_000_000);
    records::store(&session, &old);
    let ids: Vec<_> = session.run(&["list", "--json"]).json().iter().map(|row| row["id"].clone()).collect();
    assert_eq!(ids, ["aaaa000000", "bbbb000000"], "{}", young.display());
}

#[test]
fn an_id_of_another_workspace_is_meant_only_where_that_is_named() {
    let (session, id) = session();
    let before = session.hash();
    let workspace = session.workspace().canonicalize().unwrap();
    let named = format!("--workspace {}", workspace.display());
    for command in ["show", "diff", "accept", "abort", "undo"] {
        run_in_second_folder(&session, &[command, &id])
            .assert_refused(1, &["is of another workspace", &named]);
        run_in_second_folder(&session, &[command, &id, "--workspace", "."]).assert_refused(1, &[&named]);
    }
    assert_eq!(session.hash(), before);
    assert_eq!(run_in_second_folder(&session, &["show", &id, "--all"]).code, Some(0));
    let workspace = workspace.to_str().unwrap();
    for arguments in [["diff", &id], ["accept", &id], ["undo", &id], ["abort", &id]] {
        let outcome = run_in_second_folder(&session, &[&arguments[..], &["--workspace", workspace]].concat());
        assert_eq!(outcome.code, Some(0), "{outcome}");
    }
    assert_eq!(session.hash(), before);
    session.run(&["undo", "--all"]).assert_refused(2, &["--all"]);
}

#[test]
fn the_start_of_an_id_is_looked_for_here_first() {
    let session = Session::new();
    let mut other = records::interrupted(&session, "aaab000000");
    other["workspace"] = json!(session.home());
    records::store(&session, &other);
    records::store(&session, &records::interrupted(&session, "aaaa000000"));
    assert!(session.run(&["show", "aaa"]).stdout.contains("aaaa000000"));
    session.run(&["show", "aaa", "--all"]).assert_refused(1, &["the start of several ids"]);
    // The line that is proposed can be typed into a shell.
    let blank = session.home().canonicalize().unwrap().join("a b's");
    fs::create_dir(&blank).unwrap();
    other["workspace"] = json!(blank);
    records::store(&session, &other);
    session.run(&["abort", "aaab"]).assert_refused(1, &[r"a b'\''s'"]);
    // Nobody can be in a folder that is gone, so the command works from elsewhere.
    fs::remove_dir(&blank).unwrap();
    assert_eq!(session.run(&["abort", "aaab"]).code, Some(0));
}

#[test]
fn somebody_at_the_terminal_is_asked() {
    let (session, id) = session();
    let before = session.hash();
    for (answer, code) in [("\r", 1), ("n\r", 1), ("y\r", 0)] {
        let mut command = session.command(&["accept", &id]);
        command.current_dir(session.home().join("other")).stdin(Stdio::null());
        let mut pty = Pty::of(&command, 80, 24);
        pty.wait_for("accept it there? [y/N]");
        assert_eq!(session.hash(), before);
        pty.send(answer);
        assert_eq!(pty.exit_code(), code, "{answer:?}: {}", pty.contents());
    }
    assert_ne!(session.hash(), before);
}
