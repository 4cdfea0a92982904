//! Other names of closed files: a hard link opens the same file by a name that no rule is about.

use std::collections::{HashMap, HashSet};
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
    let mut search =
        Search { closed: HashSet::new(), names: HashMap::new(), is_blind: false, left: most_names };
    for path in &closed {
        search.note(path_in(workspace, path)?)?;
    }
    let mut all = closed;
    if search.closed.is_empty() && !search.is_blind {
        return Ok(all);
    }
    let known: HashSet<_> = all.iter().cloned().collect();
    let mut folders = vec![WorkspacePath::root()];
    while let Some(folder) = folders.pop() {
        let place = path_in(workspace, &folder)?;
        let Some(entries) = search.entries(&place) else {
            all.extend(may_hide_names(&place).then_some(folder));
            continue;
        };
        for entry in entries {
            let entry = entry?;
            search.count()?;
            let path = folder.join_bytes(entry.file_name().as_encoded_bytes()).map_err(io::Error::other)?;
            let kind = entry.file_type()?;
            if known.contains(&path) {
                continue;
            }
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() {
                let found = entry.path().symlink_metadata()?;
                if search.is_closed(&found) {
                    all.push(path);
                } else {
                    search.note_name(&found, path);
                }
            }
        }
    }
    if search.is_blind {
        // A name that nobody can find may be one of a closed file.
        let left = search.names.into_values().filter(|names| 0 < names.left);
        all.extend(left.flat_map(|names| names.found));
    }
    Ok(all)
}

/// Whether files may have a name in a folder that cannot be listed: it is the user's own, or can be entered by whoever
/// knows a name in it.
pub(super) fn may_hide_names(folder: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    can_be_entered(folder) || folder.symlink_metadata().is_ok_and(|found| found.uid() == own)
}

fn can_be_entered(folder: &Path) -> bool {
    folder.join(".").metadata().is_ok()
}

#[derive(Default)]
struct Names {
    found: Vec<WorkspacePath>,
    /// How many were not found.
    left: u64,
}

struct Search {
    /// The closed files that have several names, by device and inode.
    closed: HashSet<(u64, u64)>,
    /// The other files with several names.
    names: HashMap<(u64, u64), Names>,
    /// Whether there is a folder in which names of files may be that nobody can find.
    is_blind: bool,
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
                for entry in self.entries(&path).into_iter().flatten() {
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

    /// What is in a folder, if that can be listed and looked at.
    fn entries(&mut self, folder: &Path) -> Option<fs::ReadDir> {
        let entries = fs::read_dir(folder).ok().filter(|_| can_be_entered(folder));
        self.is_blind |= entries.is_none() && may_hide_names(folder);
        entries
    }

    fn note_name(&mut self, found: &fs::Metadata, path: WorkspacePath) {
        if 1 < found.nlink() {
            let names = self.names.entry((found.dev(), found.ino()));
            let names = names.or_insert_with(|| Names { found: Vec::new(), left: found.nlink() });
            names.left -= 1;
            names.found.push(path);
        }
    }

    fn count(&mut self) -> io::Result<()> {
        self.left = self.left.checked_sub(1).ok_or_else(|| {
            io::Error::other("it holds too many files to look for other names of closed ones among them")
        })?;
        Ok(())
    }
}
