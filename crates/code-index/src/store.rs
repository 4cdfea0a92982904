//! The index on disk: one `SQLite` database for each workspace.
//!
//! `SQLite`'s FTS5 keeps which chunk and which file holds which token; what is scored is read from it token by token, never by a text in
//! FTS5's own query language, so no word of a user can be read as an operator. Contents are kept by their digest: one that was seen
//! before, at another path or before a change of branch, is not read again.

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

pub use self::read::StoreSnapshot;
pub use self::vectors::{VectorStatus, WithoutVectors};
pub use self::write::{Applied, Entry};

/// How large an index on disk may get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreLimits {
    /// The database, in bytes. What does not fit is an error of the write that would have been too much.
    pub bytes: u64,
    /// Contents that no file holds any more and that wait for the branch on which one does.
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
/// * A batch of changes is there whole or not at all, also after the process was killed.
/// * A snapshot shows one moment, whatever other threads and processes write meanwhile. Readers wait for nobody.
/// * A write waits 3 seconds for another process's, then it is an error.
///
/// # Not guaranteed
///
/// After a loss of power the last batches may be gone; the next comparison with the files finds that.
pub struct Store {
    path: PathBuf,
    limits: StoreLimits,
    reader: Mutex<Reader>,
    writer: Mutex<Connection>,
}

/// A connection and what was read of the database's present state.
struct Reader {
    connection: Connection,
    generation: i64,
    catalogue: Catalogue,
}

/// A database that was opened.
pub struct Opened {
    /// The index.
    pub store: Store,
    /// Why it begins empty though there was one: for whoever uses it.
    pub told: Option<String>,
}

/// What an index on disk holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoreStatus {
    /// Files.
    pub files: u64,
    /// Chunks, counted for each file.
    pub chunks: u64,
    /// Contents that no file holds at the moment.
    pub unused_contents: u64,
    /// The database with its log, in bytes.
    pub bytes: u64,
}

/// What the index knows of a file that is to be compared with the one on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    /// What its host wrote down of it.
    pub text: String,
    /// The content.
    pub digest: ContentHash,
}

impl Store {
    /// Opens the database at `path`, whose folder is made, or begins an empty one. One that is damaged or was made by another
    /// version is moved aside.
    pub fn open(path: &Path, limits: StoreLimits) -> Result<Opened, IndexError> {
        open::open(path, limits)
    }

    /// Where the database is.
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
