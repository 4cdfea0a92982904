use std::ffi::OsStr;
use std::io;

use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;
use headstart_workspace_path::WorkspacePath;
use rustix::io::Errno;

use super::calls::Place;
use super::os_name;
use crate::{Conflict, ConflictKind, TreeError};

/// Why a commit does not go on.
#[derive(Debug)]
pub(super) enum Stop {
    Conflict(Box<Conflict>),
    Error(TreeError),
}

/// Opens folders below the root, name by name and never through a link.
#[derive(Debug)]
pub(super) struct Folders<'a> {
    root: &'a Dir,
    /// The last one: the next is often the same, or in it.
    last: Option<(WorkspacePath, Dir)>,
}

impl<'a> Folders<'a> {
    pub(super) fn new(root: &'a Dir) -> Self {
        Self { root, last: None }
    }

    pub(super) fn open(&mut self, path: &WorkspacePath) -> io::Result<&Dir> {
        let (from, start) = match self.last.take() {
            Some((at, folder)) if path.starts_with(&at) => (at, Some(folder)),
            _ => (WorkspacePath::root(), None),
        };
        let rest = path.strip_prefix(&from).unwrap_or_default();
        let mut folder = start;
        for name in rest.names() {
            folder = Some(folder.as_ref().unwrap_or(self.root).open_dir_nofollow(os_name(name))?);
        }
        match folder {
            None => Ok(self.root),
            Some(folder) => Ok(&self.last.insert((path.clone(), folder)).1),
        }
    }

    /// The place of a path, in the folder that holds it.
    pub(super) fn place<'b>(&'b mut self, path: &'b WorkspacePath) -> io::Result<Place<'b>> {
        let name: &OsStr = os_name(path.file_name().unwrap_or_default());
        Ok(Place { folder: self.open(&path.parent().unwrap_or_default())?, name })
    }

    /// The same for a change: what is in the way is a conflict.
    pub(super) fn target<'b>(&'b mut self, path: &'b WorkspacePath) -> Result<Place<'b>, Stop> {
        self.place(path).map_err(|error| Stop::above(path, &error))
    }

    /// Forgets an open folder at or below a path that is taken away.
    pub(super) fn forget(&mut self, path: &WorkspacePath) {
        self.last.take_if(|(at, _)| at.starts_with(path));
    }
}

impl Stop {
    pub(super) fn conflict(path: &WorkspacePath, kind: ConflictKind) -> Self {
        Self::Conflict(Box::new(Conflict::new(path.clone(), kind)))
    }

    pub(super) fn io(path: &WorkspacePath, error: impl Into<io::Error>) -> Self {
        Self::Error(TreeError::Io { path: path.clone(), message: error.into().to_string() })
    }

    /// For what fails with no path of the workspace to blame.
    pub(super) fn at_root(error: impl Into<io::Error>) -> Self {
        Self::io(&WorkspacePath::root(), error)
    }

    /// A folder above the path could not be opened.
    pub(super) fn above(path: &WorkspacePath, error: &io::Error) -> Self {
        match (error.kind(), Errno::from_io_error(error)) {
            (io::ErrorKind::NotFound, _) => Self::conflict(path, ConflictKind::Deleted),
            (_, None | Some(Errno::NOTDIR | Errno::LOOP | Errno::XDEV | Errno::MLINK)) => {
                Self::conflict(path, ConflictKind::Replaced)
            }
            (_, Some(error)) => Self::io(path, error),
        }
    }
}
