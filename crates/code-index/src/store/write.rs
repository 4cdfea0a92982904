use std::collections::HashMap;
use std::sync::Arc;

use headstart_overlay_fs::WorkspacePath;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::read::{CHUNK_BITS, histories, history, symbols};
use super::{Store, encode};
use crate::fields::{Field, PathFields};
use crate::{ContentFields, IndexError, whole};

/// A change of one path of an index on disk.
#[derive(Debug, Clone)]
pub enum Entry {
    /// The path has this content now.
    Put {
        /// The path.
        path: WorkspacePath,
        /// The content.
        content: Arc<ContentFields>,
        /// A note of the host about the file, by which it sees later whether the file has changed; may be empty.
        stamp: String,
    },
    /// The file was checked, and its content is unchanged.
    Same {
        /// The path.
        path: WorkspacePath,
        /// As of [`Entry::Put`].
        stamp: String,
    },
    /// Nothing is at the path or below it any more.
    Remove {
        /// The path.
        path: WorkspacePath,
    },
}

/// Where commits belong that are added to those which the index has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HistoryPlace {
    /// They came after them.
    Newer,
    /// They came before them.
    Older,
}

/// The most subjects of one path; the newest count.
const MOST_SUBJECTS: usize = 1_000;

/// What a batch changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Applied {
    /// Files that are new or have another content.
    pub put: u64,
    /// Files that were removed.
    pub removed: u64,
    /// Contents that were new to the index, and not known from another path or an earlier time.
    pub contents: u64,
}

impl Store {
    /// Makes all changes in one transaction.
    pub fn apply(&self, batch: &[Entry]) -> Result<Applied, IndexError> {
        self.write(|connection| {
            let mut applied = Applied::default();
            for entry in batch {
                match entry {
                    Entry::Put { path, content, stamp } => {
                        put(connection, path, content, stamp, &mut applied)?;
                    }
                    Entry::Same { path, stamp } => {
                        let sql = "UPDATE file SET stamp = ?2 WHERE path = ?1";
                        connection.prepare_cached(sql)?.execute(params![path.as_bytes(), stamp])?;
                    }
                    Entry::Remove { path } => applied.removed += remove(connection, path)?,
                }
            }
            self.drop_unused(connection)?;
            Ok(applied)
        })
    }

