//! Decides what of a workspace is copied, before anything is.

use std::fs::File;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;

use headstart_workspace_path::WorkspacePath;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::Tier;
use crate::os::again;
use crate::os::ignored::Ignored;
use crate::os::read::Tracked;

/// The most files, folders and links that are copied, because nobody should wait for a view to start.
const MOST_FILES: usize = 20_000;
/// The most bytes that are copied into memory.
const MOST_BYTES: u64 = 512 << 20;
const DEEPEST: usize = 128;

/// What is to be copied, each folder before its content.
#[derive(Debug)]
pub(in crate::os) struct Listing {
    pub(super) entries: Vec<Listed>,
    /// The size of all files, each rounded up to whole pages.
    pub(in crate::os) bytes: u64,
    /// Whether copies share their blocks with the workspace's files.
    pub(super) shares: bool,
}

#[derive(Debug)]
pub(super) struct Listed {
    pub(super) path: WorkspacePath,
    pub(super) stat: Stat,
    /// Whether git keeps it for itself, or ignores it.
    pub(super) unread: bool,
}

/// Why a workspace is not copied.
enum CopyError {
    Files,
    Bytes,
    Failed(WorkspacePath, Errno),
}

impl Listing {
    /// What a view of this tier begins with: for a clone everything, and for a copy in memory, or if everything is
    /// too much, what git does not ignore. Folders in `without` are kept elsewhere. The error is in words for the
    /// user.
    pub(in crate::os) fn of(
        workspace: &File,
        at: &Path,
        tier: Tier,
        without: &[WorkspacePath],
    ) -> Result<Self, String> {
        let shares = tier == Tier::Clone;
        let walk = |all| {
            let mut walk = Walk {
                ignored: Ignored::new(workspace.as_fd(), at),
                tracked: Tracked::of(at),
                without,
                all,
                listing: Self { entries: Vec::new(), bytes: 0, shares },
                page: rustix::param::page_size() as u64,
            };
            walk.folder(workspace.as_fd(), &WorkspacePath::root(), false).map(|()| walk.listing)
        };
        let listed = match walk(shares) {
            Err(CopyError::Files) if shares => walk(false),
            listed => listed,
        };
        listed.map_err(|stop| match stop {
            CopyError::Files => format!("more than {MOST_FILES} files would have to be copied"),
            CopyError::Bytes => {
                format!("more than {} MiB would have to be copied into memory", MOST_BYTES >> 20)
            }
            CopyError::Failed(path, error) => format!("{path}: {}", std::io::Error::from(error)),
        })
    }

    /// The number of files, folders and links.
    pub(in crate::os) fn files(&self) -> u64 {
        self.entries.len() as u64
    }

    /// One of the files, to try a copy with.
    pub(in crate::os) fn any_file(&self) -> Option<&WorkspacePath> {
        let is_file =
            |listed: &&Listed| FileType::from_raw_mode(listed.stat.st_mode) == FileType::RegularFile;
        self.entries.iter().find(is_file).map(|listed| &listed.path)
    }
}

struct Walk<'a> {
    ignored: Ignored<'a>,
    tracked: Tracked,
    without: &'a [WorkspacePath],
    /// Whether what git ignores is listed too.
    all: bool,
    listing: Listing,
    page: u64,
}

impl Walk<'_> {
    fn folder(&mut self, at: BorrowedFd<'_>, path: &WorkspacePath, unread: bool) -> Result<(), CopyError> {
        let failed = |error| CopyError::Failed(path.clone(), error);
        let entries = open(at, b".").and_then(Dir::new).map_err(failed)?;
        if !unread {
            self.ignored.enter(path);
        }
        for entry in entries {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                self.entry(at, name, path, unread)?;
            }
        }
        Ok(())
    }

    fn entry(
        &mut self,
        at: BorrowedFd<'_>,
        name: &[u8],
        folder: &WorkspacePath,
        unread: bool,
    ) -> Result<(), CopyError> {
        // A name that cannot be in a path cannot be staged either.
        let Ok(path) = folder.join_bytes(name) else { return Ok(()) };
        let stat = match rustix::fs::statat(at, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            // It was removed meanwhile.
            Err(Errno::NOENT) => return Ok(()),
            Err(error) => return Err(CopyError::Failed(path, error)),
        };
        let kind = FileType::from_raw_mode(stat.st_mode);
        let is_folder = kind == FileType::Directory;
        let is_copied = is_folder || matches!(kind, FileType::RegularFile | FileType::Symlink);
        if !is_copied || self.without.contains(&path) {
            return Ok(());
        }
        let is_git = is_folder && path.as_bytes() == b".git";
        let unread = unread || is_git || self.is_ignored(&path, is_folder);
        if unread && !self.all && path.names().next() != Some(b".git") {
            return Ok(());
        }
        if kind == FileType::RegularFile {
            self.listing.bytes += stat.st_size.cast_unsigned().next_multiple_of(self.page);
        }
        self.listing.entries.push(Listed { path: path.clone(), stat, unread });
        if MOST_FILES < self.listing.entries.len() {
            return Err(CopyError::Files);
        }
        if !self.listing.shares && MOST_BYTES < self.listing.bytes {
            return Err(CopyError::Bytes);
        }
        if is_folder && path.names().count() < DEEPEST {
            match open(at, name) {
                Ok(inner) => self.folder(inner.as_fd(), &path, unread)?,
                // A command of the same user cannot read it either; or it was removed meanwhile.
                Err(Errno::ACCESS | Errno::NOENT) => {}
                Err(error) => return Err(CopyError::Failed(path, error)),
            }
            self.ignored.leave_to(folder);
        }
        Ok(())
    }

    /// Whether git ignores the path and does not track it.
    fn is_ignored(&self, path: &WorkspacePath, is_folder: bool) -> bool {
        self.ignored.says_of(path, is_folder) == Some(true) && !self.tracked.has(path)
    }
}

fn open(at: BorrowedFd<'_>, name: &[u8]) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    again(|| rustix::fs::openat(at, name, flags, Mode::empty()))
}
