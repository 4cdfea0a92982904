//! The power is cut before every system call of a commit, an undo, a sweep and a recovery. Whatever the disk may have
//! kept of what was not synced, the next run must find exactly the old tree or exactly the new one, or restore one of
//! them.

mod act;
mod disk;
mod trace;

use std::collections::BTreeSet;

use futures::executor::block_on;
use headstart_overlay_fs::failpoints::{disarm, record, recorded};
use headstart_overlay_fs::{
    ChangeSet, CommitOptions, Durability, OsOptions, OsTree, SweepOutcome, UndoLimit, UndoOutcome,
    Workspace as _,
};

use self::act::Act;
use self::disk::Disk;
use self::trace::{Random, Trace};
use crate::place::{Home, Place, Snapshot, committed, contents};

/// One recorded act, and the workspace before and after it.
struct Played {
    place: Place,
    act: Act,
    changes: ChangeSet,
    trace: Trace,
    before: Snapshot,
    after: Snapshot,
}

/// Where the power is cut, and how much is tried.
#[derive(Debug, Clone, Copy)]
struct Cut {
    /// The first call before which the power is cut.
    start: usize,
    /// A sync that is treated as if it had not been made.
    without: Option<usize>,
    /// Whether to stop at the first fault.
    first_only: bool,
    /// How many disks are tried for each call. Content that was not synced adds a few.
    most: usize,
}

/// Every place is tried, and each call that may be missing is left out alone and kept alone.
const EVERYWHERE: Cut = Cut { start: 0, without: None, first_only: false, most: usize::MAX };

/// One of this many disks is used further after its check.
const GO_ON: usize = 4;

/// For one of this many disks with something half done, the power is cut in the recovery, too.
const CUT_AGAIN: usize = 60;

fn open(place: &Place, durability: Durability) -> OsTree {
    let state = (place.home == Home::State).then(|| place.folder.path().join("state"));
    let undo = UndoLimit { accepts: 3, bytes: 1024 * 1024 };
    let options = OsOptions { state, durability, undo, ..OsOptions::default() };
    OsTree::open_with(place.root(), options).unwrap()
}

impl Played {
    fn new(act: Act, home: Home, durability: Durability) -> Self {
        let place = Place::new(home);
        let changes = act.changes(&place);
        act.begin(&place, &changes);
        let before = place.snapshot();
        let base = Disk::read(place.folder.path());
        let tree = open(&place, durability);
        record();
        act.run(&tree, &changes);
        let trace = Trace::new(&base, &recorded());
        disarm();
        let after = place.snapshot();
        Self { place, act, changes, trace, before, after }
    }

    /// Cuts the power. Returns how many disks were checked, and the faults that were found.
    fn faults(&self, cut: Cut) -> (usize, Vec<String>) {
        let mut random = Random(0x5eed);
        let mut seen = BTreeSet::new();
        let mut faults = Vec::new();
        let mut half_done = 0;
        for end in cut.start..=self.trace.len() {
            let is_through = end == self.trace.len();
            for disk in self.trace.disks(end, cut.without, cut.most, &mut random) {
                if !seen.insert((disk.digest(), is_through)) {
                    continue;
                }
                let mut outcome = self.check(&disk, is_through, seen.len() % GO_ON == 0);
                if disk.has_mark("applying") || disk.has_mark("undoing") {
                    half_done += 1;
                    if outcome.is_ok() && cut.without.is_none() && half_done % CUT_AGAIN == 0 {
                        outcome = self.cut_again(&disk, &mut random);
                    }
                }
                if let Err(fault) = outcome {
                    let next = if is_through { "the end".to_owned() } else { self.trace.told(end) };
                    let (act, home) = (self.act, self.place.home);
                    faults.push(format!("{act:?} in {home:?}, power gone before {next}: {fault}"));
                    if cut.first_only {
                        return (seen.len(), faults);
                    }
                }
            }
        }
        (seen.len(), faults)
    }

    /// Cuts the power a second time, during the recovery from the first cut.
    fn cut_again(&self, disk: &Disk, random: &mut Random) -> Result<(), String> {
        disk.make(self.place.folder.path());
        let base = Disk::read(self.place.folder.path());
        let tree = open(&self.place, Durability::Full);
        record();
        let swept = tree.sweep();
        let trace = Trace::new(&base, &recorded());
        swept.map_err(|error| error.to_string())?;
        for end in 0..=trace.len() {
            for disk in trace.disks(end, None, 4, random) {
                self.check(&disk, false, random.below(8) == 0)
                    .map_err(|fault| format!("and again before call {end} of the recovery: {fault}"))?;
            }
        }
        Ok(())
    }

    fn check(&self, disk: &Disk, is_through: bool, goes_on: bool) -> Result<(), String> {
        disk.make(self.place.folder.path());
        let tree = open(&self.place, Durability::Full);
        let is_marked = self.act.is_marked(disk);
        if is_through && self.act.is_made() && !is_marked {
            return Err("what was told to be through is not".to_owned());
        }
        let found = self.place.snapshot();
        if self.place.home == Home::State {
            let state = self.place.folder.path().join("state");
            let orphans = OsTree::sweep_orphans(&state, std::time::Duration::MAX);
            if orphans.as_ref().map(Vec::len) != Ok(0) {
                return Err(format!("the workspace is there, and an orphan: {orphans:?}"));
            }
        }
        let swept = tree.sweep().map_err(|error| error.to_string())?;
        let after = self.place.snapshot();
        let told = || format!("{swept:?}, the tree was {}", self.which(&found));
        let is_torn = |outcome| matches!(outcome, SweepOutcome::Damaged | SweepOutcome::Kept);
        if swept.iter().any(|one| is_torn(one.outcome)) {
            return Err(format!("not ended: {}, and is {}", told(), self.which(&after)));
        }
        let is_right =
            if is_marked { contents(&after) == contents(&self.after) } else { after == self.before };
        if !is_right {
            return Err(format!("marked {is_marked}, and the tree is {}: {}", self.which(&after), told()));
        }
        if !goes_on {
            return Ok(());
        }
        self.go_on(&tree, is_marked).map_err(|fault| format!("{fault}; {}", told()))
    }