    /// Sets what past commits say about these paths, one line each, and removes it for all other paths.
    pub fn set_history<'a>(
        &self,
        subjects: impl IntoIterator<Item = (&'a WorkspacePath, &'a str)>,
    ) -> Result<(), IndexError> {
        let subjects: Vec<(&WorkspacePath, &str)> = subjects.into_iter().collect();
        self.write(|connection| {
            let files: Vec<(i64, Vec<u8>, i64)> = connection
                .prepare("SELECT id, path, content FROM file")?
                .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
                .collect::<rusqlite::Result<_>>()?;
            let before = histories(connection)?;
            connection.execute_batch("DELETE FROM history; DELETE FROM subject;")?;
            write_history(connection, &subjects, HistoryPlace::Older)?;
            let now = histories(connection)?;
            for (file, path, content) in files {
                if before.get(&path) == now.get(&path) {
                    continue;
                }
                let Ok(path) = WorkspacePath::from_bytes(&path) else { continue };
                let definitions = Field::of_definitions(&symbols(connection, content)?);
                index_file(connection, file, &path, &definitions)?;
            }
            Ok(())
        })
    }

    /// Adds what newer or older commits say about these paths, one line each.
    pub fn add_history<'a>(
        &self,
        subjects: impl IntoIterator<Item = (&'a WorkspacePath, &'a str)>,
        place: HistoryPlace,
    ) -> Result<(), IndexError> {
        let subjects: Vec<(&WorkspacePath, &str)> = subjects.into_iter().collect();
        if subjects.is_empty() {
            return Ok(());
        }
        self.write(|connection| {
            write_history(connection, &subjects, place)?;
            let sql = "SELECT id, content FROM file WHERE path = ?1";
            let mut find = connection.prepare_cached(sql)?;
            for (path, _) in subjects {
                let ids = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
                let Some((file, content)) = find.query_row([path.as_bytes()], ids).optional()? else {
                    continue;
                };
                index_file(connection, file, path, &Field::of_definitions(&symbols(connection, content)?))?;
            }
            Ok(())
        })
    }

    /// A note that the index keeps for its host, such as the commit up to which the history was read.
    pub fn note(&self, key: &str) -> Result<Option<String>, IndexError> {
        let connection = self.writer()?;
        let sql = "SELECT value FROM meta WHERE key = ?1";
        let found = connection.query_row(sql, [format!("host.{key}")], |row| row.get(0)).optional();
        found.map_err(|source| self.failed(source))
    }

    /// Writes such a note.
    pub fn set_note(&self, key: &str, value: &str) -> Result<(), IndexError> {
        self.write_aside(|connection| set_meta(connection, &format!("host.{key}"), value))
    }

    /// Makes `owner` the one who keeps the index up to date, or confirms it; `false` if another owner did so in the
    /// last `stale_ms` milliseconds. `now_ms` is the time of a clock that all processes share.
    pub fn lease(&self, owner: &str, now_ms: u64, stale_ms: u64) -> Result<bool, IndexError> {
        self.write_aside(|connection| {
            let held: Option<String> = connection
                .query_row("SELECT value FROM meta WHERE key = 'lease'", [], |row| row.get(0))
                .optional()?;
            let is_free =
                held.as_deref().and_then(|held| held.split_once(' ')).is_none_or(|(beat, holder)| {
                    let beat: u64 = beat.parse().unwrap_or(0);
                    // If the clock was set back, the absolute difference keeps nobody out for long.
                    holder == owner || stale_ms < now_ms.abs_diff(beat)
                });
            if is_free {
                set_meta(connection, "lease", &format!("{now_ms} {owner}"))?;
            }
            Ok(is_free)
        })
    }

    /// `owner` stops keeping the index up to date.
    pub fn release(&self, owner: &str) -> Result<(), IndexError> {
        self.write_aside(|connection| {
            let sql = "DELETE FROM meta WHERE key = 'lease' AND substr(value, instr(value, ' ') + 1) = ?1";
            connection.execute(sql, [owner]).map(drop)
        })
    }

    /// Does a small part of the work of [`compact`](Self::compact), for some milliseconds, and frees memory.
    pub fn tend(&self) -> Result<(), IndexError> {
        self.write_aside(|connection| {
            connection.execute_batch(
                "INSERT INTO chunk_fts (chunk_fts, rank) VALUES ('merge', 64); \
                 INSERT INTO file_fts (file_fts, rank) VALUES ('merge', 64);",
            )
        })?;
        // Both keep memory from large writes that small ones do not need.
        let reader = self.reader()?;
        let shrunk = reader.connection.execute_batch("PRAGMA shrink_memory;");
        drop(reader);
        let connection = self.writer()?;
        let done = vacuum(&connection, 64).and_then(|()| connection.execute_batch("PRAGMA shrink_memory"));
        shrunk.and(done).map_err(|source| self.failed(source))
    }

    /// Removes everything from the index.
    pub fn clean(&self) -> Result<(), IndexError> {
        self.write(|connection| {
            connection.execute_batch(
                "DELETE FROM file; DELETE FROM definition; DELETE FROM vector; DELETE FROM model; DELETE FROM content; \
                 DELETE FROM history; DELETE FROM subject; \
                 DELETE FROM meta WHERE key LIKE 'host.%'; \
                 INSERT INTO chunk_fts (chunk_fts) VALUES ('delete-all'); \
                 INSERT INTO file_fts (file_fts) VALUES ('delete-all');",
            )
        })?;
        self.compact()
    }

    /// Merges what many small writes left, and returns room to the disk. For a time at which nobody waits.
    pub fn compact(&self) -> Result<(), IndexError> {
        self.write(|connection| {
            connection.execute_batch(
                "INSERT INTO chunk_fts (chunk_fts) VALUES ('optimize'); \
                 INSERT INTO file_fts (file_fts) VALUES ('optimize');",
            )
        })?;
        let connection = self.writer()?;
        // Without a number, all pages are returned.
        let done =
            vacuum(&connection, 0).and_then(|()| connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)"));
        done.map_err(|source| self.failed(source))
    }

    /// Runs `work` in a transaction of its own.
    fn write<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, IndexError> {
        self.write_aside(|connection| {
            let done = work(connection)?;
            connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'generation'", [])?;
            Ok(done)
        })
    }

    /// As [`write`](Self::write), for changes that no search sees: the generation stays the same.
    pub(super) fn write_aside<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, IndexError> {
        let connection = self.writer()?;
        let run = || {
            connection.execute_batch("BEGIN IMMEDIATE")?;
            let done = work(&connection)?;
            connection.execute_batch("COMMIT")?;
            Ok(done)
        };
        run().map_err(|source| {
            // Some errors end the transaction by themselves.
            if !connection.is_autocommit() {
                let _ = connection.execute_batch("ROLLBACK");
            }
            self.failed(source)
        })
    }

    /// Removes contents that no file has, those used longest ago first, down to the limit.
    fn drop_unused(&self, connection: &Connection) -> rusqlite::Result<()> {
        let keep = i64::try_from(self.limits.unused_contents).unwrap_or(i64::MAX);
        let sql = "SELECT id FROM content WHERE id NOT IN (SELECT content FROM file) \
                   ORDER BY used DESC, id DESC LIMIT -1 OFFSET ?1";
        let unused: Vec<i64> = connection
            .prepare_cached(sql)?
            .query_map([keep], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        for content in unused {
            let rows = [content << CHUNK_BITS, (content + 1) << CHUNK_BITS];
            connection
                .prepare_cached("DELETE FROM chunk_fts WHERE rowid >= ?1 AND rowid < ?2")?
                .execute(rows)?;
            let sql = "DELETE FROM definition WHERE name = ?1 AND content = ?2";
            for symbol in symbols(connection, content)? {
                let name = encode::name(&whole(&symbol.name));
                connection.prepare_cached(sql)?.execute([name, content])?;
            }
            connection.prepare_cached("DELETE FROM vector WHERE content = ?1")?.execute([content])?;
            connection.prepare_cached("DELETE FROM content WHERE id = ?1")?.execute([content])?;
        }
        Ok(())
    }
}

