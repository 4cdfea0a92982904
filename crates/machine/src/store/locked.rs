use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;
use std::time::Duration;

use super::{
    ACCEPTING, FOLDER, LOCK, OBJECTS, RECORD, Record, SpeculationId, SpeculationState, Store, files, id,
};
use crate::error::CliError;
use crate::file_lock::FileLock;
use headstart_speculation::Finished;

/// How long to wait for a lock. A process that only checks whether it is held keeps it for microseconds.
const PATIENCE: Duration = Duration::from_millis(500);

/// A record and the right to change it, which no other process has while this value lives.
#[derive(Debug)]
pub struct LockedSpeculation {
    store: Store,
    record: Record,
    lock: FileLock,
}

impl LockedSpeculation {
    pub(super) fn acquire(store: &Store, id: &SpeculationId) -> Result<Self, CliError> {
        let lock = lock_file(store, id)?;
        // The previous holder of the lock may have removed the folder, so the record is read now.
        let record = store.read(id)?;
        Ok(Self { store: store.clone(), record, lock })
    }

    pub(super) fn of_new(store: &Store, record: Record, lock: FileLock) -> Self {
        Self { store: store.clone(), record, lock }
    }

    pub fn record(&self) -> &Record {
        &self.record
    }

    /// Records the outcome of the speculation. On an error the record on disk is unchanged.
    pub fn mark(&mut self, state: SpeculationState) -> Result<(), CliError> {
        let mut next = self.record.clone();
        if !next.state.may_become(state) {
            return Err(CliError::WrongState {
                id: next.id.to_string(),
                problem: format!("is {:?} already", next.state).to_lowercase(),
            });
        }
        next.state = state;
        self.write(next)
    }

    /// Makes what can be kept of what the work left out part of it, for an accept that is to bring it and for the undo of
    /// that. Returns the work as it was; `None` if nothing can be kept.
    pub fn keep_left_out(&mut self) -> Result<Option<Finished>, CliError> {
        let waits = self.record.state == SpeculationState::Finished;
        let before = self.record.finished.clone().filter(|work| waits && !work.keepable.is_empty());
        if let Some(work) = &before {
            self.put_back(work.with_kept())?;
        }
        Ok(before)
    }

    /// Puts the work back as it was, because it was not accepted.
    pub fn put_back(&mut self, finished: Finished) -> Result<(), CliError> {
        let mut next = self.record.clone();
        next.finished = Some(finished);
        self.write(next)
    }

    /// Notes that an accept begins. Returns `true` if an earlier one began and did not end.
    pub fn begin_accept(&self) -> Result<bool, CliError> {
        let began_before = self.accept_began();
        let file = self.store.folder_of(&self.record.id).join(ACCEPTING);
        File::create(&file).map_err(CliError::io("create", &file))?;
        Ok(began_before)
    }

    /// Whether an accept began and did not end.
    pub fn accept_began(&self) -> bool {
        self.store.folder_of(&self.record.id).join(ACCEPTING).exists()
    }

    /// Notes that the accept has ended. Its outcome must be in the record already.
    pub fn end_accept(&self) {
        // If the file stays, the next accept only checks once more whether this one was made.
        let _ = fs::remove_file(self.store.folder_of(&self.record.id).join(ACCEPTING));
    }

    /// Moves the objects of commits made ahead beside the record, so that they are removed with it.
    pub(super) fn keep_objects(&self, finished: &mut Finished) -> Result<(), CliError> {
        let Some(objects) = finished.git.as_mut().and_then(|git| git.objects.as_mut()) else { return Ok(()) };
        let folder = self.store.folder_of(&self.record.id);
        let target = folder.join(OBJECTS);
        let made = self.store.state_folder().join(&objects.pack);
        fs::rename(made, &target).map_err(CliError::io("create", &target))?;
        files::sync_folder(&folder)?;
        objects.pack = format!("{FOLDER}/{}/{OBJECTS}", self.record.id);
        Ok(())
    }

