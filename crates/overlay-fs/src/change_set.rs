use headstart_workspace_path::WorkspacePath;
use serde::{Deserialize, Serialize};

use crate::{EntryKind, Fingerprint};

/// What an accept would do, sorted by path, with all that is needed to do it in another process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangeSet {
    /// What is written, created or removed: at most one change a path.
    pub changes: Vec<Change>,
    /// What was read or listed, and rests unchanged below the changes.
    pub reads: Vec<Observation>,
}

/// One path and what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// The path.
    pub path: WorkspacePath,
    /// What was there when the change was staged; `None`: nothing.
    pub base: Option<Fingerprint>,
    /// What was in the file then, for the diff and for a merge; `None` where there was no file.
    pub base_content: Option<Vec<u8>>,
    /// What becomes of it.
    pub kind: ChangeKind,
}

/// What becomes of a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum ChangeKind {
    /// A file with this content, new or in place of the old one.
    Write {
        /// The whole content.
        content: Vec<u8>,
        /// Whether the owner may execute it.
        executable: bool,
        /// The path this content was moved from, for people and diffs; that path has a `Delete` of its own.
        moved_from: Option<WorkspacePath>,
    },
    /// A folder that was not there.
    CreateDirectory,
    /// No file, link or (empty by then) folder any more.
    Delete,
}

/// A path that was read or listed, and what it was then; `None`: nothing was there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Observation {
    /// The path.
    pub path: WorkspacePath,
    /// What was there.
    pub seen: Option<Fingerprint>,
    /// For a folder that was listed: its names.
    pub names: Option<Vec<Vec<u8>>>,
}

/// A path that is not what the change set rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Conflict {
    /// The path.
    pub path: WorkspacePath,
    /// What happened to it meanwhile.
    pub kind: ConflictKind,
}

/// What happened to a path between staging and commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum ConflictKind {
    /// A file that would be written has another content now.
    Modified,
    /// A file that would be written or removed is gone.
    Deleted,
    /// Something is where a file would be created.
    Created,
    /// Another kind of thing is there now (a folder, a link).
    Replaced,
    /// A file or folder that the work only read has changed.
    StaleRead,
}

/// A change as it is listed in JSON and on screen, without content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangeSummary {
    /// The path.
    pub path: WorkspacePath,
    /// `create`, `modify`, `delete`, `rename`, `createDirectory`.
    #[serde(rename = "type")]
    pub kind: String,
    /// For `rename`: the path before.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub from: Option<WorkspacePath>,
    /// Lines added; 0 for a binary file.
    pub added: usize,
    /// Lines removed; 0 for a binary file.
    pub removed: usize,
    /// Whether the content is not text.
    pub binary: bool,
}

impl ChangeSet {
    /// Whether an accept would change nothing.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The changes without their content; a rename is one row.
    pub fn summary(&self) -> Vec<ChangeSummary> {
        todo!()
    }

    /// A unified diff of all changes, in the form that `git apply` takes.
    pub fn diff(&self) -> String {
        todo!()
    }

    /// The kind of thing that was at the path of a change.
    pub fn base_kind(change: &Change) -> Option<EntryKind> {
        change.base.as_ref().map(|base| base.kind)
    }
}
