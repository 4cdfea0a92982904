//! Every wire format over a connection that misbehaves.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use headstart_forked_query::{
    ApiKey, Decoder, HttpModel, Limiter, Message, Model, ModelError, ModelEvent, Patient, Priority, Provider,
    RetryPolicy, Role, Timeouts, Wire, gemini,
};
use tokio::net::TcpListener;
use tokio::time::Instant;

use crate::server::{Server, Step, response, streaming_as};
use crate::{Events, ask, request};

const KEY: &str = "sk-test-secret";

/// Far more than anything here takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// A provider of each format, and what its server sends: media type and pieces, one for each event.
fn formats() -> Vec<(Provider, &'static str, Vec<String>)> {
    let events = |stream: &str| stream.split_inclusive("\n\n").map(str::to_owned).collect::<Vec<_>>();
    let gemini = include_str!("../streams/gemini.txt").split_inclusive("\r\n\r\n").map(str::to_owned);
    let ollama = include_str!("../streams/ollama.txt").split_inclusive('\n').map(str::to_owned);
    let sse = "text/event-stream";
    vec![
        (Provider::anthropic(), sse, events(include_str!("../streams/anthropic.txt"))),
        (Provider::gemini(), sse, gemini.collect()),
        (Provider::responses(), sse, events(include_str!("../streams/responses.txt"))),
        (Provider::ollama(), "application/x-ndjson", ollama.collect()),
        (Provider::dashscope(), sse, events(include_str!("../streams/chat.txt"))),
    ]
}

fn client(provider: &Provider, base_url: &str, timeouts: Timeouts) -> HttpModel {
    HttpModel::new(provider.clone().at(base_url), Some(ApiKey::new(KEY)), timeouts).unwrap()
}

fn short() -> Timeouts {
    let silence = Duration::from_millis(400);
    Timeouts { connect: Duration::from_secs(5), first_byte: silence, idle: silence }
}

/// What a client makes of this script. Nothing may hang, and no error may show the key.
async fn against(provider: &Provider, steps: Vec<Step>) -> Events {
    let server = Server::start(steps).await;
    let events = tokio::time::timeout(PATIENCE, ask(&client(provider, &server.base_url, short()))).await;
    let events = events.unwrap_or_else(|_| panic!("{} hangs", provider.name));
    for error in events.iter().filter_map(|event| event.as_ref().err()) {
        let said = error.to_string();
        let place = format!("{} at {} ", provider.name, server.base_url);
        assert!(said.starts_with(&place) && !said.contains(KEY), "{said}");
    }
    events
}

fn chunks<'a>(kind: &str, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Step> {
    let pieces = pieces.into_iter().map(|piece| Step::Chunk(piece.to_vec()));
    [streaming_as(kind)].into_iter().chain(pieces).collect()
}

fn whole(kind: &str, pieces: &[String]) -> Vec<Step> {
    let mut steps = chunks(kind, pieces.iter().map(String::as_bytes));
    steps.push(Step::LastChunk);
    steps
}

/// What the decoder alone makes of these bytes.
fn decoded(provider: &Provider, bytes: &[u8]) -> Events {
    let mut decoder = Decoder::new(provider, &request());
    let mut events = decoder.bytes(bytes);
    events.extend(decoder.end());
    events
}

/// The last error's words after who said it and where.
fn error(events: &Events) -> String {
    let error = events.last().unwrap().as_ref().unwrap_err().to_string();
    error.split_once("/v1 ").unwrap().1.to_owned()
}

fn without_errors(events: &Events) -> Vec<&ModelEvent> {
    events.iter().filter_map(|event| event.as_ref().ok()).collect()
}

#[tokio::test]
async fn cut_at_every_event() {
    for (provider, kind, pieces) in formats() {
        for end in 0..pieces.len() {
            let expected = decoded(&provider, pieces[..end].concat().as_bytes());
            let script = chunks(kind, pieces[..end].iter().map(String::as_bytes));
            let events = against(&provider, script).await;
            assert_eq!(without_errors(&events), without_errors(&expected), "{} at {end}", provider.name);
            assert_eq!(events.len(), expected.len());
            if expected.iter().any(Result::is_err) {
                assert_eq!(error(&events), "cut the answer short; try again", "{} at {end}", provider.name);
            }
        }
    }
}

