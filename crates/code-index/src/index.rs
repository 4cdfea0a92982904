//! The port through which a search reads an index, with one implementation in memory and one on disk.

use headstart_overlay_fs::WorkspacePath;

use crate::fields::Field;
use crate::{Catalogue, ContentFields, NearChunk, Symbol, TextVector};

/// Why an index could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// The database reported an error: a full disk, a lock that another process holds for long, a damaged file.
    #[cfg(feature = "sqlite")]
    #[error(
        "the index in {path}: {source}; searches by grep still work, `headstart index rebuild` makes it anew"
    )]
    Database {
        /// The database.
        path: std::path::PathBuf,
        /// The database's error.
        source: rusqlite::Error,
    },
    /// A file of the index itself could not be made or moved.
    #[cfg(feature = "sqlite")]
    #[error("{path}: {source}; the index needs a state folder that it may write")]
    File {
        /// The file or folder.
        path: std::path::PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The project's own folder cannot be read.
    #[error(transparent)]
    Tree(#[from] headstart_overlay_fs::TreeError),
    /// Another thread panicked while it used the index.
    #[error("the index is not to be used any more, since a thread that used it has died; start again")]
    Poisoned,
}

/// A change of one path of an index.
#[derive(Debug, Clone)]
pub enum FileChange {
    /// The path has this content now.
    Put {
        /// The path.
        path: WorkspacePath,
        /// The content.
        content: std::sync::Arc<ContentFields>,
    },
    /// Nothing is at the path or below it any more.
    Remove {
        /// The path.
        path: WorkspacePath,
    },
}

/// The occurrences of a term in a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkPosting {
    /// The chunk's number in the catalogue.
    pub chunk: u32,
    /// The counts in body and header.
    pub counts: [u32; 2],
}

/// The occurrences of a term in the fields of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilePosting {
    /// The file's number in the catalogue.
    pub file: u32,
    /// The counts in folder, name, definitions and history.
    pub counts: [u32; 4],
}

/// An index at one moment.
///
/// # Guarantees
///
/// * All answers of one snapshot are about the same moment.
/// * A term is one token, and is never interpreted as a query language.
/// * A term has at most one posting for a document. Postings of contents that no file has may be among them.
pub trait Snapshot {
    /// What is in the index.
    fn catalogue(&self) -> &Catalogue;

    /// Visits the chunks that contain a term.
    fn chunk_postings(&self, term: &str, visit: &mut dyn FnMut(ChunkPosting)) -> Result<(), IndexError>;

    /// Visits the files that have a term in their path, definitions or history.
    fn file_postings(&self, term: &str, visit: &mut dyn FnMut(FilePosting)) -> Result<(), IndexError>;

    /// Visits the definitions whose name is this token as a [`whole`](crate::whole): the number of the content, and
    /// the definition.
    fn definitions(&self, whole: &str, visit: &mut dyn FnMut(u32, Symbol)) -> Result<(), IndexError>;

    /// All definitions of a content, sorted by their first line.
    fn symbols(&self, content: u32) -> Result<Vec<Symbol>, IndexError>;

    /// What past commits say about a path; may be empty.
    fn history(&self, path: &WorkspacePath) -> Result<Field, IndexError>;

    /// The chunks whose vectors, made by the same model, are closest, the closest first. By default there are no
    /// vectors.
    fn nearest(&self, _to: &TextVector, _most: usize) -> Result<Vec<NearChunk>, IndexError> {
        Ok(Vec::new())
    }
}
