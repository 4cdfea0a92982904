//! Holds that an accept can be taken back, and what happens if a process died before it could note what it had done.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::project::{call, farewell};
use crate::support::{Outcome, Session};

fn accepted(session: &mut Session) -> String {
    let (_, id) = session.speculate(&farewell(), "auto-edit");
    let outcome = session.run(&["accept", &id, "--json"]);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    id
}

/// Sets the state of the record as if the process had died before it could note what it did.
fn set_state(session: &Session, id: &str, state: &str) {
    let file = session.store().join(id).join("record.json");
    let mut record: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    record["state"] = json!(state);
    fs::write(file.with_file_name("accepting"), "").unwrap();
    fs::write(file, record.to_string()).unwrap();
}

#[test]
fn an_accept_is_taken_back_and_made_again() {
    let mut session = Session::with_project();
    let before = session.hash();
    let id = accepted(&mut session);
    let after = session.hash();
    let outcome = session.run(&["undo", &id, "--json"]);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let line = outcome.json().pop().unwrap();
    assert_eq!(line, json!({"type": "undone", "id": id, "paths": ["greeting.txt", "src/farewell.txt"]}));
    assert_eq!(session.hash(), before);
    assert_eq!(session.only_row()["status"], "completed");
    let again = session.run(&["undo", &id]);
    assert_eq!(again.code, Some(1), "{again}");
    assert!(again.stderr.contains("was not accepted"), "{again}");
    assert_eq!(session.run(&["accept", &id]).code, Some(0));
    assert_eq!(session.hash(), after);
    assert_eq!(session.run(&["undo", &id]).code, Some(0));
    assert_eq!(session.hash(), before);
    assert_eq!(session.run(&["abort", &id]).code, Some(0));
}

#[test]
fn a_conflict_tells_the_id_also_where_none_was_given() {
    let mut session = Session::with_project();
    let id = accepted(&mut session);
    session.write("project/src/farewell.txt", "mine\n");
    for arguments in [&["undo", "--json"][..], &["undo", &id, "--json"]] {
        let outcome = session.run(arguments);
        assert_eq!(outcome.code, Some(4), "{outcome}");
        let line = outcome.json().pop().unwrap();
        assert_eq!((&line["type"], &line["id"]), (&json!("conflict"), &json!(id)), "{outcome}");
    }
}

#[test]
fn without_an_id_the_last_accept_is_taken_back() {
    let mut session = Session::with_project();
    let before = session.hash();
    let id = accepted(&mut session);
    let outcome = session.run(&["undo", "--json"]);
    assert_eq!(outcome.json().pop().unwrap()["id"], json!(id), "{outcome}");
    assert_eq!(session.hash(), before);
    assert_eq!(session.only_row()["status"], "completed");
    let outcome = session.run(&["undo"]);
    assert_eq!(outcome.code, Some(1), "{outcome}");
    assert!(outcome.stderr.contains("headstart wrote nothing in"), "{outcome}");
}

#[test]
fn work_that_changed_nothing_has_nothing_to_undo_and_no_patch_is_suggested() {
    let mut session = Session::with_project();
    let recording = json!({"turns": [{"text": "There is nothing to do."}]});
    let (_, id) = session.speculate(&recording, "auto-edit");
    assert_eq!(session.run(&["accept", &id]).code, Some(0));
    let outcome = session.run(&["undo", &id]);
    assert_eq!(outcome.code, Some(1), "{outcome}");
    assert!(outcome.stderr.contains("changed nothing, so there is nothing to undo"), "{outcome}");
    assert!(!outcome.stderr.contains("git apply"), "{outcome}");
}

#[test]
fn a_patch_is_suggested_only_where_it_applies() {
    let mut session = Session::with_project();
    let id = accepted(&mut session);
    fs::remove_dir_all(session.home().join(".local/state/headstart/staging")).unwrap();
    let outcome = session.run(&["undo", &id]);
    assert!(outcome.stderr.contains("--patch | git apply --reverse"), "{outcome}");
    session.write("project/src/farewell.txt", "mine\n");
    let outcome = session.run(&["undo", &id]);
    assert!(outcome.stderr.contains("is not kept any more, so nothing was changed"), "{outcome}");
    assert!(!outcome.stderr.contains("git apply"), "{outcome}");
}

