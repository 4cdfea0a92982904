//! Tests of the HTTP client with a server on the loopback that streams, stalls, fails and closes the connection.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod causes;
mod faults;
mod formats;
mod ids;
mod matrix;
mod prefix_caching;
mod questions;
mod refused_parameters;
mod sent_requests;
mod server;
mod server_quirks;
mod thoughts;
mod wrong_servers;

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::Notify;

use crate::server::{Server, Step, event, response, streaming};
use futures::StreamExt;
use headstart_forked_query::{Message, Model, ModelError, ModelEvent, ModelRequest, Role};
use headstart_providers::{ApiKey, HttpModel, Provider, Timeouts};

const HELLO: &str = r#"{"choices":[{"delta":{"content":"Hel"}}]}"#;
const STOP: &str = r#"{"choices":[{"delta":{"content":"lo"},"finish_reason":"stop"}]}"#;

type Events = Vec<Result<ModelEvent, ModelError>>;

fn request() -> ModelRequest {
    ModelRequest {
        model: "test-model".into(),
        system: Some("Be brief.".into()),
        tools: Vec::new(),
        messages: vec![Message::text(Role::User, "hello")],
        thinking: false,
        response_schema: None,
        max_output_tokens: None,
    }
}

fn client(provider: Provider, idle: Duration) -> HttpModel {
    let timeouts =
        Timeouts { connect: Duration::from_secs(5), first_byte: idle, idle, ..Timeouts::default() };
    HttpModel::new(provider, Some(ApiKey::new("sk-test-secret")), timeouts).unwrap()
}

async fn ask(client: &HttpModel) -> Events {
    match client.stream(&request()).await {
        Ok(stream) => stream.collect().await,
        Err(error) => vec![Err(error)],
    }
}

/// Plays the steps to a client that gives up after half a second of silence.
async fn against(steps: Vec<Step>) -> Events {
    let server = Server::start(steps).await;
    let events =
        ask(&client(Provider::compatible("test", &server.base_url), Duration::from_millis(500))).await;
    // The address is compared with that of the server, because it differs from run to run.
    let said = events
        .iter()
        .filter_map(|event| event.as_ref().err())
        .all(|error| error.to_string().starts_with(&format!("test at {} ", server.base_url)));
    assert!(said, "an error names who and where: {events:?}");
    events
}

fn text(events: &Events) -> String {
    let texts = events.iter().filter_map(|event| match event {
        Ok(ModelEvent::Text(text)) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

fn error(events: &Events) -> String {
    match events.last() {
        Some(Err(error)) => {
            let error = error.to_string();
            // The address is left out, because it differs from run to run.
            let place =
                error.strip_prefix("test at http://127.0.0.1:").and_then(|rest| rest.split_once("/v1"));
            place.map_or(error.clone(), |(_, rest)| format!("test{rest}"))
        }
        other => panic!("an error was expected, not {other:?}"),
    }
}

#[tokio::test]
async fn an_answer_is_streamed_while_it_is_made() {
    let read = Arc::new(Notify::new());
    // The rest is only sent after the beginning was read.
    let steps = [streaming(), event(HELLO), Step::Until(Arc::clone(&read)), event(STOP), event("[DONE]")];
    let server = Server::start([&steps[..], &[Step::LastChunk]].concat()).await;
    let client = client(Provider::compatible("test", &server.base_url), Duration::from_secs(5));
    let mut stream = client.stream(&request()).await.unwrap();
    assert_eq!(stream.next().await, Some(Ok(ModelEvent::Text("Hel".into()))));
    read.notify_one();
    let rest: Events = stream.collect().await;
    assert!(matches!(rest.last(), Some(Ok(ModelEvent::Finished(_)))));
}

#[tokio::test]
async fn the_request_is_the_encoded_one_with_key_and_headers() {
    let whole = || vec![streaming(), event(STOP), event("[DONE]"), Step::LastChunk];
    let server = Server::start(whole()).await;
    ask(&client(Provider::dashscope().with_base_url(&server.base_url), Duration::from_secs(5))).await;
    let (head, body) = server.request();
    let head = head.to_lowercase();
    for line in [
        "post /v1/chat/completions http/1.1",
        "authorization: bearer sk-test-secret",
        "x-dashscope-cachecontrol: enable",
        "content-type: application/json",
        "accept: text/event-stream",
    ] {
        assert!(head.lines().any(|found| found == line), "{line} in {head}");
    }
    assert_eq!(body.as_bytes(), Provider::dashscope().wire.encode(&request()));

    let server = Server::start(whole()).await;
    ask(&client(Provider::openai().with_base_url(&server.base_url), Duration::from_secs(5))).await;
    assert!(!server.request().0.to_lowercase().contains("dashscope"));
}

#[tokio::test]
async fn parallel_calls_come_whole_and_in_order() {
    let events = against(vec![
        streaming(),
        event(r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"ls","arguments":"{\"pa"}}]}}]}"#),
        // An event in two chunks, which are cut in the middle of a character.
        Step::Chunk(b"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"grep\",\"arguments\":\"{\\\"pattern\\\":\\\"\xc3".to_vec()),
        Step::Wait(Duration::from_millis(20)),
        Step::Chunk(b"\xbc\\\"}\"}},{\"index\":0,\"function\":{\"arguments\":\"th\\\":\\\".\\\"}\"}}]}}]}\n\n: still alive\n\n".to_vec()),
        event(r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#),
        event("[DONE]"),
        Step::LastChunk,
    ])
    .await;
    insta::assert_debug_snapshot!(events);
}

