//! The system calls of a commit. Each does all or nothing, none follows a link, and a move never overwrites.

use std::ffi::OsStr;
use std::path::Path;

use cap_std::fs::Dir;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{
    Access, AtFlags, FileType, Mode, OFlags, RenameFlags, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT,
};
use rustix::io::{Errno, Result};

#[cfg(feature = "failpoints")]
use super::failpoints::before;
#[cfg(feature = "failpoints")]
use super::trace::{RecordedCall, slot};
use crate::{ContentHash, EntryKind};

/// Seconds and nanoseconds since the Unix epoch.
pub(in crate::os) type Time = (i64, i64);

/// A name in an open folder.
#[derive(Debug, Clone, Copy)]
pub(in crate::os) struct Location<'a> {
    pub(in crate::os) folder: &'a Dir,
    pub(in crate::os) name: &'a OsStr,
}

/// What the system says about a name.
#[derive(Debug, Clone, Copy)]
pub(in crate::os) struct Stat {
    pub(in crate::os) kind: EntryKind,
    pub(in crate::os) inode: u64,
    pub(in crate::os) device: u64,
    pub(in crate::os) len: u64,
    /// Permission bits, including set-user-id and similar ones.
    pub(in crate::os) mode: u32,
    pub(in crate::os) owner: (u32, u32),
    pub(in crate::os) links: u64,
    pub(in crate::os) modified: Time,
    /// The time of the last change to content, bits, owner or names. No program can set it.
    pub(in crate::os) changed: Time,
}

/// Records a call, if a test asks for that.
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

/// Flags for reading. Opening a FIFO or a device does not wait for another process.
const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// What is at the place. A link is not followed.
pub(in crate::os) fn look(at: Location<'_>) -> Result<Stat> {
    before("look", at.name)?;
    Ok(found(&rustix::fs::statat(at.folder, at.name, AtFlags::SYMLINK_NOFOLLOW)?))
}

/// What is at a path outside the workspace, with links followed.
pub(in crate::os) fn look_through(path: &Path) -> Result<Stat> {
    Ok(found(&rustix::fs::stat(path)?))
}

/// Checks that this user may write the file at the place.
pub(in crate::os) fn may_write(at: Location<'_>) -> Result<()> {
    before("look", at.name)?;
    rustix::fs::accessat(at.folder, at.name, Access::WRITE_OK, AtFlags::EACCESS)
}

/// What an open file is.
pub(in crate::os) fn look_at(file: impl AsFd) -> Result<Stat> {
    Ok(found(&rustix::fs::fstat(file)?))
}

/// Opens what is at the place for reading; [`Errno::LOOP`] for a link.
pub(in crate::os) fn open(at: Location<'_>) -> Result<OwnedFd> {
    before("open", at.name)?;
    rustix::fs::openat(at.folder, at.name, READ, Mode::empty())
}

/// Opens a file for reading and writing, unless its name is a link.
pub(in crate::os) fn open_to_write(at: Location<'_>) -> Result<OwnedFd> {
    before("open", at.name)?;
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    rustix::fs::openat(at.folder, at.name, flags, Mode::empty())
}

/// Reads the start of an open file; `false` if the file is shorter.
pub(in crate::os) fn read_start(file: impl AsFd, start: &mut [u8]) -> Result<bool> {
    loop {
        match rustix::io::pread(&file, &mut *start, 0) {
            Err(Errno::INTR) => {}
            outcome => return outcome.map(|count| count == start.len()),
        }
    }
}

