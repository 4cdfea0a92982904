use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::select;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// Shares what is known about a provider's rate limit between its clients. Use one for the model of the conversation
/// and that of the background work if they count against the same limit.
///
/// The user's own requests never wait for it. While one of them backs off, and as long as the provider asked anybody
/// to stay away, no background request begins; a background request that is running when the user's is limited is
/// given up, because it uses what the user lacks.
#[derive(Debug, Default)]
pub struct RateLimiter {
    state: Mutex<LimiterState>,
    changed: Notify,
}

/// The longest time to stay away. A provider that asks for more has made a mistake.
const MAX_DELAY: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Debug, Default)]
struct LimiterState {
    /// How many of the user's requests were limited and have not succeeded yet.
    backing_off: usize,
    /// How often any of them was limited.
    foreground_limits: u64,
    /// Until then only the user's requests are sent.
    limited_until: Option<Instant>,
}

impl RateLimiter {
    /// The provider asked to stay away for this long.
    pub(super) fn set_retry_after(&self, delay: Duration) {
        let until = Instant::now() + delay.min(MAX_DELAY);
        let mut state = self.lock();
        state.limited_until = state.limited_until.max(Some(until));
    }

    /// One of the user's requests was limited, whether or not it will be repeated.
    pub(super) fn note_foreground_limit(&self) {
        self.lock().foreground_limits += 1;
        self.changed.notify_waiters();
    }

    /// Resolves when a request of the user is limited that was not limited at the time of this [`Admission`].
    pub(super) async fn foreground_limited_since(self: Arc<Self>, admission: Admission) {
        loop {
            let changed = self.changed.notified();
            if self.lock().foreground_limits != admission.foreground_limits {
                return;
            }
            changed.await;
        }
    }

    /// One of the user's requests backs off until this is dropped.
    pub(super) fn begin_backoff(self: &Arc<Self>) -> BackoffGuard {
        self.lock().backing_off += 1;
        BackoffGuard { limiter: Arc::clone(self) }
    }

    /// Waits until background work may send a request, at most this long; `None` if it may not.
    pub(super) async fn admit_background(&self, patience: Duration) -> Option<Admission> {
        let deadline = Instant::now() + patience;
        loop {
            let changed = self.changed.notified();
            let until = {
                let mut state = self.lock();
                if state.limited_until.is_some_and(|until| until <= Instant::now()) {
                    state.limited_until = None;
                }
                match (state.backing_off, state.limited_until) {
                    (0, None) => return Some(Admission { foreground_limits: state.foreground_limits }),
                    // Waiting is useless if the time comes after the limit.
                    (0, Some(until)) if deadline < until => return None,
                    (0, Some(until)) => until,
                    _ => deadline,
                }
            };
            select(pin!(changed), pin!(sleep_until(until.min(deadline)))).await;
            if deadline <= Instant::now() {
                let state = self.lock();
                let is_free =
                    state.backing_off == 0 && state.limited_until.is_none_or(|until| until <= Instant::now());
                return is_free.then_some(Admission { foreground_limits: state.foreground_limits });
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, LimiterState> {
        // Every change under the lock is a single step, so a panic in another thread leaves nothing half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The moment at which background work was let through.
#[derive(Debug, Clone, Copy)]
pub(super) struct Admission {
    foreground_limits: u64,
}

/// A request of the user that backs off.
#[derive(Debug)]
pub(super) struct BackoffGuard {
    limiter: Arc<RateLimiter>,
}

impl Drop for BackoffGuard {
    fn drop(&mut self) {
        self.limiter.lock().backing_off -= 1;
        self.limiter.changed.notify_waiters();
    }
}
