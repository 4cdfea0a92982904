use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// An advisory lock on an open file or folder. It ends when this value is dropped, or with the process.
#[derive(Debug)]
pub(in crate::os) struct FileLock(OwnedFd);

impl FileLock {
    /// An exclusive lock; `Err` gives the file back if somebody else has a lock.
    pub(in crate::os) fn try_exclusive(file: OwnedFd) -> rustix::io::Result<Result<Self, OwnedFd>> {
        Self::try_take(file, FlockOperation::NonBlockingLockExclusive)
    }

    /// A shared lock; `Err` gives the file back if somebody else has an exclusive one.
    pub(in crate::os) fn try_shared(file: OwnedFd) -> rustix::io::Result<Result<Self, OwnedFd>> {
        Self::try_take(file, FlockOperation::NonBlockingLockShared)
    }

    fn try_take(file: OwnedFd, kind: FlockOperation) -> rustix::io::Result<Result<Self, OwnedFd>> {
        match flock(&file, kind) {
            Ok(()) => Ok(Ok(Self(file))),
            Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(Err(file)),
            Err(error) => Err(error),
        }
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // Closing the file is not enough, because a child that another thread has just forked shares it until it
        // executes another program. If this fails, the child releases it shortly after.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

impl AsFd for FileLock {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
