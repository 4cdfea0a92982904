use std::time::Duration;

use cap_std::fs::Dir;
use headstart_workspace_path::WorkspacePath;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;

use crate::TreeError;
use crate::os::disk::file_lock::FileLock;

/// How long a commit waits for another one to end: some seconds, where a commit takes milliseconds.
const ATTEMPTS: u32 = 2_500;
const PAUSE: Duration = Duration::from_millis(2);

/// The right to commit to a workspace: one process, one thread at a time.
///
/// It is an advisory lock on the workspace folder itself, so it leaves no file, and the kernel releases it when
/// the process dies.
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

    /// `None`: another one has it, or nobody can. For what can as well be done later.
    pub(in crate::os) fn take_if_free(root: &Dir) -> Option<Self> {
        let folder = open(root).ok()?;
        Some(Self { _lock: FileLock::try_exclusive(folder).ok()?.ok()? })
    }
}

/// A lock belongs to one opening of the folder: two threads with clones of one handle would share it.
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
