//! Writes into a view, through the root of the mounted overlay, so that only the kernel has to know how its layers
//! are stored.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use headstart_overlay_fs::{Change, ChangeKind, EntryKind, Fingerprint, file_times};
use headstart_workspace_path::WorkspacePath;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, Timespec, Timestamps};
use rustix::io::Errno;

use super::again;
use crate::ShadowError;

const SECOND: i64 = 1_000_000_000;

/// How long to try against a program that runs meanwhile and may make again whatever is removed.
const AGAINST_A_PROGRAM: Duration = Duration::from_secs(5);

/// The permission bits of what is shown where nobody gave it any. They do not depend on a umask, so that reading back
/// finds out whether a command gave it others.
pub(super) const PLAIN_FOLDER: u32 = 0o755;
const PLAIN_FILE: u32 = 0o644;
const PLAIN_PROGRAM: u32 = 0o755;

/// What a path is to become.
enum Target<'a> {
    Nothing,
    Folder { mode: u32 },
    Link(&'a [u8]),
    File { content: &'a [u8], mode: u32 },
}

/// Writes into one view.
pub(super) struct ViewWriter<'a> {
    root: BorrowedFd<'a>,
    /// No file that a command knows has a later time.
    after: Option<i64>,
    /// The latest time that a file was given.
    given: Cell<Option<i64>>,
    /// When to give up.
    deadline: Option<Instant>,
}

impl<'a> ViewWriter<'a> {
    pub(super) fn new(root: BorrowedFd<'a>, after: Option<i64>) -> Self {
        Self { root, after, given: Cell::new(None), deadline: None }
    }

    /// The same for a view in which a program runs, which may change everything that is looked at here.
    pub(super) fn beside_a_program(self) -> Self {
        Self { deadline: Instant::now().checked_add(AGAINST_A_PROGRAM), ..self }
    }

    /// The latest time that a file was given because the kernel's own would not do.
    pub(super) fn given(&self) -> Option<i64> {
        self.given.get()
    }

    /// Changes a view that holds `known` into one that holds `target`; both are over the same tree.
    pub(super) fn change(
        &self,
        known: &BTreeMap<WorkspacePath, Change>,
        target: &BTreeMap<WorkspacePath, Change>,
    ) -> Result<(), ShadowError> {
        let mut steps: BTreeMap<&WorkspacePath, Target<'_>> = BTreeMap::new();
        for (path, change) in known.iter().filter(|(path, _)| !target.contains_key(*path)) {
            steps.insert(path, before(change)?);
        }
        for (path, change) in target {
            if known.get(path).is_none_or(|old| !is_same(old, change)) {
                steps.insert(path, wanted(change));
            }
        }
        let is_removal = |wanted: &Target<'_>| matches!(wanted, Target::Nothing);
        for (path, _) in steps.iter().rev().filter(|(_, wanted)| is_removal(wanted)) {
            self.remove(path)?;
        }
        for (path, wanted) in steps.iter().filter(|(_, wanted)| !is_removal(wanted)) {
            self.make(path, wanted).map_err(|error| failed(path, error))?;
        }
        Ok(())
    }

