use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::{Either, select};
use futures::{FutureExt, StreamExt, stream};
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::info;

use super::limiter::{Admission, BackoffGuard, RateLimiter};
use crate::{Priority, RetryPolicy};
use headstart_forked_query::{EventStream, Model, ModelError, ModelEvent, ModelRequest};

/// Repeats a request that failed temporarily: because of a rate limit, or an overloaded server. It needs a tokio
/// runtime.
///
/// It never does so once a piece of the answer was passed on; until then the beginning of an answer is held back.
/// Dropping the future or the stream ends everything, including a wait.
///
/// A background request that is running when the provider limits the user's own turn is given up at once. If no piece
/// of its answer was passed on, it is repeated after the turn; otherwise it ends with [`ModelError::Yielded`].
pub struct RetryingModel {
    model: Arc<dyn Model>,
    policy: RetryPolicy,
    priority: Priority,
    limiter: Arc<RateLimiter>,
    waits: Option<PendingRetrySender>,
}

/// Where a [`RetryingModel`] reports that it waits, for a front end; `None` while it does not.
pub type PendingRetrySender = Arc<watch::Sender<Option<PendingRetry>>>;

/// A request that failed and will be repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingRetry {
    /// When.
    pub until: Instant,
    /// The reason.
    pub cause: WaitCause,
}

/// Why a request has to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitCause {
    /// The provider limits the rate of requests.
    RateLimit,
    /// The provider's server failed.
    ServerError,
}

/// How long the first characters of a call are held back.
const FRAGMENT_HOLD_TIME: Duration = Duration::from_secs(1);

impl RetryingModel {
    /// A model with retries for this priority.
    pub fn new(model: Arc<dyn Model>, priority: Priority, limiter: Arc<RateLimiter>) -> Self {
        Self { model, policy: RetryPolicy::of(priority), priority, limiter, waits: None }
    }

    /// Uses another policy.
    #[must_use]
    pub fn with_policy(self, policy: RetryPolicy) -> Self {
        Self { policy, ..self }
    }

    /// Reports waits there.
    #[must_use]
    pub fn with_wait_reports(self, waits: PendingRetrySender) -> Self {
        Self { waits: Some(waits), ..self }
    }

    /// One attempt: a stream that has begun, or the error with what was reported of its cost.
    async fn attempt(&self, request: &ModelRequest) -> Result<EventStream, FailedAttempt> {
        let mut events =
            self.model.stream(request).await.map_err(|error| FailedAttempt { error, costs: Vec::new() })?;
        let mut held = Vec::new();
        let mut first_letters = None;
        loop {
            match events.next().await {
                Some(Ok(event @ ModelEvent::Usage(_))) => held.push(event),
                // The characters of a call that is complete soon are not needed; and while they are held back, the
                // request can be repeated.
                Some(Ok(event @ ModelEvent::CallFragment { .. }))
                    if first_letters.get_or_insert_with(Instant::now).elapsed() < FRAGMENT_HOLD_TIME =>
                {
                    held.push(event);
                }
                Some(Err(error)) => {
                    held.retain(|event| matches!(event, ModelEvent::Usage(_)));
                    return Err(FailedAttempt { error, costs: held });
                }
                Some(Ok(event)) => {
                    held.push(event);
                    break;
                }
                None => break,
            }
        }
        Ok(stream::iter(held.into_iter().map(Ok)).chain(events).boxed())
    }

    /// One attempt that the user's own turn may interrupt; `None` if it did.
    async fn interruptible_attempt(
        &self,
        request: &ModelRequest,
        admission: Option<Admission>,
    ) -> Option<Result<EventStream, FailedAttempt>> {
        let Some(admission) = admission else { return Some(self.attempt(request).await) };
        let interrupt = Arc::clone(&self.limiter).foreground_limited_since(admission);
        match select(pin!(self.attempt(request)), pin!(interrupt)).await {
            Either::Left((Ok(events), _)) => {
                Some(Ok(interruptible_stream(events, Arc::clone(&self.limiter), admission)))
            }
            Either::Left((Err(failed), _)) => Some(Err(failed)),
            Either::Right(_) => None,
        }
    }

    /// Waits, for background work, until the user's requests are through.
    async fn wait_for_admission(&self, waited: Duration) -> Result<Option<Admission>, ModelError> {
        match self.priority {
            Priority::Foreground => Ok(None),
            Priority::Background => {
                let patience = self.policy.max_total_wait.saturating_sub(waited);
                self.limiter.admit_background(patience).await.map(Some).ok_or(ModelError::Yielded)
            }
        }
    }

