use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use headstart_workspace_path::{PathError, WorkspacePath};

use crate::check::Moves;
use crate::walk::Walk;
use crate::{
    Change, ChangeKind, ChangeSet, CommitOptions, CommitOutcome, ContentHash, DirEntry, EntryKind,
    Fingerprint,
};
use crate::{Metadata, Resolution, Tree, TreeError, Workspace, resolve};

/// A workspace in memory: for tests, for hosts without a disk, and as the reference for the real one.
///
/// Its fingerprints hold a counter that every edit raises, and a hash of the content, so that they differ from those
/// of another tree. It does not model permissions (besides the executable bit), owners, times, hard links, limits on
/// names or space, and errors of a medium; a commit never fails halfway. The root always exists.
#[derive(Debug, Default)]
pub struct MemoryTree {
    state: Mutex<State>,
}

#[derive(Debug, Default, Clone)]
struct State {
    nodes: BTreeMap<WorkspacePath, Node>,
    edits: i64,
}

#[derive(Debug, Clone)]
struct Node {
    what: NodeKind,
    /// A hash of the content of a file, or of a link's target.
    hash: u64,
    changed: i64,
}

impl Node {
    fn new(what: NodeKind, changed: i64) -> Self {
        let hash = match &what {
            NodeKind::File { content, .. } | NodeKind::Link { target: content } => {
                ContentHash::of(content).short()
            }
            NodeKind::Directory | NodeKind::Other => 0,
        };
        Self { what, hash, changed }
    }
}

#[derive(Debug, Clone)]
enum NodeKind {
    File { content: Vec<u8>, executable: bool },
    Link { target: Vec<u8> },
    Directory,
    Other,
}

impl MemoryTree {
    /// An empty workspace.
    pub fn new() -> Self {
        Self::default()
    }

    /// A workspace with these files; folders are made as needed.
    ///
    /// ```
    /// # use headstart_overlay_fs::{MemoryTree, PathError};
    /// let tree = MemoryTree::from_files([("src/main.rs", "fn main() {}\n"), ("README.md", "# hi\n")])?;
    /// # Ok::<(), PathError>(())
    /// ```
    pub fn from_files<P: AsRef<str>, C: Into<Vec<u8>>>(
        files: impl IntoIterator<Item = (P, C)>,
    ) -> Result<Self, PathError> {
        let tree = Self::new();
        for (path, content) in files {
            tree.write(&WorkspacePath::parse(path.as_ref())?, content);
        }
        Ok(tree)
    }

    /// Writes a file as a user would, in place of whatever is there. A file above it becomes a folder.
    pub fn write(&self, path: &WorkspacePath, content: impl Into<Vec<u8>>) {
        let mut state = self.lock();
        let executable = matches!(state.what(path), Some(NodeKind::File { executable: true, .. }));
        state.put(path, NodeKind::File { content: content.into(), executable });
    }

    /// Makes a symbolic link, in place of whatever is there.
    pub fn link(&self, path: &WorkspacePath, target: impl Into<Vec<u8>>) {
        self.lock().put(path, NodeKind::Link { target: target.into() });
    }

    /// Makes a folder, and those above it; does nothing if there is one.
    pub fn make_dir(&self, path: &WorkspacePath) {
        self.lock().put(path, NodeKind::Directory);
    }

    /// Makes something that is neither file, folder nor link, such as a FIFO.
    pub fn special(&self, path: &WorkspacePath) {
        self.lock().put(path, NodeKind::Other);
    }

    /// Sets the executable bit of a file; does nothing if there is none.
    pub fn make_executable(&self, path: &WorkspacePath, executable: bool) {
        let mut state = self.lock();
        if let Some(NodeKind::File { content, .. }) = state.what(path).cloned() {
            state.put(path, NodeKind::File { content, executable });
        }
    }

    /// Removes whatever is at and below the path.
    pub fn remove(&self, path: &WorkspacePath) {
        self.lock().remove(path);
    }

