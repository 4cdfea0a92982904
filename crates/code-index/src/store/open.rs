use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::{OpenedStore, Reader, Store, StoreLimits};
use crate::{Catalogue, IndexError};

/// The version of the database. It is raised by every change of the tables, of the tokens or of how a file is cut.
const VERSION: i64 = 4;
const BUSY: Duration = Duration::from_secs(3);

/// A posting of the full-text index is only the number of a document (`encode::counted`), which takes half the space
/// of positions. Eight segments are merged at once instead of four, so that each posting is rewritten less often; a
/// search hardly notices.
const TABLES: &str = "
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
INSERT INTO meta VALUES ('generation', 0);
CREATE TABLE content (
  id INTEGER PRIMARY KEY, digest TEXT NOT NULL, language TEXT NOT NULL, chunks BLOB NOT NULL, symbols BLOB NOT NULL,
  used INTEGER NOT NULL, UNIQUE (digest, language)
);
CREATE TABLE file (
  id INTEGER PRIMARY KEY, path BLOB NOT NULL UNIQUE, content INTEGER NOT NULL REFERENCES content, stamp TEXT NOT NULL,
  folder INTEGER NOT NULL, name INTEGER NOT NULL, definitions INTEGER NOT NULL, history INTEGER NOT NULL
);
CREATE INDEX file_content ON file (content);
CREATE TABLE definition (
  name INTEGER NOT NULL, content INTEGER NOT NULL REFERENCES content, symbol INTEGER NOT NULL,
  PRIMARY KEY (name, content, symbol)
) WITHOUT ROWID;
CREATE TABLE model (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, dimensions INTEGER NOT NULL);
CREATE TABLE vector (
  model INTEGER NOT NULL REFERENCES model, content INTEGER NOT NULL REFERENCES content, rows BLOB NOT NULL,
  UNIQUE (content, model)
);
CREATE INDEX vector_model ON vector (model);
CREATE TABLE subject (id INTEGER PRIMARY KEY, tokens TEXT NOT NULL);
CREATE TABLE history (path BLOB PRIMARY KEY, subjects BLOB NOT NULL) WITHOUT ROWID;
CREATE VIRTUAL TABLE chunk_fts USING fts5 (
  words, content='', contentless_delete=1, detail=none, tokenize=\"ascii tokenchars '!'\"
);
CREATE VIRTUAL TABLE file_fts USING fts5 (
  words, content='', contentless_delete=1, detail=none, tokenize=\"ascii tokenchars '!'\"
);
INSERT INTO chunk_fts (chunk_fts, rank) VALUES ('automerge', 8);
INSERT INTO file_fts (file_fts, rank) VALUES ('automerge', 8);
CREATE VIRTUAL TABLE chunk_term USING fts5vocab ('chunk_fts', 'instance');
CREATE VIRTUAL TABLE file_term USING fts5vocab ('file_fts', 'instance');
";

pub(super) fn open(path: &Path, limits: StoreLimits) -> Result<OpenedStore, IndexError> {
    match try_open(path, limits) {
        Ok(store) => Ok(OpenedStore { store, told: None }),
        Err(Refused::Version(version)) => {
            anew(path, limits, &format!("was made by another version ({version})"))
        }
        Err(Refused::Failed(error)) if error.is_damaged() => anew(path, limits, "is damaged"),
        Err(Refused::Failed(error)) => Err(error),
    }
}

/// Why a database is not used.
enum Refused {
    Version(i64),
    Failed(IndexError),
}

