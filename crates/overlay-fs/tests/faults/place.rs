use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::executor::block_on;
use headstart_overlay_fs::{
    ChangeSet, CommitOptions, CommitOutcome, Committed, Durability, OsOptions, OsTree, Overlay, Quota,
    TreeError, UndoLimit, Workspace, WorkspacePath,
};
use tempfile::TempDir;

pub(crate) fn path(text: &str) -> WorkspacePath {
    WorkspacePath::parse(text).unwrap()
}

/// The outcome of a commit that went through and has nothing to report.
#[expect(clippy::unnecessary_wraps, reason = "it is compared with what a commit returns")]
pub(crate) fn committed() -> Result<CommitOutcome, TreeError> {
    Ok(CommitOutcome::Committed(Committed::default()))
}

/// Where staging folders are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Home {
    Workspace,
    State,
}

pub(crate) const HOMES: [Home; 2] = [Home::Workspace, Home::State];

/// A workspace with everything that a change can touch, and a folder outside of it that nothing may touch.
pub(crate) struct Place {
    pub(crate) folder: Folder,
    pub(crate) home: Home,
    pub(crate) tree: Arc<OsTree>,
}

/// The folder of a place. The process that made it deletes it when the value is dropped.
pub(crate) struct Folder {
    path: PathBuf,
    temporary: Option<TempDir>,
}

impl Folder {
    pub(crate) fn path(&self) -> &Path {
        self.temporary.as_ref().map_or(&self.path, TempDir::path)
    }
}

/// What is at each path: permission bits, time of the last modification, and content.
pub(crate) type Snapshot = BTreeMap<PathBuf, (u32, i64, Vec<u8>)>;

/// A temporary folder, in memory if the system has such a place, because these tests sync thousands of times.
pub(crate) fn temporary() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// Waits for a tick of the clock. A file that changed within the current tick is not prepared, because another change
/// in that tick would not be noticed.
pub(crate) fn wait_a_tick() {
    std::thread::sleep(std::time::Duration::from_millis(25));
}

pub(crate) fn open(folder: &Path, home: Home) -> OsTree {
    open_at(folder, &folder.join("workspace"), home)
}

/// Opens the same workspace by another path.
pub(crate) fn open_at(folder: &Path, workspace: &Path, home: Home) -> OsTree {
    let state = (home == Home::State).then(|| folder.join("state"));
    let undo = UndoLimit { accepts: 3, bytes: 1024 * 1024 };
    let options = OsOptions { state, durability: Durability::Full, undo, ..OsOptions::default() };
    OsTree::open_with(workspace, options).unwrap()
}

impl Place {
    pub(crate) fn new(home: Home) -> Self {
        Self::at(temporary(), home)
    }

    /// A place that another process made.
    pub(crate) fn in_folder(folder: &Path, home: Home) -> Self {
        let tree = Arc::new(open(folder, home));
        Self { folder: Folder { path: folder.to_owned(), temporary: None }, home, tree }
    }

    pub(crate) fn at(folder: TempDir, home: Home) -> Self {
        let root = folder.path().join("workspace");
        fs::create_dir_all(root.join("dir/deep")).unwrap();
        fs::create_dir(root.join("empty")).unwrap();
        fs::create_dir(folder.path().join("outside")).unwrap();
        fs::set_permissions(root.join("empty"), fs::Permissions::from_mode(0o711)).unwrap();
        for file in ["changed", "removed", "bits", "dir/one", "dir/deep/two", "file then folder"] {
            fs::write(root.join(file), format!("old {file}\n")).unwrap();
        }
        fs::set_permissions(root.join("changed"), fs::Permissions::from_mode(0o640)).unwrap();
        symlink("changed", root.join("link")).unwrap();
        let tree = Arc::new(open(folder.path(), home));
        let folder = Folder { path: folder.path().to_owned(), temporary: Some(folder) };
        Self { folder, home, tree }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    pub(crate) fn outside(&self) -> PathBuf {
        self.folder.path().join("outside")
    }

    pub(crate) fn overlay(&self) -> Overlay {
        Overlay::new(self.tree.clone(), Quota::default())
    }

    /// Staged changes that need every kind of step.
    pub(crate) fn staged(&self) -> ChangeSet {
        let overlay = self.overlay();
        block_on(async {
            overlay.write(&path("changed"), b"new\n".to_vec()).await.unwrap();
            overlay.set_executable(&path("bits"), true).await.unwrap();
            overlay.remove(&path("removed")).await.unwrap();
            overlay.remove(&path("empty")).await.unwrap();
            overlay.write(&path("empty"), b"a file now\n".to_vec()).await.unwrap();
            overlay.rename(&path("dir"), &path("moved")).await.unwrap();
            overlay.rename(&path("link"), &path("other link")).await.unwrap();
            overlay.remove(&path("file then folder")).await.unwrap();
            overlay.write(&path("file then folder/inside"), b"in\n".to_vec()).await.unwrap();
            overlay.write(&path("new/folders/file"), b"n\n".to_vec()).await.unwrap();
        });
        overlay.change_set()
    }

    pub(crate) fn commit(&self, changes: &ChangeSet) -> Result<CommitOutcome, TreeError> {
        block_on(self.tree.commit(changes, CommitOptions::default()))
    }

    /// The workspace without its staging folders.
    pub(crate) fn snapshot(&self) -> Snapshot {
        snapshot(&self.root())
    }

    /// The staging folders that exist.
    pub(crate) fn stagings(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut todo = vec![self.root(), self.folder.path().join("state")];
        while let Some(at) = todo.pop() {
            for entry in fs::read_dir(&at).into_iter().flatten().map(Result::unwrap) {
                if is_staging(&entry.path()) {
                    found.push(entry.path());
                } else if entry.file_type().unwrap().is_dir() {
                    todo.push(entry.path());
                }
            }
        }
        found
    }
}

/// A snapshot without the times.
pub(crate) fn contents(snapshot: &Snapshot) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    snapshot.iter().map(|(at, (mode, _, content))| (at.clone(), (*mode, content.clone()))).collect()
}

pub(crate) fn is_staging(path: &Path) -> bool {
    path.file_name().unwrap().to_string_lossy().starts_with(".headstart-staging-")
}

pub(crate) fn snapshot(root: &Path) -> Snapshot {
    let mut found = BTreeMap::new();
    let mut todo = vec![root.to_owned()];
    while let Some(at) = todo.pop() {
        let metadata = fs::symlink_metadata(&at).unwrap();
        let (mut modified, content) = if metadata.is_file() {
            (metadata.mtime() * 1_000_000_000 + metadata.mtime_nsec(), fs::read(&at).unwrap())
        } else if metadata.is_symlink() {
            (0, fs::read_link(&at).unwrap().into_os_string().into_encoded_bytes())
        } else {
            let entries = fs::read_dir(&at).unwrap().map(|entry| entry.unwrap().path());
            todo.extend(entries.filter(|entry| !is_staging(entry)));
            (0, Vec::new())
        };
        if metadata.nlink() != 1 && metadata.is_file() {
            // The file has a second name that nobody gave it. The time marks it, so that snapshots differ.
            modified = -1;
        }
        found.insert(at.strip_prefix(root).unwrap().to_owned(), (metadata.mode(), modified, content));
    }
    found
}
