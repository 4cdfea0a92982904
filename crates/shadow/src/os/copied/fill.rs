//! Copies what is listed.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::time::Duration;

use headstart_overlay_fs::{ContentHash, file_times};
use headstart_workspace_path::WorkspacePath;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat, Timespec, Timestamps};
use rustix::io::Errno;

use super::list::{Listed, Listing};
use super::{CopiedState, Original, Stopped, content, file};
use crate::os::again;

pub(super) fn fill(listing: &Listing, workspace: &File, root: BorrowedFd<'_>) -> Result<Original, Stopped> {
    let before = used(root);
    let mut fill = Fill {
        from: workspace.as_fd(),
        to: root,
        shares: listing.shares,
        folder: None,
        entries: BTreeMap::new(),
    };
    for listed in &listing.entries {
        fill.entry(listed).map_err(|error| Stopped { path: listed.path.clone(), error })?;
    }
    // Folders are finished last, the innermost first: filling a folder changes its time, and a read-only one could
    // not be filled.
    let folders = listing.entries.iter().rev().filter(|listed| kind(&listed.stat) == FileType::Directory);
    for listed in folders {
        finish_folder(root, listed.path.as_bytes(), &listed.stat)
            .map_err(|error| Stopped { path: listed.path.clone(), error })?;
    }
    rustix::fs::fstat(workspace)
        .and_then(|stat| finish_folder(root, b".", &stat))
        .map_err(|error| Stopped { path: WorkspacePath::root(), error })?;
    let after = used(root);
    let taken = (after.0.saturating_sub(before.0), after.1.saturating_sub(before.1));
    Ok(Original { is_copy: true, entries: fill.entries, made: next_moment(), taken })
}

struct Fill<'a> {
    from: BorrowedFd<'a>,
    to: BorrowedFd<'a>,
    shares: bool,
    /// The folder that is being filled: its path, and handles in the workspace and in the view.
    folder: Option<(WorkspacePath, OwnedFd, OwnedFd)>,
    entries: BTreeMap<WorkspacePath, CopiedState>,
}

impl Fill<'_> {
    fn entry(&mut self, listed: &Listed) -> Result<(), Errno> {
        let Listed { path, stat, unread } = listed;
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { return Ok(()) };
        if self.folder.as_ref().is_none_or(|(folder, ..)| *folder != above) {
            let at = if above.is_root() { &b"."[..] } else { above.as_bytes() };
            let from = match folder(self.from, at) {
                // The folder was removed meanwhile, with everything in it.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
                opened => opened?,
            };
            let to = folder(self.to, at)?;
            self.folder = Some((above, from, to));
        }
        let Some((_, from, to)) = &self.folder else { return Ok(()) };
        let was = match kind(stat) {
            FileType::Directory => {
                rustix::fs::mkdirat(to, name, Mode::RWXU)?;
                CopiedState::Folder
            }
            FileType::Symlink => match again(|| rustix::fs::readlinkat(from, name, Vec::new())) {
                Ok(target) => {
                    rustix::fs::symlinkat(target.as_c_str(), to, name)?;
                    CopiedState::Link(target.into_bytes())
                }
                Err(Errno::NOENT | Errno::INVAL) => return Ok(()),
                Err(error) => return Err(error),
            },
            _ => match file(from.as_fd(), name) {
                Ok(Some((source, stat))) => self.file(source, &stat, to.as_fd(), name, *unread)?,
                // A file that the user may not read, or that was removed meanwhile, is missing in the view.
                Ok(None) | Err(Errno::ACCESS | Errno::NOENT | Errno::LOOP) => return Ok(()),
                Err(error) => return Err(error),
            },
        };
        self.entries.insert(path.clone(), if *unread { CopiedState::Unread } else { was });
        Ok(())
    }

    fn file(
        &self,
        source: OwnedFd,
        stat: &Stat,
        to: BorrowedFd<'_>,
        name: &[u8],
        unread: bool,
    ) -> Result<CopiedState, Errno> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut target = File::from(rustix::fs::openat(to, name, flags, Mode::RUSR | Mode::WUSR)?);
        if self.shares {
            rustix::fs::ioctl_ficlone(&target, &source)?;
        }
        let mut was = CopiedState::Unread;
        if !self.shares || !unread {
            let content = content(source, u64::MAX).map_err(|error| errno(&error))?;
            if !self.shares {
                target.write_all(&content).map_err(|error| errno(&error))?;
            }
            let (len, mode) = (content.len() as u64, stat.st_mode & 0o777);
            was = CopiedState::File { hash: ContentHash::of(&content), len, mode };
        }
        rustix::fs::fchmod(&target, Mode::from_raw_mode(stat.st_mode & 0o777))?;
        rustix::fs::futimens(&target, &times(stat))?;
        Ok(was)
    }
}

fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

/// Opens a folder below a root, without a link on the way to it.
fn folder(root: BorrowedFd<'_>, path: &[u8]) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    loop {
        match rustix::fs::openat2(root, path, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            opened => return opened,
        }
    }
}

/// Gives a folder the mode and times that it has in the workspace, because build tools compare times.
fn finish_folder(root: BorrowedFd<'_>, path: &[u8], stat: &Stat) -> Result<(), Errno> {
    let mode = Mode::from_raw_mode(stat.st_mode & 0o777);
    match rustix::fs::chmodat(root, path, mode, AtFlags::empty()) {
        // The folder was removed before it could be copied.
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(()),
        done => done?,
    }
    rustix::fs::utimensat(root, path, &times(stat), AtFlags::SYMLINK_NOFOLLOW)
}

fn times(stat: &Stat) -> Timestamps {
    let nanoseconds = i64::try_from(stat.st_mtime_nsec).unwrap_or_default();
    let time = Timespec { tv_sec: stat.st_mtime, tv_nsec: nanoseconds };
    Timestamps { last_access: time, last_modification: time }
}

/// The bytes and files in use on a folder's file system.
fn used(root: BorrowedFd<'_>) -> (u64, u64) {
    let used = rustix::fs::fstatvfs(root)
        .map(|found| ((found.f_blocks - found.f_bfree) * found.f_frsize, found.f_files - found.f_ffree));
    used.unwrap_or_default()
}

/// Waits until whatever changes shows a later time than everything that was just written, and returns the earliest
/// such time.
fn next_moment() -> i64 {
    let written = file_times::until_now_ns();
    loop {
        match file_times::since_now_ns() {
            later if written < later => return later,
            _ => std::thread::sleep(Duration::from_micros(500)),
        }
    }
}
