//! In turn, every system call of a commit, an undo, a sweep and a recovery fails once, or it and all later ones fail.
//! The tree must then be what the outcome says.

use futures::executor::block_on;
use headstart_overlay_fs::failpoints::{FailAction, FailPoint, arm, disarm};
use headstart_overlay_fs::{ChangeSet, CommitOptions, CommitOutcome, TreeError, UndoOutcome, Workspace as _};
use rustix::io::Errno;

use crate::place::{HOMES, Home, Place, committed, contents, wait_a_tick};

const ERRORS: [Errno; 3] = [Errno::IO, Errno::NOSPC, Errno::ACCESS];

/// What is tried. A run returns whether it had its effect.
#[derive(Debug, Clone, Copy)]
enum Try {
    Commit,
    PreparedCommit,
    Undo,
}

impl Try {
    fn begin(self, place: &Place, changes: &ChangeSet) {
        match self {
            Self::Commit => {}
            Self::PreparedCommit => {
                wait_a_tick();
                block_on(place.tree.prepare(changes)).unwrap();
            }
            Self::Undo => assert_eq!(place.commit(changes), committed()),
        }
    }

    fn run(self, place: &Place, changes: &ChangeSet) -> Result<bool, TreeError> {
        match self {
            Self::Commit | Self::PreparedCommit => {
                // The options of a caller that does not know whether the commit was made before.
                let options = CommitOptions { repeated: true, ..CommitOptions::default() };
                let outcome = block_on(place.tree.commit(changes, options))?;
                Ok(matches!(outcome, CommitOutcome::Committed(_)))
            }
            Self::Undo => match place.tree.undo(changes)? {
                UndoOutcome::Undone { .. } => Ok(true),
                other => panic!("{other:?}"),
            },
        }
    }
}

/// Makes one system call after the other fail, or with `for_good` that call and all later ones. Each time the tree must
/// be exactly what the outcome says.
fn each_point_fails(what: Try, home: Home, error: Errno, for_good: bool) {
    let new = {
        let place = Place::new(home);
        assert_eq!(place.commit(&place.staged()), committed());
        contents(&place.snapshot())
    };
    let mut number = 0;
    loop {
        let place = Place::new(home);
        let changes = place.staged();
        let old = contents(&place.snapshot());
        what.begin(&place, &changes);
        let before = place.snapshot();
        let fails = move |point: &FailPoint<'_>| match point.number {
            at if at == number || (for_good && number < at) => FailAction::Fail(error.raw_os_error()),
            _ => FailAction::GoOn,
        };
        arm(fails);
        let outcome = what.run(&place, &changes);
        let reached = disarm();
        let told = format!("{what:?} in {home:?}, {error:?} at {number} of {reached}: {outcome:?}");
        let mut after = place.snapshot();
        match &outcome {
            Ok(true) => assert_ne!(contents(&after), contents(&before), "{told}"),
            _ if for_good => {
                // Nothing could be taken back while the disk failed, so it is taken back now.
                let swept = place.tree.sweep().unwrap();
                after = place.snapshot();
                let is_new = contents(&after) == new;
                assert!(after == before || contents(&after) == old || is_new, "{told}: {swept:?}");
            }
            _ => assert_eq!(after, before, "{told}"),
        }
        // The failure must not prevent a second try.
        let is_undone_already = for_good && matches!(what, Try::Undo) && contents(&after) == old;
        if outcome != Ok(true) && !is_undone_already {
            assert_eq!(what.run(&place, &changes), Ok(true), "{told}");
        }
        let after = contents(&place.snapshot());
        match what {
            Try::Undo => assert_eq!(after, old, "{told}"),
            _ => assert_eq!(after, new, "{told}"),
        }
        place.tree.sweep().unwrap();
        let left = place.stagings();
        assert!(left.len() <= 1, "{told}: {left:?}");
        if reached <= number {
            assert!(20 < number, "every kind of step: {number}");
            return;
        }
        number += 1;
    }
}

#[test]
fn a_commit_that_fails_anywhere_changes_nothing() {
    for (home, error) in HOMES.into_iter().zip(ERRORS.into_iter().cycle()) {
        each_point_fails(Try::Commit, home, error, false);
    }
}

#[test]
fn a_prepared_commit_that_fails_anywhere_changes_nothing() {
    for error in ERRORS {
        each_point_fails(Try::PreparedCommit, Home::State, error, false);
    }
}

#[test]
fn an_undo_that_fails_anywhere_changes_nothing() {
    for error in ERRORS {
        each_point_fails(Try::Undo, Home::State, error, false);
    }
}

#[test]
fn when_the_disk_is_gone_for_good_the_next_run_takes_back_what_was_done() {
    each_point_fails(Try::Commit, Home::Workspace, Errno::IO, true);
    each_point_fails(Try::Undo, Home::State, Errno::IO, true);
}

/// Refuses calls as a file system does that only knows plain renames.
fn without_exchange(point: &FailPoint<'_>) -> FailAction {
    match point.call {
        "exchange" | "move" => FailAction::Fail(Errno::INVAL.raw_os_error()),
        _ => FailAction::GoOn,
    }
}

/// On a file system without exchanging renames, a commit makes the same tree and can be undone.
#[test]
fn without_exchange_the_outcome_is_the_same() {
    let new = {
        let place = Place::new(Home::State);
        place.commit(&place.staged()).unwrap();
        contents(&place.snapshot())
    };
    let place = Place::new(Home::State);
    let changes = place.staged();
    let before = contents(&place.snapshot());
    arm(without_exchange);
    assert_eq!(place.commit(&changes), committed());
    assert_eq!(contents(&place.snapshot()), new);
    assert!(matches!(place.tree.undo(&changes), Ok(UndoOutcome::Undone { .. })));
    disarm();
    assert_eq!(contents(&place.snapshot()), before);
}

#[test]
fn without_exchange_a_commit_that_fails_anywhere_changes_nothing() {
    let mut number = 0;
    loop {
        let place = Place::new(Home::State);
        let changes = place.staged();
        let before = place.snapshot();
        arm(move |point| match without_exchange(point) {
            FailAction::GoOn if point.number == number => FailAction::Fail(Errno::IO.raw_os_error()),
            then => then,
        });
        let outcome = place.commit(&changes);
        let reached = disarm();
        if outcome != committed() {
            assert_eq!(place.snapshot(), before, "{number} of {reached}: {outcome:?}");
        }
        if reached <= number {
            return;
        }
        number += 1;
    }
}
