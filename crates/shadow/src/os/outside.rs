//! What commands wrote in a view outside the workspace, where it is discarded.

use std::ffi::OsStr;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, FileType, Mode, OFlags};

use super::written as names;
use crate::folders::is_cache;
use crate::{RootEntry, Shown};

/// The most paths that are named. It also limits the entries that are looked at.
const MOST_NAMED: usize = 100;
const MOST_LOOKED_AT: usize = 20_000;
const DEEPEST: usize = 32;

/// Files and links that were written or removed in the home folder and in the folders of tools, except in caches.
/// Temporary folders do not count, because nobody expects anything to stay in them.
pub(super) fn written(written: &OwnedFd, places: &[RootEntry]) -> Vec<PathBuf> {
    let mut walk = Walk { found: Vec::new(), looked_at: 0 };
    for (number, place) in places.iter().enumerate() {
        let name = match place.shown {
            Shown::Tool { .. } => names::upper(number),
            Shown::Empty if !is_temporary(&place.at) => names::empty(number),
            _ => continue,
        };
        if let Some(folder) = open(written.as_fd(), name.as_bytes()) {
            let masked: &[PathBuf] = match &place.shown {
                Shown::Tool { masked } => masked,
                _ => &[],
            };
            walk.folder(
                &folder,
                &place.at,
                &|path| is_cache(path) || masked.iter().any(|masked| place.at.join(masked) == path),
                0,
            );
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

impl Walk {
    fn folder(&mut self, folder: &OwnedFd, path: &Path, is_expected: &dyn Fn(&Path) -> bool, depth: usize) {
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
            if is_expected(&path) {
                continue;
            }
            if entry.file_type() != FileType::Directory {
                self.found.push(path);
            } else if depth < DEEPEST
                && let Some(inner) = open(folder.as_fd(), name)
            {
                self.folder(&inner, &path, is_expected, depth + 1);
            }
        }
    }
}

fn open(at: BorrowedFd<'_>, name: &[u8]) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(at, name, flags, Mode::empty()).ok()
}
