//! What an agent keeps on disk: its conversations and its ledger, in one folder of its user.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use headstart_budget::Unwritten;
use headstart_budget::ledger::{self, Entry};
use headstart_budget::policy::Habits;

use super::NativeError;
use crate::ports::{LedgerStore, SessionStore, StoreError};
use crate::session::Session;

const LEDGER: &str = "ledger.jsonl";
/// What the file of a conversation begins with; behind it stands its id.
const SESSION: &str = "session-";

/// The folder, with `session-ID.jsonl` for each conversation, and `ledger.jsonl` for what all of them cost.
pub(super) struct Files {
    folder: PathBuf,
}

/// The file of one conversation. Nobody else writes to it while this is there.
struct SessionFile(Mutex<File>);

struct LedgerFile(Mutex<File>);

impl Files {
    pub(super) fn open(folder: &Path) -> Result<Self, NativeError> {
        std::fs::create_dir_all(folder).map_err(NativeError::file(folder))?;
        Ok(Self { folder: folder.to_owned() })
    }

    /// What earlier conversations cost, and where this one's costs go.
    pub(super) fn ledger(&self) -> Result<(Vec<Entry>, impl LedgerStore + use<>), NativeError> {
        let path = self.folder.join(LEDGER);
        let mut file = opened(&path)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(NativeError::file(&path))?;
        Ok((ledger::read(&bytes).entries, LedgerFile(Mutex::new(file))))
    }

    /// The conversation of this id as far as it was kept, `None` where it is a new one, and where its lines go.
    pub(super) fn session(
        &self,
        id: &str,
        is_new: bool,
    ) -> Result<(Option<Session>, impl SessionStore + use<>), NativeError> {
        let path = self.folder.join(format!("{SESSION}{id}.jsonl"));
        if !is_new && !path.is_file() {
            return Err(NativeError::NoSession { id: id.to_owned(), folder: self.folder.clone() });
        }
        let mut file = opened(&path)?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => NativeError::OpenElsewhere { id: id.to_owned() },
            TryLockError::Error(error) => NativeError::file(&path)(error),
        })?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(NativeError::file(&path))?;
        let session = if is_new { None } else { Some(Session::read(&bytes)?) };
        // What its writer could not write to the end is left out by whoever reads it.
        let torn = session.as_ref().map_or(0, |session| session.torn);
        file.set_len((bytes.len() - torn) as u64).map_err(NativeError::file(&path))?;
        Ok((session, SessionFile(Mutex::new(file))))
    }

    /// The conversations that can be read, the one that was talked in last first.
    pub(super) fn sessions(&self) -> Result<Vec<Session>, NativeError> {
        let entries = std::fs::read_dir(&self.folder).map_err(NativeError::file(&self.folder))?;
        let mut sessions: Vec<_> = entries
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().starts_with(SESSION))
            .filter_map(|entry| Session::read(&std::fs::read(entry.path()).ok()?).ok())
            .collect();
        sessions.sort_by_key(|session| std::cmp::Reverse(session.last));
        Ok(sessions)
    }
}

#[async_trait]
impl SessionStore for SessionFile {
    async fn append(&self, lines: String) -> Result<(), StoreError> {
        Ok(append(&self.0, &lines)?)
    }
}

#[async_trait]
impl LedgerStore for LedgerFile {
    async fn append(&self, unwritten: Unwritten) -> Result<Option<Habits>, StoreError> {
        let lines: String = unwritten.entries.iter().map(Entry::to_line).collect();
        append(&self.0, &lines)?;
        Ok(None)
    }
}

/// All of it at the end, or nothing.
fn append(file: &Mutex<File>, lines: &str) -> io::Result<()> {
    let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
    let end = file.seek(SeekFrom::End(0))?;
    file.write_all(lines.as_bytes()).or_else(|error| file.set_len(end).and(Err(error)))
}

/// A file that its user alone can read.
fn opened(path: &Path) -> Result<File, NativeError> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(NativeError::file(path))
}
