//! Staged files over a read-only tree.

mod change_set;
mod check;
mod content;
mod memory;
#[cfg(all(feature = "os", unix))]
mod os;
mod overlay;
mod tree;
mod walk;

pub use change_set::{Change, ChangeKind, ChangeSet, ChangeSummary, Conflict, ConflictKind, Observation};
pub use check::conflicts;
pub use content::ContentHash;
pub use headstart_workspace_path::{PathError, WorkspacePath};
pub use memory::MemoryTree;
#[cfg(all(feature = "os", unix))]
pub use os::{OsTree, SweepOutcome, Swept};
pub use overlay::{Overlay, Quota, StagedUsage};
pub use tree::{CommitOutcome, DirEntry, EntryKind, Fingerprint, Metadata, Tree, TreeError, Workspace};
