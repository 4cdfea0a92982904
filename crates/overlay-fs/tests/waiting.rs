//! Work that one process prepares and another one commits. Every tree here stands for a process of its own.
#![cfg(unix)]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the tests are the workspace's user"
)]
#![expect(clippy::unwrap_used, reason = "the helpers of tests may unwrap as tests do")]

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::executor::block_on;
use headstart_overlay_fs::failpoints::{self, FailAction};
use headstart_overlay_fs::{
    ChangeSet, CommitOptions, CommitOutcome, Committed, OsOptions, OsTree, Overlay, Preparing, Quota,
    SweepOutcome, UndoLimit, UndoOutcome, Workspace as _, WorkspacePath,
};

fn path(text: &str) -> WorkspacePath {
    WorkspacePath::parse(text).unwrap()
}

fn large() -> Vec<u8> {
    vec![b'x'; 200_000]
}

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(place.root().join("d")).unwrap();
        fs::write(place.root().join("text"), "one\ntwo\nthree\n").unwrap();
        fs::write(place.root().join("d/moved"), "moved\n").unwrap();
        place
    }

    fn root(&self) -> PathBuf {
        self.0.path().join("workspace")
    }

    fn tree(&self) -> Arc<OsTree> {
        let options = OsOptions {
            state: Some(self.0.path().join("state")),
            undo: UndoLimit { accepts: 3, bytes: 1 << 30 },
            prepare: Preparing::ForAnyProcess,
            ..OsOptions::default()
        };
        Arc::new(OsTree::open_with(self.root(), options).unwrap())
    }

    /// Prepares work, and drops the tree that prepared it.
    fn prepared(&self) -> ChangeSet {
        let tree = self.tree();
        let overlay = Overlay::new(tree.clone(), Quota::default());
        block_on(async {
            overlay.write(&path("text"), b"ONE\ntwo\nthree\n".to_vec()).await.unwrap();
            overlay.write(&path("new/large"), large()).await.unwrap();
            overlay.rename(&path("d"), &path("e")).await.unwrap();
            overlay.symlink(&path("link"), b"text").await.unwrap();
        });
        let changes = overlay.change_set();
        block_on(tree.prepare(&changes)).unwrap();
        changes
    }

    fn stagings(&self) -> Vec<PathBuf> {
        let Ok(homes) = fs::read_dir(self.0.path().join("state/staging")) else { return Vec::new() };
        let home = homes.map(|home| home.unwrap().path()).next().unwrap();
        let folders = fs::read_dir(home).unwrap().map(|entry| entry.unwrap().path());
        folders.filter(|at| at.is_dir()).collect()
    }

    /// The only staging folder that waits for a commit.
    fn waiting(&self) -> PathBuf {
        let mut found: Vec<_> =
            self.stagings().into_iter().filter(|at| at.join("waiting").exists()).collect();
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0)
    }

    fn is_committed(&self) {
        assert_eq!(fs::read_to_string(self.root().join("text")).unwrap(), "ONE\ntwo\nthree\n");
        assert_eq!(fs::read(self.root().join("new/large")).unwrap(), large());
        assert_eq!(fs::read_to_string(self.root().join("e/moved")).unwrap(), "moved\n");
        assert_eq!(fs::read_link(self.root().join("link")).unwrap(), Path::new("text"));
        assert!(!self.root().join("d").exists());
    }
}

fn commit(tree: &OsTree, changes: &ChangeSet) -> CommitOutcome {
    block_on(tree.commit(changes, CommitOptions::default())).unwrap()
}

fn committed() -> CommitOutcome {
    CommitOutcome::Committed(Committed::default())
}

/// The commit of another process moves the prepared files into place instead of writing them again.
#[test]
fn another_process_finds_it_and_moves_it() {
    let place = Place::new();
    let before = fs::metadata(place.root().join("text")).unwrap().ino();
    let changes = place.prepared();
    let inodes = |at: &Path| {
        let found = fs::read_dir(at).unwrap().map(|entry| entry.unwrap());
        found.map(|entry| entry.metadata().unwrap().ino()).collect::<Vec<_>>()
    };
    let waiting = inodes(&place.waiting());
    // The start of another process must leave the waiting work alone.
    assert_eq!(place.tree().tidy().unwrap()[0].outcome, SweepOutcome::Waiting);
    let tree = place.tree();
    assert_eq!(commit(&tree, &changes), committed());
    place.is_committed();
    for name in ["text", "new/large", "e/moved"] {
        assert!(
            waiting.contains(&fs::metadata(place.root().join(name)).unwrap().ino()),
            "{name} was written anew"
        );
    }
    assert_eq!(place.stagings().len(), 1, "what is left is kept for an undo");
    assert!(matches!(place.tree().undo(&changes), Ok(UndoOutcome::Undone { .. })));
    assert_eq!(fs::metadata(place.root().join("text")).unwrap().ino(), before);
}

/// Prepared work stays until its program forgets it, or a sweep is told that it is unwanted.
#[test]
fn it_stays_for_as_long_as_it_is_wanted() {
    let place = Place::new();
    let changes = place.prepared();
    let outcomes = |swept: Vec<headstart_overlay_fs::Swept>| {
        swept.into_iter().map(|one| one.outcome).collect::<Vec<_>>()
    };
    assert_eq!(outcomes(place.tree().sweep().unwrap()), [SweepOutcome::Waiting]);
    let wanted = [changes.digest()];
    assert_eq!(outcomes(place.tree().sweep_unwanted(&wanted).unwrap()), [SweepOutcome::Waiting]);
    place.waiting();
    assert_eq!(outcomes(place.tree().sweep_unwanted(&[]).unwrap()), [SweepOutcome::Removed]);
    assert_eq!(place.stagings(), Vec::<PathBuf>::new());

    let changes = place.prepared();
    place.tree().forget(&ChangeSet::default());
    place.waiting();
    place.tree().forget(&changes);
    assert_eq!(place.stagings(), Vec::<PathBuf>::new());
    assert_eq!(commit(&place.tree(), &changes), committed());
    place.is_committed();
}

