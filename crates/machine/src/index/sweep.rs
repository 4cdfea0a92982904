//! Limits the size of all indexes of a user together.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The most bytes of all indexes together. Beyond that, those that were last used the longest ago are removed; an index
/// is made again when it is needed.
pub(super) const MAX_BYTES: u64 = 2 << 30;
/// An index that was used so recently may be open in another process.
const IN_USE: Duration = Duration::from_secs(24 * 60 * 60);

/// One index with its log and the damaged files that were moved aside.
struct StoredIndex {
    files: Vec<PathBuf>,
    bytes: u64,
    used: SystemTime,
}

/// Removes indexes beside `own` until all of them together have no more than `most` bytes. An index that cannot be
/// removed stays.
pub(super) fn sweep(own: &Path, most: u64) {
    let Some(folder) = own.parent() else { return };
    let mut indexes = indexes_in(folder);
    let mut bytes: u64 = indexes.values().map(|index| index.bytes).sum();
    indexes.remove(own);
    let mut indexes: Vec<StoredIndex> = indexes.into_values().collect();
    indexes.sort_by_key(|index| index.used);
    for index in indexes {
        let is_in_use = index.used.elapsed().is_ok_and(|since| since < IN_USE);
        if bytes <= most || is_in_use {
            return;
        }
        bytes -= index.bytes;
        for file in index.files {
            let _ = fs::remove_file(file);
        }
    }
}

/// The indexes in a folder by the paths of their databases.
fn indexes_in(folder: &Path) -> BTreeMap<PathBuf, StoredIndex> {
    let mut found: BTreeMap<PathBuf, StoredIndex> = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some((start, _)) = name.to_str().and_then(|name| name.split_once(".sqlite")) else { continue };
        let Some(metadata) = entry.metadata().ok().filter(fs::Metadata::is_file) else { continue };
        let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        let database = folder.join(format!("{start}.sqlite"));
        let index = found.entry(database).or_insert(StoredIndex { files: Vec::new(), bytes: 0, used });
        index.files.push(entry.path());
        index.bytes += metadata.len();
        index.used = index.used.max(used);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_longest_ago_goes_first_and_what_is_in_use_stays() {
        let folder = tempfile::tempdir().unwrap();
        let day = Duration::from_secs(24 * 60 * 60);
        let write = |name: &str, bytes: usize, days: u32| {
            let file = folder.path().join(name);
            fs::write(&file, vec![b'x'; bytes]).unwrap();
            fs::File::open(file).unwrap().set_modified(SystemTime::now() - day * days).unwrap();
        };
        write("own.sqlite", 100, 90);
        write("oldest.sqlite", 100, 80);
        write("oldest.sqlite-wal", 50, 70);
        write("older.sqlite", 100, 60);
        write("older.sqlite.aside", 100, 60);
        write("old.sqlite", 100, 50);
        write("open.sqlite", 100, 40);
        write("open.sqlite-wal", 10, 0);
        write("other.txt", 1_000, 90);
        let names = || {
            let mut names: Vec<_> = indexes_in(folder.path())
                .into_keys()
                .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
                .collect();
            names.sort();
            names.join(" ")
        };
        sweep(&folder.path().join("own.sqlite"), 10_000);
        assert_eq!(names(), "old older oldest open own");
        sweep(&folder.path().join("own.sqlite"), 450);
        assert_eq!(names(), "old open own");
        sweep(&folder.path().join("own.sqlite"), 0);
        assert_eq!(names(), "open own");
        assert!(folder.path().join("other.txt").exists());
    }
}
