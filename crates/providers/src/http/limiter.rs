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
pub struct Limiter {
    state: Mutex<State>,
    changed: Notify,
}

/// The longest time to stay away. A provider that asks for more has made a mistake.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Debug, Default)]
struct State {
    /// How many of the user's requests were limited and have not succeeded yet.
    foreground: usize,
    /// How often any of them was limited.
    limits: u64,
    /// Until then only the user's requests are sent.
    limited_until: Option<Instant>,
}

impl Limiter {
    /// The provider asked to stay away for this long.
    pub(super) fn limited(&self, delay: Duration) {
        let until = Instant::now() + delay.min(LONGEST);
        let mut state = self.lock();
        state.limited_until = state.limited_until.max(Some(until));
    }

    /// One of the user's requests was limited, whether or not it will be repeated.
    pub(super) fn foreground_limited(&self) {
        self.lock().limits += 1;
        self.changed.notify_waiters();
    }

    /// Resolves when a request of the user is limited that was not limited at the time of this [`Turn`].
    pub(super) async fn limited_since(self: Arc<Self>, turn: Turn) {
        loop {
            let changed = self.changed.notified();
            if self.lock().limits != turn.limits {
                return;
            }
            changed.await;
        }
    }

    /// One of the user's requests backs off until this is dropped.
    pub(super) fn foreground(self: &Arc<Self>) -> BackingOff {
        self.lock().foreground += 1;
        BackingOff { limiter: Arc::clone(self) }
    }

    /// Waits until background work may send a request, at most this long; `None` if it may not.
    pub(super) async fn background(&self, patience: Duration) -> Option<Turn> {
        let give_up = Instant::now() + patience;
        loop {
            let changed = self.changed.notified();
            let until = {
                let mut state = self.lock();
                if state.limited_until.is_some_and(|until| until <= Instant::now()) {
                    state.limited_until = None;
                }
                match (state.foreground, state.limited_until) {
                    (0, None) => return Some(Turn { limits: state.limits }),
                    // Waiting is useless if the time comes after the limit.
                    (0, Some(until)) if give_up < until => return None,
                    (0, Some(until)) => until,
                    _ => give_up,
                }
            };
            select(pin!(changed), pin!(sleep_until(until.min(give_up)))).await;
            if give_up <= Instant::now() {
                let state = self.lock();
                let is_free =
                    state.foreground == 0 && state.limited_until.is_none_or(|until| until <= Instant::now());
                return is_free.then_some(Turn { limits: state.limits });
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change under the lock is a single step, so a panic in another thread leaves nothing half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The moment at which background work was let through.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    limits: u64,
}

/// A request of the user that backs off.
#[derive(Debug)]
pub(super) struct BackingOff {
    limiter: Arc<Limiter>,
}

impl Drop for BackingOff {
    fn drop(&mut self) {
        self.limiter.lock().foreground -= 1;
        self.limiter.changed.notify_waiters();
    }
}
