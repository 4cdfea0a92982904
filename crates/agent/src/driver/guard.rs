use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::FutureExt;
use futures::channel::mpsc;
use futures::future::BoxFuture;
use headstart_budget::policy::SkipReason;

use super::task::Broken;
use crate::ports::Runtime;

/// Catches panics of the program around the conversation where no task catches them, so that the conversation is not
/// lost.
#[derive(Clone)]
pub(super) struct Guard {
    broken: mpsc::UnboundedSender<String>,
}

impl Guard {
    pub(super) fn new(broken: mpsc::UnboundedSender<String>) -> Self {
        Self { broken }
    }

    /// The result of a call, or `None` if it panics.
    pub(super) fn call<T>(&self, call: impl FnOnce() -> T) -> Option<T> {
        catch_unwind(AssertUnwindSafe(call)).map_err(|panic| self.tell(&Broken::of(&*panic))).ok()
    }

    /// The result of a future, or an error if it panics.
    pub(super) async fn wait<T>(&self, wait: impl Future<Output = T>) -> Result<T, Broken> {
        let waited = AssertUnwindSafe(wait).catch_unwind().await;
        waited.map_err(|panic| {
            let broken = Broken::of(&*panic);
            self.tell(&broken);
            broken
        })
    }

    fn tell(&self, broken: &Broken) {
        // After the end of the conversation nobody receives this.
        let _ = self.broken.unbounded_send(broken.to_string());
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
    pub(super) guard: Guard,
    pub(super) last: LastTime,
}

impl Runtime for GuardedRuntime {
    fn unix_ms(&self) -> u64 {
        self.last.or_last(self.guard.call(|| self.runtime.unix_ms()))
    }

    fn machine(&self) -> Option<SkipReason> {
        self.guard.call(|| self.runtime.machine()).flatten()
    }

    fn spawn(&self, work: BoxFuture<'static, ()>) -> Option<BoxFuture<'static, ()>> {
        // If the runtime panics, the work that it took is dropped, and whoever waits for the work is told that it was
        // stopped.
        self.guard.call(|| self.runtime.spawn(work)).flatten()
    }
}