    fn which(&self, found: &Snapshot) -> &'static str {
        match contents(found) {
            found if found == contents(&self.before) => "old",
            found if found == contents(&self.after) => "new",
            _ => "neither old nor new",
        }
    }

    /// Checks that the user can commit and undo as usual with what is left.
    fn go_on(&self, tree: &OsTree, is_marked: bool) -> Result<(), String> {
        if self.act == Act::Sweep {
            let last = tree.undo_last();
            let is_undone = matches!(last, Ok(UndoOutcome::Undone { .. }));
            return if is_undone { Ok(()) } else { Err(format!("undo the last: {last:?}")) };
        }
        let (old, new) = match self.act {
            Act::Undo => (contents(&self.after), Some(contents(&self.before))),
            Act::FailedCommit => (contents(&self.before), None),
            _ => (contents(&self.before), Some(contents(&self.after))),
        };
        let again = CommitOptions { repeated: true, ..CommitOptions::default() };
        if self.act != Act::Undo || is_marked {
            let outcome = block_on(tree.commit(&self.changes, again));
            let is_new = new.is_none_or(|new| contents(&self.place.snapshot()) == new);
            if outcome != committed() || !is_new {
                return Err(format!("asked again: {outcome:?}"));
            }
        }
        let undone = tree.undo(&self.changes);
        if !matches!(undone, Ok(UndoOutcome::Undone { .. })) || contents(&self.place.snapshot()) != old {
            return Err(format!("undo: {undone:?}"));
        }
        let swept = tree.sweep().map_err(|error| error.to_string())?;
        // A staging folder whose owner is not recorded is reported and left alone.
        let foreign = swept.iter().filter(|one| one.outcome == SweepOutcome::Foreign).count();
        let left = self.place.stagings();
        if left.len() == foreign && !(is_marked && 0 < foreign) {
            return Ok(());
        }
        Err(format!("{left:?} is left: {swept:?}"))
    }
}

fn survives(act: Act, home: Home, most: usize) {
    let played = Played::new(act, home, Durability::Full);
    let (disks, faults) = played.faults(Cut { most, ..EVERYWHERE });
    let told = faults.iter().take(5).cloned().collect::<Vec<_>>().join("\n");
    assert!(faults.is_empty(), "{} of {disks} disks:\n{told}", faults.len());
    assert!(10 < played.trace.len() && 100 < disks, "{} calls, {disks} disks", played.trace.len());
}

#[test]
fn a_commit_survives_the_loss_of_power() {
    survives(Act::Commit, Home::State, usize::MAX);
    survives(Act::Commit, Home::Workspace, 6);
    survives(Act::SmallCommit, Home::State, usize::MAX);
    survives(Act::SmallCommit, Home::Workspace, usize::MAX);
}

#[test]
fn a_prepared_commit_survives_the_loss_of_power() {
    survives(Act::PreparedCommit, Home::State, 6);
}

#[test]
fn a_commit_without_exchange_survives_the_loss_of_power() {
    survives(Act::PlainCommit, Home::State, 6);
}

#[test]
fn a_commit_that_fails_survives_the_loss_of_power() {
    survives(Act::FailedCommit, Home::State, 6);
}

#[test]
fn an_undo_survives_the_loss_of_power() {
    survives(Act::Undo, Home::State, usize::MAX);
    survives(Act::Undo, Home::Workspace, 6);
}

#[test]
fn a_sweep_survives_the_loss_of_power() {
    survives(Act::Sweep, Home::State, usize::MAX);
}

/// Every sync is necessary: without any one of them the act does not survive. This shows too that the model notices
/// what each sync is for.
#[test]
fn without_any_one_of_its_syncs_it_does_not_survive() {
    for act in [Act::SmallCommit, Act::Undo, Act::Sweep] {
        let played = Played::new(act, Home::State, Durability::Full);
        for sync in played.trace.syncs() {
            let cut = Cut { start: sync, without: Some(sync), first_only: true, ..EVERYWHERE };
            let (disks, faults) = played.faults(cut);
            let told = played.trace.told(sync);
            assert_eq!(faults.len(), 1, "{act:?} survives without {told} on {disks} disks");
        }
    }
}

/// With `Durability::Fast` a commit is not synced, so the model must find faults. A torn journal is reported as
/// damaged.
#[test]
fn what_is_not_synced_at_all_does_not_survive_and_what_is_torn_is_told() {
    let played = Played::new(Act::SmallCommit, Home::State, Durability::Fast);
    assert_eq!(played.trace.syncs().len(), 1, "that of the note on the workspace");
    let (_, faults) = played.faults(EVERYWHERE);
    for outcome in ["neither old nor new", "Damaged"] {
        assert!(faults.iter().any(|fault| fault.contains(outcome)), "{outcome}: {faults:?}");
    }
    // A damaged journal leaves the tree as it was found, because nothing may be guessed.
    for fault in faults.iter().filter(|fault| fault.contains("Damaged")) {
        let (found, left) = fault.split_once(", the tree was ").unwrap().1.split_once(", and is ").unwrap();
        assert_eq!(found, left, "{fault}");
    }
}
