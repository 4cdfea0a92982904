//! Holds what happens if the workspace's folder, the state folder or the record changes between a speculation and its
//! accept.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::Session;
use crate::support::project::farewell;

fn one_new_file() -> Value {
    let call = json!({"name": "write_file", "args": {"file_path": "new.txt", "content": "new\n"}});
    json!({"turns": [{"toolCalls": [call]}, {"text": "Done."}]})
}

#[test]
fn where_a_link_took_the_place_of_the_workspace_nothing_is_written_through_it() {
    let mut session = Session::with_project();
    let (_, accepted) = session.speculate(&one_new_file(), "auto-edit");
    assert_eq!(session.run(&["accept", &accepted]).code, Some(0));
    let (_, waiting) = session.speculate(&farewell(), "auto-edit");
    let other = session.home().join("other");
    fs::rename(session.workspace(), session.home().join("moved")).unwrap();
    fs::create_dir(&other).unwrap();
    fs::write(other.join("new.txt"), "new\n").unwrap();
    symlink(&other, session.workspace()).unwrap();
    for arguments in [["accept", &waiting], ["undo", &accepted]] {
        session.run(&arguments).assert_refused(1, &[arguments[1], "project", "link", "other"]);
    }
    assert_eq!(fs::read_dir(&other).unwrap().count(), 1);
    assert_eq!(fs::read_to_string(other.join("new.txt")).unwrap(), "new\n");
}

