use std::time::Duration;

use cap_std::fs::Dir;
use headstart_workspace_path::WorkspacePath;

use crate::TreeError;
use crate::os::disk::file_lock::FileLock;
use crate::os::disk::system::Errno;

/// How often a commit tries to get the lock: for some seconds, while a commit takes milliseconds.
const ATTEMPTS: u32 = 2_500;
const PAUSE: Duration = Duration::from_millis(2);

/// The right to commit to a workspace, which one thread of one process has at a time.
///
/// It is a lock on the workspace folder itself, so it leaves no file behind, and the system releases it when the process
/// dies.
#[derive(Debug)]
pub(in crate::os) struct CommitLock {
    _lock: FileLock,
}

impl CommitLock {
    pub(in crate::os) fn take(root: &Dir) -> Result<Self, TreeError> {
        let failed = |error: Errno| TreeError::Io {
            path: WorkspacePath::root(),
            message: format!("the workspace folder cannot be opened and locked: {error}"),
            source: Some((&std::io::Error::from(error)).into()),
        };
        for _ in 0..ATTEMPTS {
            if let Some(lock) = FileLock::of_folder(root).map_err(failed)? {
                return Ok(Self { _lock: lock });
            }
            pause();
        }
        let message = "another process is committing to this workspace and does not end; try again";
        Err(TreeError::failed(WorkspacePath::root(), message))
    }

    /// Takes the lock unless somebody has it, or it cannot be taken; for work that can be done later as well.
    pub(in crate::os) fn take_if_free(root: &Dir) -> Option<Self> {
        Some(Self { _lock: FileLock::of_folder(root).ok()?? })
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the lock of another process, and a clock, can only be waited for"
)]
pub(in crate::os) fn pause() {
    std::thread::sleep(PAUSE);
}
