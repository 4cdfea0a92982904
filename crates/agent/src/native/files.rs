//! The files of an agent: its conversations and its ledger, in one folder of its user.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use headstart_budget::PendingWrites;
use headstart_budget::ledger::{self, Entry};
use headstart_budget::policy::Habits;

use super::{NativeError, Sessions};
use crate::ports::{LedgerStore, StoreError};

const LEDGER: &str = "ledger.jsonl";
/// The folder with the conversations.
const SESSIONS: &str = "sessions";

/// The folder, with `sessions/ID.jsonl` for each conversation, and `ledger.jsonl` for the costs of all of them.
pub(super) struct Files {
    folder: PathBuf,
}

struct LedgerFile(Mutex<File>);

impl Files {
    pub(super) fn open(folder: &Path) -> Result<Self, NativeError> {
        std::fs::create_dir_all(folder).map_err(NativeError::file(folder))?;
        Ok(Self { folder: folder.to_owned() })
    }

    /// The costs of earlier conversations, and the store for those of this one.
    pub(super) fn ledger(&self) -> Result<(Vec<Entry>, impl LedgerStore + use<>), NativeError> {
        let path = self.folder.join(LEDGER);
        let mut file = opened(&path)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(NativeError::file(&path))?;
        Ok((ledger::read(&bytes).entries, LedgerFile(Mutex::new(file))))
    }

    /// The conversations.
    pub(super) fn sessions(&self) -> Sessions {
        Sessions::new(self.folder.join(SESSIONS))
    }
}

#[async_trait]
impl LedgerStore for LedgerFile {
    async fn append(&self, pending_writes: PendingWrites) -> Result<Option<Habits>, StoreError> {
        let lines: String = pending_writes.entries.iter().map(Entry::to_line).collect();
        append(&self.0, &lines)?;
        Ok(None)
    }
}

/// Appends all the lines, or nothing.
fn append(file: &Mutex<File>, lines: &str) -> io::Result<()> {
    let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
    let end = file.seek(SeekFrom::End(0))?;
    file.write_all(lines.as_bytes()).or_else(|error| file.set_len(end).and(Err(error)))
}

/// Opens a file that only its user can read.
fn opened(path: &Path) -> Result<File, NativeError> {
    let mut options = OpenOptions::new();
    options.read(true).create(true);
    // On Windows a file that can only be appended to cannot be shortened after an error.
    let _ = if cfg!(windows) { options.write(true) } else { options.append(true) };
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(NativeError::file(path))
}
