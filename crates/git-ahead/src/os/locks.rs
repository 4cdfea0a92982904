//! The lock files of an accept, identified by their inodes and the time of their last write, so that a lock which
//! another git made later under the same name is never removed. The inode alone would not do, because a file system
//! reuses that of a removed file.

use std::time::UNIX_EPOCH;

use cap_fs_ext::MetadataExt as _;
use cap_std::fs::Dir;
use serde::{Deserialize, Serialize};

use super::folder;
use crate::{GitError, RefName};

/// A lock file that this accept made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Lock {
    /// The path below `.git`.
    path: String,
    device: u64,
    inode: u64,
    /// The time of its last write, in nanoseconds since the Unix epoch. The file is complete when it is first looked
    /// at.
    written: u64,
}

/// The locks that git has for these refs once it said that they are prepared, when nobody else can have one of them.
/// `HEAD` is among them if it is on one of the refs.
pub(super) fn held(
    git: &Dir,
    refs: &[&RefName],
    removes: bool,
    is_reftable: bool,
) -> Result<Vec<Lock>, GitError> {
    let mut paths: Vec<String> = Vec::new();
    if is_reftable {
        paths.push("reftable/tables.list.lock".to_owned());
    } else {
        paths.extend(refs.iter().map(|name| format!("{name}.lock")));
        let head = git.read_to_string("HEAD").unwrap_or_default();
        let on = head.strip_prefix("ref:").map(str::trim);
        if refs.iter().any(|name| on == Some(name.as_str())) {
            paths.push("HEAD.lock".to_owned());
        }
        if removes {
            paths.extend(["packed-refs.lock".to_owned(), "packed-refs.new".to_owned()]);
        }
    }
    let mut locks = Vec::new();
    for path in paths {
        locks.extend(found(git, path)?);
    }
    Ok(locks)
}

/// The lock file at a path, if there is one.
pub(super) fn found(git: &Dir, path: String) -> Result<Option<Lock>, GitError> {
    match git.symlink_metadata(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        metadata => {
            let metadata = metadata.map_err(folder::io_error(&path))?;
            let written = metadata.modified().map_err(folder::io_error(&path))?.into_std();
            let written = written.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
            let written = u64::try_from(written).unwrap_or(u64::MAX);
            Ok(Some(Lock { device: metadata.dev(), inode: metadata.ino(), written, path }))
        }
    }
}

/// Removes the locks that still exist. The process that made them must be known to be dead.
pub(super) fn remove(git: &Dir, locks: &[Lock]) -> Result<(), GitError> {
    for lock in locks {
        if found(git, lock.path.clone())?.as_ref() == Some(lock) {
            git.remove_file(&lock.path).map_err(folder::io_error(&lock.path))?;
        }
    }
    Ok(())
}

impl Lock {
    pub(super) fn is_of_index(&self) -> bool {
        self.path == "index.lock"
    }

    pub(super) fn is_there(&self, git: &Dir) -> bool {
        found(git, self.path.clone()).is_ok_and(|there| there.as_ref() == Some(self))
    }

    /// The same file under another name.
    pub(super) fn renamed(self, path: &str) -> Self {
        Self { path: path.to_owned(), ..self }
    }
}

/// Waits a moment for another process.
#[expect(
    clippy::disallowed_methods,
    reason = "the lock of another process, and its end, can only be waited for"
)]
pub(super) fn pause() {
    std::thread::sleep(std::time::Duration::from_millis(5));
}
