use std::io;

use async_trait::async_trait;
use headstart_workspace_path::WorkspacePath;

use crate::{Change, ChangeSet, CommitOptions, CommitOutcome, EntryKind, Metadata};

/// One name in a folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DirEntry {
    /// The name, without its folder.
    pub name: Vec<u8>,
    /// What it stands for. Links are not followed.
    pub kind: EntryKind,
}

/// Why a path could not be read or staged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TreeError {
    /// Nothing is there.
    #[error("{path} does not exist")]
    NotFound {
        /// The path asked for.
        path: WorkspacePath,
    },
    /// A folder is needed, and something else is there.
    #[error("{path} is not a directory")]
    NotADirectory {
        /// The path asked for.
        path: WorkspacePath,
    },
    /// A file is needed, and a folder is there.
    #[error("{path} is a directory")]
    IsADirectory {
        /// The path asked for.
        path: WorkspacePath,
    },
    /// The target exists already.
    #[error("{path} already exists")]
    AlreadyExists {
        /// The path asked for.
        path: WorkspacePath,
    },
    /// A symbolic link on the way leads out of the workspace, or in a circle.
    #[error("{path} leads out of the workspace through a symbolic link")]
    Escapes {
        /// The path asked for.
        path: WorkspacePath,
    },
    /// A FIFO, socket or device, or a file that a change would touch and that has several hard links or may not be
    /// written.
    #[error("{path} cannot be read or changed: {reason}")]
    Unsupported {
        /// The path asked for.
        path: WorkspacePath,
        /// What it is.
        reason: String,
    },
    /// The overlay's quota would be exceeded.
    #[error("staging {path} would exceed the limit of {limit} {unit}")]
    Quota {
        /// The path asked for.
        path: WorkspacePath,
        /// The limit.
        limit: u64,
        /// `files`, `bytes`, `bytes in one file` or `names in a path`.
        unit: &'static str,
    },
    /// The system refused: permission, full disk, an unreadable medium.
    #[error("{path}: {message}")]
    Io {
        /// The path asked for.
        path: WorkspacePath,
        /// The system's words, or a description of what is wrong.
        message: String,
        /// What the system answered, if it was the system.
        source: Option<SystemError>,
    },
}

/// An error of the system that, unlike an [`io::Error`], can be cloned and compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SystemError {
    /// What kind of error it is.
    pub kind: io::ErrorKind,
    /// The system's error number, if it has one.
    pub number: Option<i32>,
    message: String,
}

impl From<&io::Error> for SystemError {
    fn from(error: &io::Error) -> Self {
        Self { kind: error.kind(), number: error.raw_os_error(), message: error.to_string() }
    }
}

impl TreeError {
    /// The system's answer for this path.
    pub fn io(path: WorkspacePath, error: &io::Error) -> Self {
        Self::Io { path, message: error.to_string(), source: Some(error.into()) }
    }

    /// An error that the system did not report.
    pub fn failed(path: WorkspacePath, message: impl Into<String>) -> Self {
        Self::Io { path, message: message.into(), source: None }
    }

    /// The path to be read is not a file.
    pub(crate) fn not_a_file(path: &WorkspacePath) -> Self {
        Self::Unsupported { path: path.clone(), reason: "it is not a regular file".to_owned() }
    }

    /// The path is one that no view shows and nobody may stage.
    #[cfg(feature = "os")]
    pub(crate) fn reserved(path: &WorkspacePath) -> Self {
        Self::Unsupported { path: path.clone(), reason: "the name is reserved".to_owned() }
    }

    /// The path whose target is to be read is not a link.
    pub(crate) fn not_a_link(path: &WorkspacePath) -> Self {
        Self::Unsupported { path: path.clone(), reason: "it is not a symbolic link".to_owned() }
    }
}

/// Read access to files below a root.
///
/// # Guarantees
///
/// * No method changes anything, and none reads outside the root, wherever symbolic links lead.
/// * `metadata`, and the entries of `list`, describe a link itself; `read` and `list` follow links that stay inside,
///   and every method follows links in the folders above the last name.
/// * `list` is sorted by name and never holds `.` or `..`.
///
/// # Not guaranteed
///
/// Two calls need not see the same moment, because a user may edit in between. [`Fingerprint`](crate::Fingerprint)
/// tells whether that happened.
#[async_trait]
pub trait Tree: Send + Sync {
    /// What is at `path`; [`TreeError::NotFound`] if nothing is.
    async fn metadata(&self, path: &WorkspacePath) -> Result<Metadata, TreeError>;

