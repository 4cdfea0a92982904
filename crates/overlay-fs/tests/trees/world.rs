//! A workspace, and its user, who edits it without the overlay's knowledge.

use std::collections::BTreeMap;

use futures::executor::block_on;
use headstart_overlay_fs::{
    ChangeSet, CommitOptions, CommitOutcome, EntryKind, MemoryTree, Tree, TreeError, Workspace, WorkspacePath,
};

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Node {
    Folder,
    File(Vec<u8>, bool),
    Link(Vec<u8>),
    Special,
}

/// A whole tree.
pub(crate) type Nodes = BTreeMap<WorkspacePath, Node>;

pub(crate) fn path(text: &str) -> WorkspacePath {
    WorkspacePath::parse(text).unwrap()
}

pub(crate) fn file(content: impl Into<Vec<u8>>) -> Node {
    Node::File(content.into(), false)
}

pub(crate) trait World: Workspace + Sized + 'static {
    fn empty() -> Self;

    /// Puts this at the path in place of what is there, and makes the folders above it. An existing file is written,
    /// not replaced.
    fn put(&self, at: &WorkspacePath, node: &Node);

    /// Removes what is at the path and below it.
    fn remove(&self, at: &WorkspacePath);

    fn of(nodes: &Nodes) -> Self {
        let world = Self::empty();
        for (at, node) in nodes {
            world.put(at, node);
        }
        world
    }

    /// Commits in a process that dies before its system call of this number, unless it is done by then. The next
    /// process recovers. `None` if the process died before it could report its outcome.
    fn commit_and_die(
        &self,
        set: &ChangeSet,
        options: CommitOptions,
        _call: usize,
    ) -> Option<Result<CommitOutcome, TreeError>> {
        Some(block_on(self.commit(set, options)))
    }

    /// Undoes the commit of these changes. `None` if this world keeps nothing for an undo.
    fn undo(&self, _set: &ChangeSet) -> Option<Undone> {
        None
    }

    /// Undoes in a process that dies; see [`commit_and_die`](Self::commit_and_die).
    fn undo_and_die(&self, _set: &ChangeSet, _call: usize) {}
}

/// The outcome of an undo.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(not(feature = "os"), expect(dead_code, reason = "only the tree on disk keeps what an undo needs"))]
pub(crate) enum Undone {
    Yes,
    Conflict(Vec<WorkspacePath>),
    NotKept,
}

/// Everything in a tree, as somebody else who walks it would see it.
pub(crate) fn snapshot(tree: &dyn Tree) -> Nodes {
    let mut found = Nodes::new();
    let mut todo = vec![WorkspacePath::root()];
    while let Some(folder) = todo.pop() {
        let listed = block_on(tree.list(&folder)).unwrap();
        assert!(listed.is_sorted());
        for entry in listed {
            let at = folder.join_bytes(&entry.name).unwrap();
            let metadata = block_on(tree.metadata(&at)).unwrap();
            assert_eq!(metadata.kind, entry.kind, "{at}");
            let node = match entry.kind {
                EntryKind::Directory => Node::Folder,
                EntryKind::File => Node::File(block_on(tree.read(&at)).unwrap(), metadata.executable),
                EntryKind::Symlink => Node::Link(block_on(tree.read_link(&at)).unwrap()),
                EntryKind::Other => Node::Special,
            };
            if let Node::File(content, _) | Node::Link(content) = &node {
                assert_eq!(metadata.len, content.len() as u64, "{at}");
            }
            todo.extend((node == Node::Folder).then(|| at.clone()));
            found.insert(at, node);
        }
    }
    found
}

impl World for MemoryTree {
    fn empty() -> Self {
        Self::new()
    }

    fn put(&self, at: &WorkspacePath, node: &Node) {
        match node {
            Node::Folder => self.make_dir(at),
            Node::Link(target) => self.link(at, target.as_slice()),
            Node::Special => self.special(at),
            Node::File(content, executable) => {
                self.write(at, content.as_slice());
                self.make_executable(at, *executable);
            }
        }
    }

    fn remove(&self, at: &WorkspacePath) {
        MemoryTree::remove(self, at);
    }
}

#[cfg(all(feature = "os", unix))]
pub(crate) use disk::Disk;

