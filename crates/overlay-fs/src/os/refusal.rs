//! What the system will not let an accept do, found before anything is changed.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io;

use headstart_workspace_path::WorkspacePath;

use super::OsTree;
use super::commit::folders::Folders;
use super::disk::calls::{self, Location, Stat};
use super::disk::system;
use crate::{Change, ChangeKind, EntryKind, TreeError};

const OWNER_MAY_WRITE: u32 = 0o200;
const SOMEBODY_MAY_WRITE: u32 = 0o222;

/// Looks for changes that an accept would refuse, each folder once.
pub(super) struct Refusals<'a> {
    folders: Folders<'a>,
    /// Folders that may be written.
    open: HashSet<WorkspacePath>,
}

impl<'a> Refusals<'a> {
    pub(super) fn new(tree: &'a OsTree) -> Self {
        Self { folders: Folders::new(&tree.root), open: HashSet::new() }
    }

    /// An error if the system lets this user not make the change where `found` is at its path.
    pub(super) fn check(&mut self, change: &Change, found: Option<&Stat>) -> Result<(), TreeError> {
        if let Some(found) = found {
            self.check_entry(change, found)?;
        }
        self.check_folder(&change.path)
    }

    /// Refuses files that this user may not write, because a rename would replace them all the same, unless the work
    /// made them writable.
    fn check_entry(&mut self, change: &Change, found: &Stat) -> Result<(), TreeError> {
        let refused = |reason: &str| {
            Err(TreeError::Unsupported { path: change.path.clone(), reason: reason.to_owned() })
        };
        let Ok(at) = self.folders.place(&change.path) else { return Ok(()) };
        if calls::is_fixed(at).map_err(|error| TreeError::io(change.path.clone(), &error.into()))? {
            return refused(
                "it is immutable or can only be appended to (see lsattr); chattr -i -a changes that",
            );
        }
        if !matches!(change.kind, ChangeKind::Write { .. }) || found.kind != EntryKind::File {
            return Ok(());
        }
        let is_owner = found.owner.0 == system::user();
        let is_opened = change.mode.is_some_and(|mode| mode & OWNER_MAY_WRITE != 0);
        // The system is asked only if the bits do not tell, because that is another call.
        let may_write = is_owner && (found.mode & OWNER_MAY_WRITE != 0 || is_opened)
            || found.mode & SOMEBODY_MAY_WRITE != 0 && calls::may_write(at).is_ok();
        if may_write { Ok(()) } else { refused("the file is read-only; make it writable and try again") }
    }

    /// Refuses what would be made in, or removed from, a folder that this user may not write.
    fn check_folder(&mut self, path: &WorkspacePath) -> Result<(), TreeError> {
        let mut above = path.parent();
        while let Some(folder) = above {
            if self.open.contains(&folder) {
                return Ok(());
            }
            above = folder.parent();
            let Ok(opened) = self.folders.open(&folder) else { continue };
            match calls::may_write_folder(Location { folder: opened, name: OsStr::new(".") }) {
                Ok(()) => drop(self.open.insert(folder)),
                Err(error) => {
                    let error = io::Error::from(error);
                    let name = if folder.is_root() { "the workspace".to_owned() } else { folder.to_string() };
                    let message = format!("{error}: the folder {name} may not be written");
                    return Err(TreeError::Io { path: path.clone(), message, source: Some((&error).into()) });
                }
            }
            return Ok(());
        }
        Ok(())
    }
}

impl OsTree {
    /// As [`Tree::check_changes`](crate::Tree::check_changes).
    pub(super) fn check(&self, changes: &[Change]) -> Result<(), TreeError> {
        let mut refusals = Refusals::new(self);
        let mut bytes = 0;
        for change in changes {
            let found = refusals.folders.place(&change.path).ok().and_then(|at| calls::look(at).ok());
            refusals.check(change, found.as_ref())?;
            if let ChangeKind::Write { content, .. } = &change.kind {
                bytes += content.len() as u64;
            }
            if system::room(&self.root).is_some_and(|room| room < bytes) {
                let full = io::Error::from(io::ErrorKind::StorageFull);
                let message = format!("the disk has no room for it ({bytes} bytes)");
                let source = Some((&full).into());
                return Err(TreeError::Io { path: change.path.clone(), message, source });
            }
        }
        Ok(())
    }
}
