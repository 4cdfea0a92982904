//! Windows has no exchange of two names, no rename that refuses to replace, no permission bits, no inode in a folder's
//! listing and no sync of a folder, so some calls answer that the system has no such thing, and `calls.rs` does it in
//! another way. Names are checked before the system sees them ([`os_name`]).

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
pub(in crate::os) use std::os::windows::io::AsHandle as AsOpenFile;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use cap_fs_ext::{FollowSymlinks, MetadataExt as _, OpenOptionsFollowExt as _};
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt as _};

use headstart_workspace_path::WorkspacePath;

use super::names::is_plain;
use super::{Rename, Stat, Time};
use crate::EntryKind;

/// An open file or folder.
pub(in crate::os) type OpenFile = File;

/// A call's outcome.
pub(in crate::os) type Result<T> = std::result::Result<T, Errno>;

/// A number of the system's for an error, one for each meaning: what the system says in two ways is the first of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::os) struct Errno(i32);

impl Errno {
    pub(in crate::os) const NOENT: Self = Self(2);
    pub(in crate::os) const ACCESS: Self = Self(5);
    pub(in crate::os) const XDEV: Self = Self(17);
    pub(in crate::os) const ROFS: Self = Self(19);
    pub(in crate::os) const NOTSUP: Self = Self(50);
    pub(in crate::os) const OPNOTSUPP: Self = Self(50);
    pub(in crate::os) const INVAL: Self = Self(87);
    pub(in crate::os) const NOSYS: Self = Self(120);
    pub(in crate::os) const NOTEMPTY: Self = Self(145);
    pub(in crate::os) const EXIST: Self = Self(183);
    pub(in crate::os) const FBIG: Self = Self(223);
    pub(in crate::os) const NOTDIR: Self = Self(267);
    pub(in crate::os) const ISDIR: Self = Self(336);
    pub(in crate::os) const LOOP: Self = Self(681);
    pub(in crate::os) const IO: Self = Self(1117);
    pub(in crate::os) const MLINK: Self = Self(1142);
    pub(in crate::os) const INTR: Self = Self(1223);
    pub(in crate::os) const PERM: Self = Self(1314);

    /// Somebody has locked the file.
    const LOCKED: Self = Self(33);
    /// Somebody has the file or folder open and does not share it.
    const NOT_SHARED: Self = Self(32);

    /// The number of an error, if it comes from the system.
    pub(in crate::os) fn from_io_error(error: &io::Error) -> Option<Self> {
        error.raw_os_error().map(Self::from_raw_os_error)
    }

    pub(in crate::os) fn from_raw_os_error(number: i32) -> Self {
        Self(match number {
            1 => 50,
            3 => 2,
            80 => 183,
            other => other,
        })
    }

    pub(in crate::os) fn raw_os_error(self) -> i32 {
        self.0
    }
}

impl std::fmt::Display for Errno {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        io::Error::from(*self).fmt(f)
    }
}

impl From<Errno> for io::Error {
    fn from(error: Errno) -> Self {
        Self::from_raw_os_error(error.raw_os_error())
    }
}

impl From<io::Error> for Errno {
    fn from(error: io::Error) -> Self {
        Self::from_io_error(&error).unwrap_or(match error.kind() {
            io::ErrorKind::NotFound => Self::NOENT,
            io::ErrorKind::PermissionDenied => Self::ACCESS,
            io::ErrorKind::AlreadyExists => Self::EXIST,
            io::ErrorKind::InvalidInput => Self::INVAL,
            io::ErrorKind::NotADirectory => Self::NOTDIR,
            io::ErrorKind::IsADirectory => Self::ISDIR,
            io::ErrorKind::Interrupted => Self::INTR,
            _ => Self::IO,
        })
    }
}

const FILE_READ_ATTRIBUTES: u32 = 0x80;
const FILE_WRITE_ATTRIBUTES: u32 = 0x100;
/// The right to make a file in a folder, or to write to a file.
const FILE_ADD_FILE: u32 = 0x2;
const GENERIC_READ: u32 = 0x8000_0000;
const FILE_FLAG_OPEN_REPARSE_POINT: u32 = 0x0020_0000;
/// Without it no folder can be opened.
const FILE_FLAG_BACKUP_SEMANTICS: u32 = 0x0200_0000;
const FILE_SHARE_READ: u32 = 0x1;
const FILE_SHARE_DELETE: u32 = 0x4;

