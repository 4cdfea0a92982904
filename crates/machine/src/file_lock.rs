use std::fs::{File, TryLockError};
use std::io;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::time::{Duration, Instant};

/// The time between two attempts to get a lock that another process holds.
const PAUSE: Duration = Duration::from_millis(1);

/// An open file with an advisory lock, which is released when this is dropped or the process ends.
#[derive(Debug)]
pub struct FileLock(File);

impl FileLock {
    /// A lock that excludes all others.
    pub fn exclusive(file: File) -> Result<Self, TryLockError> {
        file.try_lock()?;
        Ok(Self(file))
    }

    /// A lock that only excludes exclusive ones.
    pub fn shared(file: File) -> Result<Self, TryLockError> {
        file.try_lock_shared()?;
        Ok(Self(file))
    }

    /// Like [`exclusive`](Self::exclusive), but waits for the current holder for a limited time.
    pub(crate) fn exclusive_within(file: File, patience: Duration) -> Result<Self, TryLockError> {
        let deadline = Instant::now() + patience;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self(file)),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => std::thread::sleep(PAUSE),
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether no process holds a lock on the file; an error if that cannot be found out.
    pub(crate) fn is_free(path: &Path) -> io::Result<bool> {
        match Self::exclusive(File::open(path)?) {
            Ok(_) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // Closing the file is not enough, because a child that another thread has just forked shares it until it starts
        // another program. If unlocking fails, the lock is released at that moment.
        let _ = self.0.unlock();
    }
}

impl Deref for FileLock {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl DerefMut for FileLock {
    fn deref_mut(&mut self) -> &mut File {
        &mut self.0
    }
}