/// After a conflict the prepared work stays for another try. A merge writes the merged file by itself.
#[test]
fn a_conflict_leaves_it_and_a_merge_does_without() {
    let place = Place::new();
    let changes = place.prepared();
    fs::write(place.root().join("text"), "1\ntwo\nthree\n").unwrap();
    assert!(matches!(commit(&place.tree(), &changes), CommitOutcome::Conflict(_)));
    place.waiting();
    fs::write(place.root().join("text"), "one\ntwo\nTHREE\n").unwrap();
    assert!(matches!(commit(&place.tree(), &changes), CommitOutcome::Committed(_)));
    assert_eq!(fs::read_to_string(place.root().join("text")).unwrap(), "ONE\ntwo\nTHREE\n");
    assert_eq!(place.stagings().len(), 1, "what is left is kept for an undo");
}

/// The file of this length in a folder.
fn file_of(at: &Path, size: u64) -> PathBuf {
    let mut found = fs::read_dir(at).unwrap().map(|entry| entry.unwrap().path());
    found.find(|file| file.is_file() && fs::metadata(file).unwrap().len() == size).unwrap()
}

/// Prepared work that was changed by somebody is not used, and the commit writes the files itself.
#[test]
fn whatever_was_done_to_it_the_commit_is_right() {
    type Attack = fn(&Path);
    let attacks: [(&str, Attack); 9] = [
        ("another content", |at| fs::write(file_of(at, 14), "EVIL\ntwo\nthre\n").unwrap()),
        ("another large content", |at| {
            let file = file_of(at, 200_000);
            let modified = fs::metadata(&file).unwrap().modified().unwrap();
            fs::write(&file, vec![b'y'; 200_000]).unwrap();
            fs::File::options().write(true).open(&file).unwrap().set_modified(modified).unwrap();
        }),
        ("gone", |at| fs::remove_file(file_of(at, 14)).unwrap()),
        ("a link in its place", |at| {
            let file = file_of(at, 14);
            fs::remove_file(&file).unwrap();
            std::os::unix::fs::symlink("/etc/passwd", file).unwrap();
        }),
        ("other stamps", |at| fs::write(at.join("waiting"), "[null, null, 7").unwrap()),
        ("no owner", |at| fs::remove_file(at.join(".gitignore")).unwrap()),
        ("an owner of whom nothing is told", |at| fs::write(at.join(".gitignore"), "*\n").unwrap()),
        ("open to others", |at| fs::set_permissions(at, fs::Permissions::from_mode(0o755)).unwrap()),
        ("other bits", |at| {
            fs::set_permissions(file_of(at, 200_000), fs::Permissions::from_mode(0o600)).unwrap();
        }),
    ];
    for (name, attack) in attacks {
        let place = Place::new();
        let changes = place.prepared();
        attack(&place.waiting());
        assert_eq!(commit(&place.tree(), &changes), committed(), "{name}");
        place.is_committed();
        let bits = |name: &str| fs::metadata(place.root().join(name)).unwrap().mode() & 0o777;
        fs::write(place.root().join("by hand"), "").unwrap();
        assert_eq!(bits("new/large"), bits("by hand"), "{name}");
    }
}

/// If several processes commit the same prepared work at once, exactly one does.
#[test]
fn of_many_that_commit_at_once_one_moves_it() {
    for _ in 0..5 {
        let place = Place::new();
        let changes = place.prepared();
        let outcomes: Vec<_> = std::thread::scope(|scope| {
            let commit = || commit(&place.tree(), &changes);
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(commit)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(outcomes.iter().filter(|outcome| **outcome == committed()).count(), 1, "{outcomes:?}");
        place.is_committed();
    }
}

/// Every call of the preparation and of the commit fails once. The tree must be the old one or the new one, the outcome
/// must be true, and nothing may be left except what an undo needs.
#[test]
fn a_call_that_fails_leaves_all_or_nothing() {
    let mut failed = 0;
    for at in 0.. {
        let place = Place::new();
        let tree = place.tree();
        let overlay = Overlay::new(tree.clone(), Quota::default());
        block_on(overlay.write(&path("text"), b"ONE\ntwo\nthree\n".to_vec())).unwrap();
        block_on(overlay.write(&path("new/large"), large())).unwrap();
        let changes = overlay.change_set();
        failpoints::arm(move |point| if point.number == at { FailAction::Fail(5) } else { FailAction::GoOn });
        let _ = block_on(tree.prepare(&changes));
        let outcome = block_on(place.tree().commit(&changes, CommitOptions::default()));
        let reached = failpoints::disarm();
        let text = fs::read_to_string(place.root().join("text")).unwrap();
        assert_eq!(text.starts_with("ONE"), outcome == Ok(committed()), "at {at}: {outcome:?}");
        assert_eq!(place.root().join("new").exists(), outcome == Ok(committed()), "at {at}: {outcome:?}");
        failed += usize::from(outcome.is_err());
        let tree = place.tree();
        assert_eq!(commit(&tree, &ChangeSet::default()), committed());
        tree.sweep_unwanted(&[]).unwrap();
        assert_eq!(place.stagings().len(), usize::from(outcome.is_ok()), "at {at}: {outcome:?}");
        if reached <= at {
            assert!(60 < at && 5 < failed, "{failed} of {at}");
            return;
        }
    }
}
