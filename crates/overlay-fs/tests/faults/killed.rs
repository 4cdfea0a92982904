//! A process is killed before every system call of a commit, an undo and a sweep. The next process must find exactly
//! the old tree or exactly the new one, or restore one of them.

use std::cell::Cell;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::rc::Rc;

use futures::executor::block_on;
use headstart_overlay_fs::failpoints::{FailAction, arm, disarm};
use headstart_overlay_fs::{ChangeSet, CommitOptions, SweepOutcome, UndoOutcome, Workspace as _};
use rustix::io::Errno;

use crate::child::{order, process};
use crate::place::{HOMES, Home, Place, committed, contents, open, wait_a_tick};

/// The order names the folder of the place, where staging folders are, what to do, and before which system call to die.
#[test]
#[ignore = "it is the process that the other tests start, and it dies"]
fn the_process_that_dies() {
    let Some([folder, home, what, number]) = order() else { return };
    let home = if home == "State" { Home::State } else { Home::Workspace };
    let number: usize = number.parse().unwrap();
    let changes = fs::read(format!("{folder}/changes.json")).unwrap();
    let changes: ChangeSet = serde_json::from_slice(&changes).unwrap();
    let tree = open(folder.as_ref(), home);
    if what.starts_with("prepare") {
        wait_a_tick();
    }
    let plain = what == "commit without exchange";
    arm(move |point| match point.call {
        _ if point.number == number => FailAction::Die,
        "exchange" | "move" if plain => FailAction::Fail(Errno::INVAL.raw_os_error()),
        _ => FailAction::GoOn,
    });
    match what.as_str() {
        "undo" => assert!(matches!(tree.undo(&changes), Ok(UndoOutcome::Undone { .. }))),
        "sweep" => drop(tree.sweep().unwrap()),
        "prepare" => block_on(tree.prepare(&changes)).unwrap(),
        "prepared commit" => {
            block_on(tree.prepare(&changes)).unwrap();
            assert_eq!(block_on(tree.commit(&changes, CommitOptions::default())), committed());
        }
        _ => assert_eq!(block_on(tree.commit(&changes, CommitOptions::default())), committed()),
    }
    disarm();
}

