//! The views of steps, and when they end: with the step, if there are too many, or after some time without a command.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use headstart_overlay_fs::{ChangeSet, WorkspacePath};
use headstart_shadow::KillHandle;
use headstart_toolbox::ViewId;

use super::opening::{BuildOutput, OpenedView};
use super::{Views, lock};

/// A view without a command for so long is ended. The step's next command makes a new one.
const IDLE: Duration = Duration::from_secs(15 * 60);
const CHECK_EVERY: Duration = Duration::from_secs(60);

/// The view of one step.
pub(super) struct StepView {
    /// Locked while a command runs in it.
    pub(super) open: Mutex<Option<OpenStepView>>,
    pub(super) kill_handle: Mutex<Option<KillHandle>>,
    /// Whether the step is over.
    is_over: AtomicBool,
    used: Mutex<Instant>,
    /// Where build output goes. It changes after a command of this step removed a folder of build output as a whole,
    /// which only works in memory.
    pub(super) output: Mutex<BuildOutput>,
}

pub(super) struct OpenStepView {
    pub(super) opened: OpenedView,
    pub(super) below: Arc<ChangeSet>,
    /// Paths that its commands wrote and that no change set contains, according to the last command.
    pub(super) left: Vec<WorkspacePath>,
    /// What the model was last told about it.
    pub(super) told: Option<String>,
}

/// All views that are kept, and the thread that ends idle ones.
#[derive(Default)]
pub(super) struct StepViews {
    views: Mutex<BTreeMap<ViewId, Arc<StepView>>>,
    /// When this is dropped, the thread ends.
    watched: Mutex<Option<Sender<()>>>,
}

impl Default for StepView {
    fn default() -> Self {
        Self {
            open: Mutex::default(),
            kill_handle: Mutex::default(),
            is_over: AtomicBool::default(),
            used: Mutex::new(Instant::now()),
            output: Mutex::new(BuildOutput::OnDisk),
        }
    }
}

impl Views {
    /// The view with this id. If there are too many, the one that was last used the longest ago is ended.
    pub(super) fn step_view(self: &Arc<Self>, id: &ViewId) -> Arc<StepView> {
        self.watch_idle();
        self.end_idle_build();
        let is_known = lock(&self.by_step.views).contains_key(id);
        if !is_known && self.most_held <= lock(&self.by_step.views).len() {
            self.end_oldest();
        }
        let held = Arc::clone(lock(&self.by_step.views).entry(id.clone()).or_default());
        *lock(&held.used) = Instant::now();
        held
    }

    /// Implements the port's method for ending a view.
    pub fn end(&self, id: &ViewId) {
        let held = lock(&self.by_step.views).remove(id);
        if let Some(held) = held {
            held.end();
        }
    }

    /// Whether no command ran for so long.
    pub(super) fn is_quiet(&self, since: Duration) -> bool {
        let all = lock(&self.by_step.views);
        all.values().all(|held| held.is_idle() && since <= lock(&held.used).elapsed())
    }

    /// Ends the idle view that was last used the longest ago. Returns whether there was one.
    pub(super) fn end_oldest(&self) -> bool {
        let oldest = {
            let mut all = lock(&self.by_step.views);
            let idle = all.iter().filter(|(_, held)| held.is_idle());
            let oldest = idle.min_by_key(|(_, held)| *lock(&held.used)).map(|(id, _)| id.clone());
            oldest.and_then(|id| all.remove(&id))
        };
        oldest.inspect(|held| held.end()).is_some()
    }

    /// Ends views that had no command for so long, and processes that wait for a view.
    pub fn end_idle(&self, since: Duration) {
        let idle: Vec<_> = {
            let mut all = lock(&self.by_step.views);
            let is_idle = |held: &Arc<StepView>| held.is_idle() && since <= lock(&held.used).elapsed();
            let ids: Vec<_> =
                all.iter().filter(|(_, held)| is_idle(held)).map(|(id, _)| id.clone()).collect();
            ids.iter().filter_map(|id| all.remove(id)).collect()
        };
        for held in idle {
            held.end();
        }
        self.prepared.end(since);
    }

    pub(super) fn watch_idle(self: &Arc<Self>) {
        let mut watched = lock(&self.by_step.watched);
        if watched.is_some() {
            return;
        }
        let (sender, gone) = channel();
        *watched = Some(sender);
        let views: Weak<Self> = Arc::downgrade(self);
        // Without the thread idle views stay, which only costs memory.
        let _ = std::thread::Builder::new().name("idle-views".to_owned()).spawn(move || {
            while gone.recv_timeout(CHECK_EVERY) == Err(RecvTimeoutError::Timeout) {
                let Some(views) = views.upgrade() else { return };
                views.end_idle(IDLE);
            }
        });
    }
}

impl StepView {
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    /// Whether no command runs in the view, and none is about to.
    fn is_idle(self: &Arc<Self>) -> bool {
        // A caller that is about to run a command also holds a reference.
        Arc::strong_count(self) == 1 && self.open.try_lock().is_ok()
    }

    fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        if let Some(kill_handle) = lock(&self.kill_handle).take() {
            kill_handle.kill();
        }
        // If a command runs, its thread drops the view.
        if let Ok(mut open) = self.open.try_lock() {
            *open = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ShadowConfig;
    use crate::environment::Environment;

    fn views(most: usize) -> Arc<Views> {
        let folder = tempfile::tempdir().unwrap();
        let settings = ShadowConfig { views: most, ..ShadowConfig::default() };
        let quota = headstart_overlay_fs::Quota::default();
        Arc::new(Views::new(folder.path(), &settings, quota, &Environment::default(), None))
    }

    fn held(views: &Views) -> Vec<String> {
        lock(&views.by_step.views).keys().map(ToString::to_string).collect()
    }

    #[test]
    fn what_is_idle_for_long_ends_and_what_runs_does_not() {
        let views = views(8);
        let running = views.step_view(&ViewId::new("running"));
        let idle = Arc::downgrade(&views.step_view(&ViewId::new("idle")));
        views.end_idle(Duration::from_secs(60));
        assert_eq!(held(&views), ["idle", "running"]);
        views.end_idle(Duration::ZERO);
        assert_eq!(held(&views), ["running"]);
        assert!(idle.upgrade().is_none() && !running.is_over());
    }

    #[test]
    fn of_too_many_the_longest_unused_ends_unless_a_command_runs_in_it() {
        let views = views(2);
        let first = views.step_view(&ViewId::new("first"));
        for id in ["second", "third"] {
            drop(views.step_view(&ViewId::new(id)));
        }
        assert_eq!(held(&views), ["first", "third"]);
        drop(first);
        drop(views.step_view(&ViewId::new("fourth")));
        assert_eq!(held(&views), ["fourth", "third"]);
    }
}
