//! What an editor on the same machine cannot do to the workspace itself when its user takes work.

use headstart_overlay_fs::{
    Change, ChangeKind, ChangeSet, Content, EntryKind, Fingerprint, Observation, Tree, TreeError,
    WorkspacePath,
};
use serde::{Deserialize, Serialize};

use super::message::entry_at;

/// Changes of the workspace itself: all of them, or none if a path is not as its change expects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AcceptRequest {
    /// Identifies the call.
    pub id: u64,
    /// The changes, each path once.
    pub changes: Vec<PathChange>,
    /// What the work did to the repository of the workspace
    /// ([`GitChange::beside`](headstart_git_ahead::GitChange::beside)), which is committed together with the changes.
    #[serde(default)]
    pub beside: Option<String>,
}

/// A path, with what is there before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PathChange {
    /// The path.
    pub path: WorkspacePath,
    /// What must be there; `None` for nothing.
    pub before: Option<PathEntry>,
    /// What is there afterwards; `None` for nothing.
    pub after: Option<PathEntry>,
}

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum PathEntry {
    /// A regular file.
    File {
        /// The whole content.
        content: Content,
        /// Whether the owner may execute it. What is there before may have another bit.
        executable: bool,
    },
    /// A symbolic link.
    Link {
        /// Where it points, as it is written in the link.
        target: Content,
    },
    /// A folder; before, an empty one.
    Folder,
}

impl AcceptRequest {
    /// The changes as a change set over the workspace as it is now, or the paths that are not as they have to be.
    pub async fn over(
        self,
        workspace: &dyn Tree,
    ) -> Result<Result<ChangeSet, Vec<WorkspacePath>>, TreeError> {
        let (mut changes, mut reads, mut others) = (Vec::new(), Vec::new(), Vec::new());
        let there = self.changes.iter().filter(|change| change.before.is_some());
        let there: Vec<_> = there.map(|change| change.path.clone()).collect();
        for PathChange { path, before, after } in self.changes {
            let (base, base_content) = entry_at(workspace, &path).await?.unzip();
            let base_content = base_content.flatten();
            let found = base.as_ref().map(|base| (base.kind, base_content.as_ref()));
            if found != before.as_ref().map(PathEntry::kind_and_content) {
                others.push(path);
                continue;
            }
            if let Some(Fingerprint { kind: EntryKind::Directory, .. }) = &base {
                // All that may be in it are paths of these changes.
                let inside = there.iter().filter(|below| below.parent().as_ref() == Some(&path));
                let mut names: Vec<_> =
                    inside.filter_map(|below| Some(below.file_name()?.to_vec())).collect();
                names.sort_unstable();
                let (path, seen) = (path.clone(), base.clone());
                reads.push(Observation { path, seen, content: None, names: Some(names) });
            }
            let kind = match after {
                None => ChangeKind::Delete,
                Some(PathEntry::File { content, executable }) => {
                    ChangeKind::Write { content, executable, moved_from: None }
                }
                Some(PathEntry::Link { target }) => {
                    ChangeKind::Link { target: target.to_vec(), moved_from: None }
                }
                Some(PathEntry::Folder) => ChangeKind::CreateDirectory,
            };
            changes.push(Change { path, base, base_content, kind, mode: None });
        }
        let changes = ChangeSet { changes, reads };
        Ok(if others.is_empty() { Ok(changes) } else { Err(others) })
    }
}

impl PathEntry {
    fn kind_and_content(&self) -> (EntryKind, Option<&Content>) {
        match self {
            Self::File { content, .. } => (EntryKind::File, Some(content)),
            Self::Link { target } => (EntryKind::Symlink, Some(target)),
            Self::Folder => (EntryKind::Directory, None),
        }
    }
}