/// Runs the order in a process of its own and returns whether it was killed. A process that is not killed must have
/// carried out its order.
pub(crate) fn dies(place: &Place, what: &str, number: usize) -> bool {
    let order = format!("{}|{:?}|{what}|{number}", place.folder.path().display(), place.home);
    let output = process("killed::the_process_that_dies", &order).output().unwrap();
    if output.status.signal() == Some(9) {
        return true;
    }
    assert!(output.status.success(), "{what} {number}: {}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "it ran");
    false
}

pub(crate) fn with_changes(home: Home) -> (Place, ChangeSet) {
    let place = Place::new(home);
    let changes = place.staged();
    fs::write(place.folder.path().join("changes.json"), serde_json::to_vec(&changes).unwrap()).unwrap();
    (place, changes)
}

/// For every system call: makes a fresh place, runs a process that dies before the call, and calls `check`.
fn at_every_call(
    home: Home,
    what: &str,
    begin: impl Fn(&Place, &ChangeSet),
    check: impl Fn(&Place, &ChangeSet, &str),
) {
    let mut number = 0;
    loop {
        let (place, changes) = with_changes(home);
        begin(&place, &changes);
        let died = dies(&place, what, number);
        check(&place, &changes, &format!("{what} in {home:?}, killed before call {number}: {died}"));
        if !died {
            assert!(10 < number, "it has more system calls than {number}");
            return;
        }
        number += 1;
    }
}

fn check_commit(place: &Place, changes: &ChangeSet, old: &crate::place::Snapshot, told: &str) {
    let swept = place.tree.sweep().unwrap();
    let after = place.snapshot();
    let is_new = contents(&after) == new_contents();
    assert!(is_new || after == *old, "{told}: {swept:?}");
    let is_kept = swept.iter().any(|one| matches!(one.outcome, SweepOutcome::Undoable));
    assert_eq!(is_new, is_kept, "{told}: {swept:?}");
    // The caller could not note the outcome, so it commits again. That must not be a conflict.
    let again = CommitOptions { repeated: true, ..CommitOptions::default() };
    assert_eq!(block_on(place.tree.commit(changes, again)), committed(), "{told}");
    assert_eq!(contents(&place.snapshot()), new_contents(), "{told}");
    assert!(matches!(place.tree.undo(changes), Ok(UndoOutcome::Undone { .. })), "{told}");
    assert_eq!(contents(&place.snapshot()), contents(old), "{told}");
    place.tree.sweep().unwrap();
    assert_eq!(place.stagings(), Vec::<std::path::PathBuf>::new(), "{told}");
}

fn new_contents() -> std::collections::BTreeMap<std::path::PathBuf, (u32, Vec<u8>)> {
    let place = Place::new(Home::State);
    assert_eq!(place.commit(&place.staged()), committed());
    contents(&place.snapshot())
}

fn commits(home: Home, what: &str) {
    let old = std::cell::RefCell::new(None);
    at_every_call(
        home,
        what,
        |place, _| drop(old.replace(Some(place.snapshot()))),
        |place, changes, told| check_commit(place, changes, old.borrow().as_ref().unwrap(), told),
    );
}

#[test]
fn a_commit_killed_anywhere_is_made_or_taken_back() {
    for home in HOMES {
        commits(home, "commit");
    }
}

#[test]
fn a_prepared_commit_killed_anywhere_is_made_or_taken_back() {
    commits(Home::State, "prepared commit");
}

#[test]
fn a_commit_without_exchange_killed_anywhere_is_made_or_taken_back() {
    commits(Home::State, "commit without exchange");
}

#[test]
fn an_undo_killed_anywhere_is_made_or_taken_back() {
    for home in HOMES {
        let old = std::cell::RefCell::new(None);
        at_every_call(
            home,
            "undo",
            |place, changes| {
                old.replace(Some(contents(&place.snapshot())));
                assert_eq!(place.commit(changes), committed());
            },
            |place, changes, told| {
                let old = old.borrow();
                let old = old.as_ref().unwrap();
                place.tree.recovered();
                let swept = place.tree.sweep().unwrap();
                let after = contents(&place.snapshot());
                assert!(after == *old || after == new_contents(), "{told}: {swept:?}");
                if after != *old {
                    let undone = place.tree.undo(changes);
                    assert!(matches!(undone, Ok(UndoOutcome::Undone { .. })), "{told}: {undone:?}");
                }
                assert_eq!(contents(&place.snapshot()), *old, "{told}");
                place.tree.sweep().unwrap();
                assert_eq!(place.stagings(), Vec::<std::path::PathBuf>::new(), "{told}");
                assert_eq!(place.commit(changes), committed(), "{told}: it can be made again");
            },
        );
    }
}

#[test]
fn an_undo_whose_caller_could_not_note_it_is_told_again() {
    let (place, changes) = with_changes(Home::State);
    assert_eq!(place.commit(&changes), committed());
    for _ in 0..2 {
        assert!(matches!(place.tree.undo(&changes), Ok(UndoOutcome::Undone { .. })));
    }
}

/// The number of the system call that marks the work as done. A process that dies before it leaves everything done,
/// which a recovery must take back.
fn mark(home: Home, what: &str) -> usize {
    let (place, changes) = with_changes(home);
    if what == "undo" {
        assert_eq!(place.commit(&changes), committed());
    }
    let found = Rc::new(Cell::new(None));
    let plain = what == "commit without exchange";
    let find = found.clone();
    arm(move |point| match point.call {
        "exchange" | "move" if plain => FailAction::Fail(Errno::INVAL.raw_os_error()),
        "rename" if [&b"committed"[..], b"undone"].contains(&point.name) => {
            find.set(Some(point.number));
            FailAction::GoOn
        }
        _ => FailAction::GoOn,
    });
    if what == "undo" {
        // A new tree, like that of the process that is to die, which has not looked at the staging folders before.
        let tree = open(place.folder.path(), home);
        assert!(matches!(tree.undo(&changes), Ok(UndoOutcome::Undone { .. })));
    } else {
        assert_eq!(place.commit(&changes), committed());
    }
    disarm();
    found.get().unwrap()
}

/// A process dies when everything is done except the mark. The process that recovers dies before each of its calls, and
/// the next one must finish the recovery.
fn recoveries(home: Home, what: &str, before_mark: usize) {
    let old = std::cell::RefCell::new(None);
    let number = mark(home, what) - before_mark;
    at_every_call(
        home,
        "sweep",
        |place, changes| {
            if what == "undo" {
                assert_eq!(place.commit(changes), committed());
            }
            old.replace(Some(place.snapshot()));
            assert!(dies(place, what, number));
            assert_ne!(place.snapshot(), *old.borrow().as_ref().unwrap(), "there is something to recover");
        },
        |place, changes, told| {
            let swept = place.tree.sweep().unwrap();
            assert_eq!(place.snapshot(), *old.borrow().as_ref().unwrap(), "{told}: {swept:?}");
            if what == "undo" {
                assert!(matches!(place.tree.undo(changes), Ok(UndoOutcome::Undone { .. })), "{told}");
            } else {
                assert_eq!(place.commit(changes), committed(), "{told}");
            }
        },
    );
}

#[test]
fn a_recovery_of_a_commit_killed_anywhere_is_ended_by_the_next() {
    recoveries(Home::State, "commit", 0);
    recoveries(Home::Workspace, "commit", 25);
    recoveries(Home::State, "commit without exchange", 0);
}

#[test]
fn a_recovery_of_an_undo_killed_anywhere_is_ended_by_the_next() {
    recoveries(Home::State, "undo", 0);
}