fn anew(path: &Path, limits: StoreLimits, why: &str) -> Result<OpenedStore, IndexError> {
    let aside = with_ending(path, ".aside");
    move_away(path, &aside).map_err(|source| IndexError::File { path: path.to_owned(), source })?;
    let told =
        format!("the index in {} {why}; it is made anew, the old one is {}", path.display(), aside.display());
    match try_open(path, limits) {
        Ok(store) => Ok(OpenedStore { store, told: Some(told) }),
        Err(Refused::Failed(error)) => Err(error),
        Err(Refused::Version(_)) => Err(IndexError::Poisoned),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the database is a file, which this module alone opens and moves"
)]
fn move_away(path: &Path, aside: &Path) -> std::io::Result<()> {
    // The log belongs to the database, and a new one must not use it.
    for ending in ["-wal", "-shm"] {
        match std::fs::remove_file(with_ending(path, ending)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    std::fs::rename(path, aside)
}

fn with_ending(path: &Path, ending: &str) -> std::path::PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

fn try_open(path: &Path, limits: StoreLimits) -> Result<Store, Refused> {
    create(path).map_err(|source| Refused::Failed(IndexError::File { path: path.to_owned(), source }))?;
    let failed = |source| Refused::Failed(IndexError::Database { path: path.to_owned(), source });
    let writer = connect(path).map_err(failed)?;
    let version: i64 = writer.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(failed)?;
    let tables: i64 =
        writer.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0)).map_err(failed)?;
    if version == 0 && tables == 0 {
        make(&writer).map_err(failed)?;
    } else if version != VERSION {
        return Err(Refused::Version(version));
    }
    limit(&writer, limits.bytes).map_err(failed)?;
    let reader = Reader {
        connection: connect(path).map_err(failed)?,
        // No database has this generation, so the first snapshot reads the catalogue.
        generation: -1,
        catalogue: Catalogue::default(),
    };
    let store =
        Store { path: path.to_owned(), limits, reader: Mutex::new(reader), writer: Mutex::new(writer) };
    // A damaged file is often only noticed when its tables are read.
    store.snapshot().map(drop).map_err(Refused::Failed)?;
    Ok(store)
}

/// Makes an empty file that only its owner can read, because the index contains words of the project.
#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the database is a file, which this module alone opens and moves"
)]
fn create(path: &Path) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut options = std::fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

/// What `PRAGMA auto_vacuum` returns for a database whose free pages can be returned to the system step by step.
const INCREMENTAL: i64 = 2;

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY)?;
    connection.set_prepared_statement_cache_capacity(64);
    // Setting it takes the lock for writing, even if it is set already.
    let vacuums: i64 = connection.query_row("PRAGMA auto_vacuum", [], |row| row.get(0))?;
    if vacuums != INCREMENTAL {
        connection.execute_batch("PRAGMA auto_vacuum = INCREMENTAL")?;
    }
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA trusted_schema = OFF; \
         PRAGMA cache_size = -8192;",
    )?;
    Ok(connection)
}

/// Makes the tables in one transaction, which checks again whether they exist, because two processes may begin at the
/// same moment.
fn make(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let made = (|| {
        let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
        if tables == 0 {
            connection.execute_batch(TABLES)?;
            connection.pragma_update(None, "user_version", VERSION)?;
        }
        connection.execute_batch("COMMIT")
    })();
    if made.is_err() {
        let _ = connection.execute_batch("ROLLBACK");
    }
    made
}

fn limit(connection: &Connection, bytes: u64) -> rusqlite::Result<()> {
    let page: i64 = connection.query_row("PRAGMA page_size", [], |row| row.get(0))?;
    let pages = i64::try_from(bytes).unwrap_or(i64::MAX) / page.max(1);
    connection.query_row(&format!("PRAGMA max_page_count = {}", pages.max(64)), [], |_| Ok(()))
}

impl IndexError {
    /// Whether the file is not a database, or a damaged one. Opening it again makes a new one.
    fn is_damaged(&self) -> bool {
        let Self::Database { source, .. } = self else { return false };
        matches!(source.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
            || matches!(source, rusqlite::Error::SqliteFailure(_, Some(text)) if text.starts_with("no such table"))
    }

    /// Whether another process was writing for longer than the time limit.
    pub fn is_locked(&self) -> bool {
        let Self::Database { source, .. } = self else { return false };
        matches!(source.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
    }

    /// Whether there is no room, on the disk or within the limit.
    pub fn is_full(&self) -> bool {
        let Self::Database { source, .. } = self else { return false };
        source.sqlite_error_code() == Some(ErrorCode::DiskFull)
    }
}