    /// Gives what is at these paths a time later than that of the last command. A missing path is no error.
    pub(super) fn renew(&self, paths: &[WorkspacePath]) -> Result<(), ShadowError> {
        let time = file_times::until_now_ns();
        let time = self.later_time(time, None).unwrap_or(time);
        for path in paths {
            let Some((folder, name)) = path.parent().zip(path.file_name()) else { continue };
            let folder = match self.folder(&folder) {
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
                opened => opened.map_err(|error| failed(path, error))?,
            };
            match rustix::fs::utimensat(&folder, name, &both(time), AtFlags::SYMLINK_NOFOLLOW) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(error) => return Err(failed(path, error)),
            }
        }
        Ok(())
    }

    /// Removes what is at a path, with everything in it. A missing path is no error.
    pub(super) fn remove(&self, path: &WorkspacePath) -> Result<(), ShadowError> {
        let Some((folder, name)) = path.parent().zip(path.file_name()) else { return Ok(()) };
        let folder = match self.folder(&folder) {
            Ok(folder) => folder,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
            Err(error) => return Err(failed(path, error)),
        };
        self.remove_tree(folder.as_fd(), name).map_err(|error| failed(path, error))
    }

    fn remove_tree(&self, at: BorrowedFd<'_>, name: &[u8]) -> Result<(), Errno> {
        remove_tree(at, name, self.deadline)
    }

    fn make(&self, path: &WorkspacePath, wanted: &Target<'_>) -> Result<(), Errno> {
        let Some((folder, name)) = path.parent().zip(path.file_name()) else { return Ok(()) };
        let folder = match self.folder(&folder) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => self.make_folders(&folder)?,
            opened => opened?,
        };
        match wanted {
            Target::Nothing => self.remove_tree(folder.as_fd(), name),
            Target::Folder { mode } => {
                let made = self.make_folder(folder.as_fd(), name)?;
                set_mode(made.as_fd(), *mode)
            }
            Target::Link(target) => {
                self.remove_tree(folder.as_fd(), name)?;
                rustix::fs::symlinkat(*target, &folder, name)?;
                let made = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
                let later = self.later_time(modified(&made), None);
                later.map_or(Ok(()), |time| {
                    rustix::fs::utimensat(&folder, name, &both(time), AtFlags::SYMLINK_NOFOLLOW)
                })
            }
            Target::File { content, mode } => self.write(folder.as_fd(), name, content, *mode),
        }
    }

    fn write(&self, folder: BorrowedFd<'_>, name: &[u8], content: &[u8], mode: u32) -> Result<(), Errno> {
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let found = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok();
        let found = found.filter(|found| FileType::from_raw_mode(found.st_mode) == FileType::RegularFile);
        let is_file = found.is_some();
        let kept = if is_file {
            rustix::fs::openat(folder, name, flags | OFlags::TRUNC, Mode::empty()).ok()
        } else {
            None
        };
        let file = if let Some(file) = kept {
            file
        } else {
            self.remove_tree(folder, name)?;
            let flags = flags | OFlags::CREATE | OFlags::EXCL;
            rustix::fs::openat(folder, name, flags, Mode::from_raw_mode(mode))?
        };
        if rustix::fs::fstat(&file)?.st_mode & 0o777 != mode {
            rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?;
        }
        let mut file = File::from(file);
        file.write_all(content).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        // A cache that identifies its source by length and second (Python's) has to see another second than that of
        // the file before.
        let before = found.map(|found| modified(&found));
        if let Some(time) = self.later_time(modified(&rustix::fs::fstat(&file)?), before) {
            rustix::fs::futimens(&file, &both(time))?;
        }
        Ok(())
    }

    /// The time that something which was just written needs if the kernel's would not do: at least one whole second
    /// after the last command and after what was there before, because some tools compare seconds. `got` is the time
    /// that the file got, and not that of a clock: the kernel stamps files by a clock that may be some milliseconds
    /// behind.
    fn later_time(&self, got: i64, before: Option<i64>) -> Option<i64> {
        let second = self.after.max(before)?.div_euclid(SECOND) + 1;
        let time = (got.div_euclid(SECOND) < second).then(|| second.saturating_mul(SECOND));
        self.given.set(self.given.get().max(time));
        time
    }

    fn folder(&self, path: &WorkspacePath) -> Result<OwnedFd, Errno> {
        let name = if path.is_root() { &b"."[..] } else { path.as_bytes() };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        loop {
            match rustix::fs::openat2(self.root, name, flags, Mode::empty(), resolve) {
                // Something was renamed during the call.
                Err(Errno::AGAIN | Errno::INTR) => in_time(self.deadline)?,
                opened => return opened,
            }
        }
    }

    /// Opens a folder, which replaces whatever else is on the way to it.
    fn make_folders(&self, path: &WorkspacePath) -> Result<OwnedFd, Errno> {
        let mut at = self.folder(&WorkspacePath::root())?;
        for name in path.names() {
            at = self.make_folder(at.as_fd(), name)?;
        }
        Ok(at)
    }

    /// Opens or makes a folder in another one, in place of whatever else has that name.
    fn make_folder(&self, at: BorrowedFd<'_>, name: &[u8]) -> Result<OwnedFd, Errno> {
        let open = || {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            again(|| rustix::fs::openat(at, name, flags, Mode::empty()))
        };
        match open() {
            Err(Errno::NOENT) => {}
            Err(Errno::NOTDIR | Errno::LOOP) => self.remove_tree(at, name)?,
            opened => return opened,
        }
        rustix::fs::mkdirat(at, name, Mode::from_raw_mode(PLAIN_FOLDER))?;
        let made = open()?;
        set_mode(made.as_fd(), PLAIN_FOLDER)?;
        Ok(made)
    }
}