#[test]
fn what_an_accept_made_and_could_not_note_is_not_aborted_as_if_nothing_were_left() {
    let mut session = Session::with_project();
    let before = session.hash();
    let (_, id) = session.speculate(&farewell(), "auto-edit");
    assert_eq!(session.run(&["accept", &id]).code, Some(0));
    // The state is as if the process had died before it could note what it did.
    let file = session.store().join(&id).join("record.json");
    let record = fs::read_to_string(&file).unwrap();
    fs::write(&file, record.replace(r#""state":"accepted""#, r#""state":"finished""#)).unwrap();
    fs::write(file.with_file_name("accepting"), "").unwrap();
    session.run(&["abort", &id]).assert_refused(1, &["was accepted", "headstart undo"]);
    assert_eq!(session.run(&["undo", &id]).code, Some(0));
    assert_eq!(session.run(&["abort", &id]).code, Some(0));
    assert_eq!(session.hash(), before);

    // An accept that began but changed nothing does not count as an accept.
    let (_, id) = session.speculate(&farewell(), "auto-edit");
    fs::write(session.store().join(&id).join("accepting"), "").unwrap();
    assert_eq!(session.run(&["abort", &id]).code, Some(0));
    assert_eq!(session.speculation_folders(), Vec::<PathBuf>::new());
}

#[test]
fn a_state_folder_in_the_workspace_is_none_of_the_work() {
    let mut session = Session::with_project();
    let state = session.workspace().join("var/state");
    session = session.variable("HEADSTART_STATE_DIR", state.to_str().unwrap());
    let call = |name, args: Value| json!({"toolCalls": [{"name": name, "args": args}]});
    let recording = json!({"turns": [
        call("glob", json!({"pattern": "**/*"})),
        call("ls", json!({"path": "var"})),
        call("grep", json!({"pattern": "say farewell"})),
        call("read_file", json!({"file_path": "var/state/.gitignore"})),
        call("write_file", json!({"file_path": "var/state/speculations/new", "content": "x"})),
        call("write_file", json!({"file_path": "new.txt", "content": "new\n"})),
        {"text": "Done."},
    ]});
    let (outcome, id) = session.speculate(&recording, "auto-edit");
    let results: Vec<_> = outcome.json().into_iter().filter(|line| line["type"] == "toolResult").collect();
    assert_eq!(results.len(), 6, "{outcome}");
    for result in &results[..3] {
        let output = result["result"]["output"].as_str().unwrap();
        assert!(!output.contains("state"), "{output}");
    }
    assert!(results[3]["result"]["error"].is_string(), "{outcome}");
    assert!(results[4]["result"]["error"].is_string(), "{outcome}");
    let status = || {
        let git = Command::new("git").args(["status", "--short"]).current_dir(session.workspace()).output();
        String::from_utf8(git.unwrap().stdout).unwrap()
    };
    assert_eq!(status(), "");
    let outcome = session.run(&["accept", &id]);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert_eq!(status(), "?? new.txt\n");
    session.write("project/var/state/notes.txt", "the user's own");
    assert_eq!(status(), "?? new.txt\n?? var/\n");
    fs::remove_file(state.join("notes.txt")).unwrap();
    assert_eq!(session.run(&["undo", &id]).code, Some(0));
    assert_eq!(status(), "");
}

#[test]
fn speculations_that_another_user_may_have_written_are_not_taken() {
    let mut session = Session::with_project();
    let (_, id) = session.speculate(&one_new_file(), "auto-edit");
    let before = session.hash();
    let commands =
        [&["accept", &id][..], &["undo", &id], &["abort", &id], &["diff", &id], &["list"], &["sweep"]];
    fs::set_permissions(session.store(), fs::Permissions::from_mode(0o777)).unwrap();
    for arguments in commands {
        session.run(arguments).assert_refused(1, &["speculations", "can be written by others"]);
    }
    fs::set_permissions(session.store(), fs::Permissions::from_mode(0o700)).unwrap();
    if chown(session.store(), Some(65_534), None).is_ok() {
        for arguments in commands {
            session.run(arguments).assert_refused(1, &["speculations", "belongs to another user"]);
        }
        chown(session.store(), Some(rustix::process::geteuid().as_raw()), None).unwrap();
    } else {
        eprintln!("NOT TESTED: only the superuser can give a folder away");
    }
    fs::rename(session.store(), session.home().join("aside")).unwrap();
    symlink(session.home().join("aside"), session.store()).unwrap();
    for arguments in commands {
        session.run(arguments).assert_refused(1, &["speculations", "is not a directory"]);
    }
    assert_eq!(session.hash(), before);
}

#[test]
fn a_file_of_another_user_is_replaced_and_comes_back_where_it_may_be_written_at_all() {
    a_file_of_another_user(0o666, true);
    a_file_of_another_user(0o644, false);
}

fn a_file_of_another_user(bits: u32, may_be_written: bool) {
    let mut session = Session::with_project();
    let file = session.workspace().join("greeting.txt");
    fs::set_permissions(&file, fs::Permissions::from_mode(bits)).unwrap();
    let can_be_given = chown(&file, Some(12_345), Some(12_345)).is_ok();
    // In a user namespace, even the superuser is only the owner of their own files.
    let alone = ["--user", "--map-root-user", "--"];
    let works = Command::new("unshare").args(alone).arg("true").output();
    if !can_be_given || !works.is_ok_and(|done| done.status.success()) {
        eprintln!("NOT TESTED: only the superuser can give a file away and become another user");
        return;
    }
    let before = session.text("greeting.txt");
    let (_, id) = session.speculate(&farewell(), "auto-edit");
    for (verb, text) in [("accept", Some("hello\nmoon\n".to_owned())), ("undo", before.clone())] {
        let mut command = Command::new("unshare");
        command.args(alone).arg(env!("CARGO_BIN_EXE_headstart")).args([verb, &id]);
        command.current_dir(session.workspace()).env_clear().env("HOME", session.home());
        let done = command.env("PATH", std::env::var_os("PATH").unwrap()).output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        if !may_be_written {
            let told = if verb == "accept" {
                "greeting.txt cannot be read or changed: the file is read-only"
            } else {
                "nothing to undo"
            };
            assert!(!done.status.success() && said.contains(told), "{verb}: {said}");
            assert_eq!(session.text("greeting.txt"), before, "{verb}");
            continue;
        }
        assert!(done.status.success(), "{verb}: {said}");
        assert_eq!(session.text("greeting.txt"), text, "{verb}");
    }
}
