//! A commit that is told to may replace a file with several names: the others keep the content, and an undo makes all of
//! them names of one file again.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use futures::executor::block_on;
use headstart_overlay_fs::failpoints::{FailAction, arm, disarm};
use headstart_overlay_fs::{
    ChangeSet, CommitOptions, CommitOutcome, ConflictKind, Overlay, Quota, TreeError, UndoOutcome,
    Workspace as _,
};
use rustix::io::Errno;

use crate::place::{HOMES, Home, Place, committed, path};

/// A place in which the file `changed` has another name, and changes of it.
fn place_with_twin(home: Home) -> (Place, ChangeSet) {
    let place = Place::new(home);
    fs::hard_link(place.root().join("changed"), place.root().join("dir/twin")).unwrap();
    let overlay = Overlay::breaking_hard_links(place.tree.clone(), Quota::default());
    block_on(overlay.write(&path("changed"), b"new\n".to_vec())).unwrap();
    (place, overlay.change_set())
}

fn commit(place: &Place, changes: &ChangeSet) -> Result<CommitOutcome, TreeError> {
    let options = CommitOptions { breaks_hard_links: true, ..CommitOptions::default() };
    block_on(place.tree.commit(changes, options))
}

/// The contents of both names, and whether they are names of one file.
fn names(place: &Place) -> (String, String, bool) {
    let [one, other] = ["changed", "dir/twin"].map(|name| place.root().join(name));
    let inode = |at: &std::path::Path| fs::metadata(at).unwrap().ino();
    let is_one = inode(&one) == inode(&other);
    let read = |at: &std::path::Path| fs::read_to_string(at).unwrap();
    (read(&one), read(&other), is_one)
}

fn as_before() -> (String, String, bool) {
    ("old changed\n".to_owned(), "old changed\n".to_owned(), true)
}

fn parted() -> (String, String, bool) {
    ("new\n".to_owned(), "old changed\n".to_owned(), false)
}

#[test]
fn one_name_is_changed_and_an_undo_brings_back_the_file_that_both_name() {
    for home in HOMES {
        let (place, changes) = place_with_twin(home);
        // Whoever does not say that they are parted gets a conflict.
        let Ok(CommitOutcome::Conflict(conflicts)) = place.commit(&changes) else { panic!("{home:?}") };
        assert_eq!((conflicts.len(), conflicts[0].kind), (1, ConflictKind::Modified));
        assert_eq!(names(&place), as_before());
        let refused = block_on(place.overlay().write(&path("changed"), b"new\n".to_vec()));
        assert!(matches!(refused, Err(TreeError::Unsupported { .. })), "{refused:?}");

        assert_eq!(commit(&place, &changes), committed());
        assert_eq!(names(&place), parted());
        assert!(matches!(place.tree.undo(&changes), Ok(UndoOutcome::Undone { .. })));
        assert_eq!(names(&place), as_before());
        assert_eq!(commit(&place, &changes), committed());
        // What was parted may lose its other name, or get more.
        fs::hard_link(place.root().join("dir/twin"), place.root().join("dir/third")).unwrap();
        assert!(matches!(place.tree.undo(&changes), Ok(UndoOutcome::Undone { .. })));
        assert_eq!(names(&place), as_before());
        assert_eq!(commit(&place, &changes), committed());
        fs::remove_file(place.root().join("dir/twin")).unwrap();
        fs::remove_file(place.root().join("dir/third")).unwrap();
        assert!(matches!(place.tree.undo(&changes), Ok(UndoOutcome::Undone { .. })));
        assert_eq!(fs::read_to_string(place.root().join("changed")).unwrap(), "old changed\n");
    }
}

#[test]
fn what_is_saved_by_another_name_meanwhile_is_not_replaced() {
    let (place, changes) = place_with_twin(Home::State);
    fs::write(place.root().join("dir/twin"), "saved\n").unwrap();
    let Ok(CommitOutcome::Conflict(_)) = commit(&place, &changes) else { panic!("it is the same file") };
    assert_eq!(names(&place), ("saved\n".to_owned(), "saved\n".to_owned(), true));

    let (place, changes) = place_with_twin(Home::State);
    assert_eq!(commit(&place, &changes), committed());
    fs::write(place.root().join("dir/twin"), "saved\n").unwrap();
    assert!(place.tree.undo(&changes).is_err(), "what was kept is not as it was");
    assert_eq!(names(&place), ("new\n".to_owned(), "saved\n".to_owned(), false));
}

#[test]
fn a_commit_and_an_undo_that_fail_anywhere_leave_the_names_as_they_were() {
    for is_undo in [false, true] {
        let mut number = 0;
        loop {
            let (place, changes) = place_with_twin(Home::State);
            if is_undo {
                assert_eq!(commit(&place, &changes), committed());
            }
            let before = names(&place);
            arm(move |point| match point.number {
                at if at == number => FailAction::Fail(Errno::IO.raw_os_error()),
                _ => FailAction::GoOn,
            });
            let is_done = if is_undo {
                matches!(place.tree.undo(&changes), Ok(UndoOutcome::Undone { .. }))
            } else {
                commit(&place, &changes) == committed()
            };
            let reached = disarm();
            let after = if is_undo { as_before() } else { parted() };
            let expected = if is_done { after } else { before };
            assert_eq!(names(&place), expected, "call {number} of {reached}, undo: {is_undo}");
            if reached <= number {
                assert!(10 < number, "all calls: {number}");
                break;
            }
            number += 1;
        }
    }
}
