use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::executor::block_on;
use headstart_code_index::{IndexError, Step};
use headstart_overlay_fs::WorkspacePath;

use super::UpkeepPlan;
use super::shared::{SharedState, UpkeepState};
use super::vectors;
use super::watch::Watch;
use crate::clock::unix_ms;
use crate::index::{Index, IndexModels, MORE_HISTORY, PAUSED, sweep};

/// How long after the first change it is written, so that further ones are written together with it.
const SETTLED: Duration = Duration::from_millis(100);
/// How often the process that keeps the index says so; below it how long after that it is considered dead.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(5);
const STALE_MS: u64 = 10_000;
/// How many times the duration of a comparison of all files must pass before the next one.
const REST: u32 = 10;

/// Starts the thread that keeps an index current.
pub(super) fn begin(shared: &Arc<SharedState>, plan: UpkeepPlan, models: Arc<IndexModels>) {
    let worker_state = Arc::clone(shared);
    let work = move || {
        match Index::open(&plan.state, &plan.workspace, plan.gate.clone(), plan.config) {
            Ok((index, notice)) => {
                let index = Arc::new(index);
                let mut worker = IndexWorker::new(&worker_state, &plan.state, &index);
                let known = worker.report_progress();
                worker_state.change(|state| {
                    state.notices.extend(notice);
                    state.index = Some(Arc::clone(&index));
                    (state.wants_comparison, state.wants_history, state.wants_vectors) = (true, true, true);
                });
                // Only now, since a process that writes may hold the lease up for seconds, and queries only read.
                if let Err(error) = known.and_then(|()| worker.renew_lease()) {
                    worker_state.fail(&error.to_string());
                }
                lower_priority();
                vectors::begin(&worker_state, &index, &models);
                sweep::sweep(index.store.path(), sweep::MAX_BYTES);
                worker.keep();
            }
            Err(error) => worker_state.fail(&format!("searches do without an index: {error}")),
        }
        worker_state.change(|state| state.ended = true);
    };
    if let Err(error) = std::thread::Builder::new().name("index".to_owned()).spawn(work) {
        shared.fail(&format!("searches do without an index: {error}"));
        shared.change(|state| state.ended = true);
    }
}

/// Lowers the priority, because the model, the user's commands and the terminal are more important.
pub(super) fn lower_priority() {
    // On Linux this applies to the thread; on other systems it would apply to the whole process.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(19);
}

/// The state of the thread.
struct IndexWorker<'a> {
    shared: &'a Arc<SharedState>,
    /// The state folder.
    state: &'a Path,
    index: &'a Index,
    owner: String,
    watch: Option<Watch>,
    /// When this process last said that it keeps the index; `None` if another process does.
    leased_at: Option<Instant>,
    asked_at: Option<Instant>,
    /// No comparison of all files begins before this time.
    rests_until: Instant,
    is_paused: bool,
}

/// The next task of the thread.
enum Task {
    End,
    Compare,
    Write(Vec<(WorkspacePath, u64)>),
    History,
    RenewLease,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Due {
    RenewLease,
    Compare,
    Write,
    History,
}

impl<'a> IndexWorker<'a> {
    fn new(shared: &'a Arc<SharedState>, state: &'a Path, index: &'a Index) -> Self {
        let owner = format!("{}-{:x}", std::process::id(), unix_ms());
        Self {
            shared,
            state,
            index,
            owner,
            watch: None,
            leased_at: None,
            asked_at: None,
            rests_until: Instant::now(),
            is_paused: false,
        }
    }

    fn keep(mut self) {
        loop {
            let done = match self.next_task() {
                Task::End => break,
                Task::Compare => self.compare_all(),
                Task::Write(paths) => self.write(paths),
                Task::History => {
                    self.shared.change(|state| state.wants_history = false);
                    self.index.follow_history(MORE_HISTORY).map(drop)
                }
                Task::RenewLease => self.renew_lease().map(drop),
            };
            if let Err(error) = done {
                self.shared.fail(&error.to_string());
                // Changes that were not written stay noted, so that queries search those files too.
                self.shared.wait(HEARTBEAT, |state| state.over);
                self.shared.change(|state| state.changed_at = Some(Instant::now()));
            }
        }
        // The next process need not wait until this lease expires.
        let _ = self.index.store.release(&self.owner);
    }

    /// Waits until something is to be done, and returns it.
    fn next_task(&self) -> Task {
        let deadline = Instant::now() + HEARTBEAT;
        self.shared.wait_until_break(|state| {
            if state.over {
                return ControlFlow::Break(Task::End);
            }
            let now = Instant::now();
            let dues = [
                (Some(deadline), Due::RenewLease),
                (self.look_is_due(state, now), Due::Compare),
                (state.changed_at.map(|at| at + SETTLED), Due::Write),
                ((state.wants_history && self.leased_at.is_some()).then_some(now), Due::History),
            ];
            let dues = dues.into_iter().filter(|(_, due)| !self.is_paused || *due == Due::RenewLease);
            let next = dues.filter_map(|(at, due)| Some((at?, due))).min_by_key(|(at, _)| *at);
            match next {
                Some((at, _)) if now < at => ControlFlow::Continue(at),
                Some((_, Due::Compare)) => ControlFlow::Break(Task::Compare),
                Some((_, Due::History)) => ControlFlow::Break(Task::History),
                Some((_, Due::Write)) => {
                    state.changed_at = None;
                    let paths = state.changed.iter().map(|(path, number)| (path.clone(), *number));
                    ControlFlow::Break(Task::Write(paths.collect()))
                }
                Some((_, Due::RenewLease)) | None => ControlFlow::Break(Task::RenewLease),
            }
        })
    }

