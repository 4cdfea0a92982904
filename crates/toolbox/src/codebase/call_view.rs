use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use headstart_code_index::{CutContents, Delta, Hit, IndexError, Staged, is_rule_file};
use headstart_overlay_fs::{ContentHash, Overlay, Quota, Tree as _, WorkspacePath};

use super::port::{IndexState, ProjectIndex};
use crate::{ToolContext, ToolError};

/// How many staged states are cached as an index, and how many answers.
const MAX_STAGED: usize = 4;
const MAX_CACHED_SEARCHES: usize = 32;
/// No limits, because the searched overlay is a copy of one that kept to its limits.
const UNLIMITED: Quota = Quota { files: u64::MAX, bytes: u64::MAX, file_bytes: u64::MAX, depth: u64::MAX };

/// Gives calls their view of the index, and caches what they share.
pub(super) struct IndexAccess {
    pub(super) index: Arc<dyn ProjectIndex>,
    cut_contents: Mutex<CutContents>,
    staged: Mutex<VecDeque<(ViewGeneration, Arc<Staged>)>>,
    searches: Mutex<VecDeque<(SearchKey, Vec<Hit>)>>,
}

/// Identifies what a call sees: the generation of the index, and what lies over it.
pub(super) type ViewGeneration = (u64, ContentHash);

/// A query, and the state for which it was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SearchKey {
    pub(super) query: String,
    pub(super) below: Option<WorkspacePath>,
    pub(super) generation: ViewGeneration,
}

/// What one call sees.
pub(super) struct CallView {
    /// A copy of the merged view that notes no reads, because the work does not depend on what is only searched.
    pub(super) tree: Arc<Overlay>,
    pub(super) delta: Delta,
}

impl IndexAccess {
    pub(super) fn new(index: Arc<dyn ProjectIndex>) -> Self {
        Self { index, cut_contents: Mutex::default(), staged: Mutex::default(), searches: Mutex::default() }
    }

    /// What a call sees over the index. Has to be called before the index is read.
    pub(super) async fn call_view(&self, context: ToolContext<'_>) -> Result<CallView, ToolError> {
        let staged = context.view.staged_changes();
        let mut changed = self.index.changed().await;
        let tree = Arc::new(Overlay::from_change_set(self.index.files(), UNLIMITED, &staged)?);
        let closes = |path: &WorkspacePath| context.closes(path);
        let staged_paths = staged.changes.iter().map(|change| &change.path);
        if staged_paths.chain(&changed).any(is_rule_file) {
            let known = self.with_index(|moment| {
                let paths: BTreeSet<_> = moment.snapshot.catalogue().paths().cloned().collect();
                (paths, moment.coverage.is_complete())
            });
            let (known, is_complete) = known.await?;
            let differing = Delta::of_rules(tree.as_ref(), &known, &closes).await?;
            // What the index lacks so far is searched in another way.
            changed.extend(differing.into_iter().filter(|path| is_complete || known.contains(path)));
        }
        let mut cut_contents = std::mem::take(&mut *lock(&self.cut_contents));
        let delta = Delta::of(tree.as_ref(), &staged, &changed, &closes, &mut cut_contents).await;
        *lock(&self.cut_contents) = cut_contents;
        Ok(CallView { tree, delta })
    }

    /// Runs `work` on the index at one moment.
    pub(super) async fn with_index<T: Send + 'static>(
        &self,
        work: impl FnOnce(&IndexState<'_>) -> T + Send + 'static,
    ) -> Result<T, ToolError> {
        let answer = Arc::new(Mutex::new(None));
        let slot = Arc::clone(&answer);
        self.index.read(Box::new(move |moment| *lock(&slot) = Some(work(moment)))).await;
        let answer = lock(&answer).take();
        answer.ok_or_else(|| ToolError::failed("the index gave no answer; grep searches without it"))
    }

    /// What lies over the index, as one layer.
    pub(super) fn staged_layer(
        &self,
        moment: &IndexState<'_>,
        delta: &Delta,
    ) -> Result<Arc<Staged>, IndexError> {
        let generation = (moment.generation, delta.key());
        if let Some(known) = cache_get(&self.staged, &generation) {
            return Ok(known);
        }
        let staged = Arc::new(delta.over(moment.snapshot)?);
        cache_put(&self.staged, MAX_STAGED, generation, Arc::clone(&staged));
        Ok(staged)
    }

    /// The cached answer to the same question about the same state.
    pub(super) fn cached_hits(&self, question: &SearchKey) -> Option<Vec<Hit>> {
        cache_get(&self.searches, question)
    }

    pub(super) fn cache_hits(&self, question: SearchKey, hits: Vec<Hit>) {
        cache_put(&self.searches, MAX_CACHED_SEARCHES, question, hits);
    }
}

fn cache_get<K: PartialEq, V: Clone>(cache: &Mutex<VecDeque<(K, V)>>, key: &K) -> Option<V> {
    lock(cache).iter().find(|(known, _)| known == key).map(|(_, value)| value.clone())
}

fn cache_put<K: PartialEq, V>(cache: &Mutex<VecDeque<(K, V)>>, most: usize, key: K, value: V) {
    let mut cache = lock(cache);
    cache.retain(|(known, _)| *known != key);
    cache.truncate(most - 1);
    cache.push_front((key, value));
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The caches are consistent after each step.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
