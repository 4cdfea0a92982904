//! Speculations on disk, so that one process can accept or abort what another one made.
//!
//! ```text
//! STATE/speculations/ID/record.json   what is known of the speculation; replaced as a whole
//!                       lock          held by the process that runs or accepts the speculation
//!                       abort         exists when another process wants the speculation to stop
//!                       objects.pack  the git objects of commits that the work made
//!                       accepting     exists from the start of an accept until its outcome is in the record
//! ```
//!
//! A folder appears and disappears by one rename, a record changes by one rename. A record that cannot be read is
//! reported, and removed only when the user names it; one that a newer headstart wrote is never touched.

mod files;
mod id;
mod locked;
mod owner;
mod record;
mod running;
mod sweep;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

pub use self::files::{create_private_folder, trouble_with};
pub use self::id::SpeculationId;
pub use self::locked::LockedSpeculation;
use self::record::RecordError;
pub use self::record::{Draft, Record, SpeculationState};
pub use self::running::RunningSpeculation;
pub use self::sweep::{SweepPolicy, SweepResult};
use crate::environment::Environment;
use crate::error::CliError;

/// The folder in the state folder.
const FOLDER: &str = "speculations";
const OBJECTS: &str = "objects.pack";
const RECORD: &str = "record.json";
const LOCK: &str = "lock";
const ABORT: &str = "abort";
const ACCEPTING: &str = "accepting";

/// The speculations below one state folder.
#[derive(Debug, Clone)]
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// The store in the folder `flag`, or else where `HEADSTART_STATE_DIR` or the XDG directories say. Touches no file.
    pub(crate) fn locate(flag: Option<&Path>, environment: &Environment) -> Result<Self, CliError> {
        let named = flag.or_else(|| environment.get("HEADSTART_STATE_DIR").map(Path::new));
        let state = match named {
            Some(path) => std::path::absolute(path).map_err(CliError::io("find", path))?,
            None => environment.xdg("XDG_STATE_HOME", ".local/state").ok_or(CliError::NoStateDir)?,
        };
        Ok(Self { folder: state.join(FOLDER) })
    }

    /// The store in this state folder.
    pub(crate) fn in_state_folder(state: &Path) -> Self {
        Self { folder: state.join(FOLDER) }
    }

    /// Creates a record. The returned value is the right to finish it.
    pub fn create(&self, draft: Draft) -> Result<RunningSpeculation, CliError> {
        create_private_folder(&self.folder)?;
        RunningSpeculation::create(self, draft)
    }

    /// The speculation that `text` names, which is an id or the beginning of one.
    pub fn resolve(&self, text: &str) -> Result<SpeculationId, CliError> {
        self.only(text, self.fitting(text)?)
    }

    /// The speculations whose ids begin with `text`.
    pub fn fitting(&self, text: &str) -> Result<Vec<SpeculationId>, CliError> {
        let prefix = id::Prefix::parse(text)?;
        Ok(self.ids()?.into_iter().filter(|id| prefix.fits(id)).collect())
    }

    /// The only one of these speculations; an error if `text` does not name exactly one.
    pub fn only(&self, text: &str, mut candidates: Vec<SpeculationId>) -> Result<SpeculationId, CliError> {
        if candidates.len() <= 1 {
            let unknown = || CliError::UnknownId { id: text.to_owned(), folder: self.folder.clone() };
            return candidates.pop().ok_or_else(unknown);
        }
        let candidates = candidates.iter().map(ToString::to_string).collect();
        Err(CliError::AmbiguousId { prefix: text.to_owned(), candidates })
    }

    /// All speculations, in the order of their ids.
    pub fn ids(&self) -> Result<Vec<SpeculationId>, CliError> {
        Ok(self.names()?.iter().filter_map(|name| SpeculationId::parse(name)).collect())
    }

    /// The record as it is now.
    pub fn read(&self, id: &SpeculationId) -> Result<Record, CliError> {
        let file = self.folder_of(id).join(RECORD);
        let damaged = |file, reason| CliError::DamagedRecord { id: id.to_string(), file, reason };
        let bytes = fs::read(&file).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound if !self.folder_of(id).exists() => {
                CliError::UnknownId { id: id.to_string(), folder: self.folder.clone() }
            }
            io::ErrorKind::NotFound => damaged(file.clone(), "the record is missing".to_owned()),
            _ => CliError::io("read", &file)(error),
        })?;
        Record::parse(&bytes, id).map_err(|unreadable| match unreadable {
            RecordError::Newer(reason) => CliError::Record { file, reason },
            RecordError::Damaged(reason) => damaged(file, reason),
        })
    }

    /// The record with the right to change it, which no other process has while the value lives.
    ///
    /// Fails with [`CliError::Busy`] if another process holds it for longer than a moment.
    pub fn lock(&self, id: &SpeculationId) -> Result<LockedSpeculation, CliError> {
        LockedSpeculation::acquire(self, id)
    }

    /// Removes a speculation whose record is damaged. It stays if a process holds it, or if it can be read after all.
    pub fn remove_damaged(&self, id: &SpeculationId) -> Result<(), CliError> {
        locked::remove_damaged(self, id)
    }

    /// Whether the process that runs the speculation is alive; no if the speculation has ended.
    pub fn is_alive(&self, record: &Record) -> Result<bool, CliError> {
        if record.state != SpeculationState::Running {
            return Ok(false);
        }
        Ok(record.owner.is_alive() || locked::is_held(&self.folder_of(&record.id).join(LOCK))?)
    }

    /// Asks the process that runs the speculation to give it up.
    pub fn request_abort(&self, id: &SpeculationId) -> Result<(), CliError> {
        let file = self.folder_of(id).join(ABORT);
        File::create(&file).map_err(CliError::io("create", &file)).map(drop)
    }

    /// Removes speculations that nobody needs any more. Returns which were removed and which were kept.
    pub fn sweep(&self, now_ms: u64, keep: SweepPolicy) -> Result<Vec<SweepResult>, CliError> {
        sweep::sweep(self, now_ms, keep)
    }

    /// The folder of all state of headstart.
    pub fn state_folder(&self) -> &Path {
        self.folder.parent().expect("works because the folder is one in the state folder")
    }

    /// The folder of all speculations.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    fn folder_of(&self, id: &SpeculationId) -> PathBuf {
        self.folder.join(id.as_str())
    }

    /// The names in the folder, sorted; empty if the folder does not exist.
    fn names(&self) -> Result<Vec<String>, CliError> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(CliError::state(&self.folder)(error)),
        };
        // Otherwise what another user wrote here would be accepted as if it were this user's.
        files::check_is_ours(&self.folder)?;
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(CliError::io("read", &self.folder))?;
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    }
}

#[cfg(test)]
mod tests;
