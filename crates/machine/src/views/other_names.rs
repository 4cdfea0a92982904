//! Other names of closed files: a hard link opens the same file by a name that no rule is about.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use headstart_overlay_fs::WorkspacePath;

use crate::system::{FileNumbers as _, path_in};

/// The closed paths, and those of other names by which the same files can be opened. Only if a closed file has several
/// names, the workspace is searched for them.
pub(super) fn with_other_names(
    workspace: &Path,
    closed: Vec<WorkspacePath>,
    most_names: usize,
) -> io::Result<Vec<WorkspacePath>> {
    let mut search = Search { closed: HashSet::new(), left: most_names };
    for path in &closed {
        search.note(path_in(workspace, path)?)?;
    }
    let mut all = closed;
    if search.closed.is_empty() {
        return Ok(all);
    }
    let known: HashSet<_> = all.iter().cloned().collect();
    let mut folders = vec![WorkspacePath::root()];
    while let Some(folder) = folders.pop() {
        let place = path_in(workspace, &folder)?;
        let entries = fs::read_dir(&place);
        if entries.is_err() && opens_unlisted(&place) {
            all.push(folder);
            continue;
        }
        for entry in entries.into_iter().flatten() {
            let entry = entry?;
            search.count()?;
            let path = folder.join_bytes(entry.file_name().as_encoded_bytes()).map_err(io::Error::other)?;
            let kind = entry.file_type()?;
            if known.contains(&path) {
                continue;
            }
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() && search.is_closed(&entry.path().symlink_metadata()?) {
                all.push(path);
            }
        }
    }
    Ok(all)
}

/// Whether a folder can be entered, so that who knows a name in one that cannot be listed may open that.
pub(super) fn opens_unlisted(folder: &Path) -> bool {
    folder.join(".").metadata().is_ok()
}

struct Search {
    /// The closed files that have several names, by device and inode.
    closed: HashSet<(u64, u64)>,
    left: usize,
}

impl Search {
    fn note(&mut self, path: PathBuf) -> io::Result<()> {
        let mut waiting = vec![path];
        while let Some(path) = waiting.pop() {
            let Ok(found) = path.symlink_metadata() else { continue };
            if found.is_file() && 1 < found.nlink() {
                self.closed.insert((found.dev(), found.ino()));
            }
            if found.is_dir() {
                for entry in fs::read_dir(&path).into_iter().flatten() {
                    self.count()?;
                    waiting.push(entry?.path());
                }
            }
        }
        Ok(())
    }

    fn is_closed(&self, found: &fs::Metadata) -> bool {
        1 < found.nlink() && self.closed.contains(&(found.dev(), found.ino()))
    }

    fn count(&mut self) -> io::Result<()> {
        self.left = self.left.checked_sub(1).ok_or_else(|| {
            io::Error::other("it holds too many files to look for other names of closed ones among them")
        })?;
        Ok(())
    }
}
