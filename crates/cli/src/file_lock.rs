use std::fs::{File, TryLockError};
use std::io;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::time::{Duration, Instant};

/// How often a lock that somebody else has is tried again.
const PAUSE: Duration = Duration::from_millis(1);

/// An open file and an advisory lock on it, which ends with this value or with the process.
#[derive(Debug)]
pub(crate) struct FileLock(File);

impl FileLock {
    /// Nobody else has a lock on it.
    pub(crate) fn exclusive(file: File) -> Result<Self, TryLockError> {
        file.try_lock()?;
        Ok(Self(file))
    }

    /// Nobody else has an exclusive lock on it.
    pub(crate) fn shared(file: File) -> Result<Self, TryLockError> {
        file.try_lock_shared()?;
        Ok(Self(file))
    }

    /// The same as [`exclusive`](Self::exclusive), once whoever has it is done, if that is soon.
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

    /// Whether nobody has a lock on the file; an error where that cannot be found out.
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
        // To close the file is not enough, because a child that another thread has just forked shares it until it
        // is another program. If this fails, that moment passes all the same.
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