#[tokio::test]
async fn a_drip_is_the_same_answer_and_a_drip_that_stops_is_silence() {
    for (provider, kind, pieces) in formats() {
        let stream = pieces.concat();
        let expected = decoded(&provider, stream.as_bytes());
        let mut drip = chunks(kind, stream.as_bytes().chunks(5));
        // Longer in all than silence may be, each for itself shorter.
        for place in [3, 60, 120, 130] {
            drip.insert(place, Step::Wait(Duration::from_millis(150)));
        }
        drip.push(Step::LastChunk);
        assert_eq!(against(&provider, drip.clone()).await, expected, "{}", provider.name);

        drip.truncate(10);
        drip.push(Step::Wait(PATIENCE));
        let events = against(&provider, drip).await;
        assert_eq!(error(&events), "sent nothing for 0.4 s; try again", "{}", provider.name);
    }
}

#[tokio::test]
async fn twice_malformed_and_huge() {
    for (provider, kind, pieces) in formats() {
        let twice: Vec<String> = pieces.iter().flat_map(|piece| [piece.clone(), piece.clone()]).collect();
        let expected = decoded(&provider, twice.concat().as_bytes());
        assert_eq!(against(&provider, whole(kind, &twice)).await, expected, "{}", provider.name);

        let broken = if kind.contains("json") { "{\"message\":\n" } else { "data: {\"choices\":[\n\n" };
        let mut script = vec![pieces[0].clone(), broken.to_owned()];
        script.extend(pieces[1..].to_vec());
        let events = against(&provider, whole(kind, &script)).await;
        assert!(error(&events).starts_with("sent a malformed answer: EOF"), "{events:?}");

        let at_once = chunks(kind, [pieces.concat().as_bytes()]);
        let events = against(&provider, at_once).await;
        assert_eq!(events, decoded(&provider, pieces.concat().as_bytes()), "{}", provider.name);

        let huge = vec![b'x'; 9 * 1024 * 1024];
        let events = against(&provider, chunks(kind, [&huge[..]])).await;
        assert_eq!(error(&events), "sent a malformed answer: an event is longer than 8 MiB");

        let page = against(&provider, whole("text/html", &["<html>log in</html>".to_owned()])).await;
        assert_eq!(error(&page), "sent a malformed answer: it is a web page; check the base URL");
    }
}

#[tokio::test]
async fn the_first_bytes_have_a_limit_of_their_own() {
    let provider = Provider::anthropic();
    let long = Duration::from_secs(60);
    let timeouts =
        Timeouts { connect: Duration::from_millis(100), first_byte: Duration::from_millis(200), idle: long };
    for headers_first in [true, false] {
        let mut steps = vec![Step::Wait(PATIENCE)];
        if headers_first {
            steps.insert(0, streaming_as("text/event-stream"));
        }
        let server = Server::start(steps).await;
        let asked = Instant::now();
        let events = ask(&client(&provider, &server.base_url, timeouts)).await;
        assert_eq!(error(&events), "sent nothing for 0.2 s; try again");
        assert!(asked.elapsed() < PATIENCE / 2, "it waited for {:?}", asked.elapsed());
    }
}

#[tokio::test]
async fn the_head_of_an_answer_does_not_start_the_wait_again() {
    let provider = Provider::anthropic();
    let first_byte = Duration::from_secs(2);
    let timeouts = Timeouts { connect: Duration::from_millis(200), first_byte, idle: PATIENCE };
    let head_comes_late = Step::Wait(Duration::from_millis(1_700));
    let server =
        Server::start(vec![head_comes_late, streaming_as("text/event-stream"), Step::Wait(PATIENCE)]).await;
    let client = client(&provider, &server.base_url, timeouts);
    let asked = Instant::now();
    let events = ask(&client).await;
    assert_eq!(error(&events), "sent nothing for 2 s; try again");
    assert!(asked.elapsed() < Duration::from_secs(3), "it waited for {:?}", asked.elapsed());
}

