use std::collections::VecDeque;
use std::mem;
use std::time::Duration;

use futures::{StreamExt, stream};
use reqwest::Response;
use tokio::time::Instant;

use super::Timeouts;
use crate::Decoder;
use headstart_forked_query::{EventStream, ModelError, ModelEvent};

/// How long to wait for the end of the stream once the answer is complete, because the end says what it cost. The
/// connection is closed then, so that a model which goes on writing is not paid for it.
const WAIT_AFTER_ANSWER: Duration = Duration::from_millis(300);

/// An answer that is being received. Dropping it closes the connection.
pub(super) struct ResponseStream {
    /// The provider, for messages.
    pub(super) provider: String,
    pub(super) decoder: Decoder,
    pub(super) response: Response,
    /// The limit of which `patience` is the rest, for messages.
    pub(super) silence: Duration,
    /// How long to wait for the next bytes.
    pub(super) patience: Duration,
    /// How long to wait for bytes after those.
    pub(super) timeouts: Timeouts,
    /// When the answer last grew, and its count of steps then.
    pub(super) last_growth: (Instant, u64),
    /// When the answer to a question became complete.
    pub(super) answered_at: Option<Instant>,
    pub(super) ready: VecDeque<Result<ModelEvent, ModelError>>,
}

impl ResponseStream {
    pub(super) fn events(self) -> EventStream {
        stream::unfold(self, |mut answer| async move { Some((answer.next().await?, answer)) }).boxed()
    }

    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if self.decoder.is_closed() {
                return None;
            }
            let patience = mem::replace(&mut self.patience, self.timeouts.idle);
            let after = mem::replace(&mut self.silence, self.timeouts.idle);
            if self.decoder.steps() != self.last_growth.1 {
                self.last_growth = (Instant::now(), self.decoder.steps());
            }
            if self.decoder.is_answered() {
                let since = *self.answered_at.get_or_insert_with(Instant::now);
                let left = WAIT_AFTER_ANSWER.saturating_sub(since.elapsed());
                match tokio::time::timeout(left, self.response.chunk()).await {
                    Ok(Ok(Some(bytes))) if !left.is_zero() => self.ready.extend(self.decoder.bytes(&bytes)),
                    _ => self.ready.extend(self.decoder.end()),
                }
                continue;
            }
            let left = self.timeouts.stalled.saturating_sub(self.last_growth.0.elapsed());
            // Keep-alives go on for ever even if the model behind them has died.
            let (patience, after) =
                if left < patience { (left, self.timeouts.stalled) } else { (patience, after) };
            if left.is_zero() {
                // Keep-alives that come without a pause would never let the timeout below expire.
                self.give_up(after);
                continue;
            }
            let chunk = tokio::time::timeout(patience, self.response.chunk()).await;
            match chunk {
                Ok(Ok(Some(bytes))) => self.ready.extend(self.decoder.bytes(&bytes)),
                Ok(Ok(None)) => self.ready.extend(self.decoder.end()),
                Ok(Err(broken)) => self.ready.extend(self.decoder.end_broken(broken.without_url())),
                Err(_) => self.give_up(after),
            }
        }
    }

    /// Ends the answer, because nothing came for this long.
    fn give_up(&mut self, after: Duration) {
        if self.decoder.is_complete() {
            // Everything that matters has been received.
            return self.ready.extend(self.decoder.end());
        }
        let error = ModelError::Timeout { provider: self.provider.clone(), after };
        self.ready.extend(self.decoder.fail(error));
    }
}
