//! Finds out what the user has changed in a workspace since a certain time.

use std::path::Path;

use headstart_overlay_fs::WorkspacePath;

use crate::system::{FileNumbers as _, workspace_path};
use crate::workspace::unignored;

/// The most files that are named, because a warning needs no more.
const MAX_CHANGED: usize = 1_000;

/// The files below a workspace whose content, permissions or name changed since a time in milliseconds since the Unix
/// epoch. What git ignores and git's own folder are left out.
pub fn changed_since(workspace: &Path, unix_ms: u64) -> Vec<WorkspacePath> {
    let since = i128::from(unix_ms);
    let changed = unignored(workspace).filter_map(Result::ok).filter(|entry| {
        let is_file = entry.file_type().is_some_and(|kind| !kind.is_dir());
        let changed = entry.metadata().is_ok_and(|metadata| {
            since <= i128::from(metadata.ctime()) * 1_000 + i128::from(metadata.ctime_nsec() / 1_000_000)
        });
        is_file && changed
    });
    let paths = changed.filter_map(|entry| workspace_path(entry.path().strip_prefix(workspace).ok()?));
    paths.take(MAX_CHANGED).collect()
}

/// Whether files or folders appeared, disappeared or changed since a time in nanoseconds of the clock of files. What
/// git ignores and git's own folder do not count.
pub(super) fn has_changed_since(workspace: &Path, since: i64) -> bool {
    unignored(workspace).filter_map(Result::ok).any(|entry| is_newer(&entry, since))
}

/// Whether the entry changed, or names in it appeared or disappeared.
pub(super) fn is_newer(entry: &ignore::DirEntry, since: i64) -> bool {
    entry.metadata().is_ok_and(|found| {
        i128::from(since) <= i128::from(found.ctime()) * 1_000_000_000 + i128::from(found.ctime_nsec())
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_changed_since_is_named_and_what_git_ignores_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write(".gitignore", "*.log\n");
        write("a.txt", "a\n");
        write("b.log", "b\n");
        let names =
            |since| changed_since(folder.path(), since).iter().map(ToString::to_string).collect::<Vec<_>>();
        let mut all = names(0);
        all.sort();
        assert_eq!(all, [".gitignore", "a.txt"]);
        assert_eq!(names(u64::MAX), [""; 0]);
    }
}
