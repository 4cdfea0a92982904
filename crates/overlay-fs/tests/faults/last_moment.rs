//! A user who edits between the moment a commit has looked and the moment it acts must not lose the edit.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use futures::executor::block_on;
use headstart_overlay_fs::failpoints::{FailAction, FailPoint, arm, disarm};
use headstart_overlay_fs::{
    ChangeSet, CommitOutcome, Conflict, ConflictKind, SweepOutcome, TreeError, UndoOutcome, Workspace as _,
};

use crate::place::{HOMES, Home, Place, committed, contents, path, wait_a_tick};

/// Edits the workspace just before the first call of this kind for a name.
fn just_before(
    place: &Place,
    call: &'static str,
    name: &'static str,
    edit: fn(&Path),
) -> impl FnMut(&FailPoint<'_>) -> FailAction + 'static {
    let root = place.root();
    let mut is_done = false;
    move |point| {
        if !is_done && point.call == call && point.name == name.as_bytes() {
            is_done = true;
            edit(&root);
        }
        FailAction::GoOn
    }
}

fn commit(
    place: &Place,
    changes: &ChangeSet,
    plan: impl FnMut(&FailPoint<'_>) -> FailAction + 'static,
) -> Result<CommitOutcome, TreeError> {
    arm(plan);
    let outcome = place.commit(changes);
    disarm();
    outcome
}

type Edit = fn(&Path);

/// For each edit: the path of the conflict, the call before which the user edits, the name in that call, the edit, and
/// the kind of conflict.
const EDITS: [(&str, &str, &str, Edit, ConflictKind); 12] = [
    (
        "changed",
        "exchange",
        "changed",
        |root| fs::write(root.join("changed"), "user").unwrap(),
        ConflictKind::Modified,
    ),
    // The edit of an editor that writes a new file with the same length and puts the times back.
    (
        "changed",
        "exchange",
        "changed",
        |root| {
            let times = fs::metadata(root.join("changed")).unwrap();
            fs::write(root.join("saved"), "OLD changed\n").unwrap();
            let file = fs::File::options().write(true).open(root.join("saved")).unwrap();
            file.set_modified(times.modified().unwrap()).unwrap();
            fs::set_permissions(root.join("saved"), times.permissions()).unwrap();
            fs::rename(root.join("saved"), root.join("changed")).unwrap();
        },
        ConflictKind::Modified,
    ),
    // The same edit in place, so that not even the inode differs.
    (
        "changed",
        "exchange",
        "changed",
        |root| {
            let file = fs::File::options().write(true).open(root.join("changed")).unwrap();
            let times = file.metadata().unwrap();
            std::os::unix::fs::FileExt::write_all_at(&file, b"OLD", 0).unwrap();
            file.set_modified(times.modified().unwrap()).unwrap();
        },
        ConflictKind::Modified,
    ),
    (
        "changed",
        "exchange",
        "changed",
        |root| fs::set_permissions(root.join("changed"), fs::Permissions::from_mode(0o600)).unwrap(),
        ConflictKind::Modified,
    ),
    (
        "changed",
        "exchange",
        "changed",
        |root| fs::hard_link(root.join("changed"), root.join("twin")).unwrap(),
        ConflictKind::Modified,
    ),
    (
        "changed",
        "exchange",
        "changed",
        |root| fs::remove_file(root.join("changed")).unwrap(),
        ConflictKind::Deleted,
    ),
    (
        "changed",
        "exchange",
        "changed",
        |root| {
            fs::remove_file(root.join("changed")).unwrap();
            fs::create_dir(root.join("changed")).unwrap();
            fs::write(root.join("changed/inside"), "user").unwrap();
        },
        ConflictKind::Replaced,
    ),
    (
        "removed",
        "move",
        "0-old",
        |root| fs::write(root.join("removed"), "user").unwrap(),
        ConflictKind::Modified,
    ),
    (
        "dir",
        "remove folder",
        "dir",
        |root| fs::write(root.join("dir/user"), "user").unwrap(),
        ConflictKind::Modified,
    ),
    (
        "new/folders/file",
        "move",
        "file",
        |root| fs::write(root.join("new/folders/file"), "user").unwrap(),
        ConflictKind::Created,
    ),
    (
        "link",
        "move",
        "1-old",
        |root| {
            fs::remove_file(root.join("link")).unwrap();
            symlink("removed", root.join("link")).unwrap();
        },
        ConflictKind::Modified,
    ),
    ("link", "move", "1-old", |root| fs::remove_file(root.join("link")).unwrap(), ConflictKind::Deleted),
];

/// For each edit: the commit reports a conflict, and the workspace is as if there had been no commit.
#[test]
fn what_its_user_does_in_the_last_moment_is_seen_and_kept() {
    for (home, is_prepared) in [(Home::Workspace, false), (Home::State, false), (Home::State, true)] {
        for (number, (at, call, name, edit, kind)) in EDITS.into_iter().enumerate() {
            let place = Place::new(home);
            let changes = place.staged();
            if is_prepared {
                wait_a_tick();
                block_on(place.tree.prepare(&changes)).unwrap();
            }
            // What the workspace would be if the user had made the edit without any commit.
            let expected = {
                let other = Place::new(home);
                if at.starts_with("new") {
                    fs::create_dir_all(other.root().join("new/folders")).unwrap();
                }
                edit(&other.root());
                contents(&other.snapshot())
            };
            let names: Vec<_> = changes.changes.iter().map(|change| change.path.to_string()).collect();
            let outcome = commit(&place, &changes, just_before(&place, call, name, edit));
            let found = CommitOutcome::Conflict(vec![Conflict::new(path(at), kind)]);
            assert_eq!(outcome, Ok(found), "number {number} {names:?}");
            assert_eq!(contents(&place.snapshot()), expected, "number {number}");
            assert!(place.stagings().is_empty(), "number {number}");
        }
    }
}

#[test]
fn what_its_user_does_in_the_last_moment_of_an_undo_is_seen_and_kept() {
    let edits: [(&str, &str, &str, Edit, ConflictKind); 3] = [
        EDITS[0],
        (
            "new/folders/file",
            "look",
            "file",
            |root| fs::write(root.join("new/folders/file"), "user").unwrap(),
            ConflictKind::Modified,
        ),
        (
            "removed",
            "move",
            "removed",
            |root| fs::write(root.join("removed"), "user").unwrap(),
            ConflictKind::Created,
        ),
    ];
    for (number, (at, call, name, edit, kind)) in edits.into_iter().enumerate() {
        let place = Place::new(Home::State);
        let changes = place.staged();
        assert_eq!(place.commit(&changes), committed());
        let expected = {
            let other = Place::new(Home::State);
            assert_eq!(other.commit(&other.staged()), committed());
            edit(&other.root());
            contents(&other.snapshot())
        };
        arm(just_before(&place, call, name, edit));
        let outcome = place.tree.undo(&changes);
        disarm();
        let found = UndoOutcome::Conflict(vec![Conflict::new(path(at), kind)]);
        assert_eq!(outcome, Ok(found), "number {number}");
        assert_eq!(contents(&place.snapshot()), expected, "number {number}");
    }
}

/// A folder that was exchanged for a link just before the commit acts is not followed out of the workspace.
#[test]
fn a_folder_swapped_for_a_link_in_the_last_moment_is_not_followed() {
    let place = Place::new(Home::State);
    let overlay = place.overlay();
    block_on(overlay.write(&path("dir/one"), b"mine".to_vec())).unwrap();
    block_on(overlay.write(&path("dir/deep/new"), b"mine".to_vec())).unwrap();
    let outcome = commit(
        &place,
        &overlay.change_set(),
        just_before(&place, "rename", "applying", |root| {
            fs::rename(root.join("dir"), root.join("aside")).unwrap();
            symlink("../outside", root.join("dir")).unwrap();
        }),
    );
    assert!(matches!(outcome, Ok(CommitOutcome::Conflict(_))), "{outcome:?}");
    assert_eq!(fs::read_dir(place.outside()).unwrap().count(), 0);
    assert_eq!(fs::read_to_string(place.root().join("aside/one")).unwrap(), "old dir/one\n");
}

/// If the user has made a file again whose old content has to be put back, both are kept, and the error names the copy.
#[test]
fn what_cannot_be_put_back_is_kept_and_named() {
    let place = Place::new(Home::Workspace);
    let changes = place.staged();
    let root = place.root();
    let mut is_out = false;
    let outcome = commit(&place, &changes, move |point| {
        if point.call == "move" && point.name == b"0-old" {
            is_out = true;
        } else if is_out && point.call == "remove folder" {
            // The user makes the file again while its old content is moved away, and then the commit fails.
            is_out = false;
            fs::write(root.join("removed"), "user").unwrap();
            return FailAction::Fail(rustix::io::Errno::IO.raw_os_error());
        }
        FailAction::GoOn
    });
    let Err(TreeError::Io { path: at, message, .. }) = outcome else { panic!("{outcome:?}") };
    assert_eq!(at, path("removed"));
    let root = place.root();
    assert_eq!(fs::read_to_string(root.join("removed")).unwrap(), "user");
    let copy = message.rsplit(' ').next().unwrap();
    assert_eq!(fs::read_to_string(root.join(copy)).unwrap(), "old removed\n", "{message}");
    assert_eq!(fs::read_to_string(root.join("changed")).unwrap(), "old changed\n");
    assert_eq!(place.tree.sweep().unwrap()[0].outcome, SweepOutcome::Kept);
    assert!(root.join(copy).exists());
}

/// The user edits, in place, a file that the commit has already made: the length stays, and the time is put back. If
/// the commit is then taken back, the edit must stay.
#[test]
fn an_edit_of_what_is_taken_back_is_not_taken_for_ours() {
    for home in HOMES {
        let place = Place::new(home);
        let overlay = place.overlay();
        block_on(async {
            overlay.write(&path("changed"), b"work".to_vec()).await.unwrap();
            overlay.write(&path("made"), b"work".to_vec()).await.unwrap();
            overlay.write(&path("zz"), b"last".to_vec()).await.unwrap();
        });
        let root = place.root();
        let edited = ["changed", "made"].map(|name| root.join(name));
        let files = edited.clone();
        let outcome = commit(&place, &overlay.change_set(), move |point| {
            if point.call != "move" || point.name != b"zz" {
                return FailAction::GoOn;
            }
            for file in &files {
                let modified = fs::metadata(file).unwrap().modified().unwrap();
                fs::write(file, "user").unwrap();
                fs::File::options().write(true).open(file).unwrap().set_modified(modified).unwrap();
            }
            FailAction::Fail(5)
        });
        assert!(outcome.is_err(), "{outcome:?}");
        for file in edited {
            assert_eq!(fs::read_to_string(&file).unwrap(), "user", "{home:?}: {}", file.display());
        }
        assert!(!root.join("zz").exists());
    }
}
