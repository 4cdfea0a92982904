//! Changes files below one folder, through handles, so that no path leads out of it whatever links it contains.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;

use headstart_overlay_fs::{ContentHash, WorkspacePath};
use headstart_toolbox::exchange::{Manifest, ManifestEntry};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Timespec, Timestamps, UTIME_NOW};
use rustix::io::Errno;

/// A folder and everything below it.
pub(super) struct CopyFolder {
    root: OwnedFd,
    /// The folder that was opened last.
    last: Option<(WorkspacePath, OwnedFd)>,
}

impl CopyFolder {
    pub(super) fn open(root: &Path) -> io::Result<Self> {
        Ok(Self { root: rustix::fs::openat(CWD, root, folder_flags(), Mode::empty())?, last: None })
    }

    /// Moves the file `name` from the folder `from` to a path. The file gets the current time, so that everything built
    /// earlier is older.
    pub(super) fn put(
        &mut self,
        from: &OwnedFd,
        name: &str,
        path: &WorkspacePath,
        executable: bool,
    ) -> io::Result<()> {
        let file = rustix::fs::openat(
            from,
            name,
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        rustix::fs::fchmod(&file, Mode::from_raw_mode(if executable { 0o755 } else { 0o644 }))?;
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        rustix::fs::futimens(&file, &Timestamps { last_access: now, last_modification: now })?;
        let (folder, name_there) = self.above(path)?;
        Ok(rustix::fs::renameat(from, name, folder, name_there)?)
    }

    pub(super) fn make_folder(&mut self, path: &WorkspacePath) -> io::Result<()> {
        let (folder, name) = self.above(path)?;
        match rustix::fs::mkdirat(folder, name, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn make_link(&mut self, path: &WorkspacePath, target: &[u8]) -> io::Result<()> {
        let (folder, name) = self.above(path)?;
        Ok(rustix::fs::symlinkat(target, folder, name)?)
    }

    /// Removes a file, a link or an empty folder at a path. It is no error if there is none.
    pub(super) fn remove(&mut self, path: &WorkspacePath) -> io::Result<()> {
        self.last = None;
        let removed = self.above(path).and_then(|(folder, name)| {
            match rustix::fs::unlinkat(folder, name, AtFlags::empty()) {
                Err(Errno::ISDIR) => Ok(rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR)?),
                removed => Ok(removed?),
            }
        });
        match removed {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    /// Opens a regular file.
    pub(super) fn file(&mut self, path: &WorkspacePath) -> io::Result<File> {
        let (folder, name) = self.above(path)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(folder, name, flags, Mode::empty())?);
        if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is no regular file")) }
    }

    /// What is at a path, read from the disk.
    pub(super) fn standing(&mut self, path: &WorkspacePath) -> io::Result<Option<ManifestEntry>> {
        let found = self.above(path).and_then(|(folder, name)| {
            let found = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
            Ok((FileType::from_raw_mode(found.st_mode), found.st_mode))
        });
        let (kind, mode) = match found {
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            found => found?,
        };
        Ok(Some(match kind {
            FileType::Directory => ManifestEntry::Folder,
            FileType::Symlink => {
                let (folder, name) = self.above(path)?;
                let target = rustix::fs::readlinkat(folder, name, Vec::new())?.into_bytes();
                ManifestEntry::Link { target: target.into() }
            }
            _ => {
                let mut bytes = Vec::new();
                self.file(path)?.read_to_end(&mut bytes)?;
                let (hash, len) = (ContentHash::of(&bytes), bytes.len() as u64);
                ManifestEntry::File { hash, len, executable: mode & 0o100 != 0 }
            }
        }))
    }

    /// Everything in the folder, read from the disk.
    pub(super) fn read_manifest(&mut self) -> io::Result<Manifest> {
        let mut manifest = Manifest::default();
        let mut folders = vec![WorkspacePath::root()];
        while let Some(folder) = folders.pop() {
            for name in names(self.folder(&folder)?)? {
                let path = folder.join_bytes(&name).map_err(io::Error::other)?;
                let Some(standing) = self.standing(&path)? else { continue };
                if standing == ManifestEntry::Folder {
                    folders.push(path.clone());
                }
                manifest.insert(path, standing);
            }
        }
        Ok(manifest)
    }

    fn above<'a>(&mut self, path: &'a WorkspacePath) -> io::Result<(&OwnedFd, &'a [u8])> {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::Error::other("the root itself is no path in it"));
        };
        Ok((self.folder(&above)?, name))
    }

    /// Opens a folder name by name. A link on the way is an error.
    fn folder(&mut self, path: &WorkspacePath) -> io::Result<&OwnedFd> {
        if self.last.as_ref().is_none_or(|(last, _)| last != path) {
            let mut at = self.root.try_clone()?;
            for name in path.names() {
                at = rustix::fs::openat(&at, name, folder_flags(), Mode::empty())?;
            }
            self.last = Some((path.clone(), at));
        }
        Ok(&self.last.as_ref().expect("works because it was put there a moment ago").1)
    }
}

/// Writes a file that must not exist yet.
pub(super) fn write_new(folder: &OwnedFd, name: &str, bytes: &[u8]) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(folder, name, flags, Mode::from_raw_mode(0o600))?;
    File::from(file).write_all(bytes)
}

fn folder_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

fn names(folder: &OwnedFd) -> io::Result<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder.as_fd())? {
        let name = entry?.file_name().to_bytes().to_vec();
        if name != b"." && name != b".." {
            names.push(name);
        }
    }
    Ok(names)
}
