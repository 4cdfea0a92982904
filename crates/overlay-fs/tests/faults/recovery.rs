//! In turn, every system call by which a half-done commit or undo is taken back fails once, or it and all later ones
//! fail. The next run must finish the recovery, and nothing may be reported as recovered that is not.

use std::sync::Arc;

use futures::executor::block_on;
use headstart_overlay_fs::failpoints::{FailAction, FailPoint, arm, disarm};
use headstart_overlay_fs::{ChangeSet, SweepOutcome, Swept, TreeError, UndoOutcome};
use rustix::io::Errno;

use crate::place::{Home, Place, Snapshot, committed, contents, open, path};

/// What is found half done, and at which call it stopped. The name is that of the call, if it matters.
#[derive(Debug, Clone, Copy)]
struct HalfDone {
    is_undo: bool,
    call: &'static str,
    name: Option<&'static str>,
}

const HALF_DONE: [HalfDone; 5] = [
    HalfDone { is_undo: false, call: "exchange", name: None },
    HalfDone { is_undo: false, call: "move", name: Some("moved") },
    HalfDone { is_undo: false, call: "rename", name: Some("committed") },
    HalfDone { is_undo: true, call: "exchange", name: None },
    HalfDone { is_undo: true, call: "rename", name: Some("undone") },
];

/// What takes the half-done work back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Sweep,
    /// The next commit or undo, before its own work.
    Next,
}

impl HalfDone {
    /// Makes a place whose disk failed in the middle. Also returns the workspace as it was before.
    fn make(self, home: Home) -> (Place, ChangeSet, Snapshot) {
        let mut place = Place::new(home);
        let changes = place.staged();
        if self.is_undo {
            assert_eq!(place.commit(&changes), committed());
        }
        let before = place.snapshot();
        let mut is_gone = false;
        arm(move |point| {
            let is_name = self.name.is_none_or(|name| point.name == name.as_bytes());
            is_gone |= point.call == self.call && is_name;
            if is_gone { FailAction::Fail(Errno::IO.raw_os_error()) } else { FailAction::GoOn }
        });
        self.run(&place, &changes).unwrap_err();
        disarm();
        assert_ne!(place.snapshot(), before, "{self:?}: something is half done");
        place.tree = Arc::new(open(place.folder.path(), home));
        (place, changes, before)
    }

    /// Does the whole commit or undo.
    fn run(self, place: &Place, changes: &ChangeSet) -> Result<(), TreeError> {
        if self.is_undo {
            match place.tree.undo(changes)? {
                UndoOutcome::Undone { .. } => Ok(()),
                other => panic!("{other:?}"),
            }
        } else {
            assert_eq!(place.commit(changes)?, committed()?);
            Ok(())
        }
    }
}

fn is_well(swept: &[Swept]) -> bool {
    swept.iter().all(|one| !matches!(one.outcome, SweepOutcome::Kept | SweepOutcome::Damaged))
}

fn each_point_fails(half: HalfDone, home: Home, by: By, error: Errno, for_good: bool) {
    let after = {
        let (place, changes, _) = half.make(home);
        half.run(&place, &changes).unwrap();
        contents(&place.snapshot())
    };
    let mut number = 0;
    loop {
        let (place, changes, before) = half.make(home);
        arm(move |point: &FailPoint<'_>| {
            let fails = point.number == number || (for_good && number < point.number);
            if fails { FailAction::Fail(error.raw_os_error()) } else { FailAction::GoOn }
        });
        let outcome = match by {
            By::Sweep => place.tree.sweep().map(|swept| assert!(is_well(&swept), "{half:?}: {swept:?}")),
            By::Next => half.run(&place, &changes),
        };
        let reached = disarm();
        let told = format!("{half:?} in {home:?} by {by:?}, {error:?} at {number} of {reached}: {outcome:?}");
        if outcome.is_ok() {
            match by {
                By::Sweep => assert_eq!(place.snapshot(), before, "{told}"),
                By::Next => assert_eq!(contents(&place.snapshot()), after, "{told}"),
            }
        }
        let swept = place.tree.sweep().unwrap();
        assert!(is_well(&swept), "{told}: {swept:?}");
        if by == By::Sweep {
            assert_eq!(place.snapshot(), before, "{told}: {swept:?}");
        } else {
            // The work may have been done, and the error may have come after that.
            let found = contents(&place.snapshot());
            assert!(found == contents(&before) || found == after, "{told}: {swept:?}");
        }
        if contents(&place.snapshot()) != after {
            half.run(&place, &changes).unwrap();
        }
        assert_eq!(contents(&place.snapshot()), after, "{told}");
        if reached <= number {
            assert!(20 < number, "it has more system calls than {number}");
            return;
        }
        number += 1;
    }
}

#[test]
fn a_sweep_that_fails_anywhere_while_it_takes_back_is_ended_by_the_next() {
    for (half, error) in
        HALF_DONE.into_iter().zip([Errno::IO, Errno::ACCESS, Errno::NOSPC].into_iter().cycle())
    {
        each_point_fails(half, Home::State, By::Sweep, error, false);
    }
    each_point_fails(HALF_DONE[2], Home::Workspace, By::Sweep, Errno::IO, false);
}

#[test]
fn a_commit_or_an_undo_that_fails_while_it_takes_back_the_one_before_is_ended_by_the_next() {
    each_point_fails(HALF_DONE[2], Home::State, By::Next, Errno::IO, false);
    each_point_fails(HALF_DONE[4], Home::Workspace, By::Next, Errno::ACCESS, false);
}

#[test]
fn when_the_disk_is_gone_again_the_next_run_takes_back_the_rest() {
    each_point_fails(HALF_DONE[2], Home::State, By::Sweep, Errno::IO, true);
    each_point_fails(HALF_DONE[4], Home::State, By::Sweep, Errno::IO, true);
}

/// Makes room after accepts that are too old and one that was undone. If a call fails, nothing else may change.
#[test]
fn a_sweep_that_fails_anywhere_while_it_makes_room_changes_nothing_else() {
    let mut number = 0;
    loop {
        let place = Place::new(Home::State);
        for text in 0..7 {
            let overlay = place.overlay();
            block_on(overlay.write(&path("changed"), format!("{text}\n").into())).unwrap();
            assert_eq!(place.commit(&overlay.change_set()), committed());
        }
        assert!(matches!(place.tree.undo_last(), Ok(UndoOutcome::Undone { .. })));
        let before = place.snapshot();
        arm(move |point| match point.number {
            at if at == number => FailAction::Fail(Errno::IO.raw_os_error()),
            _ => FailAction::GoOn,
        });
        let outcome = place.tree.sweep();
        let reached = disarm();
        assert_eq!(place.snapshot(), before, "{number} of {reached}: {outcome:?}");
        let swept = place.tree.sweep().unwrap();
        assert!(is_well(&swept), "{number} of {reached}: {outcome:?}, then {swept:?}");
        assert!(place.stagings().len() <= 3, "{number} of {reached}: {swept:?}");
        let undone = place.tree.undo_last();
        assert!(matches!(undone, Ok(UndoOutcome::Undone { .. })), "{number} of {reached}: {undone:?}");
        assert_eq!(std::fs::read_to_string(place.root().join("changed")).unwrap(), "4\n");
        if reached <= number {
            assert!(20 < number, "it has more system calls than {number}");
            return;
        }
        number += 1;
    }
}
