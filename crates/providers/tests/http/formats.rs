//! A provider and a stream for each wire format, and what a client and a decoder make of their bytes.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use headstart_forked_query::{Model, ModelEvent, ModelRequest};
use headstart_providers::{
    ApiKey, Decoder, HttpModel, Priority, Provider, RateLimiter, RetryPolicy, RetryingModel, Timeouts,
};

use crate::server::{Server, Step, streaming_as};
use crate::{Events, ask, request};

pub(crate) const KEY: &str = "sk-test-secret";

/// A time limit that is far longer than anything here takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Format {
    pub(crate) provider: Provider,
    /// The media type of an answer.
    pub(crate) kind: &'static str,
    /// A whole answer, one piece for each event.
    pub(crate) pieces: Vec<String>,
}

/// Every format, and every dialect of chat completions.
pub(crate) fn formats() -> Vec<Format> {
    let chat = include_str!("../streams/chat.txt");
    let sse = "text/event-stream";
    let format = |provider: Provider, kind, stream: &str, end: &str| Format {
        provider,
        kind,
        pieces: stream.split_inclusive(end).map(str::to_owned).collect(),
    };
    vec![
        format(Provider::anthropic(), sse, include_str!("../streams/anthropic.txt"), "\n\n"),
        format(Provider::gemini(), sse, include_str!("../streams/gemini.txt"), "\r\n\r\n"),
        format(Provider::responses(), sse, include_str!("../streams/responses.txt"), "\n\n"),
        format(Provider::ollama(), "application/x-ndjson", include_str!("../streams/ollama.txt"), "\n"),
        format(Provider::compatible("chat", "http://localhost/v1"), sse, chat, "\n\n"),
        format(Provider::dashscope(), sse, chat, "\n\n"),
    ]
}

impl Format {
    pub(crate) fn name(&self) -> &str {
        &self.provider.name
    }

    pub(crate) fn stream(&self) -> String {
        self.pieces.concat()
    }

    /// The events that the decoder alone makes of these bytes.
    pub(crate) fn decoded(&self, bytes: &[u8]) -> Events {
        self.decoded_for(&request(), bytes)
    }

    fn decoded_for(&self, request: &ModelRequest, bytes: &[u8]) -> Events {
        let mut decoder = Decoder::new(&self.provider, request);
        let mut events = decoder.bytes(bytes);
        events.extend(decoder.end());
        events
    }

    /// The events of the whole answer.
    pub(crate) fn whole_answer(&self) -> Events {
        self.decoded(self.stream().as_bytes())
    }

    /// The events of the whole answer to this request.
    pub(crate) fn whole_answer_to(&self, request: &ModelRequest) -> Events {
        self.decoded_for(request, self.stream().as_bytes())
    }

    /// One event, framed as the format has it.
    pub(crate) fn frame(&self, data: &str) -> Vec<u8> {
        if self.kind.contains("ndjson") { format!("{data}\n") } else { format!("data: {data}\n\n") }
            .into_bytes()
    }

    pub(crate) fn client(&self, base_url: &str, timeouts: Timeouts) -> HttpModel {
        HttpModel::new(self.provider.clone().with_base_url(base_url), Some(ApiKey::new(KEY)), timeouts)
            .unwrap()
    }

    /// The head of an answer, and each piece in a chunk of its own. The body has no end.
    pub(crate) fn chunks<'a>(&self, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Step> {
        let pieces = pieces.into_iter().map(|piece| Step::Chunk(piece.to_vec()));
        [streaming_as(self.kind)].into_iter().chain(pieces).collect()
    }

    /// A whole answer that consists of these pieces.
    pub(crate) fn whole(&self, pieces: &[String]) -> Vec<Step> {
        let mut steps = self.chunks(pieces.iter().map(String::as_bytes));
        steps.push(Step::LastChunk);
        steps
    }

    /// The events that a client makes of a script. Checks that nothing hangs, that no error shows the key or leaves out
    /// who failed, and that there is one end.
    pub(crate) async fn against(&self, steps: Vec<Step>) -> Events {
        self.against_within(steps, Timeouts::default()).await
    }

    /// Does the same as [`against`](Self::against), with these limits.
    pub(crate) async fn against_within(&self, steps: Vec<Step>, timeouts: Timeouts) -> Events {
        let server = Server::start(steps).await;
        let client = self.client(&server.base_url, timeouts);
        let events = tokio::time::timeout(PATIENCE, ask(&client)).await;
        let events = events.unwrap_or_else(|_| panic!("{} hangs", self.name()));
        assert!(is_legal(&events), "{}: {events:?}", self.name());
        for error in events.iter().filter_map(|event| event.as_ref().err()) {
            let said = error.to_string();
            let place = format!("{} at {} ", self.name(), server.base_url);
            assert!(said.starts_with(&place) && !said.contains(KEY), "{said}");
        }
        events
    }

    /// A model that retries after waits so short that tests can wait for them.
    pub(crate) fn retrying(&self, server: &Server) -> RetryingModel {
        self.retrying_within(server, short())
    }

    /// The same model with these limits.
    pub(crate) fn retrying_within(&self, server: &Server, timeouts: Timeouts) -> RetryingModel {
        let client = self.client(&server.base_url, timeouts);
        let policy = RetryPolicy { initial_delay: Duration::from_millis(5), ..RetryPolicy::FOREGROUND };
        RetryingModel::new(Arc::new(client), Priority::Foreground, Arc::<RateLimiter>::default())
            .with_policy(policy)
    }
}

/// Limits so short that a test can wait for them.
pub(crate) fn short() -> Timeouts {
    let silence = Duration::from_millis(1_500);
    Timeouts {
        connect: Duration::from_secs(5),
        first_byte: silence,
        idle: silence,
        stalled: Duration::from_secs(3),
    }
}

pub(crate) async fn answer(model: &dyn Model) -> Events {
    answer_to(model, &request()).await
}

pub(crate) async fn answer_to(model: &dyn Model, request: &ModelRequest) -> Events {
    let asked = async {
        match model.stream(request).await {
            Ok(stream) => stream.collect().await,
            Err(error) => vec![Err(error)],
        }
    };
    tokio::time::timeout(PATIENCE, asked).await.expect("it hangs")
}

/// Whether there is exactly one end, and nothing after it.
fn is_legal(events: &Events) -> bool {
    let is_end = |event: &Result<ModelEvent, _>| matches!(event, Err(_) | Ok(ModelEvent::Finished(_)));
    events.last().is_some_and(is_end) && events.iter().filter(|event| is_end(event)).count() == 1
}

/// The message of the last error, without who failed and at which address.
pub(crate) fn error(events: &Events) -> String {
    let error = events.last().unwrap().as_ref().expect_err("there is an error").to_string();
    error.split_once("/v1 ").unwrap().1.to_owned()
}

pub(crate) fn without_errors(events: &Events) -> Vec<&ModelEvent> {
    events.iter().filter_map(|event| event.as_ref().ok()).collect()
}
