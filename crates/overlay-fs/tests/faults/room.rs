//! When the accepts that are too old to be undone are removed.

use futures::executor::block_on;
use headstart_overlay_fs::{ChangeSet, CommitOptions, Workspace as _};

use crate::place::{HOMES, Place, committed, open, path};

/// As many as are kept; see `open`.
const KEPT: usize = 3;

fn change(place: &Place, number: usize) -> ChangeSet {
    let overlay = place.overlay();
    block_on(overlay.write(&path("changed"), number.to_string().into())).unwrap();
    overlay.change_set()
}

#[test]
fn an_accept_removes_old_ones_only_when_twice_as_many_are_there() {
    for home in HOMES {
        let place = Place::new(home);
        let mut most = 0;
        for number in 0..KEPT * 5 {
            let changes = change(&place, number);
            let before = place.stagings().len();
            assert_eq!(place.commit(&changes), committed());
            let after = place.stagings().len();
            assert!(after == before + 1 || after == KEPT, "{before} {after}");
            most = most.max(after);
        }
        assert!(KEPT < most && most <= 2 * KEPT, "{most}");
    }
}

/// Processes that are killed leave it to the others.
#[test]
fn it_counts_what_all_processes_kept() {
    for home in HOMES {
        let place = Place::new(home);
        for number in 0..KEPT * 5 {
            let changes = change(&place, number);
            let tree = std::mem::ManuallyDrop::new(open(place.folder.path(), home));
            assert_eq!(block_on(tree.commit(&changes, CommitOptions::default())), committed());
            assert!(place.stagings().len() <= 2 * KEPT, "{home:?}");
        }
    }
}

#[test]
fn a_prepare_a_sweep_and_the_end_make_room() {
    for home in HOMES {
        for moment in ["prepare", "sweep", "end"] {
            let mut place = Place::new(home);
            for number in 0..KEPT + 2 {
                assert_eq!(place.commit(&change(&place, number)), committed());
            }
            assert!(KEPT < place.stagings().len(), "{moment}");
            let left = match moment {
                // For the one that is about to be accepted.
                "prepare" => {
                    let changes = change(&place, KEPT + 2);
                    block_on(place.tree.prepare(&changes)).unwrap();
                    place.tree.forget(&changes);
                    KEPT - 1
                }
                "sweep" => {
                    place.tree.sweep().unwrap();
                    KEPT
                }
                _ => {
                    place.tree = std::sync::Arc::new(open(place.folder.path(), home));
                    KEPT
                }
            };
            assert_eq!(place.stagings().len(), left, "{home:?} {moment}");
        }
    }
}
