use std::io;

use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;
use headstart_workspace_path::WorkspacePath;

use super::commit_failure::CommitFailure;
use crate::os::disk::calls::Location;
use crate::os::disk::system::os_name;

/// Opens folders below the root, name by name and never through a link.
#[derive(Debug)]
pub(in crate::os) struct Folders<'a> {
    root: &'a Dir,
    /// The folder that was opened last. The next one is often the same, or inside it.
    last: Option<(WorkspacePath, Dir)>,
}

impl<'a> Folders<'a> {
    pub(in crate::os) fn new(root: &'a Dir) -> Self {
        Self { root, last: None }
    }

    pub(in crate::os) fn open(&mut self, path: &WorkspacePath) -> io::Result<&Dir> {
        let (from, start) = match self.last.take() {
            Some((at, folder)) if path.starts_with(&at) => (at, Some(folder)),
            _ => (WorkspacePath::root(), None),
        };
        let rest = path.strip_prefix(&from).unwrap_or_default();
        let mut folder = start;
        for name in rest.names() {
            folder = Some(folder.as_ref().unwrap_or(self.root).open_dir_nofollow(os_name(name)?)?);
        }
        match folder {
            None => Ok(self.root),
            Some(folder) => Ok(&self.last.insert((path.clone(), folder)).1),
        }
    }

    /// The place of a path: its name in the folder that holds it.
    pub(in crate::os) fn place<'b>(&'b mut self, path: &'b WorkspacePath) -> io::Result<Location<'b>> {
        let name = os_name(path.file_name().unwrap_or_default())?;
        Ok(Location { folder: self.open(&path.parent().unwrap_or_default())?, name })
    }

    /// As [`place`](Self::place) for a change: an obstacle is a conflict.
    pub(in crate::os) fn target<'b>(
        &'b mut self,
        path: &'b WorkspacePath,
    ) -> Result<Location<'b>, CommitFailure> {
        self.place(path).map_err(|error| CommitFailure::above(path, &error))
    }

    /// Closes the folder that was opened last, if it is at or below a path that is removed.
    pub(in crate::os) fn forget(&mut self, path: &WorkspacePath) {
        self.last.take_if(|(at, _)| at.starts_with(path));
    }
}