    /// Tells the limiter what a failure means for other requests.
    fn report_to_limiter(&self, error: &ModelError) {
        if !error.is_limit() {
            return;
        }
        // This also holds if the wait is too long for this request: nobody else may send one before.
        if let ModelError::RateLimited { retry_after: Some(retry_after), .. }
        | ModelError::Server { retry_after: Some(retry_after), .. } = error
        {
            self.limiter.set_retry_after(*retry_after);
        }
        if self.priority == Priority::Foreground {
            self.limiter.note_foreground_limit();
        }
    }

    fn back_off(&self, error: &ModelError, delay: Duration) -> Option<BackoffGuard> {
        if !error.is_limit() {
            return None;
        }
        self.limiter.set_retry_after(delay);
        (self.priority == Priority::Foreground).then(|| self.limiter.begin_backoff())
    }

    async fn wait(&self, delay: Duration, error: &ModelError) {
        let is_rate = matches!(error, ModelError::RateLimited { .. });
        let cause = if is_rate { WaitCause::RateLimit } else { WaitCause::ServerError };
        let _report = self.waits.as_ref().map(|waits| {
            waits.send_replace(Some(PendingRetry { until: Instant::now() + delay, cause }));
            WaitReportGuard(Arc::clone(waits))
        });
        info!(error = error.code(), seconds = delay.as_secs_f64(), "a request waits before it is made again");
        tokio::time::sleep(delay).await;
    }
}

/// Removes the report of a wait, however the wait ends.
struct WaitReportGuard(PendingRetrySender);

impl Drop for WaitReportGuard {
    fn drop(&mut self) {
        self.0.send_replace(None);
    }
}

/// The answer of background work, which ends when the provider limits the user's own turn.
fn interruptible_stream(events: EventStream, limiter: Arc<RateLimiter>, admission: Admission) -> EventStream {
    let interrupt = limiter.foreground_limited_since(admission).boxed();
    let step = |state: Option<(EventStream, _)>| async move {
        let (mut events, interrupt) = state?;
        // Events that are ready are passed on first.
        match select(events.next(), interrupt).await {
            Either::Left((event, interrupt)) => Some((event?, Some((events, interrupt)))),
            Either::Right(_) => Some((Err(ModelError::Yielded), None)),
        }
    };
    stream::unfold(Some((events, interrupt)), step).boxed()
}

struct FailedAttempt {
    error: ModelError,
    costs: Vec<ModelEvent>,
}

impl FailedAttempt {
    /// A stream that reports the cost and then fails.
    fn stream(self) -> Result<EventStream, ModelError> {
        if self.costs.is_empty() {
            return Err(self.error);
        }
        let costs = self.costs.into_iter().map(Ok);
        Ok(stream::iter(costs.chain([Err(self.error)])).boxed())
    }
}

#[async_trait]
impl Model for RetryingModel {
    async fn stream(&self, request: &ModelRequest) -> Result<EventStream, ModelError> {
        let mut failures = 0;
        let mut waited = Duration::ZERO;
        let mut last: Option<FailedAttempt> = None;
        // Held from the first limit until the request succeeds, so that background work waits.
        let mut backoff = None;
        loop {
            let before = Instant::now();
            let admission = self.wait_for_admission(waited).await;
            waited += before.elapsed();
            let admission = match (admission, last.take()) {
                (Ok(admission), _) => admission,
                (Err(_), Some(failed)) => return failed.stream(),
                (Err(yielded), None) => return Err(yielded),
            };
            let failed = match self.interruptible_attempt(request, admission).await {
                Some(Ok(events)) => return Ok(events),
                Some(Err(failed)) => failed,
                // It waits again. That it was interrupted does not count as a failure.
                None => continue,
            };
            failures += 1;
            self.report_to_limiter(&failed.error);
            let Some(delay) = self.policy.delay(failures, waited, &failed.error, random_fraction()) else {
                return failed.stream();
            };
            backoff = self.back_off(&failed.error, delay).or(backoff);
            self.wait(delay, &failed.error).await;
            last = Some(failed);
            waited += delay;
        }
    }
}

/// A random number between 0 and 1; without a source of randomness 1, which gives the longest wait.
fn random_fraction() -> f64 {
    getrandom::u32().map_or(1.0, |number| f64::from(number) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests;