fn modified(stat: &Stat) -> i64 {
    let nanoseconds = i64::try_from(stat.st_mtime_nsec).unwrap_or_default();
    stat.st_mtime.saturating_mul(SECOND).saturating_add(nanoseconds)
}

fn both(time: i64) -> Timestamps {
    let time = Timespec { tv_sec: time.div_euclid(SECOND), tv_nsec: time.rem_euclid(SECOND) };
    Timestamps { last_access: time, last_modification: time }
}

fn failed(path: &WorkspacePath, error: Errno) -> ShadowError {
    ShadowError::show(path, &error.into())
}

fn wanted(change: &Change) -> Target<'_> {
    match &change.kind {
        ChangeKind::Write { content, .. } => Target::File { content, mode: file_bits(change) },
        ChangeKind::Link { target, .. } => Target::Link(target),
        ChangeKind::CreateDirectory => Target::Folder { mode: change.mode.unwrap_or(PLAIN_FOLDER) },
        ChangeKind::Delete => Target::Nothing,
    }
}

/// The permission bits with which a view shows the file of a change.
pub(super) fn file_bits(change: &Change) -> u32 {
    let executable = matches!(change.kind, ChangeKind::Write { executable: true, .. });
    let of_base = change.base.as_ref().filter(|base| base.kind == EntryKind::File).map(Fingerprint::bits);
    match (change.mode, of_base) {
        (Some(mode), _) => mode & 0o777,
        (None, Some(bits)) if executable == (bits & 0o100 != 0) => bits,
        (None, Some(bits)) if executable => bits | (bits & 0o444) >> 2 | 0o100,
        (None, Some(bits)) => bits & !0o111,
        (None, None) if executable => PLAIN_PROGRAM,
        (None, None) => PLAIN_FILE,
    }
}

/// What was there before a change that is taken back.
fn before(change: &Change) -> Result<Target<'_>, ShadowError> {
    let Some(base) = &change.base else { return Ok(Target::Nothing) };
    let content = change.base_content.as_deref();
    match (base.kind, content) {
        (EntryKind::Directory, _) => Ok(Target::Folder { mode: base.bits() }),
        (EntryKind::File, Some(content)) => Ok(Target::File { content, mode: base.bits() }),
        (EntryKind::Symlink, Some(target)) => Ok(Target::Link(target)),
        _ => Err(ShadowError::Show {
            path: change.path.clone(),
            message: "what was there before is not known; start another view".to_owned(),
            source: None,
        }),
    }
}

