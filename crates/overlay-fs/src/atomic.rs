use std::collections::{HashMap, HashSet};

use async_trait::async_trait;
use headstart_workspace_path::WorkspacePath;

use crate::check::{Moves, WITHOUT_MERGE, metadata_at, written};
use crate::{Change, ChangeKind, ChangeSet, CommitOptions, CommitOutcome, Conflict, ConflictKind, Content};
use crate::{EntryKind, Metadata, Resolution, Tree, TreeError, resolve};

/// A tree that makes several changes in one call: an editor with edits over several files, or a server with
/// transactions.
///
/// A host that implements this gets a [`Workspace`](crate::Workspace) from [`commit_atomically`], and its users get what
/// the host promises for one edit: nobody sees half of it, and one undo takes all of it back.
#[async_trait]
pub trait AtomicWriter: Tree {
    /// Makes all steps, in this order, or none of them.
    ///
    /// If a path is not what its step expects, it makes none and returns these paths; an empty list means that all
    /// steps are made. After an error, too, everything is as before.
    ///
    /// `beside` is what another participant commits together with the steps, of which there may be none then. A path
    /// that no step has is what the participant found changed. A host without one returns an error.
    async fn make(&self, steps: Vec<Step>, beside: Option<&str>) -> Result<Vec<WorkspacePath>, TreeError>;
}

/// One path of a commit. Each path has at most one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The path.
    pub path: WorkspacePath,
    /// What must be at the path; `None` for nothing. A folder must be empty by the time of its step.
    pub before: Option<Entry>,
    /// What is at the path afterwards; `None` for nothing. The folder above exists by the time of the step.
    pub after: Option<Entry>,
    /// The path from which `after` was moved; that path has a step of its own.
    pub moved_from: Option<WorkspacePath>,
}

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A regular file.
    File {
        /// The whole content.
        content: Content,
        /// Whether the owner may execute it. In `before` this is what was found; a different bit is no conflict.
        executable: bool,
    },
    /// A symbolic link, and where it points.
    Link(Vec<u8>),
    /// A folder.
    Directory,
}

/// Commits all changes in one call of the host, by the rules of [`resolve`]; together with what another participant
/// commits, if there is something `beside` them.
///
/// A path that the host finds changed during its call is a conflict. If the future is dropped before that call,
/// nothing has changed; what happens to the call itself is up to the host.
pub async fn commit_atomically(
    writer: &dyn AtomicWriter,
    changes: &ChangeSet,
    beside: Option<&str>,
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
    if refused.is_empty() && (!plan.steps.is_empty() || beside.is_some()) {
        refused = writer.make(plan.steps, beside).await?;
    }
    if refused.is_empty() {
        return Ok(CommitOutcome::Committed(committed));
    }
    let mut conflicts = Vec::with_capacity(refused.len());
    for path in refused {
        let is_step = plan.made.contains(&path) || changes.changes.iter().any(|change| change.path == path);
        conflicts.push(if beside.is_some() && !is_step {
            Conflict::new(path, ConflictKind::Ref)
        } else {
            conflict(writer, &changes, path).await?
        });
    }
    Ok(CommitOutcome::Conflict(conflicts))
}

/// The conflict about a path that is not what its step expects.
async fn conflict(tree: &dyn Tree, changes: &ChangeSet, path: WorkspacePath) -> Result<Conflict, TreeError> {
    let Some(change) = changes.changes.iter().find(|change| change.path == path) else {
        return Ok(Conflict::new(path, ConflictKind::Modified));
    };
    // The path may have changed back since the host looked.
    let seen = written(tree, change, None, WITHOUT_MERGE).await?.conflict();
    let (kind, side) = seen.unwrap_or((ConflictKind::Modified, None));
    Ok(Conflict::about(change, kind, side))
}

/// The steps for changes that were just compared with the tree.
struct Plan<'a> {
    tree: &'a dyn Tree,
    moves: Moves<'a>,
    steps: Vec<Step>,
    /// For each folder, whether it exists once the steps so far are made.
    folders: HashMap<WorkspacePath, bool>,
    /// The folders that the steps make.
    made: HashSet<WorkspacePath>,
}

impl Plan<'_> {
    /// Adds a step for a change; `false` if the path is not what the change expects.
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

    /// Whether everything above the path is a folder, or does not exist yet.
    async fn add_folders_above(&mut self, path: &WorkspacePath) -> Result<bool, TreeError> {
        let above = std::iter::successors(path.parent(), WorkspacePath::parent);
        let above: Vec<_> = above.filter(|folder| !folder.is_root()).collect();
        // Goes from the top down: below a folder that the steps make, nothing must be looked up, because a link that
        // is in its place now would lead elsewhere.
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
        // A change set without the content that it replaces cannot name it, so the host refuses the step.
        EntryKind::File | EntryKind::Other => {
            Entry::File { content: content.unwrap_or_else(|| Vec::new().into()), executable: now.executable }
        }
    }
}