/// One name for the operating system. The system would take other names for something else: a path, a stream of a file,
/// a device, or the file with the shorter name. They are refused.
pub(in crate::os) fn os_name(name: &[u8]) -> io::Result<&OsStr> {
    let name = str::from_utf8(name).ok().filter(|name| is_plain(name));
    name.map(OsStr::new).ok_or_else(|| io::ErrorKind::PermissionDenied.into())
}

/// A path relative to a folder for the operating system, which takes `/` as well; its names have been
/// [checked](os_name).
pub(in crate::os) fn os_path(path: &[u8]) -> io::Result<&OsStr> {
    str::from_utf8(path).map(OsStr::new).map_err(|_| io::ErrorKind::PermissionDenied.into())
}

/// A path of the workspace, from a relative one of the system's.
pub(in crate::os) fn workspace_path(relative: &Path) -> Option<WorkspacePath> {
    WorkspacePath::from_bytes(relative.to_str()?.replace('\\', "/").as_bytes()).ok()
}

/// A path outside the workspace as bytes, and back.
pub(in crate::os) fn path_to_bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}

pub(in crate::os) fn path_from_bytes(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}

pub(in crate::os) fn link_to_bytes(target: &Path) -> Vec<u8> {
    target.to_string_lossy().replace('\\', "/").into_bytes()
}

pub(in crate::os) fn to_read(follow: FollowSymlinks) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(FILE_FLAG_BACKUP_SEMANTICS).follow(follow);
    options
}

/// As [`to_read`], for a folder.
pub(in crate::os) fn to_list() -> OpenOptions {
    to_read(FollowSymlinks::Yes)
}

/// Whether an error says that what is there cannot be opened as a file; names of devices are no names here.
pub(in crate::os) fn is_no_file(_error: &io::Error) -> bool {
    false
}

/// What is at a path below a folder. A link at its end is not followed.
pub(in crate::os) fn stat_below(root: &Dir, path: &OsStr) -> io::Result<Stat> {
    let mut options = OpenOptions::new();
    options.access_mode(FILE_READ_ATTRIBUTES).follow(FollowSymlinks::No);
    options.custom_flags(FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT);
    Ok((&root.open_with(path, &options)?.metadata()?).into())
}

pub(in crate::os) fn stat(folder: &Dir, name: &OsStr) -> Result<Stat> {
    Ok(stat_below(folder, name)?)
}

/// What is at a path outside the workspace, with links followed.
pub(in crate::os) fn stat_through(path: &Path) -> Result<Stat> {
    use std::os::windows::fs::OpenOptionsExt as _;
    let mut options = File::options();
    options.access_mode(FILE_READ_ATTRIBUTES).custom_flags(FILE_FLAG_BACKUP_SEMANTICS);
    stat_open(options.open(path)?)
}

pub(in crate::os) fn stat_open(file: impl AsOpenFile) -> Result<Stat> {
    let file = cap_std::fs::File::from_std(same(file)?);
    Ok((&file.metadata()?).into())
}

/// A handle of its own to an open file; both share one position in it.
fn same(file: impl AsOpenFile) -> io::Result<File> {
    Ok(File::from(file.as_handle().try_clone_to_owned()?))
}

/// Checks that this user may write the file.
pub(in crate::os) fn may_write(folder: &Dir, name: &OsStr) -> Result<()> {
    open_to_write(folder, name).map(drop)
}

/// A folder cannot be asked without a change in it, so a commit finds out.
#[expect(clippy::unnecessary_wraps, reason = "elsewhere the system tells")]
pub(in crate::os) fn may_write_folder(_folder: &Dir, _name: &OsStr) -> Result<()> {
    Ok(())
}

/// Nothing here is fixed but by its permissions.
#[expect(clippy::unnecessary_wraps, reason = "elsewhere the system tells")]
pub(in crate::os) fn is_fixed(_folder: &Dir, _name: &OsStr) -> Result<bool> {
    Ok(false)
}

