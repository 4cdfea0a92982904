//! What a process remembers about the staging folders must not hide from it what other processes did there since.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures::executor::block_on;
use headstart_overlay_fs::failpoints::{FailAction, arm, disarm};
use headstart_overlay_fs::{ChangeSet, CommitOptions, TreeError, UndoOutcome, Workspace as _};

use crate::killed::{dies, with_changes};
use crate::place::{HOMES, Home, Place, committed, contents, open, path};

fn another(place: &Place, text: &str) -> ChangeSet {
    let overlay = place.overlay();
    block_on(overlay.write(&path("another"), text.into())).unwrap();
    overlay.change_set()
}

/// A place with an accept that is to be undone and two later ones, each of which looked at the folders of those before.
fn with_accepts(home: Home) -> (Place, ChangeSet) {
    let (place, changes) = with_changes(home);
    assert_eq!(place.commit(&changes), committed());
    for text in ["1", "2"] {
        // A folder that was changed within a tick of the clock is looked at again in any case, so the test waits.
        std::thread::sleep(Duration::from_millis(25));
        assert_eq!(place.commit(&another(&place, text)), committed());
    }
    (place, changes)
}

/// A folder that a process has seen to be finished may be half done a moment later, because of another process.
#[test]
fn what_another_process_leaves_half_done_is_found_by_one_that_looked_there_before() {
    for home in HOMES {
        let (undone, calls) = {
            let (place, changes) = with_accepts(home);
            let other = open(place.folder.path(), home);
            arm(|_| FailAction::GoOn);
            assert!(matches!(other.undo(&changes), Ok(UndoOutcome::Undone { .. })));
            (contents(&place.snapshot()), disarm())
        };
        let mut found = 0;
        for number in (0..calls).step_by(calls / 24) {
            let (place, _) = with_accepts(home);
            let before = contents(&place.snapshot());
            // The last calls may not be reached, because the accept is looked for among folders with random names.
            dies(&place, "undo", number);
            let last = another(&place, "3");
            assert_eq!(place.commit(&last), committed());
            let recovered = place.tree.recovered();
            assert!(matches!(place.tree.undo(&last), Ok(UndoOutcome::Undone { .. })));
            let after = contents(&place.snapshot());
            let is_whole = after == before || (recovered.is_empty() && after == undone);
            assert!(is_whole, "{home:?}, {number} of {calls}: {recovered:?}");
            found += recovered.len();
        }
        assert!(1 < found, "{home:?}: {found}");
    }
}

/// The folder that contains the staging folders.
fn home(place: &Place) -> PathBuf {
    let homes = fs::read_dir(place.folder.path().join("state/staging")).unwrap();
    homes.map(|home| home.unwrap().path()).next().unwrap()
}

/// How many calls an accept takes after this many others of the same process, and after `then`.
fn calls_of_accept(accepts: usize, then: impl Fn(&Place)) -> usize {
    let place = Place::new(Home::State);
    for number in 0..accepts {
        std::thread::sleep(Duration::from_millis(25));
        assert_eq!(place.commit(&another(&place, &number.to_string())), committed());
    }
    let last = another(&place, "last");
    block_on(place.tree.prepare(&last)).unwrap();
    then(&place);
    arm(|_| FailAction::GoOn);
    assert_eq!(place.commit(&last), committed());
    disarm()
}

/// Accepts that are kept do not add system calls to the next one.
#[test]
fn what_is_kept_costs_an_accept_nothing() {
    // Two accepts are the most that a prepare leaves.
    let [one, two] = [1, 2].map(|accepts| calls_of_accept(accepts, |_| {}));
    assert_eq!(two, one);
}

/// Another process that had a turn in between may have left something half done.
#[test]
fn after_the_turn_of_another_an_accept_looks_again() {
    let turn = |place: &Place| home(place).join("turn");
    let alone = calls_of_accept(2, |_| {});
    let with_another = calls_of_accept(2, |place| {
        let other = open(place.folder.path(), Home::State);
        assert_eq!(block_on(other.commit(&ChangeSet::default(), CommitOptions::default())), committed());
    });
    assert!(alone + 2 <= with_another, "{alone} {with_another}");
    let forgotten = calls_of_accept(2, |place| fs::remove_file(turn(place)).unwrap());
    assert!(alone + 2 <= forgotten, "{alone} {forgotten}");
    let replaced = calls_of_accept(2, |place| {
        let mine = fs::read(turn(place)).unwrap();
        fs::rename(turn(place), home(place).join("workspace-draft")).unwrap();
        fs::write(turn(place), mine).unwrap();
    });
    assert!(alone + 2 <= replaced, "{alone} {replaced}");
}

/// A link in the place of the turn file must not make a commit write to another file.
#[test]
fn what_is_no_file_in_the_place_of_the_turn_is_not_written_to() {
    let place = Place::new(Home::State);
    // The first accept makes the folder.
    for text in ["0", "1"] {
        assert_eq!(place.commit(&another(&place, text)), committed());
    }
    let (turn, victim) = (home(&place).join("turn"), place.folder.path().join("victim"));
    fs::write(&victim, "a text that is longer than a turn").unwrap();
    for attack in
        [|from: &Path, to: &Path| symlink(from, to), |from: &Path, to: &Path| fs::hard_link(from, to)]
    {
        fs::remove_file(&turn).unwrap();
        attack(&victim, &turn).unwrap();
        let outcome = place.commit(&another(&place, "2"));
        assert!(
            matches!(&outcome, Err(TreeError::Io { message, .. }) if message.contains("none of ours")),
            "{outcome:?}"
        );
        assert_eq!(fs::read_to_string(&victim).unwrap(), "a text that is longer than a turn");
    }
}