    /// Every path and its content, for comparison: the path of a folder ends in `/`, a link has `-> target` as its
    /// content.
    pub fn snapshot(&self) -> BTreeMap<String, Vec<u8>> {
        let state = self.lock();
        let rows = state.nodes.iter().map(|(path, node)| match &node.what {
            NodeKind::File { content, executable: false } => (path.to_string(), content.clone()),
            NodeKind::File { content, executable: true } => (format!("{path}*"), content.clone()),
            NodeKind::Link { target } => (format!("{path} ->"), target.clone()),
            NodeKind::Directory => (format!("{path}/"), Vec::new()),
            NodeKind::Other => (format!("{path}|"), Vec::new()),
        });
        rows.collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn what(&self, path: &WorkspacePath) -> Option<&NodeKind> {
        if path.is_root() {
            return Some(&NodeKind::Directory);
        }
        self.nodes.get(path).map(|node| &node.what)
    }

    fn put(&mut self, path: &WorkspacePath, what: NodeKind) {
        if path.is_root() {
            return;
        }
        self.edits += 1;
        let changed = self.edits;
        let mut parent = path.parent();
        while let Some(folder) = parent {
            if !matches!(self.what(&folder), Some(NodeKind::Directory)) {
                self.nodes.insert(folder.clone(), Node::new(NodeKind::Directory, changed));
            }
            parent = folder.parent();
        }
        match (self.what(path), &what) {
            (Some(NodeKind::Directory), NodeKind::Directory) => return,
            (Some(NodeKind::Directory), _) => self.remove(path),
            _ => {}
        }
        self.nodes.insert(path.clone(), Node::new(what, changed));
    }

    fn remove(&mut self, path: &WorkspacePath) {
        self.edits += 1;
        self.nodes.retain(|at, _| !at.starts_with(path));
    }

    /// The path once the links above its last name (and, if asked, at it) are followed.
    fn resolve(
        &self,
        path: &WorkspacePath,
        follow_last: bool,
    ) -> Result<(WorkspacePath, &NodeKind), TreeError> {
        let mut walk = Walk::new(path);
        while let Some(next) = walk.next()? {
            match self.what(&next) {
                None => return Err(TreeError::NotFound { path: path.clone() }),
                Some(NodeKind::Link { target }) if follow_last || !walk.is_last() => walk.follow(target)?,
                Some(NodeKind::Directory) => walk.enter(next),
                Some(what) if walk.is_last() => return Ok((next, what)),
                Some(_) => return Err(TreeError::NotADirectory { path: next }),
            }
        }
        Ok((walk.at().clone(), &NodeKind::Directory))
    }

    fn metadata(&self, path: &WorkspacePath) -> Result<Metadata, TreeError> {
        let (path, what) = self.resolve(path, false)?;
        let (inode, changed) = self.nodes.get(&path).map_or((0, 0), |node| (node.hash, node.changed));
        let (kind, len, mode) = match what {
            NodeKind::File { content, executable: false } => (EntryKind::File, content.len(), 0o644),
            NodeKind::File { content, executable: true } => (EntryKind::File, content.len(), 0o755),
            NodeKind::Link { target } => (EntryKind::Symlink, target.len(), 0o777),
            NodeKind::Directory => (EntryKind::Directory, 0, 0o755),
            NodeKind::Other => (EntryKind::Other, 0, 0o644),
        };
        let len = len as u64;
        let (modified_ns, changed_ns) = (changed, changed);
        let fingerprint =
            Fingerprint { kind, device: 0, inode, len, mode, modified_ns, changed_ns, racy: false };
        Ok(Metadata {
            kind,
            len,
            executable: matches!(what, NodeKind::File { executable: true, .. }),
            links: 1,
            fingerprint,
        })
    }

    fn apply(&mut self, change: &Change, moves: &Moves<'_>) {
        match &change.kind {
            ChangeKind::Delete => self.remove(&change.path),
            ChangeKind::CreateDirectory => self.put(&change.path, NodeKind::Directory),
            ChangeKind::Link { target, .. } => {
                self.put(&change.path, NodeKind::Link { target: target.clone() });
            }
            ChangeKind::Write { content, executable, .. } => {
                let now = match self.what(&change.path) {
                    Some(NodeKind::File { executable, .. }) => Some(*executable),
                    _ => None,
                };
                let executable = moves.executable(change, *executable, now);
                self.put(&change.path, NodeKind::File { content: content.to_vec(), executable });
            }
        }
    }
}

#[async_trait]
impl Tree for MemoryTree {
    async fn metadata(&self, path: &WorkspacePath) -> Result<Metadata, TreeError> {
        self.lock().metadata(path)
    }

    async fn read(&self, path: &WorkspacePath) -> Result<Vec<u8>, TreeError> {
        match self.lock().resolve(path, true)?.1 {
            NodeKind::File { content, .. } => Ok(content.clone()),
            NodeKind::Directory => Err(TreeError::IsADirectory { path: path.clone() }),
            _ => Err(TreeError::not_a_file(path)),
        }
    }

    async fn list(&self, path: &WorkspacePath) -> Result<Vec<DirEntry>, TreeError> {
        let state = self.lock();
        let (folder, NodeKind::Directory) = state.resolve(path, true)? else {
            return Err(TreeError::NotADirectory { path: path.clone() });
        };
        let below = state.nodes.iter().filter(|(at, _)| at.parent().as_ref() == Some(&folder));
        // The map is sorted by path, so the names come sorted.
        let entries = below
            .filter_map(|(at, node)| {
                let kind = match node.what {
                    NodeKind::File { .. } => EntryKind::File,
                    NodeKind::Link { .. } => EntryKind::Symlink,
                    NodeKind::Directory => EntryKind::Directory,
                    NodeKind::Other => EntryKind::Other,
                };
                Some(DirEntry { name: at.file_name()?.to_vec(), kind })
            })
            .collect();
        Ok(entries)
    }

    async fn read_link(&self, path: &WorkspacePath) -> Result<Vec<u8>, TreeError> {
        match self.lock().resolve(path, false)?.1 {
            NodeKind::Link { target } => Ok(target.clone()),
            _ => Err(TreeError::not_a_link(path)),
        }
    }
}

#[async_trait]
impl Workspace for MemoryTree {
    async fn commit(&self, changes: &ChangeSet, options: CommitOptions) -> Result<CommitOutcome, TreeError> {
        loop {
            let before = self.lock().edits;
            let (changes, committed) = match resolve(self, changes, options).await? {
                Resolution::Apply { changes, committed } => (changes, committed),
                Resolution::Conflict(found) => return Ok(CommitOutcome::Conflict(found)),
            };
            let mut state = self.lock();
            if state.edits == before {
                let moves = Moves::of(&changes.changes);
                changes.changes.iter().for_each(|change| state.apply(change, &moves));
                return Ok(CommitOutcome::Committed(committed));
            }
        }
    }
}
