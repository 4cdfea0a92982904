use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::{StreamExt, stream};

use super::limiter::{BackingOff, Limiter};
use crate::{EventStream, Model, ModelError, ModelEvent, ModelRequest, Priority, RetryPolicy};

/// Makes a request again that failed for a moment: a rate limit, a server in trouble. It needs a tokio runtime.
///
/// Never once a piece of the answer was given: until then an answer that begins is held back. Dropping the future or
/// the stream ends everything, a wait too.
pub struct Patient {
    model: Arc<dyn Model>,
    policy: RetryPolicy,
    priority: Priority,
    limiter: Arc<Limiter>,
}

impl Patient {
    /// Retries for this model, as suits the priority.
    pub fn new(model: Arc<dyn Model>, priority: Priority, limiter: Arc<Limiter>) -> Self {
        Self { model, policy: RetryPolicy::of(priority), priority, limiter }
    }

    /// By another policy.
    #[must_use]
    pub fn with_policy(self, policy: RetryPolicy) -> Self {
        Self { policy, ..self }
    }

    /// One try: a stream that has begun, or the error and what was said of its cost.
    async fn attempt(&self, request: &ModelRequest) -> Result<EventStream, Failed> {
        let mut events =
            self.model.stream(request).await.map_err(|error| Failed { error, costs: Vec::new() })?;
        let mut held = Vec::new();
        loop {
            match events.next().await {
                Some(Ok(event @ ModelEvent::Usage(_))) => held.push(event),
                Some(Err(error)) => return Err(Failed { error, costs: held }),
                Some(Ok(event)) => {
                    held.push(event);
                    break;
                }
                None => break,
            }
        }
        Ok(stream::iter(held.into_iter().map(Ok)).chain(events).boxed())
    }

    /// Background work lets the user go first.
    async fn wait_for_turn(&self, waited: Duration) -> bool {
        match self.priority {
            Priority::Foreground => true,
            Priority::Background => {
                self.limiter.background(self.policy.patience.saturating_sub(waited)).await
            }
        }
    }

    fn back_off(&self, error: &ModelError, delay: Duration) -> Option<BackingOff> {
        if !matches!(error, ModelError::RateLimited { .. }) {
            return None;
        }
        self.limiter.limited(delay);
        (self.priority == Priority::Foreground).then(|| self.limiter.foreground())
    }
}

struct Failed {
    error: ModelError,
    costs: Vec<ModelEvent>,
}

impl Failed {
    /// An answer that says what it cost and then fails.
    fn stream(self) -> Result<EventStream, ModelError> {
        if self.costs.is_empty() {
            return Err(self.error);
        }
        let costs = self.costs.into_iter().map(Ok);
        Ok(stream::iter(costs.chain([Err(self.error)])).boxed())
    }
}

#[async_trait]
impl Model for Patient {
    async fn stream(&self, request: &ModelRequest) -> Result<EventStream, ModelError> {
        let mut failures = 0;
        let mut waited = Duration::ZERO;
        let mut last: Option<Failed> = None;
        // Held from the first limit on until the request is through, so that background work stays behind.
        let mut backing_off = None;
        loop {
            let before = tokio::time::Instant::now();
            let may_ask = self.wait_for_turn(waited).await;
            waited += before.elapsed();
            if !may_ask {
                return match last {
                    Some(failed) => failed.stream(),
                    None => Err(ModelError::Yielded),
                };
            }
            let failed = match self.attempt(request).await {
                Ok(events) => return Ok(events),
                Err(failed) => failed,
            };
            failures += 1;
            // Also where it is too long to be waited for here: nobody else may ask before.
            if let ModelError::RateLimited { retry_after: Some(retry_after), .. } = &failed.error {
                self.limiter.limited(*retry_after);
            }
            let Some(delay) = self.policy.delay(failures, waited, &failed.error, dice()) else {
                return failed.stream();
            };
            backing_off = self.back_off(&failed.error, delay).or(backing_off);
            last = Some(failed);
            tokio::time::sleep(delay).await;
            waited += delay;
        }
    }
}

/// Between 0 and 1; without a source of randomness, the longest wait.
fn dice() -> f64 {
    getrandom::u32().map_or(1.0, |number| f64::from(number) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests;