/// Each refusal has its own error and its own advice.
#[tokio::test]
async fn refusals_are_told_apart() {
    let cases = [
        (
            response("401 Unauthorized", "", r#"{"error":{"message":"Incorrect API key: sk-test-secret"}}"#),
            "test refused the key (401); set HEADSTART_API_KEY to a valid key; it says: Incorrect API key: ***",
        ),
        (
            response("403 Forbidden", "", ""),
            "test refused the key (403); set HEADSTART_API_KEY to a valid key",
        ),
        (
            response("429 Too Many Requests", "retry-after: 7\r\n", "{}"),
            "test limits the rate of requests; retry after 7 s",
        ),
        (
            response(
                "429 Too Many Requests",
                "date: Wed, 21 Oct 2015 07:28:00 GMT\r\nretry-after: Wed, 21 Oct 2015 07:28:30 GMT\r\n",
                "",
            ),
            "test limits the rate of requests; retry after 30 s",
        ),
        (
            response("400 Bad Request", "", r#"{"error":{"message":"sk-test-secret is in your prompt"}}"#),
            "test rejected the request (400): *** is in your prompt",
        ),
        (
            response("404 Not Found", "", r#"{"error":"no such model"}"#),
            "test rejected the request (404): no such model; check the name of the model",
        ),
        (
            response("307 Temporary Redirect", "location: http://127.0.0.1:1/\r\n", ""),
            "test does not speak OpenAI's chat completions (it answered with a redirect (307) to http://127.0.0.1:1/); check the base URL",
        ),
        (response("500 Internal Server Error", "", "oops"), "test failed (500): oops; try again later"),
        (
            response("503 Service Unavailable", "", r#"{"error":"loading"}"#),
            "test failed (503): loading; try again later",
        ),
    ];
    for (steps, expected) in cases {
        assert_eq!(error(&against(steps).await), expected);
    }
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_understood() {
    let body = r#"{"choices":[{"message":{"content":"Hello"},"finish_reason":"stop"}]}"#;
    let events = against(response("200 OK", "content-type: application/json\r\n", body)).await;
    assert_eq!(text(&events), "Hello");
    assert!(matches!(events.last(), Some(Ok(ModelEvent::Finished(_)))));
    let events = against(response("200 OK", "content-type: application/json\r\n", r#"{"error":"no"}"#)).await;
    assert_eq!(error(&events), "test failed (500): no; try again later");
}

/// What came before a fault is kept, and there is exactly one error, which says what broke.
#[tokio::test]
async fn what_breaks_in_the_middle_keeps_what_came_and_says_how_it_broke() {
    let cases = [
        ("hangs up within the body", vec![streaming(), event(HELLO)], "test cut the answer short; try again"),
        (
            "hangs up within a chunk",
            vec![streaming(), event(HELLO), Step::Raw(b"40\r\ndata: {".to_vec())],
            "test cut the answer short; try again",
        ),
        (
            "ends before the answer does",
            vec![streaming(), event(HELLO), Step::LastChunk],
            "test cut the answer short; try again",
        ),
        (
            "chunk that is not JSON",
            vec![streaming(), event(HELLO), event("{\"choices\":[{\"delta\":"), event(STOP), Step::LastChunk],
            "test sent a malformed answer: EOF while parsing a value at line 1 column 21 in: {\"choices\":[{\"delta\":",
        ),
        (
            "bytes that are not UTF-8",
            vec![streaming(), event(HELLO), Step::Chunk(b"data: \xff\xff\n\n".to_vec()), Step::LastChunk],
            "test sent a malformed answer: the stream is not UTF-8",
        ),
        (
            "error in the stream",
            vec![
                streaming(),
                event(HELLO),
                event(r#"{"error":{"message":"overloaded sk-test-secret","code":529}}"#),
            ],
            "test failed (529): overloaded ***; try again later",
        ),
        (
            "silence",
            vec![streaming(), event(HELLO), Step::Wait(Duration::from_secs(30))],
            "test sent nothing for 0.5 s; try again",
        ),
    ];
    for (name, steps, expected) in cases {
        let events = against(steps).await;
        assert_eq!(error(&events), expected, "{name}");
        assert_eq!(text(&events), "Hel", "{name}");
        assert_eq!(events.iter().filter(|event| event.is_err()).count(), 1, "{name}");
    }
}

/// After the end of an answer, it no longer matters how the connection ends.
#[tokio::test]
async fn what_breaks_after_the_answer_is_complete_does_not_matter() {
    for goodbye in
        [Step::Wait(Duration::from_secs(30)), Step::Raw(b"zz\r\n".to_vec()), Step::Wait(Duration::ZERO)]
    {
        let events = against(vec![streaming(), event(HELLO), event(STOP), goodbye]).await;
        assert_eq!(text(&events), "Hello");
        assert!(matches!(events.last(), Some(Ok(ModelEvent::Finished(_)))), "{events:?}");
    }
}

/// A server that never answers and an address without a server are different errors.
#[tokio::test]
async fn no_answer_at_all_is_a_timeout_and_no_server_is_unreachable() {
    assert_eq!(
        error(&against(vec![Step::Wait(Duration::from_secs(30))]).await),
        "test sent nothing for 0.5 s; try again"
    );

    let unused = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let client = client(Provider::compatible("test", format!("http://{unused}/v1")), Duration::from_secs(1));
    let message = error(&ask(&client).await);
    assert!(message.starts_with(&format!("cannot reach http://{unused}/v1/chat/completions: ")), "{message}");
    assert!(message.contains("refused"), "{message}");
}

/// How fast the connection is closed is measured by the bench `cancel`.
#[tokio::test]
async fn dropping_the_answer_or_the_wait_for_it_closes_the_connection() {
    for format in formats::formats() {
        for answers_first in [true, false] {
            let mut steps = vec![Step::UntilClientLeaves];
            if answers_first {
                let begun =
                    format.chunks(format.pieces[..format.pieces.len() / 2].iter().map(String::as_bytes));
                steps.splice(0..0, begun);
            }
            let mut server = Server::start(steps).await;
            let model = format.retrying_within(&server, Timeouts::default());
            if answers_first {
                let mut stream = model.stream(&request()).await.unwrap();
                stream.next().await.unwrap().unwrap();
            } else {
                let waiting =
                    tokio::time::timeout(Duration::from_millis(100), model.stream(&request())).await;
                assert!(waiting.is_err(), "the server does not answer");
            }
            let seen = tokio::time::timeout(formats::PATIENCE, server.client_left.recv()).await;
            seen.expect("the server sees it long before its client would have given up").unwrap();
        }
    }
}
