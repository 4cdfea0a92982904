use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use futures::stream;
use headstart_forked_query::{EventStream, Model, ModelError, ModelEvent, ModelRequest};
use headstart_providers::Priority;

use crate::exchange::{event_from_json, request_to_json};
use crate::failure::Failure;
use crate::port::{Answers, Callbacks};

/// The developer's model.
pub(crate) struct PortModel {
    pub(crate) callbacks: Arc<Callbacks>,
    /// Whether a turn or background work waits for its answers.
    pub(crate) priority: Priority,
}

#[async_trait]
impl Model for PortModel {
    async fn stream(&self, request: &ModelRequest) -> Result<EventStream, ModelError> {
        let answers = self.callbacks.ask(&request_to_json(request), self.priority);
        let events = stream::unfold(Some(answers), async |answers| {
            let mut answers = answers?;
            let event = next(&mut answers).await?;
            // Nothing follows an error.
            let rest = event.is_ok().then_some(answers);
            Some((event, rest))
        });
        Ok(events.boxed())
    }
}

async fn next(answers: &mut Answers) -> Option<Result<ModelEvent, ModelError>> {
    let answer = answers.next().await;
    let to_model_error = |Failure { code, message, retry_after_ms, .. }| ModelError::Other {
        code,
        message,
        retry_after: retry_after_ms.map(Duration::from_millis),
        source: None,
    };
    match answer {
        Ok(text) => Some(event_from_json(&text?).map_err(|failure| {
            to_model_error(Failure {
                message: format!("the model gave an event that is none: {}", failure.message),
                ..failure
            })
        })),
        Err(failure) => Some(Err(to_model_error(failure))),
    }
}

#[cfg(test)]
mod tests {
    use headstart_providers::RetryPolicy;

    use super::*;

    #[test]
    fn requests_over_fetch_are_repeated_as_those_of_the_crate() {
        let written = include_str!("../npm/src/retry.ts").replace('_', "");
        let policies = [("foreground", RetryPolicy::FOREGROUND), ("background", RetryPolicy::BACKGROUND)];
        for (name, policy) in policies {
            let RetryPolicy { retries, repeats_limited: repeats, .. } = policy;
            let times = [policy.initial_delay, policy.max_delay, policy.max_total_wait];
            let [first, longest, patience] = times.map(|time: Duration| time.as_millis());
            // Nobody sits at a terminal where this counts.
            assert_eq!(policy.max_asked_wait, policy.max_total_wait);
            let line = format!(
                "{name}: {{ retries: {retries}, firstMs: {first}, longestMs: {longest}, patienceMs: {patience}, repeatsLimited: {repeats} }}"
            );
            assert!(written.contains(&line), "{line}");
        }
    }
}
