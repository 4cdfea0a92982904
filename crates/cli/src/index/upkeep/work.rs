use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::executor::block_on;
use headstart_code_index::{IndexError, Step};
use headstart_overlay_fs::WorkspacePath;

use super::Plan;
use super::shared::{Shared, State};
use super::vectors;
use super::watch::Watch;
use crate::clock::unix_ms;
use crate::index::{Index, IndexModels, PAUSED, sweep};

/// Changes are written when for so long after the first of them none had to wait.
const SETTLED: Duration = Duration::from_millis(100);
/// Who keeps the index says so this often, and is taken for dead after that time.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(5);
const STALE_MS: u64 = 10_000;
/// A look at all files is followed by as many times the time that it took without another.
const REST: u32 = 10;

/// Starts the thread that keeps an index.
pub(super) fn begin(shared: &Arc<Shared>, plan: Plan, models: Arc<IndexModels>) {
    let kept = Arc::clone(shared);
    let work = move || {
        match Index::open(&plan.state, &plan.workspace, plan.gate.clone(), plan.config) {
            Ok((index, told)) => {
                let index = Arc::new(index);
                let mut keeper = Keeper::new(&kept, &index);
                let began = keeper.hear_progress().and_then(|()| keeper.beat());
                kept.change(|state| {
                    state.notices.extend(told);
                    state.index = Some(Arc::clone(&index));
                    (state.wants_look, state.wants_history, state.wants_vectors) = (true, true, true);
                });
                if let Err(error) = began {
                    kept.fail(&error.to_string());
                }
                lower_priority();
                vectors::begin(&kept, &index, &models);
                sweep::sweep(index.store.path(), sweep::MOST_BYTES);
                keeper.keep();
            }
            Err(error) => kept.fail(&format!("searches do without an index: {error}")),
        }
        kept.change(|state| state.ended = true);
    };
    if let Err(error) = std::thread::Builder::new().name("index".to_owned()).spawn(work) {
        shared.fail(&format!("searches do without an index: {error}"));
        shared.change(|state| state.ended = true);
    }
}

/// The model, the user's commands and the terminal come first.
pub(super) fn lower_priority() {
    // Of a thread on Linux; elsewhere it would be the whole process's.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(19);
}

/// The thread's own state.
struct Keeper<'a> {
    shared: &'a Arc<Shared>,
    index: &'a Index,
    owner: String,
    watch: Option<Watch>,
    /// When this process last said that it keeps the index; `None`: another one does.
    leased_at: Option<Instant>,
    asked_at: Option<Instant>,
    /// Before that, a look at all files would come too soon after the last.
    rests_until: Instant,
    is_paused: bool,
}

/// What is to be done next.
enum Task {
    End,
    Look,
    Write(Vec<(WorkspacePath, u64)>),
    History,
    Beat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Due {
    Beat,
    Look,
    Write,
    History,
}

impl<'a> Keeper<'a> {
    fn new(shared: &'a Arc<Shared>, index: &'a Index) -> Self {
        let owner = format!("{}-{:x}", std::process::id(), unix_ms());
        Self {
            shared,
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
                Task::Look => self.look(),
                Task::Write(paths) => self.write(paths),
                Task::History => {
                    self.shared.change(|state| state.wants_history = false);
                    self.index.follow_history()
                }
                Task::Beat => self.beat().map(drop),
            };
            if let Err(error) = done {
                self.shared.fail(&error.to_string());
                // What is not written stays among what changed, and is searched there.
                self.shared.wait(HEARTBEAT, |state| state.over);
                self.shared.change(|state| state.changed_at = Some(Instant::now()));
            }
        }
        // The next one need not wait until this lease is stale.
        let _ = self.index.store.release(&self.owner);
    }

