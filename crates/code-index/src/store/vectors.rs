use std::collections::HashSet;

use headstart_overlay_fs::{ContentHash, WorkspacePath};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::{Store, StoreSnapshot};
use crate::vector::{NearChunk, TextVector, Vector, nearest};
use crate::{IndexError, Snapshot as _};

/// The most chunks with vectors, because each query is compared with all of them.
const MOST_CHUNKS: u64 = 50_000;

/// A content that has no vectors of a model yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithoutVectors {
    /// A file that holds it.
    pub path: WorkspacePath,
    /// What identifies it.
    pub digest: ContentHash,
    /// The first and the last line of each chunk, from 1.
    pub chunks: Vec<(u32, u32)>,
    content: u32,
}

/// How many chunks have vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VectorStatus {
    /// Chunks that have one, or whose text the model does not accept.
    pub current: u64,
    /// All chunks of contents that files have.
    pub all: u64,
    /// The length of the vectors, once there is one.
    pub dimensions: Option<usize>,
}

impl VectorStatus {
    /// Whether there is nothing more to do. This is also so if the limit of vectors is reached.
    pub fn is_complete(self) -> bool {
        self.current >= self.all.min(MOST_CHUNKS)
    }

    /// Chunks that get no vector, because there are too many.
    pub fn left_out(self) -> u64 {
        self.all.saturating_sub(MOST_CHUNKS.max(self.current))
    }
}

impl Store {
    /// Removes the vectors of all other models, and returns the length of those of this one, if there are any.
    pub fn only_vectors_of(&self, model: &str) -> Result<Option<usize>, IndexError> {
        self.write_aside(|connection| {
            connection.execute(
                "DELETE FROM vector WHERE model IN (SELECT id FROM model WHERE name <> ?1)",
                [model],
            )?;
            connection.execute("DELETE FROM model WHERE name <> ?1", [model])?;
            dimensions(connection, model)
        })
    }

    /// How many chunks have vectors of a model.
    pub fn vector_status(&self, model: &str) -> Result<VectorStatus, IndexError> {
        let snapshot = self.snapshot()?;
        let with = snapshot.contents_with_vectors(model)?;
        let catalogue = snapshot.catalogue();
        let dimensions =
            dimensions(&snapshot.reader.connection, model).map_err(|source| self.failed(source))?;
        let mut status = VectorStatus { dimensions, ..VectorStatus::default() };
        for (number, content) in (0_u32..).zip(&catalogue.contents) {
            if content.files.is_empty() {
                continue;
            }
            let chunks = u64::from(content.chunks.end - content.chunks.start);
            status.all += chunks;
            if with.contains(&number) {
                status.current += chunks;
            }
        }
        Ok(status)
    }

    /// Contents without vectors, with this many chunks together or a few more, except those to be skipped; none if
    /// the limit of vectors is reached.
    pub fn without_vectors(
        &self,
        model: &str,
        chunks: usize,
        skipped: &HashSet<ContentHash>,
    ) -> Result<Vec<WithoutVectors>, IndexError> {
        if self.vector_status(model)?.is_complete() {
            return Ok(Vec::new());
        }
        let snapshot = self.snapshot()?;
        let with = snapshot.contents_with_vectors(model)?;
        let catalogue = snapshot.catalogue();
        let (mut list, mut count) = (Vec::new(), 0);
        for (number, content) in (0_u32..).zip(&catalogue.contents) {
            let holder = content.files.first().and_then(|file| catalogue.file(*file));
            let is_wanted = !content.chunks.is_empty() && !with.contains(&number);
            let Some(file) = holder.filter(|file| is_wanted && !skipped.contains(&file.digest)) else {
                continue;
            };
            let lines = content.chunks.clone().map(|chunk| catalogue.chunk(chunk));
            let chunks_of: Vec<(u32, u32)> = lines.map(|chunk| (chunk.first, chunk.last)).collect();
            count += chunks_of.len();
            list.push(WithoutVectors {
                path: file.path.clone(),
                digest: file.digest,
                chunks: chunks_of,
                content: number,
            });
            if chunks <= count {
                break;
            }
        }
        Ok(list)
    }