    /// The whole content of a file.
    async fn read(&self, path: &WorkspacePath) -> Result<Vec<u8>, TreeError>;

    /// What is at `path` and, for a regular file, its whole content. A link at the end is not followed.
    ///
    /// The metadata is never newer than the content, so that an edit in between shows. A tree that can do both with
    /// one call to its system should override this.
    async fn look(&self, path: &WorkspacePath) -> Result<(Metadata, Option<Vec<u8>>), TreeError> {
        let metadata = self.metadata(path).await?;
        let content = match metadata.kind {
            EntryKind::File => Some(self.read(path).await?),
            _ => None,
        };
        Ok((metadata, content))
    }

    /// The names in a folder, sorted.
    async fn list(&self, path: &WorkspacePath) -> Result<Vec<DirEntry>, TreeError>;

    /// The target of a symbolic link, as it is written in the link.
    async fn read_link(&self, path: &WorkspacePath) -> Result<Vec<u8>, TreeError>;

    /// An error if an accept of these changes would be refused for what the system lets its user do: a file that is
    /// read-only, a folder that may not be written, a disk without room. The default says nothing against them,
    /// because a tree that is not on a disk has nothing of the kind.
    async fn check_changes(&self, _changes: &[Change]) -> Result<(), TreeError> {
        Ok(())
    }

    /// Whether something at or below the path is only staged, here or in a tree below this one, so that a program
    /// that opens the path itself does not find what this tree shows.
    fn is_staged(&self, _path: &WorkspacePath) -> bool {
        false
    }

    /// Everything that is staged, here and in the trees below this one, as one change set: the difference between
    /// this tree and the files that a program finds by itself.
    fn staged_changes(&self) -> ChangeSet {
        ChangeSet::default()
    }
}

/// A tree to which a finished change set can be applied.
#[async_trait]
pub trait Workspace: Tree {
    /// Applies every change, or none.
    ///
    /// What the user changed meanwhile is merged or is a conflict, as [`resolve`](crate::resolve) says. An
    /// implementation calls it, applies its answer, and checks at the moment it replaces a path that the path is
    /// still as that answer's base says. On a conflict nothing is changed. An error on the way (permission, full
    /// disk) takes back what was applied, and is returned.
    ///
    /// What a future leaves that is dropped half-way depends on the implementation, which has to say so: the trees of
    /// this crate commit within one poll, [`commit_through`](crate::commit_through) leaves the steps that were made.
    /// The engine drops no commit because of a time limit, but a host that drops a turn or an accept drops the commit
    /// within it. An implementation for which that would be harmful does the work in a task of its own, and only
    /// waits for it here.
    async fn commit(&self, changes: &ChangeSet, options: CommitOptions) -> Result<CommitOutcome, TreeError>;

    /// As [`commit`](Self::commit), together with what another [`Participant`](crate::Participant) of this workspace
    /// commits: both or neither. The change set may then be empty. The default is an error, because a workspace of
    /// files alone has no participant.
    async fn commit_with(
        &self,
        changes: &ChangeSet,
        _beside: &str,
        _options: CommitOptions,
    ) -> Result<CommitOutcome, TreeError> {
        let path = changes.changes.first().map_or_else(WorkspacePath::root, |change| change.path.clone());
        let reason = "this workspace commits files alone, and nothing was changed".to_owned();
        Err(TreeError::Unsupported { path, reason })
    }

    /// Prepares for a commit of these changes while the user still reads, so that the commit is quick. Nothing
    /// visible changes, and a commit without it is as good. The default does nothing.
    async fn prepare(&self, _changes: &ChangeSet) -> Result<(), TreeError> {
        Ok(())
    }

    /// Removes what was prepared for a commit of these changes, because none will follow.
    fn forget(&self, _changes: &ChangeSet) {}
}
