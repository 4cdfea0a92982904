use std::collections::HashMap;
use std::sync::MutexGuard;

use headstart_overlay_fs::WorkspacePath;
use rusqlite::{Connection, OptionalExtension as _, Row};

use super::{Reader, Stamp, Store, StoreStatus, encode};
use crate::catalogue::FileEntry;
use crate::fields::Field;
use crate::{Catalogue, ChunkPosting, FilePosting, IndexError, Meaning, Near, Snapshot, Symbol, SymbolKind};

/// The bits of a chunk's row that count it within its content.
pub(super) const CHUNK_BITS: u32 = 12;

/// The database at one moment: a transaction that only reads, until it is dropped.
pub struct StoreSnapshot<'a> {
    store: &'a Store,
    pub(super) reader: MutexGuard<'a, Reader>,
}

impl Store {
    /// The index as it is now. One at a time: another thread's waits for the end of this one.
    pub fn snapshot(&self) -> Result<StoreSnapshot<'_>, IndexError> {
        let mut reader = self.reader()?;
        reader.connection.execute_batch("BEGIN").map_err(|source| self.failed(source))?;
        if let Err(source) = reader.catch_up() {
            reader.end();
            return Err(self.failed(source));
        }
        Ok(StoreSnapshot { store: self, reader })
    }

    /// How much there is.
    pub fn status(&self) -> Result<StoreStatus, IndexError> {
        let snapshot = self.snapshot()?;
        let catalogue = snapshot.catalogue();
        let unused = "SELECT count(*) FROM content WHERE id NOT IN (SELECT content FROM file)";
        let connection = &snapshot.reader.connection;
        let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
        let failed = |source| self.failed(source);
        let bytes =
            number("PRAGMA page_count").map_err(failed)? * number("PRAGMA page_size").map_err(failed)?;
        Ok(StoreStatus {
            files: catalogue.files(),
            chunks: catalogue.chunks(),
            unused_contents: number(unused).map_err(failed)?.unsigned_abs(),
            bytes: bytes.unsigned_abs(),
        })
    }

    /// What the index knows of every file, to be compared with what is there.
    pub fn stamps(&self) -> Result<HashMap<WorkspacePath, Stamp>, IndexError> {
        let snapshot = self.snapshot()?;
        let read = || {
            let mut statement = snapshot.reader.connection.prepare_cached("SELECT path, stamp FROM file")?;
            let rows = statement.query_map([], |row| Ok((path(row, 0)?, row.get::<_, String>(1)?)))?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        let rows = read().map_err(|source| self.failed(source))?;
        let catalogue = snapshot.catalogue();
        let stamps = rows.into_iter().filter_map(|(path, text)| {
            let digest = catalogue.digest(&path)?;
            Some((path, Stamp { text, digest }))
        });
        Ok(stamps.collect())
    }
}

impl Reader {
    /// Reads the catalogue again if the database has changed since.
    fn catch_up(&mut self) -> rusqlite::Result<()> {
        let generation = generation(&self.connection)?;
        if generation != self.generation {
            self.catalogue = catalogue(&self.connection)?;
            self.generation = generation;
        }
        Ok(())
    }

    fn end(&self) {
        // Nothing was written, so there is nothing that could be lost.
        let _ = self.connection.execute_batch("ROLLBACK");
    }
}

impl Drop for StoreSnapshot<'_> {
    fn drop(&mut self) {
        self.reader.end();
    }
}

fn generation(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("SELECT value FROM meta WHERE key = 'generation'", [], |row| row.get(0))
}

fn catalogue(connection: &Connection) -> rusqlite::Result<Catalogue> {
    let mut catalogue = Catalogue::default();
    let mut digests = HashMap::new();
    let mut contents = connection.prepare_cached("SELECT id, chunks, digest FROM content ORDER BY id")?;
    let mut rows = contents.query([])?;
    while let Some(row) = rows.next()? {
        let id: u32 = row.get(0)?;
        catalogue.add_content(id, encode::read_chunks(row.get_ref(1)?.as_blob()?).into_iter());
        digests.insert(id, digest(row, 2)?);
    }
    let mut files = connection.prepare_cached(
        "SELECT id, path, content, folder, name, definitions, history FROM file ORDER BY id",
    )?;
    let mut rows = files.query([])?;
    while let Some(row) = rows.next()? {
        let content = row.get(2)?;
        let Some(digest) = digests.get(&content).copied() else { continue };
        let lengths = [row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?];
        catalogue.add_file(row.get(0)?, FileEntry { path: path(row, 1)?, digest, content, lengths });
    }
    Ok(catalogue)
}

fn path(row: &Row<'_>, column: usize) -> rusqlite::Result<WorkspacePath> {
    let bytes = row.get_ref(column)?.as_blob()?;
    WorkspacePath::from_bytes(bytes).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Blob, Box::new(error))
    })
}

fn digest(row: &Row<'_>, column: usize) -> rusqlite::Result<headstart_overlay_fs::ContentHash> {
    let text = row.get_ref(column)?.as_str()?;
    text.parse().map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
    })
}

