use headstart_workspace_path::WorkspacePath;
use serde::{Deserialize, Serialize};

use crate::content::encoding;
use crate::{Change, ChangeKind, ChangeSet, Content, ContentHash, Fingerprint, Observation};

/// A change set whose contents are kept elsewhere, by their hashes. It is small, and change sets that share a content
/// keep it only once.
///
/// The hash reveals damage and not manipulation: whoever can write to where the contents are kept can change what an
/// accept does, as with the change set itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangeSetByHash {
    /// As in [`ChangeSet::changes`].
    pub changes: Vec<ChangeByHash>,
    /// As in [`ChangeSet::reads`].
    pub reads: Vec<Observation>,
}

/// One path and what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangeByHash {
    /// The path.
    pub path: WorkspacePath,
    /// What was at the path when the change was staged; `None` for nothing.
    pub base: Option<Fingerprint>,
    /// The hash of [`Change::base_content`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_content: Option<ContentHash>,
    /// What becomes of the path.
    pub kind: ChangeKindByHash,
    /// As in [`Change::mode`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
}

/// As [`ChangeKind`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ChangeKindByHash {
    /// A file with this content.
    Write {
        /// The hash of the whole content.
        content: ContentHash,
        /// Whether the owner may execute it.
        executable: bool,
        /// The path this content was moved from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        moved_from: Option<WorkspacePath>,
    },
    /// A symbolic link. Its target is short, so it stays here.
    Link {
        /// As it is written in the link.
        #[serde(with = "encoding")]
        target: Vec<u8>,
        /// The path that it was moved from, if it was moved.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        moved_from: Option<WorkspacePath>,
    },
    /// A folder that was not there.
    CreateDirectory,
    /// Removes what is at the path.
    Delete,
}

/// Why a change set could not be put together from its contents.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ContentError {
    /// Nothing is kept under the hash.
    #[error("the content of {path} ({hash}) is not there")]
    Missing {
        /// The path that needs it.
        path: WorkspacePath,
        /// Its hash.
        hash: ContentHash,
    },
    /// Something else is kept under the hash.
    #[error("the content of {path} ({hash}) is damaged")]
    Damaged {
        /// The path that needs it.
        path: WorkspacePath,
        /// The hash that it should have.
        hash: ContentHash,
    },
}

impl ChangeSet {
    /// The change set without its contents; keep [`contents`](Self::contents) with it.
    pub fn by_hash(&self) -> ChangeSetByHash {
        let change = |change: &Change| ChangeByHash {
            path: change.path.clone(),
            base: change.base.clone(),
            base_content: change.base_content.as_ref().map(Content::hash),
            kind: match &change.kind {
                ChangeKind::Write { content, executable, moved_from } => ChangeKindByHash::Write {
                    content: content.hash(),
                    executable: *executable,
                    moved_from: moved_from.clone(),
                },
                ChangeKind::Link { target, moved_from } => {
                    ChangeKindByHash::Link { target: target.clone(), moved_from: moved_from.clone() }
                }
                ChangeKind::CreateDirectory => ChangeKindByHash::CreateDirectory,
                ChangeKind::Delete => ChangeKindByHash::Delete,
            },
            mode: change.mode,
        };
        ChangeSetByHash { changes: self.changes.iter().map(change).collect(), reads: self.reads.clone() }
    }

    /// Every content that [`by_hash`](Self::by_hash) names, old and new. Equal ones may come more than once.
    pub fn contents(&self) -> impl Iterator<Item = (ContentHash, &[u8])> {
        self.changes
            .iter()
            .flat_map(|change| {
                let now = match &change.kind {
                    ChangeKind::Write { content, .. } => Some(content),
                    _ => None,
                };
                [change.base_content.as_ref(), now]
            })
            .flatten()
            .map(|content| (content.hash(), &**content))
    }
}

impl ChangeSetByHash {
    /// The whole change set, with the contents that `content` has under their hashes.
    pub fn with_contents(
        &self,
        mut content: impl FnMut(ContentHash) -> Option<Vec<u8>>,
    ) -> Result<ChangeSet, ContentError> {
        let mut fetch = |path: &WorkspacePath, hash: ContentHash| match content(hash).map(Content::from) {
            None => Err(ContentError::Missing { path: path.clone(), hash }),
            Some(found) if found.hash() != hash => Err(ContentError::Damaged { path: path.clone(), hash }),
            Some(found) => Ok(found),
        };
        let mut changes = Vec::with_capacity(self.changes.len());
        for change in &self.changes {
            let path = &change.path;
            let base_content = change.base_content.map(|hash| fetch(path, hash)).transpose()?;
            let kind = match &change.kind {
                ChangeKindByHash::Write { content, executable, moved_from } => ChangeKind::Write {
                    content: fetch(path, *content)?,
                    executable: *executable,
                    moved_from: moved_from.clone(),
                },
                ChangeKindByHash::Link { target, moved_from } => {
                    ChangeKind::Link { target: target.clone(), moved_from: moved_from.clone() }
                }
                ChangeKindByHash::CreateDirectory => ChangeKind::CreateDirectory,
                ChangeKindByHash::Delete => ChangeKind::Delete,
            };
            let (base, mode) = (change.base.clone(), change.mode);
            changes.push(Change { path: path.clone(), base, base_content, kind, mode });
        }
        Ok(ChangeSet { changes, reads: self.reads.clone() })
    }
}
