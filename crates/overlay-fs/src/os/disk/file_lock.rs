use cap_std::fs::Dir;

use super::system::{self, OpenFile, Result};

/// A lock on an open file or folder. It ends when this value is dropped, or with the process. On Unix it is advisory; on
/// Windows nobody else can read a locked file.
#[derive(Debug)]
pub(in crate::os) struct FileLock(OpenFile);

impl FileLock {
    /// The lock on a folder; `None` if somebody else has it.
    pub(in crate::os) fn of_folder(folder: &Dir) -> Result<Option<Self>> {
        Ok(system::open_alone(folder)?.map(Self))
    }

    /// The lock on a file; `None` if somebody else has it.
    pub(in crate::os) fn of_file(file: OpenFile) -> Result<Option<Self>> {
        Ok(system::lock(&file)?.then(|| Self(file)))
    }

    /// Whether somebody has the lock on a file. Any number of processes may ask at the same time.
    pub(in crate::os) fn is_taken(file: OpenFile) -> Result<bool> {
        let shared = system::lock_shared(&file)?.then(|| Self(file));
        Ok(shared.is_none())
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // If this fails, closing the file ends the lock, perhaps a moment later.
        let _ = system::unlock(&self.0);
    }
}
