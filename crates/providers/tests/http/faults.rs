//! Limits, keys, retries, and the cache that a request asks for, over every wire format.

use std::sync::Arc;
use std::time::Duration;

use headstart_forked_query::ModelError;
use headstart_providers::{ApiKey, HttpModel, Priority, RetryingModel, Timeouts};
use tokio::net::TcpListener;
use tokio::time::Instant;

use crate::formats::{Format, KEY, PATIENCE, answer, error, formats, short};
use crate::server::{Server, Step, response, streaming_as};
use crate::{ask, request};

fn anthropic() -> Format {
    formats().swap_remove(0)
}

/// A model may think long before it answers, so the wait for the first bytes has a limit of its own.
#[tokio::test]
async fn the_first_bytes_have_a_limit_of_their_own() {
    let (connect, first_byte) = (Duration::from_millis(100), Duration::from_millis(200));
    let timeouts = Timeouts { connect, first_byte, ..Timeouts::default() };
    for headers_first in [true, false] {
        let mut steps = vec![Step::Wait(PATIENCE)];
        if headers_first {
            steps.insert(0, streaming_as("text/event-stream"));
        }
        let server = Server::start(steps).await;
        let asked = Instant::now();
        let events = ask(&anthropic().client(&server.base_url, timeouts)).await;
        assert_eq!(error(&events), "sent nothing for 0.2 s; try again");
        assert!(asked.elapsed() < PATIENCE / 2, "it waited for {:?}", asked.elapsed());
    }
}

/// If only the head of an answer arrives, the wait for the first bytes goes on, and does not begin again.
#[tokio::test]
async fn the_head_of_an_answer_does_not_start_the_wait_again() {
    let first_byte = Duration::from_secs(8);
    let timeouts = Timeouts { connect: Duration::from_secs(5), first_byte, ..Timeouts::default() };
    let head_comes_late = Step::Wait(Duration::from_secs(7));
    let server =
        Server::start(vec![head_comes_late, streaming_as("text/event-stream"), Step::Wait(PATIENCE)]).await;
    let client = anthropic().client(&server.base_url, timeouts);
    let asked = Instant::now();
    let events = ask(&client).await;
    assert_eq!(error(&events), "sent nothing for 8 s; try again");
    assert!(asked.elapsed() < Duration::from_secs(14), "it waited for {:?}", asked.elapsed());
}

#[tokio::test]
async fn each_provider_is_asked_in_its_own_way() {
    let expected = [
        "POST /v1/messages HTTP/1.1 | x-api-key: sk-test-secret | anthropic-version: 2023-06-01",
        "POST /v1/models/test-model:streamGenerateContent?alt=sse HTTP/1.1 | x-goog-api-key: sk-test-secret",
        "POST /v1/responses HTTP/1.1 | authorization: Bearer sk-test-secret",
        "POST /api/chat HTTP/1.1 | authorization: Bearer sk-test-secret | accept: application/x-ndjson",
        "POST /v1/chat/completions HTTP/1.1 | authorization: Bearer sk-test-secret",
        "POST /v1/chat/completions HTTP/1.1 | authorization: Bearer sk-test-secret | x-dashscope-cachecontrol: enable",
    ];
    for (format, expected) in formats().into_iter().zip(expected) {
        let server = Server::start(format.whole(&format.pieces)).await;
        ask(&format.client(&server.base_url, short())).await;
        let (head, body) = server.request();
        for part in expected.split(" | ") {
            assert!(head.lines().any(|line| line == part), "{part} in {head}");
        }
        assert_eq!(body.as_bytes(), format.provider.wire.encode(&request()));
        assert_eq!(head.matches(KEY).count(), 1, "the key is sent once: {head}");
    }
}

