//! The copies that are kept of other machines' workspaces.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use headstart_shadow::remove_folder;
use serde::{Deserialize, Serialize};

use crate::file_lock::FileLock;

pub(super) const COPIES: &str = "copies";
pub(super) const INFO: &str = "about.json";

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

/// Removes a copy that no process uses. Returns whether it was removed.
pub(crate) fn remove(folder: &Path) -> bool {
    let used = File::open(folder.join("used")).ok().map(FileLock::exclusive);
    matches!(used, Some(Ok(_))) && remove_folder(folder).is_ok()
}

pub(super) fn read_info(folder: &Path) -> Option<CopyInfo> {
    serde_json::from_slice(&fs::read(folder.join(INFO)).ok()?).ok()
}
