use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::Duration;

use serde_json::json;

use crate::support::records::{self, completed};
use crate::support::{Session, transcript};

const COMPLETED: &str = "aaaa000000";
const DEAD: &str = "bbbb000000";

fn session() -> Session {
    let session = Session::new();
    records::keep(&session, &records::finished(&session, &completed(COMPLETED)));
    session
}

#[test]
fn a_user_looks_at_what_is_kept() {
    let session = session();
    let mut dead = records::dead(&session, DEAD);
    dead["prompt"] = json!("wipe\nthe \u{1b}[2Jscreen");
    records::keep(&session, &dead);
    insta::assert_snapshot!(transcript(&[
        session.run(&["list"]),
        session.run(&["show", "a"]),
        session.run(&["diff", "aaaa"]),
        session.run(&["show", DEAD]),
        session.run(&["diff", DEAD]),
        session.run(&["show", "c"]),
    ]));
}

#[test]
fn a_program_looks_at_what_is_kept() {
    let session = session();
    records::keep(&session, &records::dead(&session, DEAD));
    let outcomes = [
        session.run(&["list", "--json"]),
        session.run(&["show", "a", "--json"]),
        session.run(&["diff", "a", "--json"]),
        session.run(&["show", "c", "--json"]),
    ];
    for outcome in &outcomes {
        assert!(!outcome.json().is_empty());
    }
    insta::assert_snapshot!(transcript(&outcomes));
}

#[test]
fn the_diff_is_one_that_git_applies() {
    let session = session();
    session.write("project/greeting.txt", "hello\n");
    let diff = session.run(&["diff", COMPLETED]).stdout;
    session.write("change.diff", diff);
    let mut git = std::process::Command::new("git");
    git.args(["apply", "../change.diff"]).current_dir(session.workspace());
    assert!(git.status().unwrap().success());
    let read = |path| fs::read_to_string(session.workspace().join(path)).unwrap();
    assert_eq!((read("greeting.txt").as_str(), read("farewell.txt").as_str()), ("hello\nbye\n", "bye\n"));
}

#[test]
fn a_patch_holds_binary_files_too() {
    let session = Session::new();
    session.write("project/greeting.txt", "hello\n");
    let mut finished = completed(COMPLETED);
    finished.changes.changes.push(records::written("picture", None, b"\0\xff"));
    records::keep(&session, &records::finished(&session, &finished));
    assert!(session.run(&["diff", COMPLETED]).stdout.contains("Binary files /dev/null and b/picture differ"));
    let json = session.run(&["diff", COMPLETED, "--patch", "--json"]).json();
    assert!(json.iter().any(|line| line["diff"].as_str().unwrap().contains("GIT binary patch")), "{json:?}");
    session.write("change.patch", session.run(&["diff", COMPLETED, "--patch"]).stdout);
    let mut git = std::process::Command::new("git");
    git.args(["apply", "../change.patch"]).current_dir(session.workspace());
    assert!(git.status().unwrap().success());
    assert_eq!(fs::read(session.workspace().join("picture")).unwrap(), b"\0\xff");
}

#[test]
fn nothing_kept_is_no_error_and_makes_no_folder() {
    let session = Session::new();
    insta::assert_snapshot!(transcript(&[
        session.run(&["list"]),
        session.run(&["list", "--json"]),
        session.run(&["sweep"]),
        session.run(&["abort", "a"]),
    ]));
    assert!(!session.home().join(".local").exists());
}

#[test]
fn an_abort_leaves_nothing() {
    let session = session();
    records::keep(&session, &records::dead(&session, DEAD));
    insta::assert_snapshot!(transcript(&[
        session.run(&["abort", COMPLETED]),
        session.run(&["abort", COMPLETED]),
        session.run(&["abort", "b", "--json"]),
    ]));
    assert_eq!(fs::read_dir(session.store()).unwrap().count(), 0);
}

#[test]
fn what_was_accepted_cannot_be_aborted_and_undo_says_what_helps() {
    let session = session();
    let early = session.run(&["undo", COMPLETED]);
    let mut record = records::finished(&session, &completed(COMPLETED));
    record["state"] = json!("accepted");
    let file = records::keep(&session, &record);
    insta::assert_snapshot!(transcript(&[
        early,
        session.run(&["abort", COMPLETED]),
        session.run(&["undo", COMPLETED]),
        session.run(&["undo", COMPLETED, "--json"]),
    ]));
    assert_eq!(fs::read_to_string(file).unwrap(), record.to_string());
}

#[test]
fn a_damaged_or_newer_record_is_reported_and_left() {
    let session = session();
    let damaged = records::keep(&session, &json!({"id": "cccc000000"}));
    let mut newer = records::dead(&session, "dddd000000");
    newer["formatVersion"] = json!(9);
    let newer_file = records::keep(&session, &newer);
    session.write("home/.local/state/headstart/speculations/notes.txt", "mine");
    insta::assert_snapshot!(transcript(&[
        session.run(&["list"]),
        session.run(&["list", "--json"]),
        session.run(&["show", "c"]),
        session.run(&["abort", "d"]),
        session.run(&["sweep", "--older-than", "0", "--undecided"]),
        session.run(&["sweep", "--json"]),
    ]));
    assert!(damaged.exists());
    assert_eq!(fs::read_to_string(newer_file).unwrap(), newer.to_string());
    assert!(session.store().join("notes.txt").exists());
}

