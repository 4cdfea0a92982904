//! Large files: a commit does not read them more often than it must, and yet notices every change.

use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use futures::executor::block_on;
use headstart_overlay_fs::failpoints::{FailAction, arm, disarm};
use headstart_overlay_fs::{
    ChangeSet, CommitOutcome, Conflict, ConflictKind, TreeError, UndoOutcome, Workspace as _,
};

use crate::place::{HOMES, Home, Place, committed, path};

const SIZE: usize = 300_000;
const NAMES: [&str; 3] = ["large 1", "large 2", "large 3"];

fn place(home: Home) -> (Place, ChangeSet) {
    let place = Place::new(home);
    let overlay = place.overlay();
    for name in NAMES {
        fs::write(place.root().join(name), vec![b'o'; SIZE]).unwrap();
        block_on(overlay.write(&path(name), vec![b'n'; SIZE])).unwrap();
    }
    (place, overlay.change_set())
}

/// Writes other content of the same length into the same inode, and puts the time of the last modification back.
fn edit_unseen(file: &Path, at: u64) {
    let file = fs::File::options().write(true).open(file).unwrap();
    let modified = file.metadata().unwrap().modified().unwrap();
    file.write_all_at(b"edited", at).unwrap();
    file.set_modified(modified).unwrap();
}

fn is_edited(file: &Path, at: u64) -> bool {
    let mut found = [0; 6];
    fs::File::open(file).unwrap().read_exact_at(&mut found, at).unwrap();
    found == *b"edited" && fs::metadata(file).unwrap().len() == SIZE as u64
}

/// An edit in a large file is noticed even if neither its length nor its time shows it.
#[test]
fn an_edit_in_place_that_keeps_size_and_time_is_seen_and_kept() {
    for home in HOMES {
        for is_prepared in [true, false] {
            for (at, moment) in [(0, "before"), (SIZE as u64 - 6, "exchange"), (SIZE as u64 / 2, "exchange")]
            {
                let (place, changes) = place(home);
                if is_prepared {
                    block_on(place.tree.prepare(&changes)).unwrap();
                }
                let file = place.root().join(NAMES[1]);
                if moment == "before" {
                    edit_unseen(&file, at);
                } else {
                    let mut is_done = false;
                    let file = file.clone();
                    arm(move |point| {
                        if !is_done && point.call == moment && point.name == NAMES[1].as_bytes() {
                            is_done = true;
                            edit_unseen(&file, at);
                        }
                        FailAction::GoOn
                    });
                }
                let outcome = place.commit(&changes);
                disarm();
                let Ok(CommitOutcome::Conflict(found)) = outcome else { panic!("{outcome:?}") };
                let told: Vec<_> = found.iter().map(|one| (&one.path, one.kind)).collect();
                assert_eq!(told, [(&path(NAMES[1]), ConflictKind::Modified)]);
                assert!(is_edited(&file, at), "{home:?} {is_prepared} {moment}");
                for name in [NAMES[0], NAMES[2]] {
                    assert_eq!(fs::read(place.root().join(name)).unwrap(), vec![b'o'; SIZE]);
                }
            }
        }
    }
}

/// A large prepared file that somebody changed is not put into the workspace.
#[test]
fn what_was_changed_in_a_large_prepared_file_is_not_put_in() {
    for (number, name) in NAMES.into_iter().enumerate() {
        let (place, changes) = place(Home::State);
        block_on(place.tree.prepare(&changes)).unwrap();
        edit_unseen(&place.stagings()[0].join(number.to_string()), SIZE as u64 - 6);
        let before = place.snapshot();
        let outcome = place.commit(&changes);
        let Err(TreeError::Io { path: at, message, .. }) = outcome else { panic!("{outcome:?}") };
        assert_eq!(at, path(name));
        assert!(message.contains("was changed by somebody else"), "{message}");
        assert_eq!(place.snapshot(), before);
        assert_eq!(place.commit(&changes), committed(), "staged anew");
    }
}

/// A user's edit after the accept makes an undo a conflict, even if neither length nor time shows it.
#[test]
fn what_is_changed_in_a_large_file_after_an_accept_is_not_undone() {
    let (place, changes) = place(Home::State);
    block_on(place.tree.prepare(&changes)).unwrap();
    assert_eq!(place.commit(&changes), committed());
    let file = place.root().join(NAMES[0]);
    edit_unseen(&file, 70_000);
    let found = vec![Conflict::new(path(NAMES[0]), ConflictKind::Modified)];
    assert_eq!(place.tree.undo(&changes), Ok(UndoOutcome::Conflict(found)));
    assert!(is_edited(&file, 70_000));
}