#[cfg(all(feature = "os", unix))]
mod disk {
    #![expect(
        clippy::disallowed_methods,
        reason = "the tests are the workspace's user, who edits it directly"
    )]

    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::path::PathBuf;
    use std::sync::{Arc, Mutex};

    use async_trait::async_trait;
    use headstart_overlay_fs::{DirEntry, Metadata, OsOptions, OsTree, UndoLimit, UndoOutcome};
    use rustix::fs::{CWD, FileType, mknodat};

    use super::{
        ChangeSet, CommitOptions, CommitOutcome, Node, Nodes, Tree, TreeError, Undone, Workspace,
        WorkspacePath, World, block_on,
    };

    /// A workspace on a real disk in a temporary folder, with or without a state folder beside it.
    pub(crate) struct Disk {
        folder: tempfile::TempDir,
        has_state: bool,
        tree: Mutex<Arc<OsTree>>,
    }

    impl Disk {
        fn new(has_state: bool) -> Self {
            // The folder is in memory if the system has such a place, because histories sync all the time.
            let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
            fs::create_dir(folder.path().join("workspace")).unwrap();
            let tree = Mutex::new(Arc::new(open(&folder, has_state)));
            Self { folder, has_state, tree }
        }

        fn at(&self, path: &WorkspacePath) -> PathBuf {
            self.folder.path().join("workspace").join(OsStr::from_bytes(path.as_bytes()))
        }

        fn tree(&self) -> Arc<OsTree> {
            self.tree.lock().unwrap().clone()
        }

        /// Runs on a disk that fails from this system call on. Then another process is simulated, which recovers.
        fn dying<T>(&self, call: usize, run: impl FnOnce(&OsTree) -> T) -> T {
            gone_from(call);
            let outcome = run(&self.tree());
            drop(std::mem::replace(
                &mut *self.tree.lock().unwrap(),
                Arc::new(open(&self.folder, self.has_state)),
            ));
            back_again();
            // A host tidies when it starts.
            self.tree().tidy().unwrap();
            outcome
        }
    }

    fn open(folder: &tempfile::TempDir, has_state: bool) -> OsTree {
        let state = has_state.then(|| folder.path().join("state"));
        let undo = UndoLimit { accepts: 100, bytes: u64::MAX };
        let options = OsOptions { state, undo, ..OsOptions::default() };
        OsTree::open_with(folder.path().join("workspace"), options).unwrap()
    }

    #[cfg(feature = "failpoints")]
    fn gone_from(call: usize) {
        use headstart_overlay_fs::failpoints::{FailAction, arm};
        arm(move |point| match point.number {
            number if number < call => FailAction::GoOn,
            _ => FailAction::Fail(rustix::io::Errno::IO.raw_os_error()),
        });
    }

    #[cfg(feature = "failpoints")]
    fn back_again() {
        headstart_overlay_fs::failpoints::disarm();
    }

    /// Without the feature `failpoints` nothing dies.
    #[cfg(not(feature = "failpoints"))]
    fn gone_from(_call: usize) {}

    #[cfg(not(feature = "failpoints"))]
    fn back_again() {}

    impl World for Disk {
        fn empty() -> Self {
            Self::new(true)
        }

        fn of(nodes: &Nodes) -> Self {
            let world = Self::new(nodes.len().is_multiple_of(2));
            for (at, node) in nodes {
                world.put(at, node);
            }
            world
        }

        fn commit_and_die(
            &self,
            set: &ChangeSet,
            options: CommitOptions,
            call: usize,
        ) -> Option<Result<CommitOutcome, TreeError>> {
            let outcome = self.dying(call, |tree| block_on(tree.commit(set, options)));
            outcome.is_ok().then_some(outcome)
        }

        fn undo(&self, set: &ChangeSet) -> Option<Undone> {
            Some(match self.tree().undo(set).unwrap() {
                UndoOutcome::Undone { .. } => Undone::Yes,
                UndoOutcome::Conflict(found) => {
                    Undone::Conflict(found.into_iter().map(|conflict| conflict.path).collect())
                }
                _ => Undone::NotKept,
            })
        }

        fn undo_and_die(&self, set: &ChangeSet, call: usize) {
            // It died before it could report its outcome.
            let _ = self.dying(call, |tree| tree.undo(set));
        }

        fn put(&self, path: &WorkspacePath, node: &Node) {
            let at = self.at(path);
            let found = fs::symlink_metadata(&at).ok();
            let is_same = match (&found, node) {
                (Some(found), Node::File(..)) => found.is_file(),
                (Some(found), Node::Folder) => found.is_dir(),
                _ => false,
            };
            if found.is_some() && !is_same {
                self.remove(path);
            }
            fs::create_dir_all(at.parent().unwrap()).unwrap();
            match node {
                Node::Folder => fs::create_dir_all(at).unwrap(),
                Node::Link(target) => symlink(OsStr::from_bytes(target), at).unwrap(),
                Node::Special => mknodat(CWD, at, FileType::Fifo, 0o600.into(), 0).unwrap(),
                Node::File(content, executable) => {
                    fs::write(&at, content).unwrap();
                    let mode = if *executable { 0o755 } else { 0o644 };
                    fs::set_permissions(at, fs::Permissions::from_mode(mode)).unwrap();
                }
            }
        }

        fn remove(&self, path: &WorkspacePath) {
            let at = self.at(path);
            match fs::symlink_metadata(&at) {
                Ok(found) if found.is_dir() => fs::remove_dir_all(at).unwrap(),
                Ok(_) => fs::remove_file(at).unwrap(),
                Err(_) => {}
            }
        }
    }

    #[async_trait]
    impl Tree for Disk {
        async fn metadata(&self, path: &WorkspacePath) -> Result<Metadata, TreeError> {
            self.tree().metadata(path).await
        }
        async fn read(&self, path: &WorkspacePath) -> Result<Vec<u8>, TreeError> {
            self.tree().read(path).await
        }
        async fn look(&self, path: &WorkspacePath) -> Result<(Metadata, Option<Vec<u8>>), TreeError> {
            self.tree().look(path).await
        }
        async fn list(&self, path: &WorkspacePath) -> Result<Vec<DirEntry>, TreeError> {
            self.tree().list(path).await
        }
        async fn read_link(&self, path: &WorkspacePath) -> Result<Vec<u8>, TreeError> {
            self.tree().read_link(path).await
        }
    }

    #[async_trait]
    impl Workspace for Disk {
        async fn commit(&self, set: &ChangeSet, options: CommitOptions) -> Result<CommitOutcome, TreeError> {
            self.tree().commit(set, options).await
        }
        async fn prepare(&self, set: &ChangeSet) -> Result<(), TreeError> {
            self.tree().prepare(set).await
        }
    }
}
