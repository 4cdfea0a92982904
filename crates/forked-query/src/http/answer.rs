use std::collections::VecDeque;
use std::time::Duration;

use eventsource_stream::{EventStreamError, Eventsource};
use futures::stream::BoxStream;
use futures::{StreamExt, stream};
use reqwest::Response;

use super::ApiKey;
use crate::openai::Decoder;
use crate::{EventStream, ModelError, ModelEvent, Provider};

/// An answer on its way.
pub(super) struct Answer {
    pub(super) decoder: Decoder,
    pub(super) provider: Provider,
    pub(super) idle: Duration,
    pub(super) key: Option<ApiKey>,
}

type Decoded = Result<Vec<ModelEvent>, ModelError>;

impl Answer {
    /// The events of a stream of server-sent events.
    pub(super) fn events(self, response: Response) -> EventStream {
        let source = response.bytes_stream().eventsource();
        let reading = Reading { answer: self, source: source.boxed(), ready: VecDeque::new() };
        stream::unfold(reading, |mut reading| async move { Some((reading.next().await?, reading)) }).boxed()
    }

    /// The events of an answer that came as one JSON document, from a server that does not stream.
    pub(super) fn whole(mut self, response: Response) -> EventStream {
        let decoded = async move {
            let body = response.text().await.map_err(|error| self.broken(&error));
            let decoded = body.and_then(|body| {
                let mut events = self.decoder.data(&body)?;
                events.extend(self.decoder.end()?);
                Ok(events)
            });
            stream::iter(flatten(self.hide_key(decoded)))
        };
        stream::once(decoded).flatten().boxed()
    }

    fn take(
        &mut self,
        next: Option<Result<eventsource_stream::Event, EventStreamError<reqwest::Error>>>,
    ) -> Decoded {
        let decoded = match next {
            Some(Ok(event)) => self.decoder.data(&event.data),
            None => self.decoder.end(),
            // All that matters has come: what breaks now is only the goodbye.
            Some(Err(_)) if self.decoder.is_complete() => self.decoder.end(),
            Some(Err(EventStreamError::Transport(error))) => Err(self.broken(&error)),
            Some(Err(EventStreamError::Utf8(_))) => Err(self.provider.malformed("the stream is not UTF-8")),
            Some(Err(EventStreamError::Parser(_))) => {
                Err(self.provider.malformed("the stream does not consist of server-sent events"))
            }
        };
        self.hide_key(decoded)
    }

    fn broken(&self, error: &reqwest::Error) -> ModelError {
        let provider = self.provider.name.clone();
        if error.is_timeout() {
            return ModelError::Timeout { provider, after: self.idle };
        }
        ModelError::Cut { provider }
    }

    fn hide_key(&self, decoded: Decoded) -> Decoded {
        decoded.map_err(|error| match (error, &self.key) {
            (ModelError::Malformed { provider, message }, Some(key)) => {
                ModelError::Malformed { provider, message: key.hide_in(&message) }
            }
            (ModelError::Server { provider, status, message }, Some(key)) => {
                ModelError::Server { provider, status, message: key.hide_in(&message) }
            }
            (ModelError::Rejected { provider, status, message }, Some(key)) => {
                ModelError::Rejected { provider, status, message: key.hide_in(&message) }
            }
            (error, _) => error,
        })
    }
}

/// Dropping it closes the connection.
struct Reading {
    answer: Answer,
    source: BoxStream<'static, Result<eventsource_stream::Event, EventStreamError<reqwest::Error>>>,
    ready: VecDeque<Result<ModelEvent, ModelError>>,
}

impl Reading {
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                if event.is_err() {
                    self.source = stream::empty().boxed();
                }
                return Some(event);
            }
            if self.answer.decoder.is_closed() {
                return None;
            }
            let next = self.source.next().await;
            let ended = !matches!(next, Some(Ok(_)));
            let decoded = self.answer.take(next);
            let failed = decoded.is_err();
            self.ready.extend(flatten(decoded));
            if ended || failed {
                self.answer.decoder.close();
            }
        }
    }
}

fn flatten(decoded: Decoded) -> Vec<Result<ModelEvent, ModelError>> {
    match decoded {
        Ok(events) => events.into_iter().map(Ok).collect(),
        Err(error) => vec![Err(error)],
    }
}
