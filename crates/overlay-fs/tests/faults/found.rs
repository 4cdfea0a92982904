//! Folders and files that look like a commit's own work but came with a project or were changed by somebody.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use futures::executor::block_on;
use headstart_overlay_fs::{ChangeSet, ContentHash, SweepOutcome, UndoOutcome};

use crate::place::{HOMES, Home, Place, committed, path};

const NAME: &str = ".headstart-staging-00000000000000000000000000000000";
const STEP: &str = r#"{"path":"dir/hook","action":"takeAway","name":"0-old"}"#;

/// A staging folder as an archive of a hostile project may contain it: private, with a journal whose hash is right.
fn shipped(place: &Place, phase: &str) -> PathBuf {
    let folder = place.root().join(NAME);
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    write_journal(&folder.join(phase), &format!(r#"{{"format":1,"steps":[{STEP}]}}"#));
    let changes = "0".repeat(32);
    let owner = format!(
        "*\n# {{\"process\":{{\"pid\":1,\"start\":\"1\",\"boot\":\"x\"}},\"changes\":\"{changes}\"}}\n"
    );
    fs::write(folder.join(".gitignore"), owner).unwrap();
    fs::write(folder.join("0-old"), "#!/bin/sh\necho owned\n").unwrap();
    folder
}

fn write_journal(at: &Path, body: &str) {
    fs::write(at, format!("{body}\n{}\n", ContentHash::of(body.as_bytes()))).unwrap();
}

/// A staging folder that came with the project is reported as foreign, whatever its journal says.
#[test]
fn a_journal_that_came_with_the_project_is_not_followed() {
    for phase in ["applying", "undoing", "committed", "undone", "kept"] {
        let place = Place::new(Home::State);
        let folder = shipped(&place, phase);
        let before = place.snapshot();
        let swept = place.tree.sweep().unwrap();
        assert_eq!(swept.len(), 1, "{phase}");
        assert_eq!((swept[0].name.as_str(), swept[0].outcome), (NAME, SweepOutcome::Foreign), "{phase}");
        assert_eq!(place.tree.undo_last().unwrap(), UndoOutcome::NotKept, "{phase}");
        assert_eq!(place.snapshot(), before, "{phase}");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 3, "{phase}");
        let changes = place.staged();
        assert_eq!(place.commit(&changes), committed(), "{phase}");
        assert!(
            !place.root().join("dir/hook").exists() && !place.root().join("moved/hook").exists(),
            "{phase}"
        );
    }
}

/// A link, folder, pipe or endless file in the place of a journal must not stop a sweep or a commit.
#[test]
fn what_is_no_journal_in_the_place_of_one_does_not_stop_the_work() {
    let in_its_place: [fn(&Path); 4] = [
        |at| symlink("committed", at).unwrap(),
        |at| fs::create_dir(at).unwrap(),
        // This file takes no room on the disk, but reading it would need all of the memory.
        |at| fs::File::create(at).unwrap().set_len(1 << 42).unwrap(),
        |at| assert!(Command::new("mkfifo").arg(at).status().unwrap().success()),
    ];
    for make in in_its_place {
        for name in ["applying", ".gitignore"] {
            let place = Place::new(Home::State);
            let folder = shipped(&place, "committed");
            let _ = fs::remove_file(folder.join(name));
            make(&folder.join(name));
            assert_eq!(place.tree.sweep().unwrap()[0].outcome, SweepOutcome::Foreign);
            assert_eq!(place.commit(&place.staged()), committed());
        }
    }
}

/// A capability was given to the old content of a program, so the new content must not have it.
#[test]
fn new_content_does_not_get_the_capabilities_of_the_old() {
    let place = Place::new(Home::State);
    let file = place.root().join("changed");
    // The capability cap_net_raw, permitted and effective.
    let capability = [1, 0, 0, 2, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let flags = rustix::fs::XattrFlags::empty();
    if rustix::fs::setxattr(&file, "security.capability", &capability, flags).is_err() {
        eprintln!("NOT TESTED: only the superuser can give a file capabilities");
        return;
    }
    rustix::fs::setxattr(&file, "user.mine", b"x", flags).unwrap();
    assert_eq!(place.commit(&place.staged()), committed());
    let mut value = [0; 64];
    rustix::fs::getxattr(&file, "user.mine", &mut value[..]).unwrap();
    let found = rustix::fs::getxattr(&file, "security.capability", &mut value[..]);
    assert_eq!(found, Err(rustix::io::Errno::NODATA));
}

/// Undoing the last accept must not depend on times, because the clock may be set back or be too coarse.
#[test]
fn the_last_accept_is_the_last_whatever_the_clock_says() {
    for round in 0..20 {
        let place = Place::new(Home::State);
        if round == 0 {
            // The clock was ahead when the first accept was made, and was set back since.
            assert_eq!(place.commit(&written(&place, "changed", "first\n")), committed());
            let ahead = std::time::SystemTime::now() + std::time::Duration::from_secs(1_000_000);
            let journal = fs::File::open(place.stagings()[0].join("committed")).unwrap();
            journal.set_modified(ahead).unwrap();
        } else {
            // Both accepts are made in one tick of the clock.
            assert_eq!(place.commit(&written(&place, "changed", "first\n")), committed());
        }
        let second = written(&place, "bits", "second\n");
        assert_eq!(place.commit(&second), committed());
        let UndoOutcome::Undone { changes, .. } = place.tree.undo_last().unwrap() else { panic!("{round}") };
        assert_eq!(changes, second.digest(), "{round}");
        assert_eq!(fs::read_to_string(place.root().join("changed")).unwrap(), "first\n", "{round}");
    }
}

fn written(place: &Place, at: &str, content: &str) -> ChangeSet {
    let overlay = place.overlay();
    block_on(overlay.write(&path(at), content.into())).unwrap();
    overlay.change_set()
}

/// If the last accept was too large to be kept, nothing can be undone, instead of an older accept being undone.
#[test]
fn where_the_last_accept_is_too_large_to_be_kept_no_older_one_is_taken_for_it() {
    for home in HOMES {
        let place = Place::new(home);
        fs::write(place.root().join("changed"), vec![b'x'; 2 * 1024 * 1024]).unwrap();
        let first = written(&place, "bits", "first\n");
        assert_eq!(place.commit(&first), committed());
        assert_eq!(place.commit(&written(&place, "changed", "second\n")), committed());
        let before = place.snapshot();
        assert_eq!(place.tree.undo_last().unwrap(), UndoOutcome::NotKept);
        assert_eq!(place.snapshot(), before);
        // The accept after it can be undone again.
        let third = written(&place, "bits", "third\n");
        assert_eq!(place.commit(&third), committed());
        assert!(matches!(place.tree.undo_last().unwrap(), UndoOutcome::Undone { .. }));
        assert_eq!(place.snapshot().len(), before.len());
    }
}
