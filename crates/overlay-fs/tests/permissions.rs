//! Permission bits that work gave to files and folders, and what a user may not change: it is refused when it is staged.
#![cfg(target_os = "linux")]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the tests are the workspace's user"
)]
#![expect(clippy::unwrap_used, reason = "the helpers of tests may unwrap as tests do")]

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::executor::block_on;
use headstart_overlay_fs::{
    Change, ChangeKind, ChangeSet, CommitOptions, CommitOutcome, OsOptions, OsTree, Overlay, Preparing,
    Quota, Tree, UndoLimit, UndoOutcome, Workspace, WorkspacePath,
};

fn path(text: &str) -> WorkspacePath {
    WorkspacePath::parse(text).unwrap()
}

fn is_superuser() -> bool {
    rustix::process::geteuid().is_root()
}

/// A user whom permission bits stop: the one who runs the tests, unless that is the superuser.
fn other_user() -> u32 {
    if is_superuser() { 12_345 } else { rustix::process::geteuid().as_raw() }
}

/// A workspace, with or without a state folder.
struct Place {
    temporary: tempfile::TempDir,
    state: bool,
}

impl Place {
    fn new(state: bool) -> Self {
        let place = Self { temporary: tempfile::tempdir().unwrap(), state };
        for folder in ["workspace", "state"] {
            fs::create_dir(place.at(folder)).unwrap();
        }
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.temporary.path().join(name)
    }

    fn options(&self) -> OsOptions {
        OsOptions {
            state: self.state.then(|| self.at("state")),
            undo: UndoLimit { accepts: 5, bytes: 1 << 20 },
            ..OsOptions::default()
        }
    }

    fn tree(&self) -> Arc<OsTree> {
        Arc::new(OsTree::open_with(self.at("workspace"), self.options()).unwrap())
    }
}

