//! Staged files over a read-only tree.

mod change_set;
mod overlay;
mod tree;

pub use change_set::{Change, ChangeKind, ChangeSet, ChangeSummary, Conflict, ConflictKind, Observation};
pub use headstart_workspace_path::{PathError, WorkspacePath};
pub use overlay::{Overlay, Quota, StagedUsage};
pub use tree::{CommitOutcome, DirEntry, EntryKind, Fingerprint, Metadata, Tree, TreeError, Workspace};
