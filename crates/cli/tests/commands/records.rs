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
    records::store(&session, &records::finished(&session, &completed(COMPLETED)));
    session
}

#[test]
fn a_user_looks_at_what_is_kept() {
    let session = session();
    let mut dead = records::interrupted(&session, DEAD);
    dead["prompt"] = json!("wipe\nthe \u{1b}[2Jscreen");
    records::store(&session, &dead);
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
    records::store(&session, &records::interrupted(&session, DEAD));
    let outcomes = [
        session.run(&["list", "--json"]),
        session.run(&["show", "a", "--json"]),
        session.run(&["diff", "a", "--json"]),
        session.run(&["show", "c", "--json"]),
    ];
    for outcome in &outcomes {
        assert!(!outcome.json().is_empty());
    }
    insta::assert_snapshot!(transcript(&outcomes), @r#"
    $ headstart list --json
    {"type":"speculation","id":"bbbb000000","status":"interrupted","createdAt":[TIME],"workspace":"/project","mode":"default","model":"replay:recording.json","prompt":"add a farewell","files":0,"next":null}
    {"type":"speculation","id":"aaaa000000","status":"completed","createdAt":[TIME],"workspace":"/project","mode":"default","model":"replay:recording.json","prompt":"add a farewell","files":2,"next":"run the tests"}
    [exit 0]

    $ headstart show a --json
    {"type":"speculation","id":"aaaa000000","status":"completed","createdAt":[TIME],"workspace":"/project","mode":"default","model":"replay:recording.json","prompt":"add a farewell","ending":{"status":"completed"},"transcript":[{"role":"user","parts":[{"type":"text","text":"add a farewell"}]},{"role":"model","parts":[{"type":"text","text":"I will look at the greeting first."},{"type":"toolCall","id":"1","name":"read_file","args":{"file_path":"greeting.txt"}},{"type":"toolCall","id":"2","name":"read_file","args":{"file_path":"missing.txt"}}]},{"role":"tool","parts":[{"type":"toolResult","id":"1","name":"read_file","output":"hello\n"},{"type":"toolResult","id":"2","name":"read_file","error":"missing.txt does not exist"}]},{"role":"model","parts":[{"type":"text","text":"Done.\nBoth files say farewell."}]}],"rest":[],"pendingCall":null,"changes":[{"path":"farewell.txt","type":"create","added":1,"removed":0,"binary":false},{"path":"greeting.txt","type":"modify","added":1,"removed":0,"binary":false}],"next":"run the tests","cost":{"inputTokens":1200,"cachedInputTokens":1000,"outputTokens":80,"turns":2,"toolCalls":2,"stagedFiles":2,"stagedBytes":14,"modelMs":[TIME],"toolMs":[TIME],"workMs":[TIME]}}
    [exit 0]

    $ headstart diff a --json
    {"path":"farewell.txt","type":"create","added":1,"removed":0,"binary":false,"diff":"diff --git a/farewell.txt b/farewell.txt\nnew file mode 100644\n--- /dev/null\n+++ b/farewell.txt\n@@ -0,0 +1 @@\n+bye\n"}
    {"path":"greeting.txt","type":"modify","added":1,"removed":0,"binary":false,"diff":"diff --git a/greeting.txt b/greeting.txt\n--- a/greeting.txt\n+++ b/greeting.txt\n@@ -1 +1,2 @@\n hello\n+bye\n"}
    [exit 0]

    $ headstart show c --json
    {"type":"error","message":"there is no speculation \"c\" in /home/.local/state/headstart/speculations; `headstart list` shows those there are"}
    [stderr] headstart: there is no speculation "c" in /home/.local/state/headstart/speculations; `headstart list` shows those there are
    [exit 1]
    "#);
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
    records::store(&session, &records::finished(&session, &finished));
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
    ]), @r#"
    $ headstart list
    [stderr] no speculations of this workspace; `headstart speculate` makes one
    [exit 0]

    $ headstart list --json
    [exit 0]

    $ headstart sweep
    0 removed, 0 kept
    [exit 0]

    $ headstart abort a
    [stderr] headstart: there is no speculation "a" in /home/.local/state/headstart/speculations; `headstart list` shows those there are
    [exit 1]
    "#);
    assert!(!session.home().join(".local").exists());
}