/// A new file or folder has exactly the bits that the work gave it, whatever the umask of whoever accepts leaves, and
/// whether the content was prepared or not; a file that was there has them as far as its user changed none meanwhile.
#[test]
fn bits_that_the_work_gave_are_those_that_an_accept_makes() {
    for (state, preparing) in
        [(true, Preparing::ForThisTree), (true, Preparing::ForAnyProcess), (false, Preparing::Never)]
    {
        let place = Place::new(state);
        let root = place.at("workspace");
        for (name, mode) in [("file", 0o644), ("tightened", 0o664), ("loose", 0o600)] {
            fs::write(root.join(name), "old").unwrap();
            fs::set_permissions(root.join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        let open = || {
            Arc::new(OsTree::open_with(&root, OsOptions { prepare: preparing, ..place.options() }).unwrap())
        };
        let tree = open();
        let overlay = Overlay::new(tree.clone(), Quota::default());
        block_on(async {
            for name in ["file", "tightened", "loose", "key", "d/deep", "program", "group"] {
                overlay.write(&path(name), b"new".to_vec()).await.unwrap();
            }
            overlay.set_executable(&path("program"), true).await.unwrap();
            overlay.create_dir(&path("d")).await.unwrap_err();
            overlay.create_dir(&path("e")).await.unwrap();
        });
        let mut changes = overlay.change_set();
        let given = [
            ("file", 0o600),
            ("tightened", 0o644),
            ("loose", 0o640),
            ("key", 0o600),
            ("d/deep", 0o444),
            ("program", 0o700),
            ("group", 0o666),
            ("e", 0o2770),
        ];
        for change in &mut changes.changes {
            let mode = given.iter().find(|(name, _)| change.path == path(name));
            change.mode = mode.map(|(_, mode)| *mode);
        }
        block_on(tree.prepare(&changes)).unwrap();
        drop(tree);
        // The work took the group's right to write away, and the user everybody else's to read.
        fs::set_permissions(root.join("tightened"), fs::Permissions::from_mode(0o660)).unwrap();
        let tree = open();
        let outcome = block_on(tree.commit(&changes, CommitOptions::default())).unwrap();
        assert!(matches!(outcome, CommitOutcome::Committed(_)), "{outcome:?}");
        let mode = |name: &str| fs::metadata(root.join(name)).unwrap().mode() & 0o7777;
        for (name, expected) in given {
            let expected = if name == "tightened" { 0o640 } else { expected };
            assert_eq!(mode(name), expected, "{name} has {:o}: {preparing:?}", mode(name));
        }
        assert!(matches!(tree.undo_last().unwrap(), UndoOutcome::Undone { .. }));
        assert_eq!((mode("file"), mode("loose")), (0o644, 0o600));
    }
}

/// Work that made a file writable itself, as a command does before it writes, gets both.
#[test]
fn a_file_that_the_work_made_writable_is_replaced_with_its_new_bits() {
    let place = Place::new(true);
    let file = place.at("workspace/file");
    fs::write(&file, "one\n").unwrap();
    let tree = place.tree();
    let overlay = Overlay::new(tree.clone(), Quota::default());
    block_on(overlay.write(&path("file"), b"two\n".to_vec())).unwrap();
    let mut changes = overlay.change_set();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
    let base = block_on(tree.metadata(&path("file"))).unwrap().fingerprint;
    (changes.changes[0].base, changes.changes[0].mode) = (Some(base), Some(0o644));
    let outcome = block_on(tree.commit(&changes, CommitOptions::default())).unwrap();
    assert!(matches!(outcome, CommitOutcome::Committed(_)), "{outcome:?}");
    let mode = |at: &Path| fs::metadata(at).unwrap().mode() & 0o777;
    assert_eq!((fs::read_to_string(&file).unwrap().as_str(), mode(&file)), ("two\n", 0o644));
    assert!(matches!(tree.undo_last().unwrap(), UndoOutcome::Undone { .. }));
    assert_eq!((fs::read_to_string(&file).unwrap().as_str(), mode(&file)), ("one\n", 0o444));
}

/// The accept would refuse it, so it is said when the bits are taken back.
#[test]
fn work_that_takes_back_that_a_file_is_writable_is_refused_when_it_does() {
    let place = Place::new(true);
    let file = place.at("workspace/file");
    fs::write(&file, "one\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
    let tree = place.tree();
    let base = block_on(tree.metadata(&path("file"))).unwrap().fingerprint;
    let overlay = Overlay::new(tree, Quota::default());
    let written = |mode: Option<u32>| ChangeSet {
        changes: vec![Change {
            path: path("file"),
            base: Some(base.clone()),
            base_content: Some(b"one\n"[..].into()),
            kind: ChangeKind::Write { content: b"two\n"[..].into(), executable: false, moved_from: None },
            mode,
        }],
        ..ChangeSet::default()
    };
    let opened = written(Some(0o644));
    block_on(overlay.check_replacement(&opened.changes)).unwrap();
    overlay.replace(&opened).unwrap();
    let refused = block_on(overlay.check_replacement(&written(None).changes));
    assert!(refused.is_err_and(|error| error.to_string().contains("the file is read-only")));
}

/// Nothing can be staged in a folder that this user may not write, wherever the missing folders above begin.
#[test]
fn what_is_in_a_folder_that_may_not_be_written_is_refused_when_it_is_staged() {
    let place = Place::new(true);
    let folder = place.at("workspace/folder");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("file"), "one\n").unwrap();
    for at in [place.at(""), place.at("workspace"), place.at("state"), folder.clone(), folder.join("file")] {
        chown(at, Some(other_user()), None).unwrap();
    }
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let user = rustix::fs::Uid::from_raw(other_user());
            rustix::thread::set_thread_res_uid(user, user, user).unwrap();
            let overlay = Overlay::new(place.tree(), Quota::default());
            let refused = [
                block_on(overlay.write(&path("folder/file"), b"two\n".to_vec())),
                block_on(overlay.write(&path("folder/new"), b"two\n".to_vec())),
                block_on(overlay.create_dir(&path("folder/a/b"))),
                block_on(overlay.remove(&path("folder/file"))),
                block_on(overlay.rename(&path("folder/file"), &path("file"))),
            ];
            for refused in refused {
                let error = refused.unwrap_err().to_string();
                assert!(error.contains("the folder folder may not be written"), "{error}");
            }
            assert!(overlay.change_set().is_empty());
        });
    });
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Only the superuser can make a file immutable, and only on some file systems; elsewhere there is nothing to test.
#[test]
fn an_immutable_file_is_refused_when_it_is_staged() {
    let place = Place::new(true);
    let file = place.at("workspace/file");
    fs::write(&file, "one\n").unwrap();
    let open = fs::File::open(&file).unwrap();
    let flags = match rustix::fs::ioctl_getflags(&open) {
        Ok(flags) if is_superuser() => flags,
        _ => return,
    };
    if rustix::fs::ioctl_setflags(&open, flags | rustix::fs::IFlags::IMMUTABLE).is_err() {
        return;
    }
    let overlay = Overlay::new(place.tree(), Quota::default());
    let refused = [
        block_on(overlay.write(&path("file"), b"two\n".to_vec())),
        block_on(overlay.remove(&path("file"))),
        block_on(overlay.rename(&path("file"), &path("moved"))),
    ];
    rustix::fs::ioctl_setflags(&open, flags).unwrap();
    for refused in refused {
        let error = refused.unwrap_err().to_string();
        assert!(error.contains("it is immutable"), "{error}");
    }
    block_on(overlay.write(&path("file"), b"two\n".to_vec())).unwrap();
}