#[test]
fn what_only_an_undo_restored_is_no_file_that_changed_since() {
    let mut session = Session::with_project().variable("HEADSTART_SHADOW", "");
    let recording = json!({"turns": [
        {"toolCalls": [call("edit", &json!({"file_path": "greeting.txt", "old_string": "world", "new_string": "moon"}))]},
        {"toolCalls": [call("shell", &json!({"command": "touch b.txt"}))]},
        {"text": "Done."},
    ]});
    let (ran, id) = session.speculate(&recording, "auto-edit");
    assert_eq!(ran.finished()["status"], "completed", "{ran}");
    for _ in 0..2 {
        let outcome = session.run(&["accept", &id, "--json"]);
        assert_eq!(outcome.json().pop().unwrap()["changedSinceView"], Value::Null, "{outcome}");
        assert_eq!(session.run(&["undo"]).code, Some(0));
    }
}

#[test]
fn what_has_changed_since_is_not_undone() {
    let mut session = Session::with_project();
    let id = accepted(&mut session);
    session.write("project/greeting.txt", "mine\n");
    let before = session.hash();
    for arguments in [&["undo", &id][..], &["undo"]] {
        let outcome = session.run(arguments);
        assert_eq!(outcome.code, Some(4), "{outcome}");
        assert!(outcome.stderr.contains("conflict: greeting.txt"), "{outcome}");
        assert_eq!(session.hash(), before);
    }
    assert_eq!(session.only_row()["status"], "accepted");
}

/// The last accept is in the way of those before it: what can be done is said.
#[test]
fn where_the_last_accept_was_changed_since_an_earlier_one_is_offered() {
    let mut session = Session::with_project();
    let wrote = |session: &mut Session, path: &str| {
        let write = call("write_file", &json!({ "file_path": path, "content": "made\n" }));
        let recording = json!({ "turns": [{ "toolCalls": [write] }, { "text": "Done." }] });
        let (_, id) = session.speculate(&recording, "auto-edit");
        assert_eq!(session.run(&["accept", &id]).code, Some(0));
        id
    };
    let first = wrote(&mut session, "first.txt");
    let second = wrote(&mut session, "second.txt");
    wrote(&mut session, "second.txt.last");
    session.write("project/second.txt.last", "mine\n");
    let outcome = session.run(&["undo"]);
    assert_eq!(outcome.code, Some(4), "{outcome}");
    assert!(outcome.stderr.contains("once that is as it was accepted, undo takes it back"), "{outcome}");
    let offered = format!("headstart undo {second} takes back what was accepted before it");
    assert!(outcome.stderr.contains(&offered), "{outcome}");
    assert_eq!(session.run(&["undo", &second]).code, Some(0));
    let offered = format!("headstart undo {first} takes back what was accepted before it");
    let outcome = session.run(&["undo"]);
    assert!(outcome.stderr.contains(&offered), "{outcome}");
    session.write("project/second.txt.last", "made\n");
    assert_eq!(session.run(&["undo"]).code, Some(0));
    assert_eq!(session.run(&["undo"]).code, Some(0));
    assert!(!session.workspace().join("first.txt").exists());
}

#[test]
fn an_accept_that_was_not_noted_is_no_conflict_the_next_time() {
    let mut session = Session::with_project();
    let id = accepted(&mut session);
    let after = session.hash();
    set_state(&session, &id, "finished");
    let outcome = session.run(&["accept", &id, "--json"]);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert_eq!(outcome.json().pop().unwrap()["type"], "accepted");
    assert_eq!((session.hash(), session.only_row()["status"].clone()), (after, json!("accepted")));
}