    /// Keeps what turns have staged so far. Their objects of git are needed where they are, so they are copied, each time
    /// under another name: until the record is replaced, the old one needs the old copy.
    pub(crate) fn keep_staged(&mut self, mut finished: Finished) -> Result<(), CliError> {
        let folder = self.store.folder_of(&self.record.id);
        let before = self.record.finished.as_ref().and_then(pack_of).map(ToOwned::to_owned);
        if let Some(objects) = finished.git.as_mut().and_then(|git| git.objects.as_mut())
            && before.as_ref() != Some(&objects.pack)
        {
            let made = self.store.state_folder().join(&objects.pack);
            let copy = tempfile::Builder::new().suffix(OBJECTS).tempfile_in(&folder);
            let copy = copy.and_then(|copy| copy.keep().map_err(|error| error.error));
            let (_, target) = copy.map_err(CliError::io("create", &folder))?;
            let copied = fs::copy(&made, &target).and_then(|_| File::open(&target)?.sync_all());
            copied.map_err(CliError::io("create", &target))?;
            files::sync_folder(&folder)?;
            let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
            objects.pack = format!("{FOLDER}/{}/{name}", self.record.id);
        }
        let mut record = self.record.clone();
        record.state = SpeculationState::Finished;
        record.prompt.clone_from(&finished.prompt);
        let now = pack_of(&finished).map(ToOwned::to_owned);
        record.finished = Some(finished);
        self.write(record)?;
        if let Some(old) = before.filter(|old| Some(old) != now.as_ref()) {
            // What stays goes with the folder.
            let _ = fs::remove_file(self.store.state_folder().join(old));
        }
        Ok(())
    }

    /// Replaces the record.
    pub(super) fn write(&mut self, record: Record) -> Result<(), CliError> {
        files::replace(&self.store.folder_of(&record.id).join(RECORD), &record.to_bytes())?;
        self.record = record;
        Ok(())
    }

    /// Removes the speculation with all its files. It no longer exists at once, even if the process dies before all
    /// files are removed.
    pub fn remove(self) -> Result<(), CliError> {
        let Self { store, record, lock } = self;
        remove_folder(&store, &record.id, lock)
    }
}

/// Where the objects of git are that work made, below the state folder.
fn pack_of(finished: &Finished) -> Option<&String> {
    finished.git.as_ref()?.objects.as_ref().map(|objects| &objects.pack)
}

/// Like [`LockedSpeculation::remove`], for a speculation whose record cannot be read.
pub(super) fn remove_damaged(store: &Store, id: &SpeculationId) -> Result<(), CliError> {
    let lock = lock_file(store, id)?;
    match store.read(id) {
        Err(CliError::DamagedRecord { .. }) => remove_folder(store, id, lock),
        Err(error) => Err(error),
        Ok(_) => Err(CliError::Busy { id: id.to_string() }),
    }
}

fn remove_folder(store: &Store, id: &SpeculationId, lock: FileLock) -> Result<(), CliError> {
    // On Windows a folder with an open file cannot be renamed, so nobody else can have the file open if it can.
    let lock = Some(lock).filter(|_| cfg!(unix));
    let folder = store.folder_of(id);
    let gone = store.folder.join(format!(".gone-{}", id::random_name(16)?));
    fs::rename(&folder, &gone).map_err(CliError::io("remove", &folder))?;
    let removed = remove_renamed(&gone).map_err(CliError::io("remove", &gone));
    drop(lock);
    removed
}

/// Removes a renamed folder. A process that was opening a file by the folder's old name during the rename may still
/// create that one file after the folder was emptied. Later processes do not find the folder, so a few attempts are
/// enough.
pub(super) fn remove_renamed(folder: &Path) -> io::Result<()> {
    let mut outcome = fs::remove_dir_all(folder);
    for _ in 0..100 {
        match &outcome {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
            _ => break,
        }
        outcome = fs::remove_dir_all(folder);
    }
    outcome
}

/// Whether a process holds the lock in this file; no if the file does not exist.
pub(super) fn is_held(path: &Path) -> Result<bool, CliError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(CliError::io("open", path)(error)),
    };
    match FileLock::shared(file) {
        Ok(_) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(CliError::io("lock", path)(error)),
    }
}

fn lock_file(store: &Store, id: &SpeculationId) -> Result<FileLock, CliError> {
    let path = store.folder_of(id).join(LOCK);
    let file =
        File::options().write(true).create(true).truncate(false).open(&path).map_err(|error| match error
            .kind()
        {
            io::ErrorKind::NotFound => {
                CliError::UnknownId { id: id.to_string(), folder: store.folder.clone() }
            }
            _ => CliError::io("open", &path)(error),
        })?;
    FileLock::exclusive_within(file, PATIENCE).map_err(|error| match error {
        TryLockError::WouldBlock => CliError::Busy { id: id.to_string() },
        TryLockError::Error(error) => CliError::io("lock", &path)(error),
    })
}
