//! What a process remembers of the staging folders, and what it sees all the same.

use std::time::Duration;

use futures::executor::block_on;
use headstart_overlay_fs::failpoints::{Then, arm, disarm};
use headstart_overlay_fs::{ChangeSet, UndoOutcome, Workspace as _};

use crate::killed::{dies, with_changes};
use crate::place::{HOMES, Home, Place, committed, contents, open, path};

fn another(place: &Place, text: &str) -> ChangeSet {
    let overlay = place.overlay();
    block_on(overlay.write(&path("another"), text.into())).unwrap();
    overlay.change_set()
}

/// A place with an accept that is to be undone, and two after it: each looks at what those before it left.
fn with_accepts(home: Home) -> (Place, ChangeSet) {
    let (place, changes) = with_changes(home);
    assert_eq!(place.commit(&changes), committed());
    for text in ["1", "2"] {
        // What is as young as a tick of the clock is looked at again in any case.
        std::thread::sleep(Duration::from_millis(25));
        assert_eq!(place.commit(&another(&place, text)), committed());
    }
    (place, changes)
}

/// What a process has seen to be ended can be half done a moment later, by another one.
#[test]
fn what_another_process_leaves_half_done_is_found_by_one_that_looked_there_before() {
    for home in HOMES {
        let (undone, calls) = {
            let (place, changes) = with_accepts(home);
            let other = open(place.folder.path(), home);
            arm(|_| Then::GoOn);
            assert!(matches!(other.undo(&changes), Ok(UndoOutcome::Undone { .. })));
            (contents(&place.snapshot()), disarm())
        };
        let mut found = 0;
        for number in (0..calls).step_by(calls / 12) {
            let (place, _) = with_accepts(home);
            let before = contents(&place.snapshot());
            // The last ones may not be reached: it looks for the accept among folders with random names.
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

/// An accept that finds what it knows looks at each that is kept, and opens none.
#[test]
fn what_is_kept_costs_an_accept_one_look_each() {
    let calls = |accepts: usize| {
        let place = Place::new(Home::State);
        for number in 0..accepts {
            std::thread::sleep(Duration::from_millis(25));
            assert_eq!(place.commit(&another(&place, &number.to_string())), committed());
        }
        let last = another(&place, "last");
        // It looks at those that are kept as well.
        std::thread::sleep(Duration::from_millis(25));
        block_on(place.tree.prepare(&last)).unwrap();
        arm(|_| Then::GoOn);
        assert_eq!(place.commit(&last), committed());
        disarm()
    };
    // A prepare leaves no more than two.
    let (one, two) = (calls(1), calls(2));
    assert_eq!(two, one + 1);
}
