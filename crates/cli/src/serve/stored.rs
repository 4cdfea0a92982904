//! The copies that are kept of other machines' workspaces.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use headstart_machine::file_lock::FileLock;
use headstart_shadow::remove_folder;
use serde::{Deserialize, Serialize};

pub(super) const COPIES: &str = "copies";
pub(super) const INFO: &str = "about.json";
/// The file that is locked while a process uses a copy.
const USED: &str = "used";
/// The time limit for removing a copy that is about to be used again.
const PATIENCE: Duration = Duration::from_secs(30);

/// The description of a copy.
#[derive(Serialize, Deserialize)]
pub(crate) struct CopyInfo {
    pub(crate) workspace: String,
    /// When it was last used, in milliseconds since the Unix epoch.
    pub(crate) used: u64,
    pub(crate) bytes: u64,
}

/// All copies: their folders and descriptions.
pub(crate) fn all(state: &Path) -> Vec<(PathBuf, CopyInfo)> {
    let entries = fs::read_dir(state.join(COPIES)).into_iter().flatten().flatten();
    let mut copies: Vec<_> =
        entries.filter_map(|entry| Some((entry.path(), read_info(&entry.path())?))).collect();
    copies.sort_by_key(|(_, info)| info.used);
    copies
}

/// Makes the folder of a copy if there is none, and marks it as used, so that nobody removes it.
pub(super) fn make_used(folder: &Path) -> io::Result<FileLock> {
    let name = folder.join(USED);
    let started = Instant::now();
    loop {
        fs::create_dir_all(folder)?;
        match File::create(&name).map_err(TryLockError::Error).and_then(FileLock::shared) {
            // Whoever removed the folder meanwhile held the lock before.
            Ok(used) if is_still_there(&used, &name) => return Ok(used),
            Ok(_) | Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::NotFound => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
        if PATIENCE < started.elapsed() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "another process is removing the copy"));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn is_still_there(file: &File, name: &Path) -> bool {
    let numbers = |found: fs::Metadata| (found.dev(), found.ino());
    let (Ok(file), Ok(name)) = (file.metadata(), fs::metadata(name)) else { return false };
    numbers(file) == numbers(name)
}

/// Removes a copy that no process uses. Returns whether it was removed.
pub(crate) fn remove(folder: &Path) -> bool {
    let used = File::open(folder.join(USED)).ok().map(FileLock::exclusive);
    matches!(used, Some(Ok(_))) && remove_folder(folder).is_ok()
}

pub(super) fn read_info(folder: &Path) -> Option<CopyInfo> {
    serde_json::from_slice(&fs::read(folder.join(INFO)).ok()?).ok()
}