/// Reads up to `len` bytes of an open file, and one more, which shows that there is more.
pub(in crate::os) fn read(file: impl AsFd, len: u64) -> Result<Vec<u8>> {
    let mut content = vec![0; usize::try_from(len).map_err(|_| Errno::FBIG)?.saturating_add(1)];
    let mut filled = 0;
    while filled < content.len() {
        match rustix::io::read(&file, &mut content[filled..]) {
            Ok(0) => break,
            Ok(count) => {
                filled += count;
                if filled + 1 == content.len() {
                    // One byte more than the file's length was asked for, and did not come.
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

/// Small enough for the data to stay in the processor's cache between reading and hashing.
const PART: u64 = 64 * 1024;

/// The hash of up to `len` bytes of an open file, and of at least one more if there is more.
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
            // One byte more than the file's length was asked for, and did not come.
            rest = 0;
        }
        Ok(count)
    })
}

/// The target of the link at the place.
pub(in crate::os) fn read_link(at: Location<'_>) -> Result<Vec<u8>> {
    before("read link", at.name)?;
    Ok(rustix::fs::readlinkat(at.folder, at.name, Vec::new())?.into_bytes())
}

/// Makes a file where nothing is. The process's umask applies to `mode`.
pub(in crate::os) fn create(at: Location<'_>, mode: u32, content: &[u8]) -> Result<OwnedFd> {
    before("create", at.name)?;
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(at.folder, at.name, flags, Mode::from_raw_mode(in_width_of(mode)))?;
    done!(RecordedCall::MakeFile { at: slot(at)?, inode: look_at(&file)?.inode, mode: look_at(&file)?.mode });
    if !content.is_empty() {
        append(&file, at.name, content)?;
    }
    Ok(file)
}

/// Appends to a file that this process made.
pub(in crate::os) fn append(file: &OwnedFd, name: &OsStr, content: &[u8]) -> Result<()> {
    // Written in two parts if a test may stop in between.
    let half = if cfg!(feature = "failpoints") { content.len() / 2 } else { 0 };
    let (start, rest) = content.split_at(half);
    for part in [start, rest].into_iter().filter(|part| cfg!(feature = "failpoints") || !part.is_empty()) {
        before("write", name)?;
        write_all(file, part)?;
        done!({
            let Stat { inode, modified, .. } = look_at(file)?;
            RecordedCall::Append { inode, content: part.to_vec(), modified }
        });
    }
    Ok(())
}

/// Overwrites the start of an open file. Only living processes read it, so the power tests need no record of it.
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

pub(in crate::os) fn make_link(at: Location<'_>, target: &OsStr) -> Result<()> {
    before("make link", at.name)?;
    rustix::fs::symlinkat(target, at.folder, at.name)?;
    done!(RecordedCall::MakeLink {
        at: slot(at)?,
        inode: rustix::fs::statat(at.folder, at.name, AtFlags::SYMLINK_NOFOLLOW)?.st_ino,
        target: target.as_encoded_bytes().to_vec()
    });
    Ok(())
}

pub(in crate::os) fn make_folder(at: Location<'_>, mode: u32) -> Result<()> {
    before("make folder", at.name)?;
    rustix::fs::mkdirat(at.folder, at.name, Mode::from_raw_mode(in_width_of(mode)))?;
    done!({
        let new = found(&rustix::fs::statat(at.folder, at.name, AtFlags::SYMLINK_NOFOLLOW)?);
        RecordedCall::MakeFolder { at: slot(at)?, inode: new.inode, mode: new.mode }
    });
    Ok(())
}

/// As [`make_folder`], unless it exists.
pub(in crate::os) fn make_folder_if_missing(at: Location<'_>, mode: u32) -> Result<()> {
    match make_folder(at, mode) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Removes an empty folder; [`Errno::NOTEMPTY`] (or [`Errno::EXIST`]) if something is in it.
pub(in crate::os) fn remove_folder(at: Location<'_>) -> Result<()> {
    before("remove folder", at.name)?;
    rustix::fs::unlinkat(at.folder, at.name, AtFlags::REMOVEDIR)?;
    done!(RecordedCall::RemoveFolder { at: slot(at)? });
    Ok(())
}

pub(in crate::os) fn remove_file(at: Location<'_>) -> Result<()> {
    before("remove file", at.name)?;
    rustix::fs::unlinkat(at.folder, at.name, AtFlags::empty())?;
    done!(RecordedCall::RemoveFile { at: slot(at)? });
    Ok(())
}

/// As [`remove_file`], if it exists.
pub(in crate::os) fn remove_file_if_there(at: Location<'_>) -> Result<()> {
    match remove_file(at) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error),
    }
}

