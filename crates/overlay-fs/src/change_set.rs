pub(crate) mod binary;
mod by_hash;
mod diff;
pub(crate) mod digest;
mod kind;
mod rows;

use headstart_workspace_path::WorkspacePath;
use serde::{Deserialize, Serialize};

pub use self::by_hash::{ChangeByHash, ChangeKindByHash, ChangeSetByHash, ContentError};
use self::diff::Binary;
use self::rows::{Row, Side};
use crate::content::encoding;
use crate::text::shown_text;
use crate::{Content, ContentHash, EntryKind, Fingerprint};

/// Everything that an accept would do, complete enough to do it in another process.
///
/// The changes are in an order in which they can be made: removals first, with the content of a folder before the
/// folder; then the rest by path, a folder before its content. Missing folders above a file are made along with it.
///
/// In JSON a content is a string if it is UTF-8, else `{"base64": "…"}`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangeSet {
    /// What is written, created or removed: at most one change for each path.
    pub changes: Vec<Change>,
    /// What was read or listed, and must be unchanged when the changes are made.
    pub reads: Vec<Observation>,
}

/// One path and what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// The path.
    pub path: WorkspacePath,
    /// What was at the path when the change was staged; `None` for nothing.
    pub base: Option<Fingerprint>,
    /// The content of the file at that time (for a link, its target), for the diff and for a merge; `None` if it was
    /// neither.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_content: Option<Content>,
    /// What becomes of it.
    pub kind: ChangeKind,
    /// The permission bits that the work gave a file or a folder; for a folder, with set-group-ID and the sticky bit.
    /// `None` if it gave none: then a file that was there keeps its own, and a new one gets what the umask leaves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
}

/// What becomes of a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum ChangeKind {
    /// A file with this content, new or in place of another one.
    Write {
        /// The whole content.
        content: Content,
        /// Whether the owner may execute it.
        executable: bool,
        /// The path that this content was moved from, for people and diffs; that path has a `Delete` of its own.
        #[serde(rename = "movedFrom", default, skip_serializing_if = "Option::is_none")]
        moved_from: Option<WorkspacePath>,
    },
    /// A symbolic link that is new, or was moved here.
    Link {
        /// Where it points, as it is written in the link.
        #[serde(with = "encoding")]
        target: Vec<u8>,
        /// The path that it was moved from, if it was moved; that path has a `Delete` of its own.
        #[serde(rename = "movedFrom", default, skip_serializing_if = "Option::is_none")]
        moved_from: Option<WorkspacePath>,
    },
    /// A folder that was not there.
    CreateDirectory,
    /// Removes a file, a link or a folder that is empty by then.
    Delete,
}

/// A path that was read or listed, and what it was at that time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Observation {
    /// The path.
    pub path: WorkspacePath,
    /// What was at the path; `None` for nothing.
    pub seen: Option<Fingerprint>,
    /// For a file that was read, the hash of its content; for a link that was followed, the hash of its target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<ContentHash>,
    /// For a folder that was listed, its names.
    #[serde(with = "encoding::names", default, skip_serializing_if = "Option::is_none")]
    pub names: Option<Vec<Vec<u8>>>,
}

/// A change without its content, for lists in JSON and on screen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangeSummary {
    /// The path.
    pub path: WorkspacePath,
    /// `create`, `modify`, `delete`, `rename`, `createDirectory`.
    #[serde(rename = "type")]
    pub kind: String,
    /// For `rename`, the path before.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub from: Option<WorkspacePath>,
    /// Lines added; 0 for a binary file.
    pub added: usize,
    /// Lines removed; 0 for a binary file.
    pub removed: usize,
    /// Whether the content is not text.
    pub binary: bool,
    /// The permission bits before and after, in octal, if they differ.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mode: Option<ModeChange>,
}

/// The permission bits of a file before and after a change, in octal: `644` and `755`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModeChange {
    /// Before.
    pub old: String,
    /// After.
    pub new: String,
}

impl ChangeSet {
    /// Whether an accept would change nothing.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The changes without their content; a rename is one row.
    ///
    /// Sorted by path. A folder has a row only if nothing in it has one.
    pub fn summary(&self) -> Vec<ChangeSummary> {
        rows::rows(&self.changes).iter().map(ChangeSummary::of).collect()
    }

    /// A unified diff of all changes, for people. For a binary file it only says that it differs.
    ///
    /// A diff cannot contain folders, so empty ones are missing.
    pub fn diff(&self) -> String {
        diff::unified(&rows::rows(&self.changes), Binary::Said)
    }

    /// As [`diff`](Self::diff), with the whole content of binary files: `git apply` makes all of it, in any checkout
    /// of the same base whose repository names its objects by SHA-1.
    ///
    /// Like git, it leaves out empty folders, and of a file's mode it only has whether the owner may execute the
    /// file.
    pub fn patch(&self) -> String {
        diff::unified(&rows::rows(&self.changes), Binary::Whole)
    }

    /// The kind of what was at the path of a change.
    pub fn base_kind(change: &Change) -> Option<EntryKind> {
        change.base.as_ref().map(|base| base.kind)
    }
}

impl ChangeSummary {
    fn of(row: &Row<'_>) -> Self {
        let is_folder =
            |side: &Option<Side<'_>>| side.as_ref().is_some_and(|side| side.kind == EntryKind::Directory);
        let kind = match (&row.old, &row.new) {
            (_, None) => "delete",
            _ if row.from.is_some() => "rename",
            _ if is_folder(&row.new) => "createDirectory",
            _ if row.old.is_none() || is_folder(&row.old) => "create",
            _ => "modify",
        };
        let content = |side: &Option<Side<'_>>| side.as_ref().map_or(&[][..], |side| side.content).to_vec();
        let (old, new) = (content(&row.old), content(&row.new));
        let (added, removed) = diff::count(&old, &new);
        Self {
            path: row.path.clone(),
            kind: kind.to_owned(),
            from: row.from.cloned(),
            added,
            removed,
            binary: shown_text(&old).is_none() || shown_text(&new).is_none(),
            mode: row.mode_change(),
        }
    }
}
