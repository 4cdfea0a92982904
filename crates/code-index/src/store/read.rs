use std::collections::HashMap;
use std::sync::MutexGuard;

use headstart_overlay_fs::WorkspacePath;
use rusqlite::{Connection, OptionalExtension as _, Row};

use super::{Reader, Stamp, Store, StoreStatus, encode};
use crate::catalogue::FileEntry;
use crate::fields::Field;
use crate::{Catalogue, ChunkPosting, FilePosting, IndexError, NearChunk, Snapshot, Symbol, TextVector};

/// The number of bits of a chunk's row that number it within its content.
pub(super) const CHUNK_BITS: u32 = 12;

/// The database at one moment: a read-only transaction that ends when this is dropped.
pub struct StoreSnapshot<'a> {
    store: &'a Store,
    pub(super) reader: MutexGuard<'a, Reader>,
}

impl Store {
    /// The index as it is now. Only one snapshot exists at a time: another thread waits for the end of this one.
    pub fn snapshot(&self) -> Result<StoreSnapshot<'_>, IndexError> {
        let mut reader = self.reader()?;
        reader.connection.execute_batch("BEGIN").map_err(|source| self.failed(source))?;
        if let Err(source) = reader.catch_up() {
            reader.end();
            return Err(self.failed(source));
        }
        Ok(StoreSnapshot { store: self, reader })
    }

    /// The sizes of the index.
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

    /// What the index knows of every file, to be compared with the files.
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
        // Nothing was written, so nothing can be lost.
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
    /// A number that is different after each change that a search can see.
    pub fn generation(&self) -> u64 {
        self.reader.generation.unsigned_abs()
    }

    /// Calls `each` with every row that a statement returns for these values.
    pub(super) fn rows(
        &self,
        sql: &str,
        values: impl rusqlite::Params,
        mut each: impl FnMut(&Row<'_>) -> rusqlite::Result<()>,
    ) -> Result<(), IndexError> {
        let run = || {
            let mut statement = self.reader.connection.prepare_cached(sql)?;
            let mut rows = statement.query(values)?;
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
        let sql = "SELECT doc, term FROM chunk_term WHERE term >= ?1 AND term <= ?2";
        self.rows(sql, encode::words_of(term), |row| {
            let document: i64 = row.get(0)?;
            let content = u32::try_from(document >> CHUNK_BITS).unwrap_or(u32::MAX);
            let within = u32::try_from(document & ((1 << CHUNK_BITS) - 1)).unwrap_or(u32::MAX);
            if let Some(entry) = catalogue.content(content)
                && within < entry.chunks.end - entry.chunks.start
            {
                let counts = encode::read_counts(row.get_ref(1)?.as_str()?);
                visit(ChunkPosting { chunk: entry.chunks.start + within, counts });
            }
            Ok(())
        })
    }

    fn file_postings(&self, term: &str, visit: &mut dyn FnMut(FilePosting)) -> Result<(), IndexError> {
        let sql = "SELECT doc, term FROM file_term WHERE term >= ?1 AND term <= ?2";
        self.rows(sql, encode::words_of(term), |row| {
            visit(FilePosting { file: row.get(0)?, counts: encode::read_counts(row.get_ref(1)?.as_str()?) });
            Ok(())
        })
    }

    fn definitions(&self, whole: &str, visit: &mut dyn FnMut(u32, Symbol)) -> Result<(), IndexError> {
        let sql = "SELECT content, symbol, symbols FROM definition JOIN content ON content.id = content \
                   WHERE name = ?1 ORDER BY content, symbol";
        // The definitions of the content that was read last, because it may define the name many times.
        let mut known: Option<(u32, Vec<Symbol>)> = None;
        self.rows(sql, [encode::name(whole)], |row| {
            let (content, at) = (row.get(0)?, row.get::<_, u32>(1)?);
            let symbols = match &mut known {
                Some((same, symbols)) if *same == content => symbols,
                _ => {
                    let read = encode::read_symbols(row.get_ref(2)?.as_blob()?).collect();
                    &mut known.insert((content, read)).1
                }
            };
            // Other names may have the same number.
            if let Some(symbol) = symbols.get(at as usize).filter(|it| crate::whole(&it.name) == whole) {
                visit(content, symbol.clone());
            }
            Ok(())
        })
    }

    fn symbols(&self, content: u32) -> Result<Vec<Symbol>, IndexError> {
        symbols(&self.reader.connection, content.into()).map_err(|source| self.store.failed(source))
    }

    fn history(&self, path: &WorkspacePath) -> Result<Field, IndexError> {
        let connection = &self.reader.connection;
        history(connection, path).map_err(|source| self.store.failed(source))
    }

    fn nearest(&self, to: &TextVector, most: usize) -> Result<Vec<NearChunk>, IndexError> {
        self.closest(to, most)
    }
}

/// What past commits say about a path, as it was written.
pub(super) fn history(connection: &Connection, path: &WorkspacePath) -> rusqlite::Result<Field> {
    let mut statement = connection.prepare_cached("SELECT subjects FROM history WHERE path = ?1")?;
    let subjects: Option<Vec<u8>> = statement.query_row([path.as_bytes()], |row| row.get(0)).optional()?;
    let mut statement = connection.prepare_cached("SELECT tokens FROM subject WHERE id = ?1")?;
    let mut history = String::new();
    for subject in encode::read_numbers(&subjects.unwrap_or_default()) {
        let tokens: Option<String> = statement.query_row([subject], |row| row.get(0)).optional()?;
        history.push_str(&tokens.unwrap_or_default());
        history.push(' ');
    }
    Ok(Field::of_tokens(history))
}

/// What past commits say about each path.
pub(super) fn histories(connection: &Connection) -> rusqlite::Result<HashMap<Vec<u8>, String>> {
    let mut subjects: HashMap<u32, String> = HashMap::new();
    let mut statement = connection.prepare_cached("SELECT id, tokens FROM subject")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        subjects.insert(row.get(0)?, row.get(1)?);
    }
    let mut statement = connection.prepare_cached("SELECT path, subjects FROM history")?;
    let rows = statement.query_map([], |row| {
        let numbers = encode::read_numbers(row.get_ref(1)?.as_blob()?);
        let said: Vec<&str> = numbers.iter().filter_map(|it| Some(subjects.get(it)?.as_str())).collect();
        Ok((row.get(0)?, said.join(" ")))
    })?;
    rows.collect()
}

/// The definitions of a content.
pub(super) fn symbols(connection: &Connection, content: i64) -> rusqlite::Result<Vec<Symbol>> {
    let mut statement = connection.prepare_cached("SELECT symbols FROM content WHERE id = ?1")?;
    let read = |row: &Row<'_>| Ok(encode::read_symbols(row.get_ref(0)?.as_blob()?).collect());
    Ok(statement.query_row([content], read).optional()?.unwrap_or_default())
}