/// Whether both leave a view the same. From where something was moved only matters to people.
fn is_same(one: &Change, other: &Change) -> bool {
    match (&one.kind, &other.kind) {
        (ChangeKind::Write { content: old, .. }, ChangeKind::Write { content: new, .. }) => {
            old == new && file_bits(one) == file_bits(other)
        }
        (ChangeKind::CreateDirectory, ChangeKind::CreateDirectory) => one.mode == other.mode,
        (ChangeKind::Link { target, .. }, ChangeKind::Link { target: other, .. }) => target == other,
        (one, other) => one == other,
    }
}

fn in_time(deadline: Option<Instant>) -> Result<(), Errno> {
    if deadline.is_some_and(|deadline| deadline <= Instant::now()) { Err(Errno::TIMEDOUT) } else { Ok(()) }
}

/// Removes a name and everything below it. No link is followed, and only one handle for each folder is open, however
/// deep it is.
pub(super) fn remove_tree(at: BorrowedFd<'_>, name: &[u8], deadline: Option<Instant>) -> Result<(), Errno> {
    match rustix::fs::unlinkat(at, name, AtFlags::empty()) {
        Err(Errno::ISDIR) => {}
        Err(Errno::NOENT) => return Ok(()),
        done => return done,
    }
    let mut stack = vec![at.try_clone_to_owned().map_err(|_| Errno::MFILE)?];
    let mut names: Vec<Vec<u8>> = vec![name.to_vec()];
    while let (Some(name), Some(folder)) = (names.last(), stack.last()) {
        in_time(deadline)?;
        match rustix::fs::unlinkat(folder, name.as_slice(), AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => {
                stack.pop();
                names.pop();
                continue;
            }
            Err(Errno::NOTEMPTY | Errno::EXIST) => {}
            Err(error) => return Err(error),
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = || rustix::fs::openat(folder, name.as_slice(), flags, Mode::empty());
        let inner = match open() {
            // The folder may not be searched by its owner.
            Err(Errno::ACCESS) => {
                open_up(folder.as_fd(), name)?;
                open()?
            }
            opened => opened?,
        };
        let mut below = None;
        for entry in Dir::read_from(&inner)? {
            in_time(deadline)?;
            let entry = entry?;
            let found = entry.file_name().to_bytes();
            if found == b"." || found == b".." {
                continue;
            }
            match rustix::fs::unlinkat(&inner, entry.file_name(), AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(Errno::ISDIR) => below = Some(found.to_vec()),
                Err(error) => return Err(error),
            }
        }
        if let Some(below) = below {
            stack.push(inner);
            names.push(below);
        }
    }
    Ok(())
}

/// Permits the owner to search a folder. It uses a handle, because a name could lead elsewhere by then, even out of
/// the view: links are followed from this process's own root.
fn open_up(at: BorrowedFd<'_>, name: &[u8]) -> Result<(), Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::openat(at, name, flags, Mode::empty())?;
    set_mode(folder.as_fd(), 0o700)
}

/// Sets the permission bits of what a handle stands for, also one that only stands for a path.
fn set_mode(of: BorrowedFd<'_>, mode: u32) -> Result<(), Errno> {
    rustix::fs::chmod(format!("/proc/self/fd/{}", of.as_raw_fd()), Mode::from_raw_mode(mode))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_folder_is_opened_up_and_where_a_link_leads_is_left_alone() {
        let place = tempfile::tempdir().unwrap();
        let mode = |name: &str| fs::metadata(place.path().join(name)).unwrap().permissions().mode() & 0o777;
        for name in ["folder", "outside"] {
            fs::create_dir(place.path().join(name)).unwrap();
            fs::set_permissions(place.path().join(name), fs::Permissions::from_mode(0o500)).unwrap();
        }
        std::os::unix::fs::symlink(place.path().join("outside"), place.path().join("link")).unwrap();
        let at = File::open(place.path()).unwrap();
        open_up(at.as_fd(), b"folder").unwrap();
        assert_eq!(mode("folder"), 0o700);
        open_up(at.as_fd(), b"link").unwrap_err();
        assert_eq!(mode("outside"), 0o500);
    }
}
