use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use headstart_code_index::{CutContents, Delta, Hit, IndexError, Staged, is_rule_file};
use headstart_overlay_fs::{ContentHash, Overlay, Quota, Tree as _, WorkspacePath};

use super::port::{IndexMoment, ProjectIndex};
use crate::{ToolContext, ToolError};

/// How many staged states are cached as an index, and how many answers.
const MOST_STAGED: usize = 4;
const MOST_ANSWERS: usize = 32;
/// No limits, because the searched overlay is a copy of one that kept to its limits.
const UNLIMITED: Quota = Quota { files: u64::MAX, bytes: u64::MAX, file_bytes: u64::MAX, depth: u64::MAX };

/// Gives calls their view of the index, and caches what they share.
pub(super) struct Looks {
    pub(super) index: Arc<dyn ProjectIndex>,
    cut: Mutex<CutContents>,
    staged: Mutex<VecDeque<(Generation, Arc<Staged>)>>,
    answers: Mutex<VecDeque<(Question, Vec<Hit>)>>,
}

/// Identifies what a call sees: the generation of the index, and what lies over it.
pub(super) type Generation = (u64, ContentHash);

/// A query, and the state for which it was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) query: String,
    pub(super) below: Option<WorkspacePath>,
    pub(super) generation: Generation,
}

/// What one call sees.
pub(super) struct Look {
    /// A copy of the merged view that notes no reads, because the work does not depend on what is only searched.
    pub(super) tree: Arc<Overlay>,
    pub(super) delta: Delta,
}

impl Looks {
    pub(super) fn new(index: Arc<dyn ProjectIndex>) -> Self {
        Self { index, cut: Mutex::default(), staged: Mutex::default(), answers: Mutex::default() }
    }

    /// What a call sees over the index. Has to be called before the index is read.
    pub(super) async fn look(&self, context: ToolContext<'_>) -> Result<Look, ToolError> {
        let staged = context.view.staged_changes();
        let mut changed = self.index.changed().await;
        let tree = Arc::new(Overlay::from_change_set(self.index.files(), UNLIMITED, &staged)?);
        let closes = |path: &WorkspacePath| context.closes(path);
        let staged_paths = staged.changes.iter().map(|change| &change.path);
        if staged_paths.chain(&changed).any(is_rule_file) {
            let known = self.ask(|moment| {
                let paths: BTreeSet<_> = moment.snapshot.catalogue().paths().cloned().collect();
                (paths, moment.standing.percent)
            });
            let (known, percent) = known.await?;
            let differing = Delta::of_rules(tree.as_ref(), &known, &closes).await?;
            // What the index lacks so far is searched in another way.
            changed.extend(differing.into_iter().filter(|path| percent == 100 || known.contains(path)));
        }
        let mut cut = std::mem::take(&mut *lock(&self.cut));
        let delta = Delta::of(tree.as_ref(), &staged, &changed, &closes, &mut cut).await;
        *lock(&self.cut) = cut;
        Ok(Look { tree, delta })
    }

    /// Runs `work` on the index at one moment.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&IndexMoment<'_>) -> T + Send + 'static,
    ) -> Result<T, ToolError> {
        let answer = Arc::new(Mutex::new(None));
        let slot = Arc::clone(&answer);
        self.index.read(Box::new(move |moment| *lock(&slot) = Some(work(moment)))).await;
        let answer = lock(&answer).take();
        answer.ok_or_else(|| ToolError::failed("the index gave no answer; grep searches without it"))
    }

    /// What lies over the index, as one layer.
    pub(super) fn over(&self, moment: &IndexMoment<'_>, delta: &Delta) -> Result<Arc<Staged>, IndexError> {
        let generation = (moment.generation, delta.key());
        if let Some(known) = find(&self.staged, &generation) {
            return Ok(known);
        }
        let staged = Arc::new(delta.over(moment.snapshot)?);
        keep(&self.staged, MOST_STAGED, generation, Arc::clone(&staged));
        Ok(staged)
    }

    /// The cached answer to the same question about the same state.
    pub(super) fn answered(&self, question: &Question) -> Option<Vec<Hit>> {
        find(&self.answers, question)
    }

    pub(super) fn keep_answer(&self, question: Question, hits: Vec<Hit>) {
        keep(&self.answers, MOST_ANSWERS, question, hits);
    }
}

fn find<K: PartialEq, V: Clone>(kept: &Mutex<VecDeque<(K, V)>>, key: &K) -> Option<V> {
    lock(kept).iter().find(|(known, _)| known == key).map(|(_, value)| value.clone())
}

fn keep<K: PartialEq, V>(kept: &Mutex<VecDeque<(K, V)>>, most: usize, key: K, value: V) {
    let mut kept = lock(kept);
    kept.retain(|(known, _)| *known != key);
    kept.truncate(most - 1);
    kept.push_front((key, value));
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The caches are consistent after each step.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
