use std::time::Duration;

use cap_std::fs::Dir;
use headstart_workspace_path::WorkspacePath;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;

use crate::TreeError;
use crate::os::disk::file_lock::FileLock;

/// How often a commit tries to get the lock: for some seconds, while a commit takes milliseconds.
const ATTEMPTS: u32 = 2_500;
const PAUSE: Duration = Duration::from_millis(2);

/// The right to commit to a workspace, which one thread of one process has at a time.
///
/// It is an advisory lock on the workspace folder itself, so it leaves no file behind, and the kernel releases it
/// when the process dies.
#[derive(Debug)]
pub(in crate::os) struct CommitLock {
    _lock: FileLock,
}

impl CommitLock {
    pub(in crate::os) fn take(root: &Dir) -> Result<Self, TreeError> {
        let failed = |what: &str, error: Errno| TreeError::Io {
            path: WorkspacePath::root(),
            message: format!("the workspace folder cannot be {what}: {error}"),
            source: Some((&std::io::Error::from(error)).into()),
        };
        let mut folder = open(root).map_err(|error| failed("opened to lock it", error))?;
        for _ in 0..ATTEMPTS {
            match FileLock::try_exclusive(folder) {
                Ok(Ok(lock)) => return Ok(Self { _lock: lock }),
                Ok(Err(same)) => folder = same,
                Err(error) => return Err(failed("locked", error)),
            }
            pause();
        }
        let message = "another process is committing to this workspace and does not end; try again";
        Err(TreeError::failed(WorkspacePath::root(), message))
    }

    /// Takes the lock unless somebody has it, or it cannot be taken; for work that can be done later as well.
    pub(in crate::os) fn take_if_free(root: &Dir) -> Option<Self> {
        let folder = open(root).ok()?;
        Some(Self { _lock: FileLock::try_exclusive(folder).ok()?.ok()? })
    }
}

/// Opens the folder again for the lock, because a lock belongs to one open file: two threads with clones of one
/// handle would share it.
fn open(root: &Dir) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(root, ".", flags, Mode::empty())
}

#[expect(
    clippy::disallowed_methods,
    reason = "the lock of another process, and a clock, can only be waited for"
)]
pub(in crate::os) fn pause() {
    std::thread::sleep(PAUSE);
}
