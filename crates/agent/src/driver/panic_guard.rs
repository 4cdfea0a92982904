use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::FutureExt;
use futures::channel::mpsc;
use futures::future::BoxFuture;
use headstart_budget::policy::SkipReason;

use super::task::TaskError;
use crate::ports::Runtime;

/// Catches panics of the program around the conversation where no task catches them, so that the conversation is not
/// lost.
#[derive(Clone)]
pub(super) struct PanicGuard {
    panics: mpsc::UnboundedSender<String>,
}

impl PanicGuard {
    pub(super) fn new(panics: mpsc::UnboundedSender<String>) -> Self {
        Self { panics }
    }

    /// The result of a call, or `None` if it panics.
    pub(super) fn catch_sync<T>(&self, call: impl FnOnce() -> T) -> Option<T> {
        catch_unwind(AssertUnwindSafe(call)).map_err(|panic| self.report(&TaskError::of(&*panic))).ok()
    }

    /// The result of a future, or an error if it panics.
    pub(super) async fn catch<T>(&self, wait: impl Future<Output = T>) -> Result<T, TaskError> {
        let waited = AssertUnwindSafe(wait).catch_unwind().await;
        waited.map_err(|panic| {
            let error = TaskError::of(&*panic);
            self.report(&error);
            error
        })
    }

    fn report(&self, error: &TaskError) {
        // After the end of the conversation nobody receives this.
        let _ = self.panics.unbounded_send(error.to_string());
    }
}

/// A clock that stands still if the program's own clock panics.
#[derive(Default)]
pub(super) struct LastTime(AtomicU64);

impl LastTime {
    pub(super) fn or_last(&self, ms: Option<u64>) -> u64 {
        match ms {
            Some(ms) => {
                self.0.store(ms, Ordering::Relaxed);
                ms
            }
            None => self.0.load(Ordering::Relaxed),
        }
    }

    pub(super) fn time_or_last(&self, time: Option<Duration>) -> Duration {
        let ms = time.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        let last = self.or_last(ms);
        time.unwrap_or(Duration::from_millis(last))
    }
}

/// The program's runtime, behind the guard.
pub(super) struct GuardedRuntime {
    pub(super) runtime: Arc<dyn Runtime>,
    pub(super) panic_guard: PanicGuard,
    pub(super) last: LastTime,
}

impl Runtime for GuardedRuntime {
    fn unix_ms(&self) -> u64 {
        self.last.or_last(self.panic_guard.catch_sync(|| self.runtime.unix_ms()))
    }

    fn machine(&self) -> Option<SkipReason> {
        self.panic_guard.catch_sync(|| self.runtime.machine()).flatten()
    }

    fn spawn(&self, work: BoxFuture<'static, ()>) -> Option<BoxFuture<'static, ()>> {
        // If the runtime panics, the work that it took is dropped, and whoever waits for the work is told that it was
        // stopped.
        self.panic_guard.catch_sync(|| self.runtime.spawn(work)).flatten()
    }
}
