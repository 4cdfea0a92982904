use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use headstart_code_index::{Progress, Snapshot};
use headstart_overlay_fs::WorkspacePath;
use headstart_toolbox::IndexCoverage;

use crate::index::Index;

/// The most changes that are noted one by one. More are found by a comparison of all files.
const MAX_CHANGED: usize = 2_000;
/// The most files that count as recently edited.
const MAX_EDITED: usize = 100;

/// The state that the thread of an index shares with its users.
#[derive(Default)]
pub(super) struct SharedState {
    state: Mutex<UpkeepState>,
    changed_condition: Condvar,
}

#[derive(Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is set and heard by another thread, and none excludes another"
)]
pub(super) struct UpkeepState {
    pub(super) begun: bool,
    /// Whether the thread must end; below it whether it has ended.
    pub(super) over: bool,
    pub(super) ended: bool,
    pub(super) index: Option<Arc<Index>>,
    /// Why there is no index, or only an incomplete one.
    pub(super) trouble: Option<String>,
    /// The progress of the comparison of all files; `None` before the first one.
    pub(super) progress: Option<Progress>,
    /// Paths that may differ from the index, each with the number of its last change.
    pub(super) changed: BTreeMap<WorkspacePath, u64>,
    changes: u64,
    /// When the first change occurred that has not been written yet.
    pub(super) changed_at: Option<Instant>,
    pub(super) wants_comparison: bool,
    pub(super) compared_at: Option<Instant>,
    pub(super) wants_history: bool,
    /// Whether contents may lack vectors; below it whether this process is the one that keeps the index current.
    pub(super) wants_vectors: bool,
    pub(super) keeps: bool,
    /// Whether the system reports changes of files.
    pub(super) watched: bool,
    pub(super) waited_in_vain: bool,
    pub(super) edited: RecentEdits,
    pub(super) notices: Vec<String>,
    /// A test holds the walk over all files.
    #[cfg(test)]
    pub(super) is_held: bool,
}

/// The files that were changed last while this process ran, the newest first.
#[derive(Debug, Clone, Default)]
pub(super) struct RecentEdits {
    paths: VecDeque<WorkspacePath>,
    version: u64,
}

impl UpkeepState {
    /// Whether the index has not been opened yet, which takes some milliseconds.
    pub(super) fn is_opening(&self) -> bool {
        self.begun && self.index.is_none() && !self.ended
    }

    /// Whether it makes sense for a query to wait a moment, because the index will then be complete.
    pub(super) fn is_worth_a_wait(&self) -> bool {
        let is_behind = self.progress.is_none_or(|progress| progress.percent() < 100);
        // An index that was complete is so still only if a walk of this conversation says so.
        let is_behind = is_behind || self.compared_at.is_none() || self.wants_comparison && !self.watched;
        self.trouble.is_none() && is_behind && !self.ended && !self.waited_in_vain
    }
}