    /// Writes the vectors of contents, one for each chunk, `None` if the model does not accept its text. A content
    /// that was removed meanwhile, or has other chunks, is left out. All vectors of a model have the length of its
    /// first one; one of another length counts as `None`.
    pub fn put_vectors(
        &self,
        model: &str,
        vectors: &[(WithoutVectors, Vec<Option<Vector>>)],
    ) -> Result<(), IndexError> {
        let length =
            vectors.iter().flat_map(|(_, list)| list.iter().flatten()).next().map(Vector::dimensions);
        self.write_aside(|connection| {
            let known = dimensions(connection, model)?;
            let length = known.or(length).unwrap_or(0);
            if known.is_none() && length != 0 {
                let sql = "INSERT INTO model (name, dimensions) VALUES (?1, ?2)";
                connection.execute(sql, params![model, i64::try_from(length).unwrap_or(0)])?;
            }
            for (of, list) in vectors.iter().filter(|(of, list)| of.chunks.len() == list.len()) {
                let mut rows = Vec::with_capacity(length * list.len());
                for vector in list {
                    match vector {
                        Some(vector) if vector.dimensions() == length => rows.extend(vector.bytes()),
                        _ => rows.resize(rows.len() + length, 0),
                    }
                }
                let sql = "INSERT OR REPLACE INTO vector (model, content, rows) \
                           SELECT (SELECT id FROM model WHERE name = ?1), id, ?4 FROM content \
                           WHERE id = ?2 AND digest = ?3 AND EXISTS (SELECT 1 FROM model WHERE name = ?1)";
                let digest = of.digest.to_string();
                connection.prepare_cached(sql)?.execute(params![model, of.content, digest, rows])?;
            }
            Ok(())
        })
    }
}

impl StoreSnapshot<'_> {
    fn contents_with_vectors(&self, model: &str) -> Result<HashSet<u32>, IndexError> {
        let mut with = HashSet::new();
        let sql = "SELECT content FROM vector WHERE model = (SELECT id FROM model WHERE name = ?1)";
        self.rows(sql, [model], |row| {
            with.insert(row.get(0)?);
            Ok(())
        })?;
        Ok(with)
    }

    /// Compares with every vector, which takes some milliseconds for the most vectors there may be.
    pub(super) fn closest(&self, to: &TextVector, most: usize) -> Result<Vec<NearChunk>, IndexError> {
        let catalogue = self.catalogue();
        let length = to.vector.dimensions();
        let mut all = Vec::new();
        let sql = "SELECT content, rows FROM vector WHERE model = (SELECT id FROM model WHERE name = ?1)";
        self.rows(sql, [&to.model], |row| {
            let (content, rows) = (row.get::<_, u32>(0)?, row.get_ref(1)?.as_blob()?);
            let Some(entry) = catalogue.content(content).filter(|entry| !entry.files.is_empty()) else {
                return Ok(());
            };
            // Vectors of another length are not of this model.
            if rows.len() == length * entry.chunks.len() {
                let of = entry.chunks.clone().zip(rows.chunks_exact(length));
                all.extend(of.map(|(chunk, bytes)| NearChunk {
                    chunk,
                    similarity: to.vector.similarity_to_bytes(bytes),
                }));
            }
            Ok(())
        })?;
        Ok(nearest(all, most))
    }
}

fn dimensions(connection: &Connection, model: &str) -> rusqlite::Result<Option<usize>> {
    let sql = "SELECT dimensions FROM model WHERE name = ?1";
    let found: Option<i64> = connection.query_row(sql, [model], |row| row.get(0)).optional()?;
    Ok(found.and_then(|found| usize::try_from(found).ok()))
}
