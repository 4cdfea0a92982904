use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::executor::block_on;
use headstart_overlay_fs::{
    ChangeSet, CommitOptions, CommitOutcome, Durability, OsOptions, OsTree, Overlay, Quota, UndoLimit,
    Workspace as _, WorkspacePath,
};

pub(crate) const FILE: usize = 4096;

/// How many accepts are kept for an undo, as many as the program keeps.
const KEPT: usize = 20;

pub(crate) fn path(text: &str) -> WorkspacePath {
    WorkspacePath::parse(text).unwrap()
}

/// How many files are in one folder.
const IN_FOLDER: usize = 10;

/// How long to wait after a change of a file until another change is sure to get another time.
const A_WHILE: Duration = Duration::from_millis(25);

/// A workspace with some files, ten per folder, a folder with the same files to copy from, and a state folder.
pub(crate) struct Place {
    folder: PathBuf,
    /// The same folder, or one on another file system.
    other: PathBuf,
    files: Vec<String>,
    size: usize,
    round: Cell<u64>,
}

impl Place {
    pub(crate) fn new(folder: PathBuf, files: usize, size: usize) -> Self {
        Self::across(folder.clone(), folder, files, size)
    }

    /// Puts the workspace into one folder; the state, and the folder that a copy copies from, go into another one.
    pub(crate) fn across(folder: PathBuf, other: PathBuf, files: usize, size: usize) -> Self {
        let files = (0..files).map(|number| format!("folder{}/file{number}", number / IN_FOLDER)).collect();
        let place = Self { folder, other, files, size, round: Cell::new(0) };
        for root in [place.root(), place.source()] {
            place.fill(&root);
        }
        fs::create_dir(place.attic()).unwrap();
        place
    }

    /// Makes the files in a folder.
    pub(crate) fn fill(&self, root: &Path) {
        for file in &self.files {
            let at = root.join(file);
            fs::create_dir_all(at.parent().unwrap()).unwrap();
            fs::write(at, vec![b'x'; self.size]).unwrap();
        }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.join("workspace")
    }

    fn source(&self) -> PathBuf {
        self.other.join("source")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.other.join("state")
    }

    fn attic(&self) -> PathBuf {
        self.folder.join("attic")
    }

    pub(crate) fn tree(&self, durability: Durability) -> Arc<OsTree> {
        let undo = UndoLimit { accepts: 2 * KEPT, bytes: u64::MAX };
        let options = OsOptions { state: Some(self.state()), durability, undo, ..OsOptions::default() };
        Arc::new(OsTree::open_with(self.root(), options).unwrap())
    }

    pub(crate) fn copy_over_existing(&self) {
        for file in &self.files {
            fs::copy(self.source().join(file), self.root().join(file)).unwrap();
        }
    }

    /// Copies and then syncs everything, which is what `Durability::Full` promises.
    pub(crate) fn copy_and_sync(&self) {
        self.copy_over_existing();
        for file in &self.files {
            fs::File::open(self.root().join(file)).unwrap().sync_all().unwrap();
        }
        for folder in fs::read_dir(self.root()).unwrap().map(Result::unwrap) {
            if folder.file_type().unwrap().is_dir() {
                fs::File::open(folder.path()).unwrap().sync_all().unwrap();
            }
        }
    }

    /// Waits until nobody has written to the workspace for a while, as when a user reads an answer.
    pub(crate) fn wait() {
        std::thread::sleep(A_WHILE);
    }

    /// Stages new content for all files.
    pub(crate) fn staged(&self, tree: &Arc<OsTree>) -> ChangeSet {
        self.put_away();
        self.round.set(self.round.get() + 1);
        let mut content = vec![b'y'; self.size];
        content[..8].copy_from_slice(&self.round.get().to_le_bytes());
        let overlay = Overlay::new(tree.clone(), Quota { bytes: u64::MAX, ..Quota::default() });
        for file in &self.files {
            block_on(overlay.write(&path(file), content.clone())).unwrap();
        }
        overlay.change_set()
    }

    pub(crate) fn prepared(&self, tree: &Arc<OsTree>) -> ChangeSet {
        let changes = self.staged(tree);
        block_on(tree.prepare(&changes)).unwrap();
        changes
    }

    pub(crate) fn committed(&self, tree: &Arc<OsTree>) -> ChangeSet {
        commit(tree, self.prepared(tree))
    }

    /// Moves accepts beyond the usual number out of the staging folders, so that no measured accept has to remove them.
    fn put_away(&self) {
        let Ok(homes) = fs::read_dir(self.state().join("staging")) else { return };
        let homes = homes.map(|home| home.unwrap().path()).chain([self.root()]);
        for home in homes {
            let names = fs::read_dir(home).unwrap().map(|entry| entry.unwrap().path());
            let is_staging = |path: &PathBuf| path.to_string_lossy().contains("/.headstart-staging-");
            let mut kept: Vec<_> = names.filter(is_staging).collect();
            kept.sort_by_key(|path| fs::metadata(path).unwrap().modified().unwrap());
            for path in kept.iter().rev().skip(KEPT) {
                // A folder on another file system than the attic cannot be moved. It stays, and a few more are seen
                // then.
                let _ = fs::rename(path, self.attic().join(path.file_name().unwrap()));
            }
        }
    }
}

/// Commits, and returns the changes so that the time to free their memory is not measured.
pub(crate) fn commit(tree: &Arc<OsTree>, changes: ChangeSet) -> ChangeSet {
    let outcome = block_on(tree.commit(&changes, CommitOptions::default())).unwrap();
    assert!(matches!(outcome, CommitOutcome::Committed(_)));
    changes
}
