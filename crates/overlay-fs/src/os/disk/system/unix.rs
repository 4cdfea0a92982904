use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::fs::{Dir, MetadataExt as _, OpenOptions, OpenOptionsExt as _};
use headstart_workspace_path::WorkspacePath;
pub(in crate::os) use rustix::fd::{AsFd as AsOpenFile, OwnedFd as OpenFile};
use rustix::fs::{
    Access, AtFlags, FileType, FlockOperation, Mode, OFlags, RenameFlags, Timespec, Timestamps, UTIME_NOW,
    UTIME_OMIT, flock,
};
pub(in crate::os) use rustix::io::{Errno, Result};

use super::{Rename, Stat, Time};
use crate::EntryKind;

/// Flags for reading. Opening a FIFO or a device does not wait for another process.
const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// One name, or the target of a link, for the operating system.
#[expect(clippy::unnecessary_wraps, reason = "on Windows not every name is one")]
pub(in crate::os) fn os_name(name: &[u8]) -> io::Result<&OsStr> {
    Ok(OsStr::from_bytes(name))
}

/// A path relative to a folder for the operating system; its names have been [checked](os_name).
#[expect(clippy::unnecessary_wraps, reason = "on Windows not all bytes are a path")]
pub(in crate::os) fn os_path(path: &[u8]) -> io::Result<&OsStr> {
    Ok(OsStr::from_bytes(path))
}

/// A path of the workspace, from a relative one of the system's.
pub(in crate::os) fn workspace_path(relative: &Path) -> Option<WorkspacePath> {
    WorkspacePath::from_bytes(relative.as_os_str().as_bytes()).ok()
}

/// A path outside the workspace as bytes, and back.
pub(in crate::os) fn path_to_bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

pub(in crate::os) fn path_from_bytes(bytes: &[u8]) -> PathBuf {
    Path::new(OsStr::from_bytes(bytes)).to_owned()
}

pub(in crate::os) fn link_to_bytes(target: &Path) -> Vec<u8> {
    target.as_os_str().as_bytes().to_vec()
}

/// Options for reading a path below a folder. Opening a FIFO does not wait for a writer.
pub(in crate::os) fn to_read(follow: FollowSymlinks) -> OpenOptions {
    options(OFlags::empty(), follow)
}

/// As [`to_read`], for a folder.
pub(in crate::os) fn to_list() -> OpenOptions {
    options(OFlags::DIRECTORY, FollowSymlinks::Yes)
}

fn options(more: OFlags, follow: FollowSymlinks) -> OpenOptions {
    let mut options = OpenOptions::new();
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY | more;
    options.read(true).custom_flags(flags.bits().cast_signed()).follow(follow);
    options
}

/// Whether an error says that what is there cannot be opened as a file: a socket, or a device without a driver.
pub(in crate::os) fn is_no_file(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::NXIO.raw_os_error())
}

/// What is at a path below a folder. A link at its end is not followed.
pub(in crate::os) fn stat_below(root: &Dir, path: &OsStr) -> io::Result<Stat> {
    Ok((&root.symlink_metadata(path)?).into())
}

pub(in crate::os) fn stat(folder: &Dir, name: &OsStr) -> Result<Stat> {
    Ok(found(&rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?))
}

/// What is at a path outside the workspace, with links followed.
pub(in crate::os) fn stat_through(path: &Path) -> Result<Stat> {
    Ok(found(&rustix::fs::stat(path)?))
}

pub(in crate::os) fn stat_open(file: impl AsOpenFile) -> Result<Stat> {
    Ok(found(&rustix::fs::fstat(file)?))
}

pub(in crate::os) fn may_write(folder: &Dir, name: &OsStr) -> Result<()> {
    rustix::fs::accessat(folder, name, Access::WRITE_OK, AtFlags::EACCESS)
}

/// An error unless this user may make and remove names in a folder.
pub(in crate::os) fn may_write_folder(folder: &Dir, name: &OsStr) -> Result<()> {
    rustix::fs::accessat(folder, name, Access::WRITE_OK, AtFlags::EACCESS)
}

