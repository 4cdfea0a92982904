//! Finds what no command in a view may reach, below folders of the machine that it shows.

use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};

use super::TreeBuilder;

impl TreeBuilder {
    /// Finds where the machine's network devices are described, with their addresses.
    pub(super) fn network_devices(&self, found: &mut Vec<PathBuf>) {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let class = rustix::fs::openat(&self.root, "sys/class/net", flags, Mode::empty());
        let Ok(entries) = class.as_ref().map_err(|error| *error).and_then(rustix::fs::Dir::read_from) else {
            return;
        };
        for entry in entries.flatten() {
            let target = class
                .as_ref()
                .ok()
                .and_then(|class| rustix::fs::readlinkat(class, entry.file_name(), Vec::new()).ok());
            // `../../devices/BUS/DEVICE/net/NAME`
            let target = target.and_then(|target| target.into_string().ok()).unwrap_or_default();
            if let Some(below) = target.strip_prefix("../../").filter(|below| !below.contains("..")) {
                found.push(Path::new("/sys").join(below));
            }
        }
    }

    /// Finds sockets and pipes, through which a command would reach a program of the machine though it can write nothing
    /// there. Among very many files some may not be found.
    pub(super) fn doors(&self, folder: &Path, left: &mut usize, found: &mut Vec<PathBuf>) {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&self.root, folder, flags, Mode::empty());
        let Ok(entries) = opened.and_then(rustix::fs::Dir::new) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            let Some(less) = left.checked_sub(1) else { return };
            *left = less;
            let path = folder.join(std::os::unix::ffi::OsStrExt::from_bytes(name) as &std::ffi::OsStr);
            match entry.file_type() {
                FileType::Directory => self.doors(&path, left, found),
                FileType::Socket | FileType::Fifo => found.push(Path::new("/").join(path)),
                _ => {}
            }
        }
    }

    /// Finds what not everybody may read, down to this depth.
    pub(super) fn private_files(&self, folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&self.root, folder, flags, Mode::empty());
        let Ok(entries) = opened.and_then(rustix::fs::Dir::new) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            let path = folder.join(std::os::unix::ffi::OsStrExt::from_bytes(name) as &std::ffi::OsStr);
            let Ok(seen) = rustix::fs::statat(&self.root, &path, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            let kind = FileType::from_raw_mode(seen.st_mode);
            if kind != FileType::Symlink && seen.st_mode & 0o004 == 0 {
                found.push(Path::new("/").join(path));
            } else if kind == FileType::Directory && 0 < depth {
                self.private_files(&path, depth - 1, found);
            }
        }
    }
}
