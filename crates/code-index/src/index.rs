//! What an index is to a search: a port, with one implementation in memory and one on disk.

use headstart_overlay_fs::WorkspacePath;

use crate::fields::Field;
use crate::{Catalogue, ContentFields, Meaning, Near, Symbol};

/// Why an index could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// The database refused: a full disk, a lock that another process holds for long, a damaged file.
    #[cfg(feature = "sqlite")]
    #[error(
        "the index in {path}: {source}; searches by grep still work, `headstart index rebuild` makes it anew"
    )]
    Database {
        /// The database.
        path: std::path::PathBuf,
        /// What it said.
        source: rusqlite::Error,
    },
    /// A file of the index's own could not be made or moved.
    #[cfg(feature = "sqlite")]
    #[error("{path}: {source}; the index needs a state folder that it may write")]
    File {
        /// The file or folder.
        path: std::path::PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The project's own folder cannot be read.
    #[error(transparent)]
    Tree(#[from] headstart_overlay_fs::TreeError),
    /// Another thread panicked while it used the index.
    #[error("the index is not to be used any more, since a thread that used it has died; start again")]
    Poisoned,
}

/// What becomes of one path of an index.
#[derive(Debug, Clone)]
pub enum FileChange {
    /// It holds this now.
    Put {
        /// Where.
        path: WorkspacePath,
        /// What.
        content: std::sync::Arc<ContentFields>,
    },
    /// Nothing is there any more, nor below.
    Remove {
        /// Where nothing is.
        path: WorkspacePath,
    },
}

/// The occurrences of a term in a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkPosting {
    /// The chunk's number in the catalogue.
    pub chunk: u32,
    /// In body and header.
    pub counts: [u32; 2],
}

/// The occurrences of a term in what is known of a file as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilePosting {
    /// The file's number in the catalogue.
    pub file: u32,
    /// In folder, name, definitions and history.
    pub counts: [u32; 4],
}

/// An index at one moment.
///
/// # Guarantees
///
/// * Everything that one snapshot answers is of the same moment.
/// * A term is one token, and is never read as a query of any language.
/// * Of a document there is one posting for a term at most. Postings of contents that no file holds may be among them.
pub trait Snapshot {
    /// What is in the index.
    fn catalogue(&self) -> &Catalogue;

    /// The chunks in which a term is.
    fn chunk_postings(&self, term: &str, visit: &mut dyn FnMut(ChunkPosting)) -> Result<(), IndexError>;

    /// The files in whose path, definitions or history a term is.
    fn file_postings(&self, term: &str, visit: &mut dyn FnMut(FilePosting)) -> Result<(), IndexError>;

    /// The definitions whose name is this token as a [`whole`](crate::whole): the number of the content, and what it defines.
    fn definitions(&self, whole: &str, visit: &mut dyn FnMut(u32, Symbol)) -> Result<(), IndexError>;

    /// All definitions of a content, by their first line.
    fn symbols(&self, content: u32) -> Result<Vec<Symbol>, IndexError>;

    /// What past commits say of a path; empty where they say nothing.
    fn history(&self, path: &WorkspacePath) -> Result<Field, IndexError>;

    /// The chunks whose vectors, of the same model, are closest, the closest first; by default there are no vectors.
    fn nearest(&self, _to: &Meaning, _most: usize) -> Result<Vec<Near>, IndexError> {
        Ok(Vec::new())
    }
}