    /// When all files are to be compared; `None` if they need not be.
    fn look_is_due(&self, state: &UpkeepState, now: Instant) -> Option<Instant> {
        let rested = if state.watched { self.rests_until } else { now };
        // Another process keeps the index, but it may die.
        let asked = self.asked_at.filter(|_| self.leased_at.is_none()).map(|at| at + HEARTBEAT / 2);
        state.wants_comparison.then(|| asked.unwrap_or(now).max(rested))
    }

    /// Compares all files with the index, and writes the differences.
    fn compare_all(&mut self) -> Result<(), IndexError> {
        if !self.renew_lease()? {
            return Ok(());
        }
        self.shared.change(|state| state.wants_comparison = false);
        #[cfg(test)]
        self.shared.wait(Duration::MAX, |state| !state.is_held || state.over);
        let began = Instant::now();
        let (shared, index, owner) = (Arc::clone(self.shared), self.index, self.owner.clone());
        let mut beat_at = Instant::now();
        let mut keep_going = |step| {
            let mut goes_on = shared.change(|state| {
                if let Step::Read(progress) = step {
                    state.progress = Some(progress);
                }
                !state.over
            });
            if HEARTBEAT / 5 < beat_at.elapsed() {
                beat_at = Instant::now();
                goes_on &= index.store.lease(&owner, unix_ms(), STALE_MS).unwrap_or(false);
                goes_on &= !is_paused(index).unwrap_or(false);
            }
            if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let updated = block_on(index.update(&mut keep_going))?;
        self.leased_at = Some(beat_at);
        let is_complete = updated.is_whole && updated.progress.percent() == 100;
        let is_new = updated.is_whole && self.watch(&updated.folders);
        // Changes from before a folder was watched are only found by another comparison.
        self.rests_until = Instant::now() + if is_new { Duration::ZERO } else { began.elapsed() * REST };
        let watched = self.watch.is_some();
        self.shared.change(|state| {
            state.progress = Some(updated.progress);
            if updated.is_whole {
                state.compared_at = Some(began);
            }
            state.waited_in_vain = false;
            state.watched = watched;
            state.wants_comparison |= !is_complete || is_new;
            state.wants_vectors = true;
            if is_complete {
                state.trouble = None;
            }
            state.notices.extend(updated.told);
        });
        if 0 < updated.applied.put + updated.applied.removed {
            index.store.tend()?;
        }
        Ok(())
    }

    /// Watches these folders. Returns whether one of them was not watched before.
    fn watch(&mut self, folders: &[WorkspacePath]) -> bool {
        let watched = match &mut self.watch {
            Some(watch) => watch.follow(folders),
            None => Watch::start(self.index.workspace(), self.state, folders, Arc::downgrade(self.shared))
                .map(|watch| {
                    self.watch = Some(watch);
                    true
                }),
        };
        watched.unwrap_or_else(|_| {
            // Instead, the files are compared before each query.
            self.watch = None;
            false
        })
    }

    /// Writes the changes of these paths.
    fn write(&mut self, paths: Vec<(WorkspacePath, u64)>) -> Result<(), IndexError> {
        let all: BTreeSet<WorkspacePath> = paths.iter().map(|(path, _)| path.clone()).collect();
        let wants_comparison = block_on(self.index.update_paths(&all))?;
        self.shared.change(|state| {
            state.wants_comparison |= wants_comparison;
            state.wants_vectors = true;
            for (path, number) in paths {
                if state.changed.get(&path) == Some(&number) {
                    state.changed.remove(&path);
                }
            }
        });
        Ok(())
    }

    /// Claims the index for this process, if no other process keeps it. Also reads whether the user has paused it.
    fn renew_lease(&mut self) -> Result<bool, IndexError> {
        self.is_paused = is_paused(self.index)?;
        let is_paused = self.is_paused;
        self.shared.change(|state| match &state.trouble {
            None if is_paused => state.trouble = Some(RESTS.to_owned()),
            Some(trouble) if !is_paused && trouble == RESTS => state.trouble = None,
            _ => {}
        });
        if self.is_paused {
            self.leased_at = None;
            self.shared.change(|state| state.keeps = false);
            self.index.store.release(&self.owner)?;
            self.report_progress()?;
            return Ok(false);
        }
        self.asked_at = Some(Instant::now());
        let is_ours = self.index.store.lease(&self.owner, unix_ms(), STALE_MS)?;
        self.leased_at = is_ours.then(Instant::now);
        self.shared.change(|state| state.keeps = is_ours);
        if !is_ours {
            self.report_progress()?;
            // The comparison of that process is as good as one of this process would be.
            self.shared.change(|state| _ = state.compared_at.get_or_insert_with(Instant::now));
        }
        Ok(is_ours)
    }

    /// Reads the progress of the process that keeps the index, or of the last one that did.
    fn report_progress(&self) -> Result<(), IndexError> {
        let progress = self.index.progress()?;
        self.shared.change(|state| state.progress = progress.or(state.progress));
        Ok(())
    }
}

/// What a query reports while the index is paused.
const RESTS: &str =
    "the index is paused, so what changed since may be missing; headstart index resume goes on";
fn is_paused(index: &Index) -> Result<bool, IndexError> {
    Ok(index.store.note(PAUSED)?.is_some_and(|value| !value.is_empty()))
}
