//! The system calls of a commit. Each does all or nothing, none follows a link, and none that moves ever overwrites.

use std::ffi::OsStr;
use std::path::Path;

use cap_std::fs::Dir;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{
    Access, AtFlags, FileType, Mode, OFlags, RenameFlags, Stat, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT,
};
use rustix::io::{Errno, Result};

#[cfg(feature = "failpoints")]
use super::failpoints::before;
#[cfg(feature = "failpoints")]
use super::trace::{Done, slot};
use crate::{ContentHash, EntryKind};

/// Seconds and nanoseconds since the Unix epoch.
pub(in crate::os) type Time = (i64, i64);

/// A name in an open folder.
#[derive(Debug, Clone, Copy)]
pub(in crate::os) struct Place<'a> {
    pub(in crate::os) folder: &'a Dir,
    pub(in crate::os) name: &'a OsStr,
}

/// What the system says of a name.
#[derive(Debug, Clone, Copy)]
pub(in crate::os) struct Found {
    pub(in crate::os) kind: EntryKind,
    pub(in crate::os) inode: u64,
    pub(in crate::os) device: u64,
    pub(in crate::os) len: u64,
    /// Permission bits, with those for set-user-id and the like.
    pub(in crate::os) mode: u32,
    pub(in crate::os) owner: (u32, u32),
    pub(in crate::os) links: u64,
    pub(in crate::os) modified: Time,
    /// The last change to content, bits, owner or names; nobody can set it.
    pub(in crate::os) changed: Time,
}

/// Notes what was done, for tests that ask for it.
macro_rules! done {
    ($done:expr) => {
        #[cfg(feature = "failpoints")]
        super::trace::note(|| Ok($done))
    };
}

#[cfg(not(feature = "failpoints"))]
#[expect(clippy::unnecessary_wraps, reason = "with the feature it may fail")]
fn before(_call: &'static str, _name: &OsStr) -> Result<()> {
    Ok(())
}

/// Everything but a file is opened without waiting for its other end.
const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// What is at the place; a link is not followed.
pub(in crate::os) fn look(at: Place<'_>) -> Result<Found> {
    before("look", at.name)?;
    Ok(found(&rustix::fs::statat(at.folder, at.name, AtFlags::SYMLINK_NOFOLLOW)?))
}

/// What is at a path from outside the workspace, wherever links in it lead.
pub(in crate::os) fn look_through(path: &Path) -> Result<Found> {
    Ok(found(&rustix::fs::stat(path)?))
}

/// Whether this user may write the file at the place.
pub(in crate::os) fn may_write(at: Place<'_>) -> Result<()> {
    before("look", at.name)?;
    rustix::fs::accessat(at.folder, at.name, Access::WRITE_OK, AtFlags::EACCESS)
}

/// What is open.
pub(in crate::os) fn look_at(file: impl AsFd) -> Result<Found> {
    Ok(found(&rustix::fs::fstat(file)?))
}

/// Opens what is at the place for reading; [`Errno::LOOP`] for a link.
pub(in crate::os) fn open(at: Place<'_>) -> Result<OwnedFd> {
    before("open", at.name)?;
    rustix::fs::openat(at.folder, at.name, READ, Mode::empty())
}

/// Opens a file for both, where its names do not lead elsewhere.
pub(in crate::os) fn open_to_write(at: Place<'_>) -> Result<OwnedFd> {
    before("open", at.name)?;
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    rustix::fs::openat(at.folder, at.name, flags, Mode::empty())
}

/// Reads the start of an open file; `false`: it is shorter.
pub(in crate::os) fn read_start(file: impl AsFd, start: &mut [u8]) -> Result<bool> {
    loop {
        match rustix::io::pread(&file, &mut *start, 0) {
            Err(Errno::INTR) => {}
            outcome => return outcome.map(|count| count == start.len()),
        }
    }
}

