use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use headstart_code_index::{Meaning, Reach, Snapshot};
use headstart_overlay_fs::{Tree, WorkspacePath};

/// The index of a workspace's own files, as a host keeps it: built, and brought to what the files are, beside everything else.
///
/// # Guarantees
///
/// * No method waits until the index holds all files, or for a lock that another process may hold for long.
/// * What was committed through this host's workspace before [`changed`](Self::changed) was called is either in every later
///   [`read`](Self::read) or among the paths that `changed` gave.
///
/// # Not guaranteed
///
/// That an edit of another program's is known at once: its host hears of it a moment later.
#[async_trait]
pub trait ProjectIndex: Send + Sync {
    /// The files as they are on the disk now. Reading them is noted nowhere.
    fn files(&self) -> Arc<dyn Tree>;

    /// Paths that the index may not hold as they are.
    async fn changed(&self) -> BTreeSet<WorkspacePath>;

    /// Which models may be asked about a text that goes no further than this. By default there are none.
    fn serve(&self, _most: Reach) -> Served {
        Served::default()
    }

    /// A text as a vector, for [`Snapshot::nearest`]; `None` where no model makes one in time, which the host tells its user.
    async fn meaning(&self, _text: &str, _most: Reach) -> Option<Meaning> {
        None
    }

    /// English words for a query in a language that the code is not in, with blanks between them; `None` where no model gives
    /// any in time, which the host tells its user. [`english_words`](crate::english_words) asks one.
    async fn english(&self, _text: &str, _most: Reach) -> Option<String> {
        None
    }

    /// The places of these passages in the order in which they answer a query best; `None` where they stay as they are.
    async fn order(&self, _query: &str, _passages: &[&str], _most: Reach) -> Option<Vec<usize>> {
        None
    }

    /// Calls `work` once with the index at one moment, where it may block; with an empty one where there is none. An index
    /// that cannot be used is no error but a [`standing`](IndexMoment::standing): what asks has other means.
    async fn read(&self, work: IndexWork);
}

/// Which models a search may ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Served {
    /// One that makes vectors.
    pub embeds: bool,
    /// One that judges passages.
    pub ranks: bool,
    /// One that translates queries.
    pub translates: bool,
}

/// What is done with an index at one moment.
pub type IndexWork = Box<dyn FnOnce(&IndexMoment<'_>) + Send>;

/// An index at one moment.
pub struct IndexMoment<'a> {
    /// What it answers.
    pub snapshot: &'a dyn Snapshot,
    /// Files that were changed a moment ago, and how much each counts, from 0 to 1.
    pub recent: &'a [(WorkspacePath, f32)],
    /// Another number after each change of the index.
    pub generation: u64,
    /// How far it is.
    pub standing: &'a IndexStanding,
}

/// How far an index is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexStanding {
    /// How much of the project it holds as it is, in hundredths, rounded down.
    pub percent: u64,
    /// Why no more is to be expected, in words for the model.
    pub trouble: Option<String>,
}
