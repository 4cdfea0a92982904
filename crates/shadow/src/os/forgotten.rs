//! Whether commands wrote something outside the workspace to which a removed file may have been moved. All of it is
//! forgotten with the view.

use std::collections::BTreeSet;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};

use super::written as names;
use crate::folders::is_cache;
use crate::{RootEntry, Shown};

const MOST_LOOKED_AT: usize = 20_000;
const MOST_NAMED: usize = 4;
const DEEPEST: usize = 32;

/// The folder of the view that is no place of its own.
const SHARED_MEMORY: (&str, &str) = ("/dev/shm", "shm");

/// Files that may hold a content of one of these lengths, packed or as it is. In the caches and the own folders of
/// tools, to which every build writes, only files of just these lengths count.
pub(super) fn files(written: &OwnedFd, places: &[RootEntry], lengths: &BTreeSet<u64>) -> Vec<String> {
    let mut walk = Walk { lengths, found: Vec::new(), left: MOST_LOOKED_AT };
    let own = places.iter().enumerate().filter_map(|(number, place)| match place.shown {
        Shown::Tool { .. } => Some((place.at.clone(), names::upper(number), true)),
        Shown::Empty => Some((place.at.clone(), names::empty(number), false)),
        _ => None,
    });
    let (at, name) = SHARED_MEMORY;
    let copied: BTreeSet<_> =
        places.iter().filter(|place| place.shown == Shown::Copy).map(|place| &place.at).collect();
    for (at, name, is_tool) in own.chain([(PathBuf::from(at), name.to_owned(), false)]) {
        if let Some(folder) = open(written.as_fd(), name.as_bytes()) {
            walk.folder(&folder, &at, is_tool, 0);
        }
    }
    walk.found.retain(|path| !copied.contains(path));
    walk.found.truncate(MOST_NAMED);
    walk.found.iter().map(|path| path.to_string_lossy().into_owned()).collect()
}

struct Walk<'a> {
    lengths: &'a BTreeSet<u64>,
    found: Vec<PathBuf>,
    left: usize,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &OwnedFd, path: &Path, is_tool: bool, depth: usize) {
        let Ok(entries) = Dir::read_from(folder) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." || self.left == 0 {
                continue;
            }
            self.left -= 1;
            let path = path.join(std::ffi::OsStr::new(std::str::from_utf8(name).unwrap_or("?")));
            let Ok(stat) = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory if depth < DEEPEST => {
                    if let Some(inner) = open(folder.as_fd(), name) {
                        self.folder(&inner, &path, is_tool, depth + 1);
                    }
                }
                FileType::RegularFile | FileType::Symlink => {
                    let is_alike = self.lengths.contains(&stat.st_size.cast_unsigned());
                    if is_alike || !is_tool && !is_cache(&path) && 0 < stat.st_size {
                        self.found.push(path);
                    }
                }
                _ => {}
            }
        }
    }
}

fn open(at: BorrowedFd<'_>, name: &[u8]) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(at, name, flags, Mode::empty()).ok()
}
