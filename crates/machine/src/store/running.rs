use std::fs::{self, File};
use std::path::PathBuf;
use std::time::Duration;

use headstart_speculation::Finished;

use super::{
    ABORT, Draft, LOCK, LockedSpeculation, RECORD, Record, SpeculationId, SpeculationState, Store, files, id,
};
use crate::clock;
use crate::error::CliError;
use crate::file_lock::FileLock;

/// How often a running speculation checks whether another process wants it to stop.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A speculation that this process runs. If it is dropped without [`finish`](Self::finish) or
/// [`discard`](Self::discard), it counts as interrupted.
#[derive(Debug)]
pub struct RunningSpeculation {
    locked: LockedSpeculation,
    abort: PathBuf,
}

impl RunningSpeculation {
    pub(super) fn create(store: &Store, draft: Draft) -> Result<Self, CliError> {
        let record = Record::new(SpeculationId::random()?, draft, clock::unix_ms());
        let folder = store.folder_of(&record.id);
        // A folder with an open file cannot be renamed on Windows. There the record, which is written last, makes a
        // folder a speculation.
        let draft_folder = if cfg!(windows) {
            folder.clone()
        } else {
            store.folder.join(format!(".new-{}", id::random_name(16)?))
        };
        files::create_folder(&draft_folder)?;
        let made = || -> Result<_, CliError> {
            // No other process knows the file yet.
            let lock = draft_folder.join(LOCK);
            let file = File::create(&lock).map_err(CliError::io("create", &lock))?;
            let lock =
                FileLock::exclusive(file).map_err(|error| CliError::io("lock", &lock)(error.into()))?;
            files::replace(&draft_folder.join(RECORD), &record.to_bytes())?;
            if draft_folder != folder {
                fs::rename(&draft_folder, &folder).map_err(CliError::io("create", &folder))?;
            }
            Ok(lock)
        };
        let lock = made().inspect_err(|_| {
            // The error says what is wrong. The rest of the folder is empty, and a sweep will find it.
            let _ = fs::remove_dir_all(&draft_folder);
        })?;
        files::sync_folder(&store.folder)?;
        Ok(Self { locked: LockedSpeculation::of_new(store, record, lock), abort: folder.join(ABORT) })
    }

    pub fn record(&self) -> &Record {
        self.locked.record()
    }

    /// Completes when another process requests the abort of the speculation.
    pub async fn until_abort_is_requested(&self) {
        while !self.abort.exists() {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Stores the result, so that another process can accept it. On an error only the original record is left.
    pub fn finish(mut self, mut finished: Finished) -> Result<Record, CliError> {
        let mut record = self.record().clone();
        self.locked.keep_objects(&mut finished)?;
        record.state = SpeculationState::Finished;
        record.finished = Some(finished);
        self.locked.write(record)?;
        Ok(self.locked.record().clone())
    }

    /// As [`finish`](Self::finish), and no other process may change the record while the returned value lives.
    pub(crate) fn finish_and_hold(mut self, finished: Finished) -> Result<LockedSpeculation, CliError> {
        self.locked.keep_staged(finished)?;
        Ok(self.locked)
    }

    /// Removes the speculation completely.
    pub fn discard(self) -> Result<(), CliError> {
        self.locked.remove()
    }
}
