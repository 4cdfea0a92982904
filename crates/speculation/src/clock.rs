use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use crate::Host;
use crate::lock::lock;

/// The clock of one run. It stands still while the user is asked, and at its end it waits for what must not be cut.
///
/// One task polls the work and the clock, the work first, so the work needs no waker to tell the clock something.
#[derive(Default)]
pub(crate) struct Clock {
    is_paused: AtomicBool,
    /// The time in which the user was asked.
    paused_time: Mutex<Duration>,
    is_up: AtomicBool,
}

impl Clock {
    /// Whether the time is over: work that has not begun yet must not begin any more.
    pub(crate) fn is_up(&self) -> bool {
        self.is_up.load(Ordering::SeqCst)
    }

    /// Does `work` until it is done or the time is over, and then as long as `holds` says so; `None` if it was cut.
    pub(crate) async fn limit<T>(
        &self,
        host: &dyn Host,
        time: Duration,
        holds: impl Fn() -> bool,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let mut work = pin!(work);
        let mut end = pin!(self.end(host, time));
        poll_fn(|context| {
            if let Poll::Ready(output) = work.as_mut().poll(context) {
                return Poll::Ready(Some(output));
            }
            if !self.is_up() && end.as_mut().poll(context).is_ready() {
                self.is_up.store(true, Ordering::SeqCst);
            }
            if self.is_up() && !holds() { Poll::Ready(None) } else { Poll::Pending }
        })
        .await
    }

    /// Resolves when the time is over; the time of questions to the user does not count.
    async fn end(&self, host: &dyn Host, time: Duration) {
        host.sleep(time).await;
        let mut added = Duration::ZERO;
        loop {
            poll_fn(|_| if self.is_paused.load(Ordering::SeqCst) { Poll::Pending } else { Poll::Ready(()) })
                .await;
            let paused = self.paused_time();
            if paused <= added {
                return;
            }
            host.sleep(paused.saturating_sub(added)).await;
            added = paused;
        }
    }

    /// The time in which the user was asked so far.
    pub(crate) fn paused_time(&self) -> Duration {
        *lock(&self.paused_time)
    }

    /// Waits for the user's answer.
    pub(crate) async fn pause_during<T>(&self, host: &dyn Host, answer: impl Future<Output = T>) -> T {
        let started = host.now();
        self.is_paused.store(true, Ordering::SeqCst);
        let answer = answer.await;
        let time = host.now().saturating_sub(started);
        *lock(&self.paused_time) += time;
        self.is_paused.store(false, Ordering::SeqCst);
        answer
    }
}