    /// What is to be done, when it is time for it.
    fn next_task(&self) -> Task {
        let deadline = Instant::now() + HEARTBEAT;
        self.shared.turn(|state| {
            if state.over {
                return ControlFlow::Break(Task::End);
            }
            let now = Instant::now();
            let dues = [
                (Some(deadline), Due::Beat),
                (self.look_is_due(state, now), Due::Look),
                (state.changed_at.map(|at| at + SETTLED), Due::Write),
                ((state.wants_history && self.leased_at.is_some()).then_some(now), Due::History),
            ];
            let dues = dues.into_iter().filter(|(_, due)| !self.is_paused || *due == Due::Beat);
            let next = dues.filter_map(|(at, due)| Some((at?, due))).min_by_key(|(at, _)| *at);
            match next {
                Some((at, _)) if now < at => ControlFlow::Continue(at),
                Some((_, Due::Look)) => ControlFlow::Break(Task::Look),
                Some((_, Due::History)) => ControlFlow::Break(Task::History),
                Some((_, Due::Write)) => {
                    state.changed_at = None;
                    let paths = state.changed.iter().map(|(path, number)| (path.clone(), *number));
                    ControlFlow::Break(Task::Write(paths.collect()))
                }
                Some((_, Due::Beat)) | None => ControlFlow::Break(Task::Beat),
            }
        })
    }

    /// When all files are to be looked at.
    fn look_is_due(&self, state: &State, now: Instant) -> Option<Instant> {
        let rested = if state.watched { self.rests_until } else { now };
        // Another process that keeps the index may die.
        let asked = self.asked_at.filter(|_| self.leased_at.is_none()).map(|at| at + HEARTBEAT / 2);
        state.wants_look.then(|| asked.unwrap_or(now).max(rested))
    }

    /// Compares all files with the index, and writes what is another.
    fn look(&mut self) -> Result<(), IndexError> {
        if !self.beat()? {
            return Ok(());
        }
        self.shared.change(|state| state.wants_look = false);
        if self.shared.change(|state| std::mem::take(&mut state.wants_history)) {
            self.index.follow_history()?;
        }
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
        let is_complete = updated.progress.percent() == 100;
        let is_new = updated.is_whole && self.watch(&updated.folders);
        // What changed before a folder was watched is only seen by another look.
        self.rests_until = Instant::now() + if is_new { Duration::ZERO } else { began.elapsed() * REST };
        let watched = self.watch.is_some();
        self.shared.change(|state| {
            state.progress = Some(updated.progress);
            state.looked_at = Some(began);
            state.waited_in_vain = false;
            state.watched = watched;
            state.wants_look |= !is_complete || is_new;
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

    /// Watches these folders; whether one of them was not watched before.
    fn watch(&mut self, folders: &[WorkspacePath]) -> bool {
        let watched = match &mut self.watch {
            Some(watch) => watch.follow(folders),
            None => Watch::start(self.index.workspace(), folders, Arc::downgrade(self.shared)).map(|watch| {
                self.watch = Some(watch);
                true
            }),
        };
        watched.unwrap_or_else(|_| {
            // Before each query the files are looked at instead.
            self.watch = None;
            false
        })
    }

    /// Writes what became of these paths.
    fn write(&mut self, paths: Vec<(WorkspacePath, u64)>) -> Result<(), IndexError> {
        let all: BTreeSet<WorkspacePath> = paths.iter().map(|(path, _)| path.clone()).collect();
        let wants_look = block_on(self.index.update_paths(&all))?;
        self.shared.change(|state| {
            state.wants_look |= wants_look;
            state.wants_vectors = true;
            for (path, number) in paths {
                if state.changed.get(&path) == Some(&number) {
                    state.changed.remove(&path);
                }
            }
        });
        Ok(())
    }

    /// Says that this process keeps the index, if no other does; and hears whether its user has it rest.
    fn beat(&mut self) -> Result<bool, IndexError> {
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
            self.hear_progress()?;
            return Ok(false);
        }
        self.asked_at = Some(Instant::now());
        let is_ours = self.index.store.lease(&self.owner, unix_ms(), STALE_MS)?;
        self.leased_at = is_ours.then(Instant::now);
        self.shared.change(|state| state.keeps = is_ours);
        if !is_ours {
            self.hear_progress()?;
            // What that process has looked at is as good as what this one would.
            self.shared.change(|state| _ = state.looked_at.get_or_insert_with(Instant::now));
        }
        Ok(is_ours)
    }

    /// How far the process is that keeps the index, or how far one was.
    fn hear_progress(&self) -> Result<(), IndexError> {
        let progress = self.index.progress()?;
        self.shared.change(|state| state.progress = progress.or(state.progress));
        Ok(())
    }
}

/// What a query says meanwhile.
const RESTS: &str =
    "the index is paused, so what changed since may be missing; headstart index resume goes on";
fn is_paused(index: &Index) -> Result<bool, IndexError> {
    Ok(index.store.note(PAUSED)?.is_some_and(|value| !value.is_empty()))
}
