//! The index on disk: one `SQLite` database for each workspace.
//!
//! `SQLite`'s FTS5 stores which chunk and which file contains which token. Scores are computed from what is read
//! token by token, never through FTS5's own query language, so no word of a user can act as an operator. Contents are
//! stored by their digest, so that a known content is not read again at another path or after a change of branch.

mod encode;
mod open;
mod read;
mod vectors;
mod write;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use headstart_overlay_fs::ContentHash;
use rusqlite::Connection;

use crate::{Catalogue, IndexError};

pub(crate) use self::read::StoreSnapshot;
pub use self::vectors::{VectorStatus, WithoutVectors};
pub use self::write::{Applied, Entry, HistoryPlace};

/// How large an index on disk may get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreLimits {
    /// The size of the database in bytes. A write that would exceed it fails.
    pub bytes: u64,
    /// Contents that no file has any more, and that are kept for a branch on which one does.
    pub unused_contents: u64,
}

impl Default for StoreLimits {
    /// 512 MiB, 20,000 contents.
    fn default() -> Self {
        Self { bytes: 512 << 20, unused_contents: 20_000 }
    }
}

/// The index of one workspace on disk.
///
/// # Guarantees
///
/// * A batch of changes is there completely or not at all, even after the process was killed.
/// * A snapshot shows one moment, whatever other threads and processes write meanwhile. Readers never wait.
/// * A write waits up to 3 seconds for another process's; then it fails.
///
/// # Not guaranteed
///
/// After a loss of power the last batches may be missing; the next comparison with the files notices that.
pub struct Store {
    path: PathBuf,
    limits: StoreLimits,
    reader: Mutex<Reader>,
    writer: Mutex<Connection>,
}

/// A connection, and what was read of the current state of the database.
struct Reader {
    connection: Connection,
    generation: i64,
    catalogue: Catalogue,
}

/// A database that was opened.
pub struct OpenedStore {
    /// The index.
    pub store: Store,
    /// Why it begins empty although there was an index, in words for the user.
    pub told: Option<String>,
}

/// What an index on disk holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoreStatus {
    /// Files.
    pub files: u64,
    /// Chunks, counted for each file.
    pub chunks: u64,
    /// Contents that no file has at the moment.
    pub unused_contents: u64,
    /// The database with its log, in bytes.
    pub bytes: u64,
}

/// What the index knows of a file, to be compared with the file on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    /// What the host noted about it.
    pub text: String,
    /// The digest of the content.
    pub digest: ContentHash,
}

impl Store {
    /// Opens the database at `path`, or makes an empty one and its folder. A database that is damaged or was made by
    /// another version is moved aside.
    pub fn open(path: &Path, limits: StoreLimits) -> Result<OpenedStore, IndexError> {
        open::open(path, limits)
    }

    /// The path of the database.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn reader(&self) -> Result<MutexGuard<'_, Reader>, IndexError> {
        self.reader.lock().map_err(|_| IndexError::Poisoned)
    }

    fn writer(&self) -> Result<MutexGuard<'_, Connection>, IndexError> {
        self.writer.lock().map_err(|_| IndexError::Poisoned)
    }

    fn failed(&self, source: rusqlite::Error) -> IndexError {
        IndexError::Database { path: self.path.clone(), source }
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("path", &self.path).finish_non_exhaustive()
    }
}
