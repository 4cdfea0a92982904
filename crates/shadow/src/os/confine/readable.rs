//! What of a workspace a command may read that nobody was asked about.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use headstart_workspace_path::WorkspacePath;

/// Folders that are not looked into: git's own, which it needs whole, and what package managers fetched, which is nobody's secret.
const NOT_SEARCHED: [&str; 3] = [".git", "node_modules", ".venv"];
/// So many names are looked at before every command.
const MOST_NAMES: usize = 1_000_000;

/// Folders with all that is below them, and files. What is in neither is closed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Readable {
    pub(super) folders: Vec<PathBuf>,
    pub(super) files: Vec<PathBuf>,
    /// Whether there is a file that is closed.
    pub(super) hides_something: bool,
}

impl Readable {
    pub(super) fn all(workspace: &Path) -> Self {
        Self { folders: vec![workspace.to_owned()], ..Self::default() }
    }

    /// All but what is closed. A folder without such a file is one entry, so that there are few.
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
    /// What may be read of a folder; `None`: all of it.
    fn folder(&mut self, folder: &Path, path: &WorkspacePath) -> io::Result<Option<Readable>> {
        // A folder that cannot be listed cannot be searched by the command either.
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
            // Of a link the file counts that it leads to.
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