/// Returns this many unused pages to the system.
fn vacuum(connection: &Connection, pages: u32) -> rusqlite::Result<()> {
    let mut statement = connection.prepare(&format!("PRAGMA incremental_vacuum ({pages})"))?;
    let mut rows = statement.query([])?;
    // Each step returns one page.
    while rows.next()?.is_some() {}
    Ok(())
}

fn set_meta(connection: &Connection, key: &str, value: &str) -> rusqlite::Result<()> {
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?1, ?2)", [key, value]).map(drop)
}

fn put(
    connection: &Connection,
    path: &WorkspacePath,
    fields: &ContentFields,
    stamp: &str,
    applied: &mut Applied,
) -> rusqlite::Result<()> {
    let content = content(connection, fields, applied)?;
    let sql = "SELECT id, content FROM file WHERE path = ?1";
    let known: Option<(i64, i64)> = connection
        .prepare_cached(sql)?
        .query_row([path.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let file = match known {
        Some((file, same)) if same == content => {
            let sql = "UPDATE file SET stamp = ?2 WHERE id = ?1";
            connection.prepare_cached(sql)?.execute(params![file, stamp])?;
            return Ok(());
        }
        Some((file, before)) => {
            let sql = "UPDATE file SET content = ?2, stamp = ?3 WHERE id = ?1";
            connection.prepare_cached(sql)?.execute(params![file, content, stamp])?;
            unused(connection, before)?;
            file
        }
        None => {
            // If a file takes the place of a folder, or lies below a former file, the other is gone.
            remove(connection, path)?;
            let sql = "INSERT INTO file (path, content, stamp, folder, name, definitions, history) \
                       VALUES (?1, ?2, ?3, 0, 0, 0, 0)";
            connection.prepare_cached(sql)?.execute(params![path.as_bytes(), content, stamp])?;
            connection.last_insert_rowid()
        }
    };
    applied.put += 1;
    index_file(connection, file, path, &fields.definitions)
}

/// The number of a content, which is written if it is new.
fn content(connection: &Connection, fields: &ContentFields, applied: &mut Applied) -> rusqlite::Result<i64> {
    let digest = fields.digest.to_string();
    // The same bytes are cut differently under an extension of another language.
    let key = [digest.as_str(), fields.language.name()];
    let sql = "SELECT id FROM content WHERE digest = ?1 AND language = ?2";
    if let Some(id) = connection.prepare_cached(sql)?.query_row(key, |row| row.get(0)).optional()? {
        return Ok(id);
    }
    applied.contents += 1;
    let chunks =
        fields.chunks.iter().map(|chunk| [chunk.first, chunk.last, chunk.body.len, chunk.header.len]);
    let sql = "INSERT INTO content (digest, language, chunks, symbols, used) VALUES (?1, ?2, ?3, ?4, 0)";
    connection.prepare_cached(sql)?.execute(params![
        digest,
        fields.language.name(),
        encode::chunks(chunks),
        encode::symbols(&fields.symbols)
    ])?;
    let id = connection.last_insert_rowid();
    let mut insert = connection.prepare_cached("INSERT INTO chunk_fts (rowid, words) VALUES (?1, ?2)")?;
    for (chunk, row) in fields.chunks.iter().zip(id << CHUNK_BITS..) {
        insert.execute(params![row, encode::counted([&chunk.body, &chunk.header])])?;
    }
    let mut insert = connection.prepare_cached("INSERT INTO definition VALUES (?1, ?2, ?3)")?;
    for (at, symbol) in (0_i64..).zip(&fields.symbols).filter(|(_, symbol)| symbol.defines()) {
        insert.execute([encode::name(&whole(&symbol.name)), id, at])?;
    }
    Ok(id)
}

/// Writes the fields of a file, in place of those from before.
fn index_file(
    connection: &Connection,
    file: i64,
    path: &WorkspacePath,
    definitions: &Field,
) -> rusqlite::Result<()> {
    let PathFields { folder, name, history } = PathFields::of(path, history(connection, path)?);
    connection.prepare_cached("DELETE FROM file_fts WHERE rowid = ?1")?.execute([file])?;
    let sql = "INSERT INTO file_fts (rowid, words) VALUES (?1, ?2)";
    let words = encode::counted([&folder, &name, definitions, &history]);
    connection.prepare_cached(sql)?.execute(params![file, words])?;
    let sql = "UPDATE file SET folder = ?2, name = ?3, definitions = ?4, history = ?5 WHERE id = ?1";
    let lengths = params![file, folder.len, name.len, definitions.len, history.len];
    connection.prepare_cached(sql)?.execute(lengths).map(drop)
}

/// Adds subjects before or behind what there is. A subject is stored once, however many files its commit touched.
fn write_history(
    connection: &Connection,
    subjects: &[(&WorkspacePath, &str)],
    place: HistoryPlace,
) -> rusqlite::Result<()> {
    let start: u32 =
        connection.query_row("SELECT ifnull(max(id) + 1, 0) FROM subject", [], |row| row.get(0))?;
    let mut known: HashMap<&str, u32> = HashMap::new();
    let mut write_subject = connection.prepare_cached("INSERT INTO subject VALUES (?1, ?2)")?;
    let mut read_path = connection.prepare_cached("SELECT subjects FROM history WHERE path = ?1")?;
    let mut write_path = connection.prepare_cached("INSERT OR REPLACE INTO history VALUES (?1, ?2)")?;
    for (path, text) in subjects {
        let mut numbers = Vec::new();
        for line in text.lines() {
            let next = start.saturating_add(u32::try_from(known.len()).unwrap_or(u32::MAX));
            let number = *known.entry(line).or_insert(next);
            if number == next {
                write_subject.execute(params![number, Field::of(line).tokens])?;
            }
            numbers.push(number);
        }
        let before: Option<Vec<u8>> = read_path.query_row([path.as_bytes()], |row| row.get(0)).optional()?;
        let before = encode::read_numbers(&before.unwrap_or_default());
        let mut numbers = match place {
            HistoryPlace::Newer => [numbers, before].concat(),
            HistoryPlace::Older => [before, numbers].concat(),
        };
        numbers.truncate(MOST_SUBJECTS);
        write_path.execute(params![path.as_bytes(), encode::numbers(numbers)])?;
    }
    Ok(())
}

/// Removes the files at and below a path.
fn remove(connection: &Connection, path: &WorkspacePath) -> rusqlite::Result<u64> {
    // What lies below `a` begins with `a/`; the character behind the slash is `0`.
    let (below, after) = ([path.as_bytes(), b"/"].concat(), [path.as_bytes(), b"0"].concat());
    let sql = "SELECT id, content FROM file WHERE path = ?1 OR (path >= ?2 AND path < ?3)";
    let found: Vec<(i64, i64)> = connection
        .prepare_cached(sql)?
        .query_map(params![path.as_bytes(), below, after], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    for (file, content) in &found {
        connection.prepare_cached("DELETE FROM file_fts WHERE rowid = ?1")?.execute([file])?;
        connection.prepare_cached("DELETE FROM file WHERE id = ?1")?.execute([file])?;
        unused(connection, *content)?;
    }
    Ok(found.len() as u64)
}

/// Notes when a content was last used.
fn unused(connection: &Connection, content: i64) -> rusqlite::Result<()> {
    let sql = "UPDATE content SET used = (SELECT value FROM meta WHERE key = 'generation') WHERE id = ?1";
    connection.prepare_cached(sql)?.execute([content]).map(drop)
}