/// The room on the disk is not asked for here; a commit finds out.
pub(in crate::os) fn room(_folder: &Dir) -> Option<u64> {
    None
}

/// Files have no owner here that would count: access lists decide.
pub(in crate::os) fn user() -> u32 {
    0
}

/// Opens for reading, and for setting times and bits where this user may; [`Errno::LOOP`] for a link.
pub(in crate::os) fn open(folder: &Dir, name: &OsStr) -> Result<OpenFile> {
    let open = |access| {
        let mut options = to_read(FollowSymlinks::No);
        options.access_mode(access);
        folder.open_with(name, &options).map_err(Errno::from)
    };
    let file = match open(GENERIC_READ | FILE_WRITE_ATTRIBUTES) {
        Err(Errno::ACCESS) => open(GENERIC_READ),
        opened => opened,
    };
    Ok(file?.into_std())
}

/// As [`open`], so that the file can be synced.
pub(in crate::os) fn open_to_sync(folder: &Dir, name: &OsStr) -> Result<OpenFile> {
    if stat(folder, name)?.kind == EntryKind::Directory {
        open(folder, name)
    } else {
        open_to_write(folder, name)
    }
}

/// Opens a file for reading and writing, unless its name is a link.
pub(in crate::os) fn open_to_write(folder: &Dir, name: &OsStr) -> Result<OpenFile> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).follow(FollowSymlinks::No);
    Ok(folder.open_with(name, &options)?.into_std())
}

/// Opens a folder again, so that its names can be read.
pub(in crate::os) fn open_folder(folder: &Dir) -> Result<OpenFile> {
    Ok(folder.try_clone()?.into_std_file())
}

/// Opens a folder so that nobody else can do the same; `None` if somebody has done it. Everybody else can use the folder
/// all the while. The system refuses to open what another one has open with a right that it does not share, and nobody
/// but this function asks for the right to make files with the folder's handle.
pub(in crate::os) fn open_alone(folder: &Dir) -> Result<Option<OpenFile>> {
    let mut options = to_read(FollowSymlinks::No);
    options.access_mode(FILE_READ_ATTRIBUTES | FILE_ADD_FILE).share_mode(FILE_SHARE_READ | FILE_SHARE_DELETE);
    match folder.open_with(".", &options).map_err(Errno::from) {
        Ok(file) => Ok(Some(file.into_std())),
        Err(Errno::NOT_SHARED) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Opens a folder that only this crate uses, unless its name is a link. It can be removed while it is open, which the
/// system refuses for a folder that is opened as cap-std does.
pub(in crate::os) fn open_own_folder(folder: &Dir, name: &str) -> io::Result<Dir> {
    let opened = folder.open_with(name, &to_read(FollowSymlinks::No))?;
    if !opened.metadata()?.is_dir() {
        return Err(Errno::NOTDIR.into());
    }
    Ok(Dir::from_std_file(opened.into_std()))
}

/// Reads from the start of a file, whatever was read before.
pub(in crate::os) fn read_at_start(file: impl AsOpenFile, buffer: &mut [u8]) -> Result<usize> {
    let mut file = same(file)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file.read(buffer)?)
}

pub(in crate::os) fn read(file: impl AsOpenFile, buffer: &mut [u8]) -> Result<usize> {
    Ok(same(file)?.read(buffer)?)
}

/// Reads to behind the end of a vector, as far as it has room there.
pub(in crate::os) fn read_to_spare(file: impl AsOpenFile, content: &mut Vec<u8>) -> Result<usize> {
    let len = content.len();
    content.resize(content.capacity(), 0);
    let count = read(file, &mut content[len..]);
    content.truncate(len + count.unwrap_or_default());
    count
}

pub(in crate::os) fn write(mut file: &OpenFile, content: &[u8]) -> Result<usize> {
    Ok(file.write(content)?)
}

/// Writes at the start of a file, whatever was written before.
pub(in crate::os) fn write_at_start(mut file: &OpenFile, content: &[u8]) -> Result<usize> {
    file.seek(SeekFrom::Start(0))?;
    Ok(file.write(content)?)
}

pub(in crate::os) fn read_link(folder: &Dir, name: &OsStr) -> Result<Vec<u8>> {
    Ok(link_to_bytes(&folder.read_link_contents(name)?))
}

/// Makes a file where nothing is. It gets the access list that its folder gives.
pub(in crate::os) fn create(folder: &Dir, name: &OsStr, _mode: u32) -> Result<OpenFile> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).follow(FollowSymlinks::No);
    Ok(folder.open_with(name, &options)?.into_std())
}

