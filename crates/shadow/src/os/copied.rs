//! The copy of a workspace with which a view begins if there is no overlay, and which parts of it a command left
//! unchanged.
//!
//! The caller makes the copy, through the view's root, before any command runs. The copied contents are remembered as
//! hashes, so that reading back finds what an upper layer would hold: whatever has other bytes than were copied.
//! Times would not show that, because writing through a memory mapping leaves them as they are.

mod fill;
mod list;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use headstart_overlay_fs::{Change, ContentHash};
use headstart_workspace_path::WorkspacePath;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::again;
pub(super) use list::Listing;

/// What was at a path when the copy was made.
#[derive(Debug, Clone, PartialEq, Eq)]
enum CopiedState {
    Folder,
    File {
        hash: ContentHash,
        len: u64,
        mode: u32,
    },
    Link(Vec<u8>),
    /// It belongs to git, or git ignores it, so its bytes were not hashed.
    Unread,
    /// A step below wrote it. The tree that shows that step tells whether it is unchanged.
    Laid,
}

/// What a view began with, unless it is an overlay.
#[derive(Debug, Default)]
pub(super) struct Original {
    /// Whether the whole workspace was copied.
    is_copy: bool,
    entries: BTreeMap<WorkspacePath, CopiedState>,
    /// The kernel's clock when everything was copied: what is changed later shows this time or a later one.
    made: i64,
    /// The bytes and files in memory that the copy itself takes.
    taken: (u64, u64),
}

impl Original {
    /// Copies what is listed into an empty view.
    pub(super) fn copy(listing: &Listing, workspace: &File, root: BorrowedFd<'_>) -> Result<Self, Stopped> {
        fill::fill(listing, workspace, root)
    }

    pub(super) fn is_copy(&self) -> bool {
        self.is_copy
    }

    /// The bytes and files of the view's limit that the copy takes.
    pub(super) fn taken(&self) -> (u64, u64) {
        self.taken
    }

    /// Notes that steps below wrote these paths.
    pub(super) fn note_below<'a>(&mut self, changes: impl IntoIterator<Item = &'a Change>) {
        for change in changes {
            let mut path = Some(change.path.clone());
            while let Some(at) = path.filter(|at| !at.is_root()) {
                path = at.parent();
                match self.entries.get(&at) {
                    Some(CopiedState::Folder) if at != change.path => {}
                    _ => drop(self.entries.insert(at, CopiedState::Laid)),
                }
            }
        }
    }

    /// The paths directly in a folder.
    pub(super) fn names<'a>(&'a self, folder: &'a WorkspacePath) -> impl Iterator<Item = &'a WorkspacePath> {
        let from = self.entries.range(folder.clone()..).map(|(path, _)| path);
        // Between the paths in the folder there are others that only begin with the same bytes.
        let alike = from.take_while(|path| path.as_bytes().starts_with(folder.as_bytes()));
        alike.filter(|path| path.parent().as_ref() == Some(folder))
    }

    /// Whether a folder was copied to this path, or something that was not hashed.
    pub(super) fn had_folder(&self, path: &WorkspacePath) -> bool {
        matches!(self.entries.get(path), Some(CopiedState::Folder | CopiedState::Unread))
    }

    /// Whether a path is in something that was copied without being read.
    pub(super) fn holds_unread(&self, path: &WorkspacePath) -> bool {
        let mut above = Some(path.clone());
        while let Some(at) = above {
            if matches!(self.entries.get(&at), Some(CopiedState::Unread)) {
                return true;
            }
            above = at.parent();
        }
        false
    }

    /// Whether what is at a name has exactly the bytes that were copied there, so that no command changed it. Folders
    /// are not compared.
    pub(super) fn is_unchanged(&self, folder: BorrowedFd<'_>, name: &[u8], path: &WorkspacePath) -> bool {
        match self.entries.get(path) {
            Some(CopiedState::File { hash, len, mode }) => {
                let found = file(folder, name).ok().flatten();
                found.is_some_and(|(found, stat)| {
                    is_plain(&stat)
                        && stat.st_size.cast_unsigned() == *len
                        && stat.st_mode & 0o777 == *mode
                        && content(found, *len).is_ok_and(|content| ContentHash::of(&content) == *hash)
                })
            }
            Some(CopiedState::Link(target)) => {
                let found = rustix::fs::readlinkat(folder, name, Vec::new());
                found.is_ok_and(|found| found.as_bytes() == target)
            }
            Some(CopiedState::Unread) => !self.is_newer(folder, name, 0),
            Some(CopiedState::Folder | CopiedState::Laid) | None => false,
        }
    }

    /// Whether anything at a name or below it appeared or changed since the copy was made. A removed name is a change
    /// of its folder.
    pub(super) fn is_newer(&self, folder: BorrowedFd<'_>, name: &[u8], depth: usize) -> bool {
        const DEEPEST: usize = 64;
        let Ok(stat) = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else { return true };
        if self.made <= changed(&stat) || DEEPEST < depth {
            return true;
        }
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            return false;
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(inner) = again(|| rustix::fs::openat(folder, name, flags, Mode::empty())) else { return true };
        let Ok(entries) = Dir::read_from(&inner) else { return true };
        entries.into_iter().any(|entry| {
            let Ok(entry) = entry else { return true };
            let name = entry.file_name().to_bytes();
            name != b"." && name != b".." && self.is_newer(inner.as_fd(), name, depth + 1)
        })
    }
}

/// The path at which a copy stopped, and why.
#[derive(Debug)]
pub(super) struct Stopped {
    pub(super) path: WorkspacePath,
    pub(super) error: Errno,
}

/// A regular file in a folder; `None` for anything else.
fn file(folder: BorrowedFd<'_>, name: &[u8]) -> Result<Option<(OwnedFd, Stat)>, Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    // Only regular files are opened, because opening a device may have an effect.
    let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Ok(None);
    }
    let file = again(|| rustix::fs::openat(folder, name, flags, Mode::empty()))?;
    let stat = rustix::fs::fstat(&file)?;
    let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    Ok(is_file.then_some((file, stat)))
}

/// Whether a file has only one name and none of the mode bits that are never staged.
fn is_plain(stat: &Stat) -> bool {
    stat.st_nlink == 1 && stat.st_mode & 0o7_000 == 0
}

/// The content of a file that had this length a moment ago, and one byte more if there is one.
fn content(file: OwnedFd, len: u64) -> std::io::Result<Vec<u8>> {
    let mut content = Vec::new();
    File::from(file).take(len.saturating_add(1)).read_to_end(&mut content)?;
    Ok(content)
}

/// The time of the last change, in nanoseconds.
pub(super) fn changed(stat: &Stat) -> i64 {
    let nanoseconds = i64::try_from(stat.st_ctime_nsec).unwrap_or_default();
    stat.st_ctime.saturating_mul(1_000_000_000).saturating_add(nanoseconds)
}
