//! How long it takes, after an answer was dropped, until the server sees the connection closed: for each wire format,
//! while the answer is waited for and in the middle of it.
#![expect(clippy::unwrap_used, reason = "what the loopback cannot do stops the bench")]
#![expect(clippy::print_stdout, reason = "the table is what it is for")]

#[path = "../tests/http/server.rs"]
#[allow(clippy::allow_attributes, dead_code, reason = "the bench needs a part of it")]
mod server;

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use headstart_forked_query::{Message, Model, ModelRequest, Role};
use headstart_providers::{ApiKey, HttpModel, Priority, Provider, RetryingModel, Timeouts};
use server::{Server, Step, streaming_as};
use tokio::time::Instant;

const RUNS: usize = 200;

/// The longest time that a connection may stay open.
const LIMIT: Duration = Duration::from_millis(50);

/// A provider of each format, with the first words of an answer.
fn formats() -> [(Provider, &'static str); 6] {
    let chat = "data: {\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\n";
    [
        (
            Provider::anthropic(),
            "data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"Hel\"}}\n\n",
        ),
        (Provider::gemini(), "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Hel\"}]}}]}\n\n"),
        (Provider::responses(), "data: {\"type\":\"response.output_text.delta\",\"delta\":\"Hel\"}\n\n"),
        (Provider::ollama(), "{\"message\":{\"content\":\"Hel\"},\"done\":false}\n"),
        (Provider::compatible("chat", "http://localhost/v1"), chat),
        (Provider::dashscope(), chat),
    ]
}

fn request() -> ModelRequest {
    ModelRequest {
        model: "test-model".into(),
        system: None,
        tools: Vec::new(),
        messages: vec![Message::text(Role::User, "hello")],
        thinking: false,
        response_schema: None,
        max_output_tokens: None,
    }
}

/// The time from the drop to the end of the connection, as the server sees it.
async fn time_to_close(model: &RetryingModel, server: &mut Server, is_begun: bool) -> Duration {
    let request = request();
    let dropped = if is_begun {
        let mut events = model.stream(&request).await.unwrap();
        events.next().await.unwrap().unwrap();
        let dropped = Instant::now();
        drop(events);
        dropped
    } else {
        let mut waiting = Box::pin(model.stream(&request));
        while server.requests().is_empty() {
            let moment = tokio::time::timeout(Duration::from_millis(1), &mut waiting).await;
            assert!(moment.is_err(), "the server does not answer");
        }
        let dropped = Instant::now();
        drop(waiting);
        dropped
    };
    server.client_left.recv().await.unwrap();
    dropped.elapsed()
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    println!("{RUNS} runs each; from the drop until the server sees the end, in microseconds\n");
    println!("{:<12}{:<18}{:>8}{:>8}{:>8}", "format", "dropped", "median", "p99", "slowest");
    let mut is_slow = false;
    for (provider, hello) in formats() {
        for (when, is_begun) in [("before the head", false), ("in the middle", true)] {
            let mut steps = vec![Step::UntilClientLeaves];
            if is_begun {
                steps.splice(0..0, [streaming_as(provider.wire.accept()), Step::Chunk(hello.into())]);
            }
            let mut times = Vec::new();
            for _ in 0..RUNS {
                let mut server = Server::start(steps.clone()).await;
                let at = provider.clone().with_base_url(&server.base_url);
                let client = HttpModel::new(at, Some(ApiKey::new("sk-test")), Timeouts::default()).unwrap();
                let model = RetryingModel::new(Arc::new(client), Priority::Background, Arc::default());
                times.push(time_to_close(&model, &mut server, is_begun).await);
            }
            times.sort_unstable();
            let [median, p99, slowest] = [RUNS / 2, RUNS * 99 / 100, RUNS - 1].map(|place| times[place]);
            is_slow |= LIMIT < p99;
            let [median, p99, slowest] = [median, p99, slowest].map(|time| time.as_micros());
            println!("{:<12}{when:<18}{median:>8}{p99:>8}{slowest:>8}", provider.name);
        }
    }
    assert!(!is_slow, "a connection stays open for more than {LIMIT:?}");
}