impl SharedState {
    /// Changes the state, and wakes every thread that waits for a change.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut UpkeepState) -> T) -> T {
        let changed = change(&mut self.lock());
        self.changed_condition.notify_all();
        changed
    }

    /// Waits until the state meets a condition. Returns whether it did in time.
    pub(super) fn wait(&self, most: Duration, is_so: impl Fn(&UpkeepState) -> bool) -> bool {
        let waited = self.changed_condition.wait_timeout_while(self.lock(), most, |state| !is_so(state));
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        is_so(&state)
    }

    /// Calls `next` again after each change, and at the latest at the time that it returns, until it breaks with an
    /// answer.
    pub(super) fn wait_until_break<T>(
        &self,
        mut next: impl FnMut(&mut UpkeepState) -> ControlFlow<T, Instant>,
    ) -> T {
        let mut state = self.lock();
        loop {
            let until = match next(&mut state) {
                ControlFlow::Break(answer) => return answer,
                ControlFlow::Continue(until) => until,
            };
            let most = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
            let waited = self.changed_condition.wait_timeout(state, most);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    pub(super) fn note_changed(&self, paths: impl IntoIterator<Item = WorkspacePath>) {
        self.change(|state| {
            for path in paths {
                state.changes += 1;
                state.edited.note(path.clone());
                state.changed.insert(path, state.changes);
                state.changed_at.get_or_insert_with(Instant::now);
            }
            if MAX_CHANGED < state.changed.len() {
                state.changed.clear();
                state.wants_comparison = true;
            }
        });
    }

    /// Notes that the index cannot get better than it is.
    pub(super) fn fail(&self, trouble: &str) {
        self.change(|state| {
            if state.trouble.as_deref() != Some(trouble) {
                tracing::warn!(trouble, "the index has trouble");
                state.notices.push(trouble.to_owned());
                state.trouble = Some(trouble.to_owned());
            }
        });
    }

    /// The state of the index at the time of this snapshot.
    pub(super) fn coverage(&self, snapshot: &dyn Snapshot) -> IndexCoverage {
        self.change(|state| {
            let there = snapshot.catalogue().files();
            let percent = match state.progress {
                // Only an index that is open can be known to be empty.
                None => (there == 0 && state.index.is_some()).then_some(0),
                // Another process emptied the index or began a new one.
                Some(progress) if there < progress.current / 2 => {
                    state.wants_comparison = true;
                    Some((100 * there).checked_div(progress.all).unwrap_or(0).min(100))
                }
                // What changed before this process began is not known yet.
                Some(progress) if state.compared_at.is_none() && progress.percent() == 100 => None,
                Some(progress) => Some(progress.percent()),
            };
            IndexCoverage { percent, trouble: state.trouble.clone() }
        })
    }

    fn lock(&self) -> MutexGuard<'_, UpkeepState> {
        // No change of the state can be left half done, even by a panic elsewhere.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RecentEdits {
    fn note(&mut self, path: WorkspacePath) {
        self.version += 1;
        self.paths.retain(|known| *known != path);
        self.paths.truncate(MAX_EDITED - 1);
        self.paths.push_front(path);
    }

    /// These files and those of past commits, each with the larger of its weights; and the number of this state.
    pub(super) fn with(self, commits: Vec<(WorkspacePath, f32)>) -> (Vec<(WorkspacePath, f32)>, u64) {
        let mut recent: BTreeMap<WorkspacePath, f32> = commits.into_iter().collect();
        let mut share = 1.0_f32;
        for path in self.paths {
            let known = recent.entry(path).or_default();
            *known = known.max(share);
            share *= (-1.0_f32 / 20.0).exp();
        }
        (recent.into_iter().collect(), self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> WorkspacePath {
        WorkspacePath::parse(text).unwrap()
    }

    #[test]
    fn what_was_edited_last_counts_most_and_the_oldest_is_forgotten() {
        let mut edited = RecentEdits::default();
        for number in 0..150 {
            edited.note(path(&format!("{number}.rs")));
        }
        edited.note(path("140.rs"));
        let (recent, version) = edited.with(vec![(path("140.rs"), 0.5), (path("old.rs"), 0.25)]);
        let share =
            |name: &str| recent.iter().find(|(known, _)| *known == path(name)).map(|(_, share)| *share);
        assert_eq!((share("140.rs"), share("old.rs"), share("3.rs")), (Some(1.0), Some(0.25), None));
        assert!(share("149.rs") > share("120.rs"));
        assert_eq!((recent.len(), version), (101, 151));
    }

    #[test]
    fn too_many_changes_are_one_look_at_everything() {
        let shared = SharedState::default();
        shared.note_changed((0..MAX_CHANGED).map(|number| path(&number.to_string())));
        assert!(shared.change(|state| !state.wants_comparison && state.changed.len() == MAX_CHANGED));
        shared.note_changed([path("one more")]);
        assert!(shared.change(|state| state.wants_comparison && state.changed.is_empty()));
    }
}