#[test]
fn an_abort_leaves_nothing() {
    let session = session();
    records::store(&session, &records::interrupted(&session, DEAD));
    insta::assert_snapshot!(transcript(&[
        session.run(&["abort", COMPLETED]),
        session.run(&["abort", COMPLETED]),
        session.run(&["abort", "b", "--json"]),
    ]), @r#"
    $ headstart abort aaaa000000
    aborted aaaa000000; nothing of it is left
    [exit 0]

    $ headstart abort aaaa000000
    [stderr] headstart: there is no speculation "aaaa000000" in /home/.local/state/headstart/speculations; `headstart list` shows those there are
    [exit 1]

    $ headstart abort b --json
    {"type":"aborted","id":"bbbb000000","wasRunning":false}
    [exit 0]
    "#);
    assert_eq!(fs::read_dir(session.store()).unwrap().count(), 0);
}

#[test]
fn what_was_accepted_cannot_be_aborted_and_undo_says_why_it_cannot() {
    let session = session();
    let early = session.run(&["undo", COMPLETED]);
    let mut record = records::finished(&session, &completed(COMPLETED));
    record["state"] = json!("accepted");
    let file = records::store(&session, &record);
    insta::assert_snapshot!(transcript(&[
        early,
        session.run(&["abort", COMPLETED]),
        session.run(&["undo", COMPLETED]),
        session.run(&["undo", COMPLETED, "--json"]),
    ]), @r#"
    $ headstart undo aaaa000000
    [stderr] headstart: speculation aaaa000000 was not accepted, so there is nothing to undo
    [exit 1]

    $ headstart abort aaaa000000
    [stderr] headstart: speculation aaaa000000 was accepted: its changes are in the workspace; see `headstart undo aaaa000000`
    [exit 1]

    $ headstart undo aaaa000000
    [stderr] headstart: speculation aaaa000000 is not kept any more, so nothing was changed
    [exit 1]

    $ headstart undo aaaa000000 --json
    {"type":"error","message":"speculation aaaa000000 is not kept any more, so nothing was changed"}
    [stderr] headstart: speculation aaaa000000 is not kept any more, so nothing was changed
    [exit 1]
    "#);
    assert_eq!(fs::read_to_string(file).unwrap(), record.to_string());
}

#[test]
fn a_damaged_or_newer_record_is_reported_and_left() {
    let session = session();
    let damaged = records::store(&session, &json!({"id": "cccc000000"}));
    let mut newer = records::interrupted(&session, "dddd000000");
    newer["formatVersion"] = json!(9);
    let newer_file = records::store(&session, &newer);
    session.write("home/.local/state/headstart/speculations/notes.txt", "mine");
    insta::assert_snapshot!(transcript(&[
        session.run(&["list"]),
        session.run(&["list", "--json"]),
        session.run(&["show", "c"]),
        session.run(&["abort", "d"]),
        session.run(&["sweep", "--older-than", "0", "--undecided"]),
        session.run(&["sweep", "--json"]),
    ]), @r#"
    $ headstart list
    ID          AGE  STATUS     FILES  PROMPT
    aaaa000000  3 d  completed  2      add a farewell
    [stderr] skipped: /home/.local/state/headstart/speculations/cccc000000/record.json: the record is damaged: missing field `formatVersion` at line 1 column 19; the file was left as it is, and `headstart abort cccc000000` removes it
    [stderr] skipped: /home/.local/state/headstart/speculations/dddd000000/record.json: the record has format 9, and this headstart reads up to 1; use a newer one; the file was left as it is
    [exit 0]

    $ headstart list --json
    {"type":"skipped","message":"/home/.local/state/headstart/speculations/cccc000000/record.json: the record is damaged: missing field `formatVersion` at line 1 column 19; the file was left as it is, and `headstart abort cccc000000` removes it"}
    {"type":"skipped","message":"/home/.local/state/headstart/speculations/dddd000000/record.json: the record has format 9, and this headstart reads up to 1; use a newer one; the file was left as it is"}
    {"type":"speculation","id":"aaaa000000","status":"completed","createdAt":[TIME],"workspace":"/project","mode":"default","model":"replay:recording.json","prompt":"add a farewell","files":2,"next":"run the tests"}
    [stderr] skipped: /home/.local/state/headstart/speculations/cccc000000/record.json: the record is damaged: missing field `formatVersion` at line 1 column 19; the file was left as it is, and `headstart abort cccc000000` removes it
    [stderr] skipped: /home/.local/state/headstart/speculations/dddd000000/record.json: the record has format 9, and this headstart reads up to 1; use a newer one; the file was left as it is
    [exit 0]

    $ headstart show c
    [stderr] headstart: /home/.local/state/headstart/speculations/cccc000000/record.json: the record is damaged: missing field `formatVersion` at line 1 column 19; the file was left as it is, and `headstart abort cccc000000` removes it
    [exit 1]

    $ headstart abort d
    [stderr] headstart: /home/.local/state/headstart/speculations/dddd000000/record.json: the record has format 9, and this headstart reads up to 1; use a newer one; the file was left as it is
    [exit 1]

    $ headstart sweep --older-than 0 --undecided
    removed  aaaa000000  made 3 d ago, neither accepted nor aborted
    kept     cccc000000  /home/.local/state/headstart/speculations/cccc000000/record.json: the record is damaged: missing field `formatVersion` at line 1 column 19; the file was left as it is, and `headstart abort cccc000000` removes it
    kept     dddd000000  /home/.local/state/headstart/speculations/dddd000000/record.json: the record has format 9, and this headstart reads up to 1; use a newer one; the file was left as it is
    kept     notes.txt  is not one of headstart's
    1 removed, 3 kept
    [exit 0]

    $ headstart sweep --json
    {"type":"kept","name":"cccc000000","why":"/home/.local/state/headstart/speculations/cccc000000/record.json: the record is damaged: missing field `formatVersion` at line 1 column 19; the file was left as it is, and `headstart abort cccc000000` removes it"}
    {"type":"kept","name":"dddd000000","why":"/home/.local/state/headstart/speculations/dddd000000/record.json: the record has format 9, and this headstart reads up to 1; use a newer one; the file was left as it is"}
    {"type":"kept","name":"notes.txt","why":"is not one of headstart's"}
    {"type":"swept","removed":0,"kept":3}
    [exit 0]
    "#);
    assert!(damaged.exists());
    assert_eq!(fs::read_to_string(newer_file).unwrap(), newer.to_string());
    assert!(session.store().join("notes.txt").exists());
}

#[test]
fn a_damaged_record_is_removed_by_an_abort_and_a_newer_one_is_not() {
    let session = session();
    let ids = ["cccc000000", "eeee000000"];
    let file = records::store(&session, &json!({"id": ids[0]}));
    fs::create_dir(session.store().join(ids[1])).unwrap();
    let swept = session.run(&["sweep", "--older-than", "0"]);
    for id in ids {
        assert!(swept.stdout.contains(&format!("`headstart abort {id}` removes it")), "{swept}");
    }
    // Another process holds the lock of the record.
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

/// A process that holds the lock of a record is working on it, whatever process id the record names.
#[test]
fn a_living_speculation_is_asked_to_stop_and_never_swept() {
    let mut session = Session::new();
    let file = records::store(&session, &records::interrupted(&session, DEAD));
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
    insta::assert_snapshot!(transcript(&[list, sweep, abort, session.run(&["list", "--json"])]), @r#"
    $ headstart list
    ID          AGE  STATUS   FILES  PROMPT
    bbbb000000  3 d  running  0      add a farewell
    [exit 0]

    $ headstart sweep --older-than 0
    kept     bbbb000000  [PID]runs it
    0 removed, 1 kept
    [exit 0]

    $ headstart abort bbbb000000
    aborted bbbb000000; nothing of it is left
    [exit 0]

    $ headstart list --json
    [exit 0]
    "#);
}

#[test]
fn a_living_speculation_that_does_not_listen_is_not_taken_away() {
    let session = Session::new();
    let file = records::store(&session, &records::interrupted(&session, DEAD));
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
    let mut record = records::interrupted(&session, DEAD);
    let elsewhere = session.home().join("elsewhere");
    record["workspace"] = json!(elsewhere);
    records::store(&session, &record);
    for workspace in [session.workspace(), elsewhere.clone()] {
        let folder = workspace.join(".headstart-staging-0123456789abcdef0123456789abcdef");
        fs::create_dir_all(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    }
    session.write("home/elsewhere/mine.txt", "mine");
    insta::assert_snapshot!(transcript(&[session.run(&["sweep"])]), @r#"
    $ headstart sweep
    removed  bbbb000000  the process that ran it is dead
    removed  /home/elsewhere/.headstart-staging-0123456789abcdef0123456789abcdef  nothing in it is needed any more
    removed  /project/.headstart-staging-0123456789abcdef0123456789abcdef  nothing in it is needed any more
    3 removed, 0 kept
    [exit 0]
    "#);
    assert_eq!(session.tree(), []);
    assert_eq!(fs::read_dir(elsewhere).unwrap().count(), 1);
}

#[test]
fn a_prefix_that_fits_several_is_refused() {
    let session = session();
    records::store(&session, &records::interrupted(&session, "aaab000000"));
    insta::assert_snapshot!(transcript(&[session.run(&["show", "aaa"]), session.run(&["abort", "aaa"])]), @r#"
    $ headstart show aaa
    [stderr] headstart: "aaa" is the start of several ids: aaaa000000, aaab000000; write more of it
    [exit 1]

    $ headstart abort aaa
    [stderr] headstart: "aaa" is the start of several ids: aaaa000000, aaab000000; write more of it
    [exit 1]
    "#);
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
        records::store(&session, &records::interrupted(&session, &format!("e{number:09}")));
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
