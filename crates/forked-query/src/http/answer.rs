use std::collections::VecDeque;
use std::mem;
use std::time::Duration;

use futures::{StreamExt, stream};
use reqwest::Response;

use super::Timeouts;
use crate::{Decoder, EventStream, ModelError, ModelEvent};

/// An answer on its way. Dropping it closes the connection.
pub(super) struct Answer {
    /// Who answers, for messages.
    pub(super) provider: String,
    pub(super) decoder: Decoder,
    pub(super) response: Response,
    /// The limit that `patience` is what remains of, for messages.
    pub(super) silence: Duration,
    /// How long the next bytes may take.
    pub(super) patience: Duration,
    /// How long all bytes after them may.
    pub(super) timeouts: Timeouts,
    pub(super) ready: VecDeque<Result<ModelEvent, ModelError>>,
}

impl Answer {
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
            let chunk = tokio::time::timeout(patience, self.response.chunk()).await;
            match chunk {
                Ok(Ok(Some(bytes))) => self.ready.extend(self.decoder.bytes(&bytes)),
                Ok(Ok(None)) => self.ready.extend(self.decoder.end()),
                // All that matters has come: what breaks now is only the goodbye.
                _ if self.decoder.is_complete() => self.ready.extend(self.decoder.end()),
                Ok(Err(_)) => self.fail(ModelError::Cut { provider: self.provider.clone() }),
                Err(_) => self.fail(ModelError::Timeout { provider: self.provider.clone(), after }),
            }
        }
    }

    fn fail(&mut self, error: ModelError) {
        self.ready.push_back(Err(error));
        self.decoder.close();
    }
}
