//! Finds out what the user, and accepted work, changed in a workspace while a server runs.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use headstart_overlay_fs::{Change, ChangeKind, WorkspacePath};

use crate::system::{FileNumbers as _, path_in, workspace_path};
use crate::workspace::unignored;

/// The most files of a workspace with servers, because each question checks all of them.
const MAX_FILES: usize = 200_000;
/// The most bytes of a file that is written into a view.
const MAX_BYTES: u64 = 64 << 20;

/// The files of a workspace at the last check, without those that git ignores.
#[derive(Debug)]
pub(super) struct FileStamps {
    workspace: PathBuf,
    files: BTreeMap<WorkspacePath, FileStamp>,
}

/// Identifies a state of a file, whatever times its author sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileStamp {
    inode: u64,
    changed: (i64, i64),
    bytes: u64,
}

impl FileStamps {
    pub(super) fn read(workspace: &Path) -> io::Result<Self> {
        Ok(Self { workspace: workspace.to_owned(), files: files(workspace)? })
    }

    /// The paths that appeared, disappeared or changed since the last check.
    pub(super) fn changed(&mut self) -> io::Result<Vec<WorkspacePath>> {
        let now = files(&self.workspace)?;
        let was = std::mem::replace(&mut self.files, now);
        let gone = was.keys().filter(|path| !self.files.contains_key(*path));
        let other =
            self.files.iter().filter(|(path, stamp)| was.get(*path) != Some(stamp)).map(|(path, _)| path);
        Ok(gone.chain(other).cloned().collect())
    }

    /// The change that makes a view show a path as it is now; `None` if the path cannot be read or is too large.
    pub(super) fn current_change(&self, path: &WorkspacePath) -> Option<Change> {
        let file = path_in(&self.workspace, path).ok()?;
        let kind = match file.symlink_metadata() {
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                ChangeKind::Delete
            }
            Ok(found) if found.is_symlink() => ChangeKind::Link {
                target: fs::read_link(&file).ok()?.into_os_string().into_encoded_bytes(),
                moved_from: None,
            },
            Ok(found) if found.is_file() && found.len() <= MAX_BYTES => {
                let executable = found.mode() & 0o100 != 0;
                ChangeKind::Write { content: fs::read(&file).ok()?.into(), executable, moved_from: None }
            }
            Ok(_) | Err(_) => return None,
        };
        Some(Change { path: path.clone(), base: None, base_content: None, kind, mode: None })
    }
}

fn files(workspace: &Path) -> io::Result<BTreeMap<WorkspacePath, FileStamp>> {
    let mut files = BTreeMap::new();
    for entry in unignored(workspace).filter_map(Result::ok) {
        if entry.file_type().is_none_or(|kind| kind.is_dir()) {
            continue;
        }
        let Ok(below) = entry.path().strip_prefix(workspace) else { continue };
        let Some(path) = workspace_path(below) else { continue };
        let Ok(found) = entry.metadata() else { continue };
        files.insert(path, stamp(&found));
        if MAX_FILES < files.len() {
            return Err(io::Error::other(format!(
                "the workspace has more than {MAX_FILES} files that git does not ignore, too many to be followed for language servers"
            )));
        }
    }
    Ok(files)
}

fn stamp(found: &Metadata) -> FileStamp {
    FileStamp { inode: found.ino(), changed: (found.ctime(), found.ctime_nsec()), bytes: found.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_went_and_changed_is_named_once() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            fs::create_dir_all(folder.path().join(name).parent().unwrap()).unwrap();
            fs::write(folder.path().join(name), text).unwrap();
        };
        for name in ["kept", "edited", "d/removed", "replaced", "ignored.log"] {
            write(name, "one");
        }
        write(".gitignore", "*.log\n");
        let mut disk = FileStamps::read(folder.path()).unwrap();
        assert_eq!(disk.changed().unwrap(), []);
        write("edited", "two, and longer");
        write("d/new", "n");
        write("ignored.log", "two");
        fs::remove_file(folder.path().join("d/removed")).unwrap();
        // Replaces the file by a rename with the same content, as editors do when they save.
        write("other", "one");
        fs::rename(folder.path().join("other"), folder.path().join("replaced")).unwrap();
        let mut changed: Vec<_> = disk.changed().unwrap().iter().map(ToString::to_string).collect();
        changed.sort();
        assert_eq!(changed, ["d/new", "d/removed", "edited", "replaced"]);
        assert_eq!(disk.changed().unwrap(), []);
        let kind = |name: &str| disk.current_change(&WorkspacePath::parse(name).unwrap()).unwrap().kind;
        assert_eq!(kind("d/removed"), ChangeKind::Delete);
        assert!(matches!(kind("d/new"), ChangeKind::Write { content, .. } if *content == *b"n"));
    }
}
