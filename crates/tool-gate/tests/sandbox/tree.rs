//! Lists what is below a folder, so that changes can be seen.

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Mode, time of change and content of everything below some folders.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Tree(BTreeMap<PathBuf, (u32, i64, i64, u64)>);

impl Tree {
    pub(crate) fn of(folders: &[PathBuf]) -> Self {
        let mut tree = Self::default();
        let mut open = folders.to_vec();
        while let Some(path) = open.pop() {
            let found = fs::symlink_metadata(&path).expect("what was listed is there");
            let mut hasher = DefaultHasher::new();
            if found.is_dir() {
                let entries = fs::read_dir(&path).expect("a folder can be read");
                open.extend(entries.map(|entry| entry.expect("an entry can be read").path()));
            } else if found.is_file() {
                fs::read(&path).expect("a file can be read").hash(&mut hasher);
            }
            tree.0.insert(path, (found.mode(), found.mtime(), found.mtime_nsec(), hasher.finish()));
        }
        tree
    }

    /// Paths that are new, gone or different in `after`.
    pub(crate) fn changes<'a>(&'a self, after: &'a Self) -> Vec<&'a Path> {
        let changed = after.0.iter().filter(|(path, found)| self.0.get(*path) != Some(found));
        let gone = self.0.iter().filter(|(path, _)| !after.0.contains_key(*path));
        changed.chain(gone).map(|(path, _)| path.as_path()).collect()
    }
}
