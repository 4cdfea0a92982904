//! Keeps what a view wrote at places that its change set leaves out, when the view ends.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use headstart_overlay_fs::HeldOutput;
use headstart_workspace_path::WorkspacePath;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Timespec, Timestamps, XattrFlags};

use super::read::{is_opaque, names_in, open_in, open_parent_of};
use super::view::View;
use super::written;
use crate::Shown;

/// A folder of overlayfs's that the layer below has too, or had.
const ORIGIN: &str = "user.overlay.origin";

impl View {
    /// Ends the view and keeps what its commands wrote at these places, as [`HeldOutput`]: on a disk, where it is or else in
    /// a new folder in `room`. What stays in the room's own folders is the caller's to keep. A place of which something
    /// cannot be kept is left out of the result; so is every place of a view that is no overlay, or that has finished
    /// layers below it.
    pub fn hold(mut self, places: &[WorkspacePath], room: &Path) -> Vec<HeldOutput> {
        self.end_now();
        if self.tier().copies() {
            return Vec::new();
        }
        let held = places.iter().enumerate().filter_map(|(number, path)| {
            let (files, existed) = match self.build_layer(path) {
                Some((build, rest)) => self.in_build_layer(build, path, &rest)?,
                None => self.in_memory(path, &room.join(format!("held-{number}")))?,
            };
            let concerns = |hidden: &&WorkspacePath| hidden.starts_with(path) || path.starts_with(hidden);
            Some(HeldOutput {
                path: path.clone(),
                files: files.to_str()?.to_owned(),
                overlay: true,
                since: self.since(),
                existed,
                hidden: self.hidden().iter().filter(concerns).cloned().collect(),
            })
        });
        held.collect()
    }

    /// What was written to a folder of build output is on a disk already.
    fn in_build_layer(
        &self,
        build: &Shown,
        path: &WorkspacePath,
        rest: &WorkspacePath,
    ) -> Option<(PathBuf, bool)> {
        let Shown::Build { room, below } = build else { return None };
        if !below.is_empty() {
            return None;
        }
        let upper = room.join(written::BUILD_UPPER);
        if rest.is_root() {
            return Some((upper, !room.join(written::BUILD_NOTHING).exists()));
        }
        let existed = self.workspace().join(OsStr::from_bytes(path.as_bytes())).exists();
        Some((upper.join(OsStr::from_bytes(rest.as_bytes())), existed))
    }

    /// What was written to memory is copied, file by file.
    fn in_memory(&self, path: &WorkspacePath, target: &Path) -> Option<(PathBuf, bool)> {
        let upper = open_in(self.written(), written::upper(self.workspace_place()).as_bytes()).ok()?;
        let (folder, name) = open_parent_of(upper.as_fd(), path).zip(path.file_name())?;
        let on_disk = self.workspace().join(OsStr::from_bytes(path.as_bytes()));
        let came_from_below = open_in(folder.as_fd(), name).is_ok_and(|inner| has_origin(&inner));
        let mut copy = Copy { names: HashMap::new() };
        if copy.entry(folder.as_fd(), name, target).is_err() {
            let _ = super::build::remove_folder(target);
            return None;
        }
        Some((target.to_owned(), came_from_below || on_disk.symlink_metadata().is_ok()))
    }
}

fn has_origin(folder: &OwnedFd) -> bool {
    rustix::fs::fgetxattr(folder, ORIGIN, &mut [0_u8; 256][..]).is_ok()
}

struct Copy {
    /// Where the first name of a file with several names is, by device and inode.
    names: HashMap<(u64, u64), PathBuf>,
}

impl Copy {
    fn entry(&mut self, folder: BorrowedFd<'_>, name: &[u8], target: &Path) -> io::Result<()> {
        let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {
                let identity = (stat.st_dev, stat.st_ino);
                if 1 < stat.st_nlink {
                    if let Some(first) = self.names.get(&identity) {
                        return fs::hard_link(first, target);
                    }
                    self.names.insert(identity, target.to_owned());
                }
                let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
                let mut from = File::from(rustix::fs::openat(folder, name, flags, Mode::empty())?);
                let mut to = File::options().write(true).create_new(true).mode(0o600).open(target)?;
                io::copy(&mut from, &mut to)?;
                rustix::fs::futimens(&to, &times_of(&stat))?;
                to.set_permissions(fs::Permissions::from_mode(stat.st_mode & 0o777))
            }
            FileType::Symlink => {
                let link = rustix::fs::readlinkat(folder, name, Vec::new())?;
                Ok(rustix::fs::symlinkat(link, CWD, target)?)
            }
            FileType::Directory => {
                let inner = open_in(folder, name)?;
                fs::create_dir(target)?;
                for name in names_in(&inner)? {
                    self.entry(inner.as_fd(), &name, &target.join(OsStr::from_bytes(&name)))?;
                }
                if is_opaque(&inner) {
                    rustix::fs::setxattr(target, "user.overlay.opaque", b"y", XattrFlags::empty())?;
                }
                fs::set_permissions(target, fs::Permissions::from_mode(stat.st_mode & 0o777 | 0o700))
            }
            FileType::CharacterDevice if stat.st_rdev == 0 => {
                let kind = FileType::CharacterDevice;
                Ok(rustix::fs::mknodat(CWD, target, kind, Mode::empty(), 0)?)
            }
            _ => Err(io::Error::other("it is neither a file nor a folder nor a link")),
        }
    }
}

/// A build compares the times of what it made.
fn times_of(stat: &rustix::fs::Stat) -> Timestamps {
    let time = Timespec { tv_sec: stat.st_mtime, tv_nsec: i64::try_from(stat.st_mtime_nsec).unwrap_or(0) };
    Timestamps { last_access: time, last_modification: time }
}
