//! What this program takes of the changes that the kernel reports. The kernel has one limit for all programs of a user,
//! and an editor that gets nothing any more shows old files.

use std::fs::{self, File};
use std::path::Path;

use crate::file_lock::FileLock;
use crate::store::create_private_folder;
use crate::system::PrivateFile as _;

/// How many watchers all processes of a user have together; 128 is what the kernel gives to all of their programs. Where
/// they are taken, files are compared instead.
const SHARES: usize = 4;
/// The most folders of one watcher.
const MAX_FOLDERS: usize = 20_000;
/// All watchers together take at most a quarter of the folders that the kernel lets the user watch.
const PART: usize = 4 * SHARES;
/// Where the kernel says how many folders those are.
const KERNEL_LIMIT: &str = "/proc/sys/fs/inotify/max_user_watches";

/// The right to have one watcher, until this is dropped or the process ends.
#[derive(Debug)]
pub(crate) struct WatchShare {
    _lock: FileLock,
    /// The most folders that may be watched with it.
    pub(crate) folders: usize,
}

impl WatchShare {
    /// Takes a share; `None` if other processes have all of them, or none can be noted in the state folder.
    pub(crate) fn take(state: &Path) -> Option<Self> {
        let folder = state.join("watchers");
        create_private_folder(&folder).ok()?;
        let open = |number: usize| {
            let path = folder.join(number.to_string());
            File::options().create(true).truncate(false).write(true).private().open(path).ok()
        };
        let lock = (0..SHARES).find_map(|number| FileLock::exclusive(open(number)?).ok())?;
        let limit = fs::read_to_string(KERNEL_LIMIT).ok().and_then(|text| text.trim().parse().ok());
        let folders = limit.map_or(MAX_FOLDERS, |limit: usize| MAX_FOLDERS.min(limit / PART));
        Some(Self { _lock: lock, folders })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_few_shares_and_who_ends_makes_room() {
        let state = tempfile::tempdir().unwrap();
        let mut taken: Vec<_> = std::iter::from_fn(|| WatchShare::take(state.path())).take(100).collect();
        assert_eq!(taken.len(), SHARES);
        assert!(taken.iter().all(|share| 0 < share.folders));
        drop(taken.pop());
        assert!(WatchShare::take(state.path()).is_some());
    }
}
