//! Which parts of a workspace a command may read without a question to the user.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use headstart_workspace_path::WorkspacePath;

/// Folders that are not searched for closed files: git's own, which git needs as a whole, and those with what package
/// managers fetched, which is no secret.
const NOT_SEARCHED: [&str; 3] = [".git", "node_modules", ".venv"];
/// The most names that are looked at before each command.
const MOST_NAMES: usize = 1_000_000;

/// Folders with everything below them, and files. Everything else is closed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Readable {
    pub(super) folders: Vec<PathBuf>,
    pub(super) files: Vec<PathBuf>,
    /// Whether there is a closed file.
    pub(super) hides_something: bool,
}

impl Readable {
    pub(super) fn all(workspace: &Path) -> Self {
        Self { folders: vec![workspace.to_owned()], ..Self::default() }
    }

    /// Everything that is not closed. A folder without a closed file is one entry, which keeps the list short.
    pub(super) fn without(workspace: &Path, closes: &dyn Fn(&WorkspacePath) -> bool) -> io::Result<Self> {
        let mut search = Search { closes, looked_at: 0 };
        let found = search.folder(workspace, &WorkspacePath::root())?;
        Ok(found.unwrap_or_else(|| Self::all(workspace)))
    }
}

struct Search<'a> {
    closes: &'a dyn Fn(&WorkspacePath) -> bool,
    looked_at: usize,
}

impl Search<'_> {
    /// What may be read of a folder; `None` for all of it.
    fn folder(&mut self, folder: &Path, path: &WorkspacePath) -> io::Result<Option<Readable>> {
        // If this process cannot list a folder, neither can the command.
        let Ok(entries) = fs::read_dir(folder) else { return Ok(None) };
        let mut readable = Readable::default();
        for entry in entries {
            let entry = entry?;
            self.looked_at += 1;
            if MOST_NAMES < self.looked_at {
                return Err(io::Error::other(format!(
                    "it holds more than {MOST_NAMES} files, too many to look for those that are closed"
                )));
            }
            let name = entry.file_name();
            let kind = entry.file_type()?;
            let below = path.join_bytes(name.as_bytes()).map_err(io::Error::other)?;
            // A link counts as the file to which it leads.
            if kind.is_symlink() {
                continue;
            }
            if (self.closes)(&below) {
                readable.hides_something = true;
            } else if !kind.is_dir() {
                readable.files.push(entry.path());
            } else if NOT_SEARCHED.iter().any(|known| name == *known) {
                readable.folders.push(entry.path());
            } else {
                match self.folder(&entry.path(), &below)? {
                    None => readable.folders.push(entry.path()),
                    Some(part) => {
                        readable.folders.extend(part.folders);
                        readable.files.extend(part.files);
                        readable.hides_something = true;
                    }
                }
            }
        }
        Ok(readable.hides_something.then_some(readable))
    }
}