/// Whether nobody may change or rename it, whatever its permission bits say.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(in crate::os) fn is_fixed(folder: &Dir, name: &OsStr) -> Result<bool> {
    use rustix::fs::{StatxAttributes, StatxFlags};

    let fixed = StatxAttributes::IMMUTABLE | StatxAttributes::APPEND;
    match rustix::fs::statx(folder, name, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::empty()) {
        Ok(found) => Ok(found.stx_attributes.intersects(fixed)),
        // The system is older, or the name is gone: what comes later says so.
        Err(Errno::NOSYS | Errno::NOENT) => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
#[expect(clippy::unnecessary_wraps, reason = "Linux may not tell")]
pub(in crate::os) fn is_fixed(_folder: &Dir, _name: &OsStr) -> Result<bool> {
    Ok(false)
}

/// The bytes that this user may still write to a folder's file system, if it tells.
pub(in crate::os) fn room(folder: &Dir) -> Option<u64> {
    let found = rustix::fs::fstatvfs(folder).ok().filter(|found| found.f_blocks != 0)?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}

/// The number of this user.
pub(in crate::os) fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Opens for reading, for setting times and bits, and for syncing; [`Errno::LOOP`] for a link.
pub(in crate::os) fn open(folder: &Dir, name: &OsStr) -> Result<OpenFile> {
    rustix::fs::openat(folder, name, READ, Mode::empty())
}

/// As [`open`], so that the file can be synced.
pub(in crate::os) fn open_to_sync(folder: &Dir, name: &OsStr) -> Result<OpenFile> {
    open(folder, name)
}

/// Opens a file for reading and writing, unless its name is a link.
pub(in crate::os) fn open_to_write(folder: &Dir, name: &OsStr) -> Result<OpenFile> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    rustix::fs::openat(folder, name, flags, Mode::empty())
}

/// Opens a folder again, so that it can be synced and its names read, which the handles that only lead to it do not
/// permit.
pub(in crate::os) fn open_folder(folder: &Dir) -> Result<OpenFile> {
    rustix::fs::openat(folder, ".", READ | OFlags::DIRECTORY, Mode::empty())
}

/// Opens a folder that only this crate uses, unless its name is a link.
pub(in crate::os) fn open_own_folder(folder: &Dir, name: &str) -> io::Result<Dir> {
    folder.open_dir_nofollow(name)
}

/// Reads from the start of a file, whatever was read before.
pub(in crate::os) fn read_at_start(file: impl AsOpenFile, buffer: &mut [u8]) -> Result<usize> {
    rustix::io::pread(file, buffer, 0)
}

pub(in crate::os) fn read(file: impl AsOpenFile, buffer: &mut [u8]) -> Result<usize> {
    rustix::io::read(file, buffer)
}

/// Reads to behind the end of a vector, as far as it has room there.
pub(in crate::os) fn read_to_spare(file: impl AsOpenFile, content: &mut Vec<u8>) -> Result<usize> {
    rustix::io::read(file, rustix::buffer::spare_capacity(content))
}

pub(in crate::os) fn write(file: &OpenFile, content: &[u8]) -> Result<usize> {
    rustix::io::write(file, content)
}

/// Writes at the start of a file, whatever was written before.
pub(in crate::os) fn write_at_start(file: &OpenFile, content: &[u8]) -> Result<usize> {
    rustix::io::pwrite(file, content, 0)
}

pub(in crate::os) fn read_link(folder: &Dir, name: &OsStr) -> Result<Vec<u8>> {
    Ok(rustix::fs::readlinkat(folder, name, Vec::new())?.into_bytes())
}

/// Makes a file where nothing is. The process's umask applies to `mode`.
pub(in crate::os) fn create(folder: &Dir, name: &OsStr, mode: u32) -> Result<OpenFile> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(folder, name, flags, Mode::from_raw_mode(in_width_of(mode)))
}

pub(in crate::os) fn make_link(folder: &Dir, name: &OsStr, target: &OsStr) -> Result<()> {
    rustix::fs::symlinkat(target, folder, name)
}

pub(in crate::os) fn make_folder(folder: &Dir, name: &OsStr, mode: u32) -> Result<()> {
    rustix::fs::mkdirat(folder, name, Mode::from_raw_mode(in_width_of(mode)))
}

pub(in crate::os) fn remove_folder(folder: &Dir, name: &OsStr) -> Result<()> {
    rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR)
}

pub(in crate::os) fn remove_file(folder: &Dir, name: &OsStr) -> Result<()> {
    rustix::fs::unlinkat(folder, name, AtFlags::empty())
}

pub(in crate::os) fn set_mode(file: impl AsOpenFile, mode: u32) -> Result<()> {
    rustix::fs::fchmod(&file, Mode::from_raw_mode(in_width_of(mode)))
}

/// Sets the modification time of an open file; `None` for now.
pub(in crate::os) fn set_modified(file: impl AsOpenFile, modified: Option<Time>) -> Result<()> {
    set_times(modified, |times| rustix::fs::futimens(&file, times))
}

