//! A workspace and its user, who edits it behind the overlay's back.

use std::collections::BTreeMap;

use futures::executor::block_on;
use headstart_overlay_fs::{EntryKind, MemoryTree, Tree, Workspace, WorkspacePath};

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

    /// Makes it so, in place of whatever is there; folders above are made. A file that is there is written, not
    /// replaced.
    fn put(&self, at: &WorkspacePath, node: &Node);

    /// Removes whatever is at and below the path.
    fn remove(&self, at: &WorkspacePath);

    fn of(nodes: &Nodes) -> Self {
        let world = Self::empty();
        for (at, node) in nodes {
            world.put(at, node);
        }
        world
    }
}

/// Everything in a tree, as another walker would see it.
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

    use async_trait::async_trait;
    use headstart_overlay_fs::{
        ChangeSet, CommitOptions, CommitOutcome, DirEntry, Metadata, OsTree, TreeError,
    };
    use rustix::fs::{CWD, FileType, mknodat};

    use super::{Node, Tree, Workspace, WorkspacePath, World};

    /// A temporary folder on the real disk.
    pub(crate) struct Disk {
        folder: tempfile::TempDir,
        tree: OsTree,
    }

    impl Disk {
        fn at(&self, path: &WorkspacePath) -> PathBuf {
            self.folder.path().join(OsStr::from_bytes(path.as_bytes()))
        }
    }

    impl World for Disk {
        fn empty() -> Self {
            let folder = tempfile::tempdir().unwrap();
            Self { tree: OsTree::open(folder.path()).unwrap(), folder }
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
            self.tree.metadata(path).await
        }
        async fn read(&self, path: &WorkspacePath) -> Result<Vec<u8>, TreeError> {
            self.tree.read(path).await
        }
        async fn look(&self, path: &WorkspacePath) -> Result<(Metadata, Option<Vec<u8>>), TreeError> {
            self.tree.look(path).await
        }
        async fn list(&self, path: &WorkspacePath) -> Result<Vec<DirEntry>, TreeError> {
            self.tree.list(path).await
        }
        async fn read_link(&self, path: &WorkspacePath) -> Result<Vec<u8>, TreeError> {
            self.tree.read_link(path).await
        }
    }

    #[async_trait]
    impl Workspace for Disk {
        async fn commit(&self, set: &ChangeSet, options: CommitOptions) -> Result<CommitOutcome, TreeError> {
            self.tree.commit(set, options).await
        }
    }
}
