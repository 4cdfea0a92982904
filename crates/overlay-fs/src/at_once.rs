use std::collections::{HashMap, HashSet};

use async_trait::async_trait;
use headstart_workspace_path::WorkspacePath;

use crate::check::{Moves, metadata_at, written};
use crate::{Change, ChangeKind, ChangeSet, CommitOptions, CommitOutcome, Conflict, ConflictKind, Content};
use crate::{EntryKind, Merge, Metadata, Resolution, Tree, TreeError, resolve};

/// A tree that takes a commit as a whole: an editor that makes one edit of several files, a server with transactions.
///
/// With it a host gets a [`Workspace`](crate::Workspace) from [`commit_at_once`], and its users get what the host promises
/// for one edit: nobody sees half of it, and one undo takes all of it back.
#[async_trait]
pub trait AtomicWriter: Tree {
    /// Makes all steps, in this order, or none.
    ///
    /// Where paths are not, or are no longer, as their steps say, it makes none and names them; an empty answer says that
    /// all are made. After an error, too, everything is as it was.
    async fn make(&self, steps: Vec<Step>) -> Result<Vec<WorkspacePath>, TreeError>;
}

/// One path of a commit. No two steps of a commit have the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The path.
    pub path: WorkspacePath,
    /// What has to be there; `None`: nothing. A folder is to be empty when its step comes.
    pub before: Option<Entry>,
    /// What is there afterwards; `None`: nothing. The folder above is there by then.
    pub after: Option<Entry>,
    /// Where what is there afterwards was before; that path has a step of its own.
    pub moved_from: Option<WorkspacePath>,
}

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A regular file.
    File {
        /// The whole content.
        content: Content,
        /// Whether the owner may execute it. Before a step it is what was found, and another bit is no conflict.
        executable: bool,
    },
    /// A symbolic link, and where it points.
    Link(Vec<u8>),
    /// A folder.
    Directory,
}

/// Commits all changes in one call of the host's, by the rules of [`resolve`].
///
/// What the host finds changed at that moment is a conflict about these paths. A future that is dropped before that call has
/// changed nothing; what becomes of the call itself is the host's affair.
pub async fn commit_at_once(
    writer: &dyn AtomicWriter,
    changes: &ChangeSet,
    options: CommitOptions,
) -> Result<CommitOutcome, TreeError> {
    let (changes, committed) = match resolve(writer, changes, options).await? {
        Resolution::Apply { changes, committed } => (changes, committed),
        Resolution::Conflict(found) => return Ok(CommitOutcome::Conflict(found)),
    };
    let mut plan = Plan {
        tree: writer,
        moves: Moves::of(&changes.changes),
        steps: Vec::new(),
        folders: HashMap::new(),
        made: HashSet::new(),
    };
    let mut refused = Vec::new();
    for change in &changes.changes {
        if !plan.add(change).await? {
            refused.push(change.path.clone());
        }
    }
    if refused.is_empty() && !plan.steps.is_empty() {
        refused = writer.make(plan.steps).await?;
    }
    if refused.is_empty() {
        return Ok(CommitOutcome::Committed(committed));
    }
    let mut conflicts = Vec::with_capacity(refused.len());
    for path in refused {
        conflicts.push(conflict(writer, &changes, path).await?);
    }
    Ok(CommitOutcome::Conflict(conflicts))
}

/// What became of a path that is not as its step says.
async fn conflict(tree: &dyn Tree, changes: &ChangeSet, path: WorkspacePath) -> Result<Conflict, TreeError> {
    let Some(change) = changes.changes.iter().find(|change| change.path == path) else {
        return Ok(Conflict::new(path, ConflictKind::Modified));
    };
    // It may be as before again.
    let seen = written(tree, change, None, Merge::Never).await?.conflict();
    let (kind, side) = seen.unwrap_or((ConflictKind::Modified, None));
    Ok(Conflict::about(change, kind, side))
}

/// The steps of changes that were compared with the tree just now.
struct Plan<'a> {
    tree: &'a dyn Tree,
    moves: Moves<'a>,
    steps: Vec<Step>,
    /// Whether a folder is there when the steps so far are made.
    folders: HashMap<WorkspacePath, bool>,
    /// The folders that the steps make.
    made: HashSet<WorkspacePath>,
}

impl Plan<'_> {
    /// Whether the path is as the change says.
    async fn add(&mut self, change: &Change) -> Result<bool, TreeError> {
        if !self.add_folders_above(&change.path).await? {
            return Ok(false);
        }
        let now = self.at(&change.path).await?;
        let before = match (&change.base, &now) {
            (None, None) => None,
            (None, Some(now)) if is_folder(now) && change.kind == ChangeKind::CreateDirectory => {
                return Ok(true);
            }
            (Some(base), Some(now)) if base.kind == now.kind => Some(base_entry(change, now)),
            _ => return Ok(false),
        };
        let (after, moved_from) = match &change.kind {
            ChangeKind::Delete => (None, None),
            ChangeKind::CreateDirectory => (Some(Entry::Directory), None),
            ChangeKind::Link { target, moved_from } => {
                (Some(Entry::Link(target.clone())), moved_from.clone())
            }
            ChangeKind::Write { content, executable, moved_from } => {
                let now = now.filter(|now| now.kind == EntryKind::File).map(|now| now.executable);
                let executable = self.moves.executable(change, *executable, now);
                (Some(Entry::File { content: content.clone(), executable }), moved_from.clone())
            }
        };
        let is_folder = after == Some(Entry::Directory);
        self.folders.insert(change.path.clone(), is_folder);
        if is_folder {
            self.made.insert(change.path.clone());
        }
        if before != after {
            self.steps.push(Step { path: change.path.clone(), before, after, moved_from });
        }
        Ok(true)
    }

    /// Whether there is nothing above the path but folders, or nothing yet.
    async fn add_folders_above(&mut self, path: &WorkspacePath) -> Result<bool, TreeError> {
        let above = std::iter::successors(path.parent(), WorkspacePath::parent);
        let above: Vec<_> = above.filter(|folder| !folder.is_root()).collect();
        // From the top: what is below a folder that the steps make is not looked for where a link in its place leads.
        for folder in above.into_iter().rev() {
            let is_there = match self.folders.get(&folder) {
                Some(is_there) => *is_there,
                None => match self.at(&folder).await? {
                    None => false,
                    Some(found) if is_folder(&found) => true,
                    Some(_) => return Ok(false),
                },
            };
            if !is_there {
                self.made.insert(folder.clone());
                let after = Some(Entry::Directory);
                self.steps.push(Step { path: folder.clone(), before: None, after, moved_from: None });
            }
            self.folders.insert(folder, true);
        }
        Ok(true)
    }

    /// What is at a path before the steps.
    async fn at(&self, path: &WorkspacePath) -> Result<Option<Metadata>, TreeError> {
        match path.parent() {
            Some(folder) if self.made.contains(&folder) => Ok(None),
            _ => metadata_at(self.tree, path).await,
        }
    }
}

fn is_folder(found: &Metadata) -> bool {
    found.kind == EntryKind::Directory
}

fn base_entry(change: &Change, now: &Metadata) -> Entry {
    let content = change.base_content.clone();
    match now.kind {
        EntryKind::Directory => Entry::Directory,
        EntryKind::Symlink => Entry::Link(content.map(|target| target.to_vec()).unwrap_or_default()),
        // A change set without what it replaces is refused by the host, which finds another content.
        EntryKind::File | EntryKind::Other => {
            Entry::File { content: content.unwrap_or_else(|| Vec::new().into()), executable: now.executable }
        }
    }
}