#[tokio::test]
async fn each_provider_is_asked_in_its_own_way() {
    let expected = [
        "POST /v1/messages HTTP/1.1 | x-api-key: sk-test-secret | anthropic-version: 2023-06-01",
        "POST /v1/models/test-model:streamGenerateContent?alt=sse HTTP/1.1 | x-goog-api-key: sk-test-secret",
        "POST /v1/responses HTTP/1.1 | authorization: Bearer sk-test-secret",
        "POST /api/chat HTTP/1.1 | authorization: Bearer sk-test-secret | accept: application/x-ndjson",
        "POST /v1/chat/completions HTTP/1.1 | authorization: Bearer sk-test-secret",
    ];
    for ((provider, kind, pieces), expected) in formats().into_iter().zip(expected) {
        let server = Server::start(whole(kind, &pieces)).await;
        ask(&client(&provider, &server.base_url, short())).await;
        let (head, body) = server.request();
        for part in expected.split(" | ") {
            assert!(head.lines().any(|line| line == part), "{part} in {head}");
        }
        assert_eq!(body.as_bytes(), provider.wire.encode(&request()));
        assert_eq!(head.matches(KEY).count(), 1, "the key is sent once: {head}");
    }
}

#[tokio::test]
async fn a_key_that_is_refused_is_asked_for_and_not_shown() {
    let echo = format!(r#"{{"error":{{"message":"bad key {KEY}","type":"authentication_error"}}}}"#);
    for (provider, kind, _) in formats() {
        let events = against(&provider, response("401 Unauthorized", "", &echo)).await;
        let expected = format!(
            "refused the key (401); set {} to a valid key; it says: bad key ***",
            provider.key_variable
        );
        assert_eq!(error(&events), expected);
        let frame = if kind.contains("json") { format!("{echo}\n") } else { format!("data: {echo}\n\n") };
        let events = against(&provider, whole(kind, &[frame])).await;
        assert!(events.last().unwrap().is_err(), "{events:?}");
        let shown = format!("{:?} {events:?}", client(&provider, "http://localhost:1/v1", short()));
        assert!(!shown.contains(KEY), "{shown}");
    }
}

/// Whatever stands before the key, a message is cut after 300 characters: never in the middle of the key.
#[tokio::test]
async fn a_key_that_is_echoed_across_the_cut_is_not_shown() {
    const LONG_KEY: &str = "sk-proj-Zq3/vB7+nM1kL9xT5wR2yU8iO4pA6sD0fG_hJc-eKXWVQ";
    for (provider, kind, _) in formats() {
        let framed = |data: &str| {
            let frame = if kind.contains("json") { format!("{data}\n") } else { format!("data: {data}\n\n") };
            let head = streaming_as(&format!("{kind}\r\nconnection: close"));
            vec![head, Step::Chunk(frame.into_bytes()), Step::LastChunk]
        };
        let mut scripts = Vec::new();
        for padding in 0..=320 {
            let padding = "x".repeat(padding);
            let said = format!(r#"{{"error":{{"code":500,"message":"{padding} {LONG_KEY}"}}}}"#);
            let escaped = said.replace('/', "\\/");
            scripts.push(framed(&format!("{{bad {padding}{LONG_KEY}")));
            scripts.push(framed(&said));
            scripts.push(framed(&format!("{{bad {escaped}")));
            for status in ["400 Bad Request", "401 Unauthorized", "429 Too Many Requests"] {
                scripts.push(response(status, "connection: close\r\n", &said));
            }
        }
        let count = scripts.len();
        let server = Server::start_each(scripts).await;
        let at = provider.clone().at(&server.base_url);
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
                ),
                "{number}: {error}"
            );
            let shown = format!("{error} {error:?}").replace('\\', "");
            for piece in LONG_KEY.as_bytes().windows(8) {
                let piece = str::from_utf8(piece).unwrap();
                assert!(!shown.contains(piece), "{} {number}: {shown}", provider.name);
            }
        }
    }
}

/// A model that retries without letting tests wait.
fn patient(provider: &Provider, server: &Server) -> Patient {
    let client = client(provider, &server.base_url, short());
    let policy = RetryPolicy { first: Duration::from_millis(5), ..RetryPolicy::FOREGROUND };
    Patient::new(Arc::new(client), Priority::Foreground, Arc::<Limiter>::default()).with_policy(policy)
}

async fn answer(model: &dyn Model) -> Events {
    let asked = async {
        match model.stream(&request()).await {
            Ok(stream) => stream.collect().await,
            Err(error) => vec![Err(error)],
        }
    };
    tokio::time::timeout(PATIENCE, asked).await.expect("it hangs")
}

