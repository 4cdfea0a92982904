//! What shows that a repository may hold something else than before. No program is started for it.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::undone::{Surroundings, git_folder, target_of};

/// Files of a repository's folder that change with what can be found in it, or with how git reads it.
const FILES: [&str; 10] = [
    "HEAD",
    "index",
    "config",
    "config.worktree",
    "packed-refs",
    "shallow",
    "logs/HEAD",
    "logs/refs/stash",
    "objects/info/alternates",
    "objects/pack",
];
impl Surroundings {
    /// A text that differs as soon as the repository around a workspace may hold something else: other commits, names,
    /// staged files, or objects that nothing names. `None` if there is no
    /// repository.
    pub fn stamp(workspace: &Path) -> Option<Vec<u8>> {
        let folder = workspace.ancestors().find_map(git_folder)?;
        let common = target_of(&folder.join("commondir"), "").map(|common| folder.join(common));
        let folders: Vec<_> = [Some(folder), common].into_iter().flatten().collect();
        let mut stamp = Vec::new();
        let mut waiting = Vec::new();
        for folder in &folders {
            for name in FILES {
                note(&mut stamp, &folder.join(name));
            }
            // A file is put into a folder, or taken out of it, by a name, and the folder's time shows that.
            waiting.extend(["refs", "reftable"].map(|name| folder.join(name)));
            for entry in folder.join("objects").read_dir().into_iter().flatten().flatten() {
                note(&mut stamp, &entry.path());
            }
        }
        while let Some(folder) = waiting.pop() {
            note(&mut stamp, &folder);
            let entries = folder.read_dir().into_iter().flatten().flatten();
            waiting.extend(entries.filter(is_folder).map(|entry| entry.path()));
        }
        Some(stamp)
    }

    /// Whether the repository begins in this folder, and not above it.
    pub fn begins_in(&self, top: &Path) -> bool {
        self.at.work_tree == top
    }
}

fn is_folder(entry: &std::fs::DirEntry) -> bool {
    entry.file_type().is_ok_and(|kind| kind.is_dir())
}

fn note(stamp: &mut Vec<u8>, path: &Path) {
    let found = path.metadata().map(|found| {
        (found.dev(), found.ino(), found.len(), found.mtime(), found.mtime_nsec(), found.ctime_nsec())
    });
    stamp.extend(format!("{} {:?}\n", path.display(), found.ok()).into_bytes());
}