/// Most users may not make links here, and a link says whether it leads to a file or a folder, which may not exist yet.
pub(in crate::os) fn make_link(_folder: &Dir, _name: &OsStr, _target: &OsStr) -> Result<()> {
    Err(Errno::OPNOTSUPP)
}

pub(in crate::os) fn make_folder(folder: &Dir, name: &OsStr, _mode: u32) -> Result<()> {
    Ok(folder.create_dir(name)?)
}

pub(in crate::os) fn remove_folder(folder: &Dir, name: &OsStr) -> Result<()> {
    Ok(folder.remove_dir(name)?)
}

/// A file that is read-only can be removed as well, as elsewhere.
pub(in crate::os) fn remove_file(folder: &Dir, name: &OsStr) -> Result<()> {
    match folder.remove_file(name).map_err(Errno::from) {
        Err(Errno::ACCESS) if stat(folder, name)?.kind == EntryKind::File => {
            set_mode(open(folder, name)?, 0o600)?;
            folder.remove_file(name)?;
        }
        outcome => outcome?,
    }
    wait_until_gone(folder, name);
    Ok(())
}

/// Waits until the name of a removed file is free. Where somebody still reads the file, which takes milliseconds, older
/// systems keep the name until they have closed it, and what comes next would take the name for one of the user's.
#[expect(clippy::disallowed_methods, reason = "the system tells nobody when the name is free")]
fn wait_until_gone(folder: &Dir, name: &OsStr) {
    const ATTEMPTS: u32 = 100;
    for _ in 0..ATTEMPTS {
        if matches!(stat(folder, name), Err(Errno::NOENT)) {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Of all bits there is only whether a file is read-only.
pub(in crate::os) fn set_mode(file: impl AsOpenFile, mode: u32) -> Result<()> {
    let file = same(file)?;
    let found = file.metadata()?;
    let mut permissions = found.permissions();
    let is_read_only = mode & 0o200 == 0;
    if found.is_file() && permissions.readonly() != is_read_only {
        permissions.set_readonly(is_read_only);
        file.set_permissions(permissions)?;
    }
    Ok(())
}

/// Sets the modification time of an open file; `None` for now.
pub(in crate::os) fn set_modified(file: impl AsOpenFile, modified: Option<Time>) -> Result<()> {
    let modified = modified.map_or_else(now, system_time);
    Ok(same(file)?.set_modified(modified)?)
}

/// As [`set_modified`] for a name. A link is not followed.
pub(in crate::os) fn set_modified_at(folder: &Dir, name: &OsStr, modified: Option<Time>) -> Result<()> {
    let mut options = OpenOptions::new();
    options.access_mode(FILE_WRITE_ATTRIBUTES).follow(FollowSymlinks::No);
    options.custom_flags(FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT);
    set_modified(folder.open_with(name, &options)?, modified)
}

#[expect(clippy::disallowed_methods, reason = "elsewhere the system sets a file's time to now")]
fn now() -> SystemTime {
    SystemTime::now()
}

fn system_time((seconds, nanoseconds): Time) -> SystemTime {
    let part = Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or_default());
    let whole = Duration::from_secs(seconds.unsigned_abs());
    if seconds < 0 { SystemTime::UNIX_EPOCH - whole + part } else { SystemTime::UNIX_EPOCH + whole + part }
}

pub(in crate::os) fn sync(file: &OpenFile) -> Result<()> {
    // The names in a folder are in the file system's own journal.
    if file.metadata()?.is_dir() { Ok(()) } else { Ok(file.sync_all()?) }
}

/// As [`sync`]: the file system's own journal has the names in a folder.
#[expect(clippy::unnecessary_wraps, reason = "elsewhere the system may refuse")]
pub(in crate::os) fn sync_folder(_folder: &OpenFile) -> Result<()> {
    Ok(())
}

pub(in crate::os) fn sync_file_system(_folder: &OpenFile) -> Result<()> {
    Err(Errno::NOSYS)
}

pub(in crate::os) fn rename(_from: (&Dir, &OsStr), _to: (&Dir, &OsStr), _how: Rename) -> Result<()> {
    Err(Errno::NOSYS)
}

/// Renames over what may be there.
pub(in crate::os) fn rename_over(from: (&Dir, &OsStr), to: (&Dir, &OsStr)) -> Result<()> {
    Ok(from.0.rename(from.1, to.0, to.1)?)
}

/// Gives a file a second name; [`Errno::EXIST`] if something has it.
pub(in crate::os) fn link(from: (&Dir, &OsStr), to: (&Dir, &OsStr)) -> Result<()> {
    if stat(from.0, from.1)?.kind != EntryKind::File {
        return Err(Errno::OPNOTSUPP);
    }
    Ok(from.0.hard_link(from.1, to.0, to.1)?)
}

/// Takes a lock on a whole file, which closes it to everybody else; `false` if somebody else has one.
pub(in crate::os) fn lock(file: &OpenFile) -> Result<bool> {
    is_taken(file.try_lock())
}

/// Takes a shared lock on a file; `false` if somebody else has an exclusive one.
pub(in crate::os) fn lock_shared(file: &OpenFile) -> Result<bool> {
    is_taken(file.try_lock_shared())
}

fn is_taken(outcome: std::result::Result<(), std::fs::TryLockError>) -> Result<bool> {
    match outcome {
        Ok(()) => Ok(true),
        Err(std::fs::TryLockError::WouldBlock) => Ok(false),
        Err(std::fs::TryLockError::Error(error)) => Err(error.into()),
    }
}

/// Whether an error says that somebody has locked the file, which closes it to everybody else here.
pub(in crate::os) fn is_locked(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::LOCKED)
}

/// Gives up the lock on a file. It would end with the handle, but perhaps a moment later.
pub(in crate::os) fn unlock(file: &OpenFile) -> Result<()> {
    Ok(file.unlock()?)
}

/// Calls back for every name in an open folder, with its kind.
pub(in crate::os) fn for_each_name(
    folder: impl AsOpenFile,
    mut each: impl FnMut(&[u8], Option<EntryKind>) -> io::Result<()>,
) -> io::Result<()> {
    for entry in Dir::from_std_file(same(folder)?).entries()? {
        let entry = entry?;
        each(entry.file_name().as_encoded_bytes(), entry.file_type().ok().map(super::kind_of_type))?;
    }
    Ok(())
}

/// The kind of a name; the system always tells it along with the name.
#[expect(clippy::unnecessary_wraps, reason = "elsewhere the system may refuse")]
pub(in crate::os) fn kind_of_name(_folder: impl AsOpenFile, _name: &[u8]) -> Result<Option<EntryKind>> {
    Ok(None)
}

impl From<&cap_std::fs::Metadata> for Stat {
    fn from(found: &cap_std::fs::Metadata) -> Self {
        let kind = super::kind_of_type(found.file_type());
        let mode = match kind {
            EntryKind::Directory => 0o700,
            _ if found.permissions().readonly() => 0o444,
            _ => 0o644,
        };
        let modified = found.modified().map_or((0, 0), |modified| since_epoch(modified.into_std()));
        Self {
            kind,
            inode: found.ino(),
            device: found.dev(),
            len: if kind == EntryKind::Directory { 0 } else { found.len() },
            mode,
            owner: (user(), 0),
            links: found.nlink(),
            modified,
            changed: modified,
        }
    }
}

fn since_epoch(time: SystemTime) -> Time {
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => (i64::try_from(since.as_secs()).unwrap_or(i64::MAX), i64::from(since.subsec_nanos())),
        Err(before) => {
            let before = before.duration();
            let seconds = i64::try_from(before.as_secs()).unwrap_or(i64::MAX);
            match i64::from(before.subsec_nanos()) {
                0 => (-seconds, 0),
                part => (-seconds - 1, 1_000_000_000 - part),
            }
        }
    }
}