/// The content of an open file, as far as `len` bytes and one more to show that there is more.
pub(in crate::os) fn read(file: impl AsFd, len: u64) -> Result<Vec<u8>> {
    let mut content = vec![0; usize::try_from(len).map_err(|_| Errno::FBIG)?.saturating_add(1)];
    let mut filled = 0;
    while filled < content.len() {
        match rustix::io::read(&file, &mut content[filled..]) {
            Ok(0) => break,
            Ok(count) => {
                filled += count;
                if filled + 1 == content.len() {
                    // It was asked for that byte more, and there was none.
                    break;
                }
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    content.truncate(filled);
    Ok(content)
}

/// Small enough to stay in the processor's cache from the reading to the hashing.
const PART: u64 = 64 * 1024;

/// The hash of the content of an open file, as far as `len` bytes and at least one more, if there is more.
pub(in crate::os) fn hash(file: impl AsFd, len: u64) -> Result<ContentHash> {
    let part = usize::try_from(PART.min(len + 1)).map_err(|_| Errno::FBIG)?;
    let mut rest = u128::from(len) + 1;
    ContentHash::of_parts(&mut vec![0; part], |buffer| {
        if rest == 0 {
            return Ok(0);
        }
        let count = loop {
            match rustix::io::read(&file, &mut *buffer) {
                Err(Errno::INTR) => {}
                outcome => break outcome?,
            }
        };
        rest = rest.saturating_sub(count as u128);
        if rest == 1 && count < buffer.len() {
            // It was asked for that byte more, and there was none.
            rest = 0;
        }
        Ok(count)
    })
}

/// Where the link at the place points.
pub(in crate::os) fn read_link(at: Place<'_>) -> Result<Vec<u8>> {
    before("read link", at.name)?;
    Ok(rustix::fs::readlinkat(at.folder, at.name, Vec::new())?.into_bytes())
}

/// Makes a file where nothing is; its permission bits are `mode` without what the process's umask takes.
pub(in crate::os) fn create(at: Place<'_>, mode: u32, content: &[u8]) -> Result<OwnedFd> {
    before("create", at.name)?;
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(at.folder, at.name, flags, Mode::from_raw_mode(mode))?;
    done!(Done::MakeFile { at: slot(at)?, inode: look_at(&file)?.inode, mode: look_at(&file)?.mode });
    if !content.is_empty() {
        append(&file, at.name, content)?;
    }
    Ok(file)
}

/// Writes to the end of a file that this process made.
pub(in crate::os) fn append(file: &OwnedFd, name: &OsStr, content: &[u8]) -> Result<()> {
    // In two parts where a test may stop between them.
    let half = if cfg!(feature = "failpoints") { content.len() / 2 } else { 0 };
    let (start, rest) = content.split_at(half);
    for part in [start, rest].into_iter().filter(|part| cfg!(feature = "failpoints") || !part.is_empty()) {
        before("write", name)?;
        write_all(file, part)?;
        done!({
            let Found { inode, modified, .. } = look_at(file)?;
            Done::Append { inode, content: part.to_vec(), modified }
        });
    }
    Ok(())
}

/// Writes the start of an open file anew. What it says is for processes that live, so no record of it is needed.
pub(in crate::os) fn overwrite(file: &OwnedFd, name: &OsStr, start: &[u8]) -> Result<()> {
    before("overwrite", name)?;
    loop {
        match rustix::io::pwrite(file, start, 0) {
            Ok(count) if count == start.len() => return Ok(()),
            Ok(_) => return Err(Errno::IO),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
}

fn write_all(file: &OwnedFd, mut rest: &[u8]) -> Result<()> {
    while !rest.is_empty() {
        match rustix::io::write(file, rest) {
            Ok(0) => return Err(Errno::IO),
            Ok(count) => rest = &rest[count..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

pub(in crate::os) fn make_link(at: Place<'_>, target: &OsStr) -> Result<()> {
    before("make link", at.name)?;
    rustix::fs::symlinkat(target, at.folder, at.name)?;
    done!(Done::MakeLink {
        at: slot(at)?,
        inode: rustix::fs::statat(at.folder, at.name, AtFlags::SYMLINK_NOFOLLOW)?.st_ino,
        target: target.as_encoded_bytes().to_vec()
    });
    Ok(())
}

pub(in crate::os) fn make_folder(at: Place<'_>, mode: u32) -> Result<()> {
    before("make folder", at.name)?;
    rustix::fs::mkdirat(at.folder, at.name, Mode::from_raw_mode(mode))?;
    done!({
        let new = found(&rustix::fs::statat(at.folder, at.name, AtFlags::SYMLINK_NOFOLLOW)?);
        Done::MakeFolder { at: slot(at)?, inode: new.inode, mode: new.mode }
    });
    Ok(())
}

/// The same, where it is not there yet.
pub(in crate::os) fn make_folder_if_missing(at: Place<'_>, mode: u32) -> Result<()> {
    match make_folder(at, mode) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Removes an empty folder; [`Errno::NOTEMPTY`] (or [`Errno::EXIST`]) if something is in it.
pub(in crate::os) fn remove_folder(at: Place<'_>) -> Result<()> {
    before("remove folder", at.name)?;
    rustix::fs::unlinkat(at.folder, at.name, AtFlags::REMOVEDIR)?;
    done!(Done::RemoveFolder { at: slot(at)? });
    Ok(())
}

pub(in crate::os) fn remove_file(at: Place<'_>) -> Result<()> {
    before("remove file", at.name)?;
    rustix::fs::unlinkat(at.folder, at.name, AtFlags::empty())?;
    done!(Done::RemoveFile { at: slot(at)? });
    Ok(())
}

/// The same, where it is there.
pub(in crate::os) fn remove_file_if_there(at: Place<'_>) -> Result<()> {
    match remove_file(at) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error),
    }
}

pub(in crate::os) fn set_mode(file: impl AsFd, mode: u32) -> Result<()> {
    before("set mode", OsStr::new(""))?;
    rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?;
    done!(Done::SetMode { inode: look_at(&file)?.inode, mode });
    Ok(())
}

/// Sets the time of the last modification of an open file: `None` is now.
pub(in crate::os) fn set_modified(file: impl AsFd, modified: Option<Time>) -> Result<()> {
    before("set time", OsStr::new(""))?;
    set_times(modified, |times| rustix::fs::futimens(&file, times))?;
    done!({
        let Found { inode, modified, .. } = look_at(&file)?;
        Done::SetModified { inode, modified }
    });
    Ok(())
}

/// The same for what is at the place.
pub(in crate::os) fn set_modified_at(at: Place<'_>, modified: Option<Time>) -> Result<()> {
    before("set time", at.name)?;
    let flags = AtFlags::SYMLINK_NOFOLLOW;
    set_times(modified, |times| rustix::fs::utimensat(at.folder, at.name, times, flags))?;
    done!({
        let Found { inode, modified, .. } = found(&rustix::fs::statat(at.folder, at.name, flags)?);
        Done::SetModified { inode, modified }
    });
    Ok(())
}

fn set_times(modified: Option<Time>, set: impl Fn(&Timestamps) -> Result<()>) -> Result<()> {
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    let last_access = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
    let last_modification = modified.map_or(now, |(tv_sec, tv_nsec)| Timespec { tv_sec, tv_nsec });
    match set(&Timestamps { last_access, last_modification }) {
        // Of a file that belongs to another user only all times can be set, to those who may write it.
        Err(Errno::PERM) if modified.is_none() => {
            set(&Timestamps { last_access: now, last_modification: now })
        }
        outcome => outcome,
    }
}

/// Puts an open file on the medium.
pub(in crate::os) fn sync(file: &OwnedFd, name: &OsStr) -> Result<()> {
    before("sync", name)?;
    rustix::fs::fsync(file)?;
    done!(Done::Sync { inode: look_at(file)?.inode });
    Ok(())
}

/// Puts the names in a folder on the medium.
pub(in crate::os) fn sync_folder(folder: &Dir) -> Result<()> {
    let folder = open_folder(folder)?;
    before("sync folder", OsStr::new(""))?;
    match rustix::fs::fsync(&folder) {
        // Some file systems cannot sync a folder; what they promise is then all there is.
        Err(Errno::INVAL | Errno::ROFS) => return Ok(()),
        outcome => outcome?,
    }
    done!(Done::SyncFolder { inode: look_at(&folder)?.inode });
    Ok(())
}

/// Puts everything on the medium that was written to the file system of a folder; [`Errno::NOSYS`] where the system
/// cannot.
pub(in crate::os) fn sync_file_system(folder: &Dir) -> Result<()> {
    let folder = open_folder(folder)?;
    before("sync file system", OsStr::new(""))?;
    #[cfg(target_os = "linux")]
    rustix::fs::syncfs(folder)?;
    #[cfg(not(target_os = "linux"))]
    return {
        drop(folder);
        Err(Errno::NOSYS)
    };
    #[cfg(target_os = "linux")]
    {
        done!(Done::SyncFileSystem);
        Ok(())
    }
}

/// A handle of a folder that can be synced, and whose names can be read: others only lead to it.
pub(in crate::os) fn open_folder(folder: &Dir) -> Result<OwnedFd> {
    before("open folder", OsStr::new(""))?;
    rustix::fs::openat(folder, ".", READ | OFlags::DIRECTORY, Mode::empty())
}

/// How something came to another place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::os) enum Moved {
    /// In one step.
    AtOnce,
    /// It was there under both names for a moment, and may be so again after a loss of power.
    ByLink,
}

/// Moves to a place where nothing is; [`Errno::EXIST`] if something is there.
pub(in crate::os) fn move_to_free(from: Place<'_>, to: Place<'_>) -> Result<Moved> {
    let moved = before("move", to.name).and_then(|()| rename(from, to, RenameFlags::NOREPLACE));
    match moved {
        Err(error) if is_missing_feature(error) => move_to_free_without_feature(from, to),
        outcome => outcome.map(|()| Moved::AtOnce),
    }
}

/// Exchanges what is at two places; [`Errno::NOENT`] if one is empty.
///
/// `between` is a free place in the folder of `staged`, for file systems that cannot exchange. There nothing is at
/// the target for a moment; if its user makes something there, the old one stays in between.
pub(in crate::os) fn exchange(staged: Place<'_>, target: Place<'_>, between: Place<'_>) -> Result<Moved> {
    let exchanged =
        before("exchange", target.name).and_then(|()| rename(staged, target, RenameFlags::EXCHANGE));
    match exchanged {
        Err(error) if is_missing_feature(error) => {}
        outcome => return outcome.map(|()| Moved::AtOnce),
    }
    move_to_free(target, between)?;
    if let Err(error) = move_to_free(staged, target) {
        move_to_free(between, target)?;
        return Err(error);
    }
    move_to_free(between, staged)
}

/// Renames in one folder, over what may be there.
pub(in crate::os) fn rename_over(folder: &Dir, from: &str, to: &str) -> Result<()> {
    before("rename", OsStr::new(to))?;
    rustix::fs::renameat(folder, from, folder, to)?;
    done!({
        let at = |name| slot(Place { folder, name: OsStr::new(name) });
        Done::Move { from: at(from)?, to: at(to)? }
    });
    Ok(())
}

fn rename(from: Place<'_>, to: Place<'_>, flags: RenameFlags) -> Result<()> {
    rustix::fs::renameat_with(from.folder, from.name, to.folder, to.name, flags)?;
    done!(if flags == RenameFlags::EXCHANGE {
        Done::Exchange { one: slot(from)?, other: slot(to)? }
    } else {
        Done::Move { from: slot(from)?, to: slot(to)? }
    });
    Ok(())
}

/// Some file systems (network, FAT, FUSE) have plain renames only.
fn is_missing_feature(error: Errno) -> bool {
    [Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP, Errno::NOTSUP].contains(&error)
}

/// A hard link fails where something is, so it is as good; folders, and systems without hard links, are looked
/// at first: what its user makes there in between is replaced if it is a file.
fn move_to_free_without_feature(from: Place<'_>, to: Place<'_>) -> Result<Moved> {
    if look(from)?.kind != EntryKind::Directory {
        before("link", to.name)?;
        match rustix::fs::linkat(from.folder, from.name, to.folder, to.name, AtFlags::empty()) {
            Ok(()) => {
                done!(Done::Link { from: slot(from)?, to: slot(to)? });
                return remove_file(from).map(|()| Moved::ByLink);
            }
            Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS | Errno::MLINK | Errno::ACCESS) => {}
            Err(error) => return Err(error),
        }
    }
    match look(to) {
        Ok(_) => Err(Errno::EXIST),
        Err(Errno::NOENT) => {
            before("plain rename", to.name)?;
            rustix::fs::renameat(from.folder, from.name, to.folder, to.name)?;
            done!(Done::Move { from: slot(from)?, to: slot(to)? });
            Ok(Moved::AtOnce)
        }
        Err(error) => Err(error),
    }
}

pub(in crate::os) fn kind_of(found: FileType) -> EntryKind {
    match found {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Directory,
        FileType::Symlink => EntryKind::Symlink,
        _ => EntryKind::Other,
    }
}

fn found(stat: &Stat) -> Found {
    let kind = kind_of(FileType::from_raw_mode(stat.st_mode));
    let len = if kind == EntryKind::Directory { 0 } else { u64::try_from(stat.st_size).unwrap_or(0) };
    Found {
        kind,
        inode: stat.st_ino,
        device: stat.st_dev,
        len,
        mode: stat.st_mode & 0o7777,
        owner: (stat.st_uid, stat.st_gid),
        links: stat.st_nlink,
        modified: (stat.st_mtime, i64::try_from(stat.st_mtime_nsec).unwrap_or(0)),
        changed: (stat.st_ctime, i64::try_from(stat.st_ctime_nsec).unwrap_or(0)),
    }
}