#[tokio::test]
async fn trouble_that_passes() {
    let busy = r#"{"error":{"message":"busy"}}"#;
    for (provider, kind, pieces) in formats() {
        let scripts = [
            response("500 Internal Server Error", "", busy),
            response("429 Too Many Requests", "retry-after: 0\r\n", busy),
            response("529 Overloaded", "retry-after-ms: 3\r\n", busy),
            whole(kind, &pieces),
        ];
        let server = Server::start_each(scripts).await;
        let events = answer(&patient(&provider, &server)).await;
        assert_eq!(events, decoded(&provider, pieces.concat().as_bytes()), "{}", provider.name);
        let requests = server.requests();
        assert_eq!(requests.len(), 4, "{}", provider.name);
        assert!(requests.iter().all(|request| request.1 == requests[0].1), "the same bytes each time");
    }
}

#[tokio::test]
async fn trouble_that_stays() {
    for (provider, kind, pieces) in formats() {
        let busy = r#"{"error":{"message":"busy"}}"#;
        let used_up = r#"{"error":{"message":"pay first","code":"insufficient_quota"}}"#;
        let storms = [
            (
                response("429 Too Many Requests", "", busy),
                5,
                "limits the rate of requests; try again later; it says: busy",
            ),
            (
                response("429 Too Many Requests", "retry-after: 3600\r\n", busy),
                1,
                "limits the rate of requests; retry after 3600 s; it says: busy",
            ),
            (response("503 Service Unavailable", "", busy), 5, "failed (503): busy; try again later"),
            (
                response("429 Too Many Requests", "retry-after: 0\r\n", used_up),
                1,
                "rejected the request (429): pay first",
            ),
            (response("400 Bad Request", "", busy), 1, "rejected the request (400): busy"),
            // Once a piece was given, whatever breaks is not tried again.
            (
                chunks(kind, pieces[..pieces.len() / 2].iter().map(String::as_bytes)),
                1,
                "cut the answer short; try again",
            ),
        ];
        for (script, tries, expected) in storms {
            let server = Server::start(script).await;
            let events = answer(&patient(&provider, &server)).await;
            assert_eq!(error(&events), expected, "{}", provider.name);
            assert_eq!(server.requests().len(), tries, "{}: {expected}", provider.name);
        }
    }
}

#[tokio::test]
async fn nobody_at_home() {
    for (provider, ..) in formats() {
        let unused = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let url = format!("http://{unused}/v1");
        let model = client(&provider, &url, short());
        let events = answer(&Patient::new(Arc::new(model), Priority::Foreground, Arc::default())).await;
        let said = events[0].as_ref().unwrap_err().to_string();
        assert!(
            said.starts_with(&format!("cannot reach http://{unused}/")) && said.contains("refused"),
            "{said}"
        );
        assert!(
            said.ends_with(&format!("; check that {} runs there, or the base URL", provider.name)),
            "{said}"
        );
    }
}

#[tokio::test]
async fn gemini_keeps_a_prefix_where_it_is_asked_to() {
    let made = response("200 OK", "", r#"{"name":"cachedContents/xyz"}"#);
    let mut formats = formats();
    let (provider, kind, pieces) = formats.swap_remove(1);
    let server = Server::start_each([made, whole(kind, &pieces)]).await;
    let cached =
        client(&provider, &server.base_url, short()).cache_prefix(request(), PATIENCE).await.unwrap();
    let wire = Wire::Gemini(gemini::Options { cached: Some(cached), ..gemini::Options::default() });
    let model = client(&Provider { wire, ..provider.clone() }, &server.base_url, short());
    let mut asked = request();
    asked.messages.push(Message::text(Role::Model, "hi"));
    asked.messages.push(Message::text(Role::User, "go on"));
    let events: Events = model.stream(&asked).await.unwrap().collect().await;
    assert_eq!(events, decoded(&provider, pieces.concat().as_bytes()));
    let requests = server.requests();
    assert!(requests[0].0.starts_with("POST /v1/cachedContents HTTP/1.1"), "{}", requests[0].0);
    assert!(
        requests[1].1.starts_with(r#"{"cachedContent":"cachedContents/xyz","contents":"#),
        "{}",
        requests[1].1
    );
    assert!(!requests[1].1.contains("hello"), "what is cached is not sent: {}", requests[1].1);

    let (other, ..) = formats.swap_remove(0);
    let error = client(&other, "http://localhost:1", short()).cache_prefix(request(), PATIENCE).await;
    assert!(error.unwrap_err().to_string().contains("only Gemini"));
}