/// As [`set_modified`] for a name. A link is not followed.
pub(in crate::os) fn set_modified_at(folder: &Dir, name: &OsStr, modified: Option<Time>) -> Result<()> {
    set_times(modified, |times| rustix::fs::utimensat(folder, name, times, AtFlags::SYMLINK_NOFOLLOW))
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

pub(in crate::os) fn sync(file: &OpenFile) -> Result<()> {
    rustix::fs::fsync(file)
}

/// Writes the names in a folder to the medium; [`Errno::INVAL`] or [`Errno::ROFS`] if the file system cannot.
pub(in crate::os) fn sync_folder(folder: &OpenFile) -> Result<()> {
    rustix::fs::fsync(folder)
}

/// Writes everything to the medium that was written to a folder's file system; [`Errno::NOSYS`] if the system cannot.
#[cfg(target_os = "linux")]
pub(in crate::os) fn sync_file_system(folder: &OpenFile) -> Result<()> {
    rustix::fs::syncfs(folder)
}

#[cfg(not(target_os = "linux"))]
pub(in crate::os) fn sync_file_system(_folder: &OpenFile) -> Result<()> {
    Err(Errno::NOSYS)
}

/// Renames; [`Errno::NOSYS`] and similar errors if the file system cannot do it in this way.
pub(in crate::os) fn rename(from: (&Dir, &OsStr), to: (&Dir, &OsStr), how: Rename) -> Result<()> {
    let flags = match how {
        Rename::ToFree => RenameFlags::NOREPLACE,
        Rename::Exchange => RenameFlags::EXCHANGE,
    };
    rustix::fs::renameat_with(from.0, from.1, to.0, to.1, flags)
}

/// Renames over what may be there.
pub(in crate::os) fn rename_over(from: (&Dir, &OsStr), to: (&Dir, &OsStr)) -> Result<()> {
    rustix::fs::renameat(from.0, from.1, to.0, to.1)
}

/// Gives a file a second name; [`Errno::EXIST`] if something has it.
pub(in crate::os) fn link(from: (&Dir, &OsStr), to: (&Dir, &OsStr)) -> Result<()> {
    rustix::fs::linkat(from.0, from.1, to.0, to.1, AtFlags::empty())
}

/// Opens a folder and takes the lock on it; `None` if somebody else has it. It is opened again for the lock, because a
/// lock belongs to one open file: two threads with clones of one handle would share it.
pub(in crate::os) fn open_alone(folder: &Dir) -> Result<Option<OpenFile>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::openat(folder, ".", flags, Mode::empty())?;
    Ok(lock(&folder)?.then_some(folder))
}

/// Takes an exclusive lock on a file; `false` if somebody else has one.
pub(in crate::os) fn lock(file: &OpenFile) -> Result<bool> {
    try_lock(file, FlockOperation::NonBlockingLockExclusive)
}

/// Takes a shared lock on a file; `false` if somebody else has an exclusive one.
pub(in crate::os) fn lock_shared(file: &OpenFile) -> Result<bool> {
    try_lock(file, FlockOperation::NonBlockingLockShared)
}

fn try_lock(file: &OpenFile, kind: FlockOperation) -> Result<bool> {
    match flock(file, kind) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether an error says that somebody has locked the file: a lock closes it to nobody here.
pub(in crate::os) fn is_locked(_error: &io::Error) -> bool {
    false
}

/// Gives up the lock on a file. Closing it is not enough, because a child that another thread has just forked shares it
/// until it executes another program.
pub(in crate::os) fn unlock(file: &OpenFile) -> Result<()> {
    flock(file, FlockOperation::Unlock)
}

/// Calls back for every name in a folder that is open for reading, including `.` and `..`, with its kind as far as
/// the system tells.
#[cfg(target_os = "linux")]
pub(in crate::os) fn for_each_name(
    folder: impl AsOpenFile,
    mut each: impl FnMut(&[u8], Option<EntryKind>) -> io::Result<()>,
) -> io::Result<()> {
    /// Large enough for the names of most folders to come with one system call.
    const NAMES: usize = 16 * 1024;
    let mut buffer = [const { std::mem::MaybeUninit::uninit() }; NAMES];
    let mut entries = rustix::fs::RawDir::new(folder, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        each(entry.file_name().to_bytes(), known_kind(entry.file_type()))?;
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
pub(in crate::os) fn for_each_name(
    folder: impl AsOpenFile,
    mut each: impl FnMut(&[u8], Option<EntryKind>) -> io::Result<()>,
) -> io::Result<()> {
    for entry in rustix::fs::Dir::read_from(folder)? {
        let entry = entry?;
        each(entry.file_name().to_bytes(), known_kind(entry.file_type()))?;
    }
    Ok(())
}

/// Some file systems tell the kind only to those who look at the name.
fn known_kind(found: FileType) -> Option<EntryKind> {
    (found != FileType::Unknown).then(|| kind_of(found))
}

/// The kind of a name; `None` if it is gone since.
pub(in crate::os) fn kind_of_name(folder: impl AsOpenFile, name: &[u8]) -> Result<Option<EntryKind>> {
    match rustix::fs::statat(folder, OsStr::from_bytes(name), AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => Ok(Some(kind_of(FileType::from_raw_mode(found.st_mode)))),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

fn kind_of(found: FileType) -> EntryKind {
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

impl From<&cap_std::fs::Metadata> for Stat {
    fn from(found: &cap_std::fs::Metadata) -> Self {
        let kind = super::kind_of_type(found.file_type());
        Self {
            kind,
            inode: found.ino(),
            device: found.dev(),
            len: if kind == EntryKind::Directory { 0 } else { found.len() },
            mode: found.mode() & 0o7777,
            owner: (found.uid(), found.gid()),
            links: found.nlink(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }
}
