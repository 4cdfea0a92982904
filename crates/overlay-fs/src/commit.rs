//! Options and outcomes of a commit.

use headstart_workspace_path::WorkspacePath;
use serde::{Deserialize, Serialize};

use crate::{Change, ChangeKind, ContentHash, EntryKind, Metadata};

/// How a commit treats what the user changed meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CommitOptions {
    /// What becomes of the commit if a file or folder that the work only read has changed.
    pub stale_reads: StaleReads,
    /// What becomes of a text that both the work and the user changed.
    pub merge: Merge,
    /// Whether the caller may have made this commit before, and died before it could note that. If the changes are in
    /// the tree already, that is then no conflict. A workspace without a journal cannot know.
    pub repeated: bool,
    /// The turn of a conversation in which the changes are made, by a hash that names it. What is committed in one turn
    /// is taken back together. A workspace that keeps nothing for an undo has no use for it.
    pub turn: Option<ContentHash>,
    /// Whether a file with several names (hard links) may be replaced. The other names then keep the former content. If
    /// not, or if the workspace cannot replace a file but writes in place, that is a conflict.
    pub breaks_hard_links: bool,
}

/// What becomes of a change set if a file that it read has changed since.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StaleReads {
    /// It is not committed.
    #[default]
    Conflict,
    /// It is committed, and [`Committed::stale_reads`] names the files.
    Warn,
}

/// What becomes of a text that both sides changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Merge {
    /// If the edits are in different places, both are kept, and [`Committed::merged`] names the file; otherwise it is
    /// a conflict.
    #[default]
    Text,
    /// It is a conflict.
    Never,
}

/// How a commit ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitOutcome {
    /// Every change is in the tree.
    Committed(Committed),
    /// Somebody changed what the change set relies on; the tree is as they left it.
    Conflict(Vec<Conflict>),
}

/// What a host tells the user about a successful commit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Committed {
    /// Files with both the work's edits and those that the user made meanwhile.
    pub merged: Vec<WorkspacePath>,
    /// What the work read and what has changed since; empty unless the options allow that.
    pub stale_reads: Vec<Conflict>,
}

/// A path that is not what the change set expects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Conflict {
    /// The path.
    pub path: WorkspacePath,
    /// What happened to it meanwhile.
    pub kind: ConflictKind,
    /// What the change set would put there; `None` if it removes the path or only read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub staged: Option<ConflictSide>,
    /// What the user has there; `None` for nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<ConflictSide>,
    /// Whether both sides are text, so that [`Keep::Markers`](crate::Keep::Markers) is possible.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub markers: bool,
}

impl Conflict {
    /// The conflict about a file that the work has read, or may have read, and that the user changed since.
    pub fn stale_read(path: WorkspacePath) -> Self {
        Self { path, kind: ConflictKind::StaleRead, staged: None, found: None, markers: false }
    }
}

/// What one side of a conflict has at the path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConflictSide {
    /// File, folder, link or other.
    pub kind: EntryKind,
    /// Length in bytes; 0 for a folder.
    pub len: u64,
    /// Whether the owner may execute it.
    pub executable: bool,
    /// The hash of its content (for a link, of its target), if it was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<ContentHash>,
}

/// What happened to a path between staging and commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum ConflictKind {
    /// The content of a file or folder that would be written or removed has changed, and cannot be merged.
    Modified,
    /// A file that would be written or removed does not exist any more.
    Deleted,
    /// Something is in the place where a file would be created.
    Created,
    /// Something of another kind (a folder, a link) is at the path or above it now.
    Replaced,
    /// A file or folder that the work only read has changed.
    StaleRead,
    /// A branch, tag or other ref of the repository, or its index, is not what the work expects. The path is where
    /// git keeps it: `.git/refs/heads/main`, `.git/index`.
    Ref,
}

impl Conflict {
    /// A conflict of which only the kind is known.
    pub fn new(path: WorkspacePath, kind: ConflictKind) -> Self {
        Self { path, kind, staged: None, found: None, markers: false }
    }

    /// A conflict about a change, and what is at its path.
    pub(crate) fn about(change: &Change, kind: ConflictKind, found: Option<ConflictSide>) -> Self {
        let staged = ConflictSide::staged(&change.kind);
        Self { staged, found, ..Self::new(change.path.clone(), kind) }
    }
}

impl ConflictSide {
    fn staged(kind: &ChangeKind) -> Option<Self> {
        let (kind, content, executable) = match kind {
            ChangeKind::Delete => return None,
            ChangeKind::CreateDirectory => {
                return Some(Self { kind: EntryKind::Directory, len: 0, executable: false, content: None });
            }
            ChangeKind::Write { content, executable, .. } => (EntryKind::File, &content[..], *executable),
            ChangeKind::Link { target, .. } => (EntryKind::Symlink, &target[..], false),
        };
        Some(Self { kind, len: content.len() as u64, executable, content: Some(ContentHash::of(content)) })
    }

    pub(crate) fn found(metadata: &Metadata, content: Option<&[u8]>) -> Self {
        let content = content.map(ContentHash::of);
        Self { kind: metadata.kind, len: metadata.len, executable: metadata.executable, content }
    }
}
