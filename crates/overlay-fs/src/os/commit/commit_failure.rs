//! Why a commit stops, and what is reported.

use std::io;

use headstart_workspace_path::WorkspacePath;

use crate::os::disk::calls::Location;
use crate::os::disk::system::Errno;
use crate::os::tree_error;
use crate::{Conflict, ConflictKind, TreeError};

/// Why a commit stops.
#[derive(Debug)]
pub(in crate::os) enum CommitFailure {
    Conflict(Box<Conflict>),
    Error(TreeError),
}

impl CommitFailure {
    pub(in crate::os) fn conflict(path: &WorkspacePath, kind: ConflictKind) -> Self {
        Self::Conflict(Box::new(Conflict::new(path.clone(), kind)))
    }

    pub(in crate::os) fn io(path: &WorkspacePath, error: impl Into<io::Error>) -> Self {
        Self::Error(TreeError::io(path.clone(), &error.into()))
    }

    /// An error that no path of the workspace caused.
    pub(in crate::os) fn at_root(error: impl Into<io::Error>) -> Self {
        Self::io(&WorkspacePath::root(), error)
    }

    /// A folder above the path could not be opened.
    pub(in crate::os) fn above(path: &WorkspacePath, error: &io::Error) -> Self {
        match (error.kind(), Errno::from_io_error(error)) {
            (io::ErrorKind::NotFound, _) => Self::conflict(path, ConflictKind::Deleted),
            (_, None | Some(Errno::NOTDIR | Errno::LOOP | Errno::XDEV | Errno::MLINK)) => {
                Self::conflict(path, ConflictKind::Replaced)
            }
            (_, Some(error)) => Self::io(path, error),
        }
    }
}

pub(in crate::os) fn other_file_system(path: &WorkspacePath) -> CommitFailure {
    let message = "it is on another file system than the workspace's folder, and cannot be replaced without a \
                   moment in which it is half written";
    CommitFailure::Error(TreeError::failed(path.clone(), message))
}

/// What is in the staging folder for a change is not what the change says.
pub(in crate::os) fn tampered(path: &WorkspacePath, at: Location<'_>) -> CommitFailure {
    let message = format!(
        "what was staged for it ({}) was changed by somebody else; nothing was accepted",
        at.name.display()
    );
    CommitFailure::Error(TreeError::failed(path.clone(), message))
}

/// The steps could not be taken back: the commit is half done, and its journal stays in force.
pub(in crate::os) fn not_taken_back(failure: CommitFailure, error: &io::Error) -> CommitFailure {
    let failure = failure.into_error();
    let message = format!(
        "{failure}; what was done until then could not be taken back ({error}): the next accept, undo or sweep does it"
    );
    CommitFailure::Error(TreeError::failed(WorkspacePath::root(), message))
}

/// The files are in place, and it is not known how far the participant got: the journal stays in force.
pub(in crate::os) fn not_followed(error: &TreeError) -> CommitFailure {
    let message = format!(
        "the files are in place, but what belongs to them could not follow ({error}): the next accept, undo or sweep \
         ends it"
    );
    CommitFailure::Error(TreeError::failed(WorkspacePath::root(), message))
}

pub(in crate::os) fn at_root(error: &io::Error) -> TreeError {
    tree_error(&WorkspacePath::root(), error)
}