#[test]
fn a_damaged_record_is_removed_by_an_abort_and_a_newer_one_is_not() {
    let session = session();
    let ids = ["cccc000000", "eeee000000"];
    let file = records::keep(&session, &json!({"id": ids[0]}));
    fs::create_dir(session.store().join(ids[1])).unwrap();
    let swept = session.run(&["sweep", "--older-than", "0"]);
    for id in ids {
        assert!(swept.stdout.contains(&format!("`headstart abort {id}` removes it")), "{swept}");
    }
    // Somebody has it.
    let lock = File::create(file.with_file_name("lock")).unwrap();
    lock.lock().unwrap();
    assert_eq!(session.run(&["abort", ids[0]]).code, Some(1));
    drop(lock);
    for (id, words) in ids.iter().zip(["the record is damaged", "the record is missing"]) {
        let outcome = session.run(&["abort", id, "--json"]);
        assert_eq!(outcome.code, Some(0), "{outcome}");
        assert!(outcome.stderr.contains(words), "{outcome}");
        assert_eq!(outcome.json()[0]["id"], *id);
        assert!(!session.store().join(id).exists());
    }
}

/// A process that holds the lock of a record is at work on it, whatever its number.
#[test]
fn a_living_speculation_is_asked_to_stop_and_never_swept() {
    let mut session = Session::new();
    let file = records::keep(&session, &records::dead(&session, DEAD));
    let folder = file.parent().unwrap().to_owned();
    let lock = File::create(folder.join("lock")).unwrap();
    lock.lock().unwrap();
    session.name("PID", "process 1 ");
    let list = session.run(&["list"]);
    let sweep = session.run(&["sweep", "--older-than", "0"]);
    let owner = std::thread::spawn(move || {
        while !folder.join("abort").exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        fs::remove_dir_all(&folder).unwrap();
        drop(lock);
    });
    let abort = session.run(&["abort", DEAD]);
    owner.join().unwrap();
    insta::assert_snapshot!(transcript(&[list, sweep, abort, session.run(&["list", "--json"])]));
}

#[test]
fn a_living_speculation_that_does_not_listen_is_not_taken_away() {
    let session = Session::new();
    let file = records::keep(&session, &records::dead(&session, DEAD));
    let lock = File::create(file.with_file_name("lock")).unwrap();
    lock.lock().unwrap();
    let outcome = session.run(&["abort", DEAD]);
    assert_eq!(outcome.code, Some(1), "{outcome}");
    assert!(outcome.stderr.contains("process 1 has not given it up yet"), "{outcome}");
    assert!(file.exists());
}

#[test]
fn of_two_processes_that_abort_at_once_one_does() {
    for _ in 0..5 {
        let session = session();
        let arguments = ["abort", COMPLETED];
        let children = [(); 3].map(|()| session.command(&arguments).spawn().unwrap());
        let outcomes = children.map(|child| session.outcome(&arguments, child));
        let mut codes = outcomes.each_ref().map(|outcome| outcome.code);
        codes.sort();
        assert_eq!(codes, [Some(0), Some(1), Some(1)], "{}", transcript(&outcomes));
        for outcome in outcomes.iter().filter(|outcome| outcome.code == Some(1)) {
            assert!(outcome.stderr.contains("there is no speculation"), "{outcome}");
        }
        assert_eq!(fs::read_dir(session.store()).unwrap().count(), 0);
    }
}

#[test]
fn a_sweep_takes_what_a_killed_accept_left_in_a_workspace() {
    let session = Session::new();
    let mut record = records::dead(&session, DEAD);
    let elsewhere = session.home().join("elsewhere");
    record["workspace"] = json!(elsewhere);
    records::keep(&session, &record);
    for workspace in [session.workspace(), elsewhere.clone()] {
        let folder = workspace.join(".headstart-staging-0123456789abcdef0123456789abcdef");
        fs::create_dir_all(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    }
    session.write("home/elsewhere/mine.txt", "mine");
    insta::assert_snapshot!(transcript(&[session.run(&["sweep"])]));
    assert_eq!(session.tree(), []);
    assert_eq!(fs::read_dir(elsewhere).unwrap().count(), 1);
}

#[test]
fn a_prefix_that_fits_several_is_refused() {
    let session = session();
    records::keep(&session, &records::dead(&session, "aaab000000"));
    insta::assert_snapshot!(transcript(&[session.run(&["show", "aaa"]), session.run(&["abort", "aaa"])]));
    assert_eq!(fs::read_dir(session.store()).unwrap().count(), 2);
}

#[test]
fn a_state_folder_that_cannot_be_read_is_named() {
    let session = Session::new();
    session.write("home/file", "");
    let file = session.home().join("file");
    let outcome = session.run(&["list", "--state-dir", file.to_str().unwrap()]);
    assert_eq!(outcome.code, Some(1));
    assert!(
        outcome.stderr.starts_with(&format!(
            "headstart: the state cannot be kept in {}/speculations: ",
            file.display()
        )),
        "{outcome}"
    );

    let session = self::session();
    let record = session.store().join(COMPLETED).join("record.json");
    fs::set_permissions(&record, fs::Permissions::from_mode(0o000)).unwrap();
    if File::open(&record).is_err() {
        let outcome = session.run(&["list"]);
        assert!(outcome.stderr.contains("record.json: Permission denied"), "{outcome}");
        assert_eq!(outcome.code, Some(0));
    }
}

#[test]
fn only_the_last_line_of_a_pipe_is_missed_when_its_reader_goes() {
    let session = session();
    for number in 0..50 {
        records::keep(&session, &records::dead(&session, &format!("e{number:09}")));
    }
    let mut list = session.command(&["list"]).spawn().unwrap();
    let head = std::process::Command::new("head")
        .args(["-n", "1"])
        .stdin(list.stdout.take().unwrap())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let first = head.wait_with_output().unwrap();
    assert!(String::from_utf8_lossy(&first.stdout).starts_with("ID "));
    let output = list.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), b"".as_slice()));
}
