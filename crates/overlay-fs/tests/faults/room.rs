//! When accepts that are too old to be undone are removed.

use futures::executor::block_on;
use headstart_overlay_fs::{ChangeSet, CommitOptions, Workspace as _};

use crate::place::{HOMES, Place, committed, open, path};

/// How many accepts are kept; `open` sets the same limit.
const KEPT: usize = 3;

fn change(place: &Place, number: usize) -> ChangeSet {
    let overlay = place.overlay();
    block_on(overlay.write(&path("changed"), number.to_string().into())).unwrap();
    overlay.change_set()
}

/// An accept only makes room when twice as many are kept as are needed, so that most accepts have nothing to remove.
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

/// A process that is killed cannot make room for its accepts, so the next ones must.
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
                // A prepare also makes room for the accept that is about to follow.
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