#[test]
fn what_was_not_noted_can_be_undone_all_the_same() {
    let mut session = Session::with_project();
    let before = session.hash();
    let id = accepted(&mut session);
    set_state(&session, &id, "finished");
    assert_eq!(session.run(&["undo", &id]).code, Some(0));
    assert_eq!(session.hash(), before);
    // An undo that was not noted is reported again.
    set_state(&session, &id, "accepted");
    let outcome = session.run(&["undo", &id]);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert_eq!((session.hash(), session.only_row()["status"].clone()), (before, json!("completed")));
}

#[test]
fn what_is_kept_for_an_undo_is_outside_the_workspace() {
    let mut session = Session::with_project();
    accepted(&mut session);
    let names = fs::read_dir(session.workspace()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(names.into_iter().all(|name| !name.to_string_lossy().contains("staging")));
    let outcome = session.run(&["sweep", "--json"]);
    assert!(outcome.stdout.contains("headstart undo"), "{outcome}");
}

#[test]
fn folders_that_were_made_are_named_when_they_are_gone() {
    let mut session = Session::with_project().variable("HEADSTART_SHADOW", "");
    let recording = json!({"turns": [
        {"toolCalls": [call("shell", &json!({"command": "mkdir -p plans/later spare"}))]},
        {"text": "Done."},
    ]});
    let (_, id) = session.speculate(&recording, "auto-edit");
    let accept = |session: &Session| assert_eq!(session.run(&["accept", &id]).code, Some(0));
    accept(&session);
    let outcome = session.run(&["undo"]);
    assert_eq!(
        (outcome.code, &*outcome.stdout),
        (Some(0), "as before  plans/later\nas before  spare\n"),
        "{outcome}"
    );
    accept(&session);
    session.write("project/plans/later/mine.txt", "mine\n");
    let outcome = session.run(&["undo"]);
    assert_eq!((outcome.code, &*outcome.stdout), (Some(0), "as before  spare\n"), "{outcome}");
    accept(&session);
    session.write("project/spare/mine.txt", "mine\n");
    let outcome = session.run(&["undo"]);
    let stay = "the folders that it made stay, because something is in them now\n";
    assert_eq!((outcome.code, &*outcome.stdout), (Some(0), stay), "{outcome}");
    assert!(session.text("spare/mine.txt").is_some() && session.text("plans/later/mine.txt").is_some());
}

/// The outcome of a sweep that runs outside the workspace.
fn sweep_from_home(session: &Session, days: &str) -> Outcome {
    let arguments = ["sweep", "--older-than", days];
    let child = session.command(&arguments).current_dir(session.home()).spawn().unwrap();
    let outcome = session.outcome(&arguments, child);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    outcome
}

/// The folders with replaced files, of every workspace.
fn kept_for_undo(session: &Session) -> Vec<PathBuf> {
    let folders = |path: PathBuf| fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let homes = folders(session.home().join(".local/state/headstart/staging"));
    homes.flat_map(folders).filter(|path| path.is_dir()).collect()
}

#[test]
fn what_is_kept_goes_after_a_while_when_its_workspace_is_gone() {
    let mut session = Session::with_project();
    accepted(&mut session);
    let homes = session.home().join(".local/state/headstart/staging");
    // The folders stay while the workspace exists, and for some days after it is gone.
    sweep_from_home(&session, "0");
    assert_eq!(kept_for_undo(&session).len(), 1);
    let moved = session.home().join("moved");
    fs::rename(session.workspace(), &moved).unwrap();
    let young = sweep_from_home(&session, "7");
    assert!(young.stdout.contains("in use not long ago, and what is younger than 7 days stays"), "{young}");
    assert_eq!(kept_for_undo(&session).len(), 1);
    // After a command in the moved workspace, a sweep knows the workspace again.
    let arguments = ["undo"];
    let child = session.command(&arguments).current_dir(&moved).spawn().unwrap();
    assert_eq!(session.outcome(&arguments, child).code, Some(0));
    fs::rename(&moved, session.workspace()).unwrap();
    accepted(&mut session);
    // Another folder at the same path is another workspace.
    fs::remove_dir_all(session.workspace()).unwrap();
    session.write("project/other.txt", "");
    let swept = sweep_from_home(&session, "0");
    assert!(swept.stdout.contains("its workspace was removed"), "{swept}");
    assert_eq!(fs::read_dir(&homes).unwrap().count(), 0, "{swept}");
    assert!(session.text("other.txt").is_some());
}

#[test]
fn what_may_be_the_only_copy_outlives_its_workspace() {
    let mut session = Session::with_project();
    accepted(&mut session);
    let kept = kept_for_undo(&session).remove(0);
    fs::rename(kept.join("committed"), kept.join("applying")).unwrap();
    fs::remove_dir_all(session.workspace()).unwrap();
    let swept = sweep_from_home(&session, "0");
    assert!(swept.stdout.contains("take what you need"), "{swept}");
    assert_eq!(kept_for_undo(&session), [kept]);
}

const SMALL_DISK: &str = "HEADSTART_TEST_SMALL_DISK";

/// Fills the disk up to so many bytes.
fn fill(session: &Session, room: u64) -> PathBuf {
    let path = session.home().with_file_name("fill");
    let mut file = fs::File::create(&path).unwrap();
    let page = [0; 4096];
    while file.write_all(&page).is_ok() {}
    let full = file.metadata().unwrap().len();
    file.set_len(full.saturating_sub(room)).unwrap();
    path
}

#[test]
#[ignore = "it is the process that the other test starts on a small disk"]
fn the_process_on_a_small_disk() {
    // The folder is missing if all ignored tests are run.
    if std::env::var_os(SMALL_DISK).is_none() {
        return;
    }
    let mut refused = 0;
    for room in 0..6 {
        let mut session = Session::with_project();
        session.write("project/greeting.txt", "hello\nworld\n".repeat(2_000));
        let before = session.hash();
        let id = accepted(&mut session);
        let after = session.hash();
        let filled = fill(&session, room * 4096);
        let outcome = session.run(&["undo", &id]);
        fs::remove_file(filled).unwrap();
        if outcome.stderr.contains("is taken back, but that could not be noted") {
            assert_eq!(session.hash(), before, "{room} pages: {outcome}");
            assert_eq!(session.run(&["undo", &id]).code, Some(0), "{room} pages");
        } else if outcome.code != Some(0) {
            refused += 1;
            let root = session.workspace().display().to_string();
            let words = ["nothing was taken back in", &root, "No space left on device", "there is room"];
            outcome.assert_refused(1, &words);
            assert_eq!(session.hash(), after, "{room} pages: {outcome}");
            let again = session.run(&["undo", &id]);
            assert_eq!(again.code, Some(0), "{room} pages: {again}");
        }
        assert_eq!(session.hash(), before, "{room} pages");
    }
    println!("refused {refused}");
}

/// An undo writes too: its journal, and what it notes of git.
#[test]
fn an_undo_on_a_full_disk_says_that_nothing_was_taken_back_and_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let can = |flags: &&str| {
        let tried = Command::new("unshare").args([*flags, "true"]).output();
        tried.is_ok_and(|ran| ran.status.success())
    };
    let flags =
        ["-Urm", "-m"].into_iter().find(can).expect("neither `unshare -Urm` nor `unshare -m` works here");
    let path = folder.path().display().to_string();
    let run = format!(
        "mount -t tmpfs -o size=6m none '{path}' && exec \"$0\" --exact undo::the_process_on_a_small_disk --ignored --nocapture"
    );
    let output = Command::new("unshare")
        .args([flags, "sh", "-c", &run])
        .arg(std::env::current_exe().unwrap())
        .env("TMPDIR", &path)
        .env(SMALL_DISK, "1")
        .output()
        .unwrap();
    let told =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && told.contains("refused ") && !told.contains("refused 0"), "{told}");
}