/// If a key is refused, the error names the variable for another one. The key that the server repeats is hidden.
#[tokio::test]
async fn a_key_that_is_refused_is_asked_for_and_not_shown() {
    let echo = format!(r#"{{"error":{{"message":"bad key {KEY}","type":"authentication_error"}}}}"#);
    for format in formats() {
        let events = format.against(response("401 Unauthorized", "", &echo)).await;
        let expected = format!(
            "refused the key (401); set {} to a valid key; it says: bad key ***",
            format.provider.key_variable
        );
        assert_eq!(error(&events), expected);
        let frame = format.frame(&echo);
        let events =
            format.against(vec![streaming_as(format.kind), Step::Chunk(frame), Step::LastChunk]).await;
        assert!(events.last().unwrap().is_err(), "{events:?}");
        let shown = format!("{:?} {events:?}", format.client("http://localhost:1/v1", short()));
        assert!(!shown.contains(KEY), "{shown}");
    }
}

/// However long the text before the key is: a message is cut after 300 characters, but never so that a part of the key
/// stays.
#[tokio::test]
async fn a_key_that_is_echoed_across_the_cut_is_not_shown() {
    const LONG_KEY: &str = "sk-proj-Zq3/vB7+nM1kL9xT5wR2yU8iO4pA6sD0fG_hJc-eKXWVQ";
    for format in formats() {
        let framed = |data: &str| {
            let head = streaming_as(&format!("{}\r\nconnection: close", format.kind));
            vec![head, Step::Chunk(format.frame(data)), Step::LastChunk]
        };
        let mut scripts = Vec::new();
        // The lengths are dense around the place of the cut.
        for padding in (0..230).step_by(11).chain(230..=320) {
            let padding = "x".repeat(padding);
            let said = format!(r#"{{"error":{{"code":500,"message":"{padding} {LONG_KEY}"}}}}"#);
            let escaped = said.replace('/', "\\/");
            scripts.push(framed(&format!("{{bad {padding}{LONG_KEY}")));
            scripts.push(framed(&said));
            scripts.push(framed(&format!("{{bad {escaped}")));
            scripts.push(framed(&format!("bad {padding}{LONG_KEY}")));
            for status in ["400 Bad Request", "401 Unauthorized", "429 Too Many Requests"] {
                scripts.push(response(status, "connection: close\r\n", &said));
            }
        }
        let count = scripts.len();
        let server = Server::start_each(scripts).await;
        let at = format.provider.clone().with_base_url(&server.base_url);
        let client = HttpModel::new(at, Some(ApiKey::new(LONG_KEY)), short()).unwrap();
        for number in 0..count {
            let events = ask(&client).await;
            let error = events.last().unwrap().as_ref().unwrap_err();
            assert!(
                matches!(
                    error,
                    ModelError::Malformed { .. }
                        | ModelError::Server { .. }
                        | ModelError::Rejected { .. }
                        | ModelError::Unauthorized { .. }
                        | ModelError::RateLimited { .. }
                        | ModelError::WrongServer { .. }
                ),
                "{number}: {error}"
            );
            let shown = format!("{error} {error:?}").replace('\\', "");
            for piece in LONG_KEY.as_bytes().windows(8) {
                let piece = str::from_utf8(piece).unwrap();
                assert!(!shown.contains(piece), "{} {number}: {shown}", format.name());
            }
        }
    }
}

/// The retrying model hides trouble that passes.
#[tokio::test]
async fn trouble_that_passes() {
    let busy = r#"{"error":{"message":"busy"}}"#;
    for format in formats() {
        let scripts = [
            response("500 Internal Server Error", "", busy),
            response("529 Overloaded", "retry-after-ms: 3\r\n", busy),
            format.whole(&format.pieces),
        ];
        let server = Server::start_each(scripts).await;
        assert_eq!(answer(&format.retrying(&server)).await, format.whole_answer(), "{}", format.name());
        assert_eq!(server.requests().len(), 3, "{}", format.name());
    }
}

/// In whatever way the connection ends: if nothing of the answer has arrived, the request is sent again.
#[tokio::test]
async fn a_connection_that_is_closed_before_any_byte_is_asked_again() {
    for format in formats() {
        let empty =
            response("200 OK", &format!("content-type: {}\r\nconnection: close\r\n", format.kind), "");
        let scripts = [vec![], vec![Step::Reset], empty, format.chunks([]), format.whole(&format.pieces)];
        let server = Server::start_each(scripts).await;
        assert_eq!(answer(&format.retrying(&server)).await, format.whole_answer(), "{}", format.name());
        assert_eq!(server.requests().len(), 5, "{}", format.name());
        // A server that never answers is given up.
        let server = Server::start(vec![]).await;
        let events = answer(&format.retrying(&server)).await;
        assert_eq!(error(&events), "closed the connection before it answered; try again");
        assert_eq!(server.requests().len(), 5, "{}", format.name());
    }
}

/// Trouble that would stay is reported at once, or after a few tries.
#[tokio::test]
async fn trouble_that_stays() {
    for format in formats() {
        let busy = r#"{"error":{"message":"busy"}}"#;
        let used_up = r#"{"error":{"message":"pay first","code":"insufficient_quota"}}"#;
        let storms = [
            (
                response("429 Too Many Requests", "retry-after: 3600\r\n", busy),
                1,
                "limits the rate of requests; retry after 3600 s; it says: busy",
            ),
            (
                response("503 Service Unavailable", "retry-after: 0\r\n", busy),
                21,
                "failed (503): busy; retry after 0 s",
            ),
            (
                response("429 Too Many Requests", "retry-after: 0\r\n", used_up),
                1,
                "rejected the request (429): pay first",
            ),
            (response("400 Bad Request", "", busy), 1, "rejected the request (400): busy"),
            // After a piece was passed on, nothing is tried again, whatever breaks.
            (
                format.chunks(format.pieces[..format.pieces.len() / 2].iter().map(String::as_bytes)),
                1,
                "cut the answer short; try again",
            ),
        ];
        for (script, tries, expected) in storms {
            let server = Server::start(script).await;
            let events = answer(&format.retrying(&server)).await;
            assert_eq!(error(&events), expected, "{}", format.name());
            assert_eq!(server.requests().len(), tries, "{}: {expected}", format.name());
        }
    }
}

#[tokio::test]
async fn nobody_at_home() {
    for format in formats() {
        let unused = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let url = format!("http://{unused}/v1");
        let model = format.client(&url, short());
        let events = answer(&RetryingModel::new(Arc::new(model), Priority::Foreground, Arc::default())).await;
        let said = events[0].as_ref().unwrap_err().to_string();
        assert!(
            said.starts_with(&format!("cannot reach http://{unused}/")) && said.contains("refused"),
            "{said}"
        );
        assert!(
            said.ends_with(&format!("; start the server at the base URL {url}, or set another one")),
            "{said}"
        );
    }
}