impl StoreSnapshot<'_> {
    /// Another number after each change of what a search sees.
    pub fn generation(&self) -> u64 {
        self.reader.generation.unsigned_abs()
    }

    /// Calls `each` with every row that a statement gives for one value.
    pub(super) fn rows(
        &self,
        sql: &str,
        value: impl rusqlite::ToSql,
        mut each: impl FnMut(&Row<'_>) -> rusqlite::Result<()>,
    ) -> Result<(), IndexError> {
        let mut run = || {
            let mut statement = self.reader.connection.prepare_cached(sql)?;
            let mut rows = statement.query([&value])?;
            while let Some(row) = rows.next()? {
                each(row)?;
            }
            Ok(())
        };
        run().map_err(|source| self.store.failed(source))
    }
}

impl Snapshot for StoreSnapshot<'_> {
    fn catalogue(&self) -> &Catalogue {
        &self.reader.catalogue
    }

    fn chunk_postings(&self, term: &str, visit: &mut dyn FnMut(ChunkPosting)) -> Result<(), IndexError> {
        let catalogue = self.catalogue();
        // One row for each occurrence, those of a document one after the other.
        let mut at: Option<(i64, ChunkPosting)> = None;
        self.rows("SELECT doc, col FROM chunk_term WHERE term = ?1", term, |row| {
            let (document, column) = (row.get(0)?, row.get_ref(1)?.as_str()?);
            let field = usize::from(column == "header");
            if let Some((known, posting)) = &mut at
                && *known == document
            {
                posting.counts[field] += 1;
                return Ok(());
            }
            if let Some((_, posting)) = at.take() {
                visit(posting);
            }
            let content = u32::try_from(document >> CHUNK_BITS).unwrap_or(u32::MAX);
            let within = u32::try_from(document & ((1 << CHUNK_BITS) - 1)).unwrap_or(u32::MAX);
            if let Some(entry) = catalogue.content(content)
                && within < entry.chunks.end - entry.chunks.start
            {
                let mut counts = [0; 2];
                counts[field] = 1;
                at = Some((document, ChunkPosting { chunk: entry.chunks.start + within, counts }));
            }
            Ok(())
        })?;
        if let Some((_, posting)) = at {
            visit(posting);
        }
        Ok(())
    }

    fn file_postings(&self, term: &str, visit: &mut dyn FnMut(FilePosting)) -> Result<(), IndexError> {
        let mut at: Option<FilePosting> = None;
        self.rows("SELECT doc, col FROM file_term WHERE term = ?1", term, |row| {
            let (file, column) = (row.get(0)?, row.get_ref(1)?.as_str()?);
            let field = match column {
                "folder" => 0,
                "name" => 1,
                "definitions" => 2,
                _ => 3,
            };
            match &mut at {
                Some(posting) if posting.file == file => posting.counts[field] += 1,
                _ => {
                    let mut counts = [0; 4];
                    counts[field] = 1;
                    if let Some(posting) = at.replace(FilePosting { file, counts }) {
                        visit(posting);
                    }
                }
            }
            Ok(())
        })?;
        if let Some(posting) = at {
            visit(posting);
        }
        Ok(())
    }

    fn definitions(&self, whole: &str, visit: &mut dyn FnMut(u32, Symbol)) -> Result<(), IndexError> {
        let sql =
            "SELECT content, name, kind, first, last FROM symbol WHERE whole = ?1 ORDER BY content, first";
        self.rows(sql, whole, |row| {
            visit(row.get(0)?, symbol(row)?);
            Ok(())
        })
    }

    fn symbols(&self, content: u32) -> Result<Vec<Symbol>, IndexError> {
        let sql = "SELECT content, name, kind, first, last FROM symbol WHERE content = ?1 ORDER BY rowid";
        let mut symbols = Vec::new();
        self.rows(sql, content, |row| {
            symbols.push(symbol(row)?);
            Ok(())
        })?;
        Ok(symbols)
    }

    fn history(&self, path: &WorkspacePath) -> Result<Field, IndexError> {
        let connection = &self.reader.connection;
        history(connection, path).map_err(|source| self.store.failed(source))
    }

    fn nearest(&self, to: &Meaning, most: usize) -> Result<Vec<Near>, IndexError> {
        self.closest(to, most)
    }
}

pub(super) fn history(connection: &Connection, path: &WorkspacePath) -> rusqlite::Result<Field> {
    let mut statement = connection.prepare_cached("SELECT tokens FROM history WHERE path = ?1")?;
    let tokens: Option<String> = statement.query_row([path.as_bytes()], |row| row.get(0)).optional()?;
    Ok(tokens.map(Field::of_tokens).unwrap_or_default())
}

fn symbol(row: &Row<'_>) -> rusqlite::Result<Symbol> {
    let kind = SymbolKind::from_name(row.get_ref(2)?.as_str()?);
    Ok(Symbol { name: row.get(1)?, kind, first: row.get(3)?, last: row.get(4)? })
}