pub(in crate::os) fn set_mode(file: impl AsFd, mode: u32) -> Result<()> {
    before("set mode", OsStr::new(""))?;
    rustix::fs::fchmod(&file, Mode::from_raw_mode(in_width_of(mode)))?;
    done!(RecordedCall::SetMode { inode: look_at(&file)?.inode, mode });
    Ok(())
}

/// Sets the modification time of an open file; `None` for now.
pub(in crate::os) fn set_modified(file: impl AsFd, modified: Option<Time>) -> Result<()> {
    before("set time", OsStr::new(""))?;
    set_times(modified, |times| rustix::fs::futimens(&file, times))?;
    done!({
        let Stat { inode, modified, .. } = look_at(&file)?;
        RecordedCall::SetModified { inode, modified }
    });
    Ok(())
}

/// As [`set_modified`] for what is at the place.
pub(in crate::os) fn set_modified_at(at: Location<'_>, modified: Option<Time>) -> Result<()> {
    before("set time", at.name)?;
    let flags = AtFlags::SYMLINK_NOFOLLOW;
    set_times(modified, |times| rustix::fs::utimensat(at.folder, at.name, times, flags))?;
    done!({
        let Stat { inode, modified, .. } = found(&rustix::fs::statat(at.folder, at.name, flags)?);
        RecordedCall::SetModified { inode, modified }
    });
    Ok(())
}

fn set_times(modified: Option<Time>, set: impl Fn(&Timestamps) -> Result<()>) -> Result<()> {
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    let last_access = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
    let last_modification = modified.map_or(now, |(tv_sec, tv_nsec)| Timespec { tv_sec, tv_nsec });
    match set(&Timestamps { last_access, last_modification }) {
        // For a file of another user, those who may write it can only set all times to now.
        Err(Errno::PERM) if modified.is_none() => {
            set(&Timestamps { last_access: now, last_modification: now })
        }
        outcome => outcome,
    }
}

/// Writes an open file to the medium.
pub(in crate::os) fn sync(file: &OwnedFd, name: &OsStr) -> Result<()> {
    before("sync", name)?;
    rustix::fs::fsync(file)?;
    done!(RecordedCall::Sync { inode: look_at(file)?.inode });
    Ok(())
}

/// Writes the names in a folder to the medium.
pub(in crate::os) fn sync_folder(folder: &Dir) -> Result<()> {
    let folder = open_folder(folder)?;
    before("sync folder", OsStr::new(""))?;
    match rustix::fs::fsync(&folder) {
        // Some file systems cannot sync a folder; then their own guarantees have to do.
        Err(Errno::INVAL | Errno::ROFS) => return Ok(()),
        outcome => outcome?,
    }
    done!(RecordedCall::SyncFolder { inode: look_at(&folder)?.inode });
    Ok(())
}

/// Writes everything to the medium that was written to a folder's file system; [`Errno::NOSYS`] if the system cannot.
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
        done!(RecordedCall::SyncFileSystem);
        Ok(())
    }
}

/// Opens a folder so that it can be synced and its names read, which the handles that only lead to it do not permit.
pub(in crate::os) fn open_folder(folder: &Dir) -> Result<OwnedFd> {
    before("open folder", OsStr::new(""))?;
    rustix::fs::openat(folder, ".", READ | OFlags::DIRECTORY, Mode::empty())
}

/// How something was moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::os) enum MoveMethod {
    /// By one rename.
    Rename,
    /// By a hard link: for a moment it had both names, and may have them again after a loss of power.
    HardLink,
}

/// Moves something to a place where nothing is; [`Errno::EXIST`] if something is there.
pub(in crate::os) fn move_to_free(from: Location<'_>, to: Location<'_>) -> Result<MoveMethod> {
    let moved = before("move", to.name).and_then(|()| rename(from, to, RenameFlags::NOREPLACE));
    match moved {
        Err(error) if is_missing_feature(error) => move_to_free_without_feature(from, to),
        outcome => outcome.map(|()| MoveMethod::Rename),
    }
}

