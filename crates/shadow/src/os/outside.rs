//! What commands wrote in a view outside the workspace, where it is discarded.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};

use super::read::is_opaque;
use super::written as names;
use crate::folders::is_cache;
use crate::{RootEntry, Shown};

/// The most paths that are named. It also limits the entries that are looked at.
const MOST_NAMED: usize = 100;
const MOST_LOOKED_AT: usize = 20_000;
const DEEPEST: usize = 32;

/// Files and links in the home folder and in the folders of tools that are not as they were before: written, removed,
/// or with another mode. Caches do not count, nor temporary folders, because nobody expects anything to stay there.
pub(super) fn written(written: &OwnedFd, places: &[RootEntry]) -> Vec<PathBuf> {
    let mut walk = Walk { found: Vec::new(), looked_at: 0 };
    for (number, place) in places.iter().enumerate() {
        let (name, is_over) = match place.shown {
            Shown::Tool { .. } => (names::upper(number), true),
            Shown::Empty if !is_temporary(&place.at) => (names::empty(number), false),
            _ => continue,
        };
        if let Some(folder) = open(written.as_fd(), name.as_bytes()) {
            let masked: &[PathBuf] = match &place.shown {
                Shown::Tool { masked } => masked,
                _ => &[],
            };
            let is_expected =
                |path: &Path| is_cache(path) || masked.iter().any(|masked| place.at.join(masked) == path);
            walk.folder(&folder, &place.at, &Rules { is_expected: &is_expected, is_over }, 0);
        }
    }
    walk.found
}

fn is_temporary(path: &Path) -> bool {
    crate::folders::EMPTY_FOLDERS.iter().any(|folder| path == Path::new(folder))
}

struct Walk {
    found: Vec<PathBuf>,
    looked_at: usize,
}

/// What counts in one place.
struct Rules<'a> {
    is_expected: &'a dyn Fn(&Path) -> bool,
    /// Whether the machine's folder at the same path is the layer below.
    is_over: bool,
}

impl Walk {
    fn folder(&mut self, folder: &OwnedFd, path: &Path, rules: &Rules<'_>, depth: usize) {
        let Ok(entries) = Dir::read_from(folder) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            self.looked_at += 1;
            if MOST_LOOKED_AT < self.looked_at || MOST_NAMED <= self.found.len() {
                return;
            }
            let path = path.join(OsStr::from_bytes(name));
            if (rules.is_expected)(&path) {
                continue;
            }
            if entry.file_type() != FileType::Directory {
                if !(rules.is_over && is_as_below(folder.as_fd(), name, &path)) {
                    self.found.push(path);
                }
            } else if depth < DEEPEST
                && let Some(inner) = open(folder.as_fd(), name)
            {
                if rules.is_over && hides_something(&inner, &path, rules) {
                    self.found.push(path);
                } else {
                    self.folder(&inner, &path, rules, depth + 1);
                }
            }
        }
    }
}

/// Whether a folder was made anew where the machine has one, and lacks something that is in that.
fn hides_something(upper: &OwnedFd, path: &Path, rules: &Rules<'_>) -> bool {
    if !is_opaque(upper) {
        return false;
    }
    let below = open(CWD, path.as_os_str().as_bytes());
    let Some(entries) = below.and_then(|below| Dir::read_from(&below).ok()) else { return false };
    entries.flatten().any(|entry| {
        let name = entry.file_name().to_bytes();
        name != b"."
            && name != b".."
            && !(rules.is_expected)(&path.join(OsStr::from_bytes(name)))
            && rustix::fs::statat(upper, name, AtFlags::SYMLINK_NOFOLLOW).is_err()
    })
}

fn open(at: BorrowedFd<'_>, name: &[u8]) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(at, name, flags, Mode::empty()).ok()
}

/// Whether an entry of the upper layer has the kind, mode and content of the machine's file at this path. A program that
/// opens a file for writing, as one does that locks it, has the kernel copy it there even if it writes nothing.
fn is_as_below(upper: BorrowedFd<'_>, name: &[u8], path: &Path) -> bool {
    let below = path.as_os_str().as_bytes();
    let stat = |at, name| rustix::fs::statat(at, name, AtFlags::SYMLINK_NOFOLLOW).ok();
    let (Some(written), Some(before)) = (stat(upper, name), stat(CWD, below)) else { return false };
    if (written.st_mode, written.st_size) != (before.st_mode, before.st_size) {
        return false;
    }
    match FileType::from_raw_mode(written.st_mode) {
        FileType::RegularFile => {
            let files = (file(upper, name), file(CWD, below));
            matches!(files, (Some(written), Some(before)) if is_equal(&written, &before))
        }
        FileType::Symlink => {
            let target = |at, name| rustix::fs::readlinkat(at, name, Vec::new()).ok();
            target(upper, name).is_some_and(|written| target(CWD, below) == Some(written))
        }
        _ => false,
    }
}

fn file(at: BorrowedFd<'_>, name: &[u8]) -> Option<File> {
    // Where a FIFO took the file's place meanwhile, nobody waits for its other end.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    rustix::fs::openat(at, name, flags, Mode::empty()).ok().map(File::from)
}

fn is_equal(mut one: &File, mut other: &File) -> bool {
    let (mut here, mut there) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        let Ok(count) = one.read(&mut here) else { return false };
        if other.read_exact(&mut there[..count]).is_err() || here[..count] != there[..count] {
            return false;
        }
        if count == 0 {
            return matches!(other.read(&mut there), Ok(0));
        }
    }
}
