use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use headstart_code_index::{ModelLocation, Snapshot, TextVector};
use headstart_overlay_fs::{Tree, WorkspacePath};

/// The index of a workspace's own files, as a host keeps it: built and updated in the background.
///
/// # Guarantees
///
/// * No method waits until the index is complete, or for a lock that another process may hold for long.
/// * A commit through this host's workspace that happened before [`changed`](Self::changed) was called is either in
///   every later [`read`](Self::read), or its paths are among those that `changed` returned.
///
/// # Not guaranteed
///
/// That another program's edit is known at once: the host learns of it a moment later.
#[async_trait]
pub trait ProjectIndex: Send + Sync {
    /// The files as they are on the disk now. Reading them is not noted.
    fn files(&self) -> Arc<dyn Tree>;

    /// Paths that may not be up to date in the index.
    async fn changed(&self) -> BTreeSet<WorkspacePath>;

    /// Which models may be asked about a text that goes no further than `permitted`. By default there are none.
    fn available_models(&self, _permitted: ModelLocation) -> AvailableModels {
        AvailableModels::default()
    }

    /// The vector of a text, for [`Snapshot::nearest`]; `None` if no model makes one in time, which the host tells
    /// its user.
    async fn embed_query(&self, _text: &str, _permitted: ModelLocation) -> Option<TextVector> {
        None
    }

    /// The indices of these passages in the order in which they answer a query best; `None` to keep their order.
    async fn rank_passages(
        &self,
        _query: &str,
        _passages: &[&str],
        _permitted: ModelLocation,
    ) -> Option<Vec<usize>> {
        None
    }

    /// Calls `work` once with the index at one moment, in a place where it may block; with an empty index if there is
    /// none. An index that cannot be used is not an error but shows in its [`coverage`](IndexState::coverage),
    /// because callers can search in other ways.
    async fn read(&self, work: IndexWork);
}

/// The kinds of models that a search may ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AvailableModels {
    /// A model that makes vectors.
    pub embeds: bool,
    /// A model that ranks passages.
    pub ranks: bool,
}

/// Work on an index at one moment.
pub type IndexWork = Box<dyn FnOnce(&IndexState<'_>) + Send>;

/// An index at one moment.
pub struct IndexState<'a> {
    /// The index.
    pub snapshot: &'a dyn Snapshot,
    /// Files that were changed a moment ago, with a weight from 0 to 1.
    pub recent: &'a [(WorkspacePath, f32)],
    /// A number that changes with each change of the index.
    pub generation: u64,
    /// How complete it is.
    pub coverage: &'a IndexCoverage,
}

/// How complete an index is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexCoverage {
    /// The percentage of the project that is up to date in it, rounded down; `None` as long as nobody knows, because
    /// the files have not been compared with it yet.
    pub percent: Option<u64>,
    /// Why it will not become more complete, in words for the model.
    pub trouble: Option<String>,
}

impl IndexCoverage {
    pub(super) fn is_complete(&self) -> bool {
        self.percent == Some(100)
    }

    /// What the model is told of it.
    pub(super) fn notes(&self) -> Vec<String> {
        let missing = match self.percent {
            Some(100) => None,
            Some(percent) => Some(format!("indexed {percent} % of the files so far")),
            None if self.trouble.is_some() => None,
            None => Some(
                "the files have not been compared with the index yet, so places may be missing".to_owned(),
            ),
        };
        self.trouble.iter().cloned().chain(missing).collect()
    }
}