/// Exchanges what is at two places; [`Errno::NOENT`] if nothing is at one of them.
///
/// `between` is a free place in the folder of `staged`, for file systems that cannot exchange. There, nothing is at
/// the target for a moment; if the user makes something there, the old file stays at `between`.
pub(in crate::os) fn exchange(
    staged: Location<'_>,
    target: Location<'_>,
    between: Location<'_>,
) -> Result<MoveMethod> {
    let exchanged =
        before("exchange", target.name).and_then(|()| rename(staged, target, RenameFlags::EXCHANGE));
    match exchanged {
        Err(error) if is_missing_feature(error) => {}
        outcome => return outcome.map(|()| MoveMethod::Rename),
    }
    move_to_free(target, between)?;
    if let Err(error) = move_to_free(staged, target) {
        move_to_free(between, target)?;
        return Err(error);
    }
    move_to_free(between, staged)
}

/// Renames within one folder, over what may be there.
pub(in crate::os) fn rename_over(folder: &Dir, from: &str, to: &str) -> Result<()> {
    before("rename", OsStr::new(to))?;
    rustix::fs::renameat(folder, from, folder, to)?;
    done!({
        let at = |name| slot(Location { folder, name: OsStr::new(name) });
        RecordedCall::Move { from: at(from)?, to: at(to)? }
    });
    Ok(())
}

fn rename(from: Location<'_>, to: Location<'_>, flags: RenameFlags) -> Result<()> {
    rustix::fs::renameat_with(from.folder, from.name, to.folder, to.name, flags)?;
    done!(if flags == RenameFlags::EXCHANGE {
        RecordedCall::Exchange { one: slot(from)?, other: slot(to)? }
    } else {
        RecordedCall::Move { from: slot(from)?, to: slot(to)? }
    });
    Ok(())
}

/// Some file systems (network, FAT, FUSE) only have plain renames.
fn is_missing_feature(error: Errno) -> bool {
    [Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP, Errno::NOTSUP].contains(&error)
}

/// Moves without the kernel's help. A hard link fails if something is there, so it does as well. For folders, and on
/// systems without hard links, the target is looked up first, and a file that the user makes there in between is
/// replaced.
fn move_to_free_without_feature(from: Location<'_>, to: Location<'_>) -> Result<MoveMethod> {
    if look(from)?.kind != EntryKind::Directory {
        before("link", to.name)?;
        match rustix::fs::linkat(from.folder, from.name, to.folder, to.name, AtFlags::empty()) {
            Ok(()) => {
                done!(RecordedCall::Link { from: slot(from)?, to: slot(to)? });
                return remove_file(from).map(|()| MoveMethod::HardLink);
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
            done!(RecordedCall::Move { from: slot(from)?, to: slot(to)? });
            Ok(MoveMethod::Rename)
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

/// A number in the width that it has on the other side: systems differ in that of modes, devices and counts of names.
fn in_width_of<A, B: TryFrom<A> + Default>(number: A) -> B {
    B::try_from(number).unwrap_or_default()
}

fn found(stat: &rustix::fs::Stat) -> Stat {
    let kind = kind_of(FileType::from_raw_mode(stat.st_mode));
    let len = if kind == EntryKind::Directory { 0 } else { u64::try_from(stat.st_size).unwrap_or(0) };
    Stat {
        kind,
        inode: stat.st_ino,
        device: in_width_of(stat.st_dev),
        len,
        mode: in_width_of(stat.st_mode & 0o7777),
        owner: (stat.st_uid, stat.st_gid),
        links: in_width_of(stat.st_nlink),
        modified: (stat.st_mtime, i64::try_from(stat.st_mtime_nsec).unwrap_or(0)),
        changed: (stat.st_ctime, i64::try_from(stat.st_ctime_nsec).unwrap_or(0)),
    }
}
