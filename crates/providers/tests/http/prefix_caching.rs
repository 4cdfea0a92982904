//! The beginning of a conversation, which Gemini keeps as a named cache.

use std::sync::Arc;
use std::time::Duration;

use headstart_forked_query::{Message, Model, ModelEvent, ModelRequest, Role, ToolSchema, Usage};
use headstart_providers::{HttpModel, PrefixCachingModel};
use serde_json::{Value, json};

use crate::formats::{Format, KEY, answer_to, formats, short, without_errors};
use crate::request;
use crate::server::{Server, Step, response, streaming_as};

const HOUR: Duration = Duration::from_secs(3_600);

fn gemini() -> Format {
    formats().swap_remove(1)
}

fn client(server: &Server) -> HttpModel {
    gemini().client(&server.base_url, short())
}

/// The answer of a provider that has made a cache with this name.
fn made(name: &str) -> Vec<Step> {
    let body = json!({"name": format!("cachedContents/{name}"), "usageMetadata": {"totalTokenCount": 2_000}});
    response("200 OK", "connection: close\r\n", &body.to_string())
}

fn refused(status: &str, message: &str) -> Vec<Step> {
    response(status, "connection: close\r\n", &json!({"error": {"message": message}}).to_string())
}

fn whole() -> Vec<Step> {
    let format = gemini();
    let head = streaming_as(&format!("{}\r\nconnection: close", format.kind));
    vec![head, Step::Chunk(format.stream().into_bytes()), Step::LastChunk]
}

/// A request of a conversation with this many turns of this length.
fn conversation(turns: usize, length: usize) -> ModelRequest {
    let turn = |number| {
        [
            Message::text(Role::User, format!("question {number}")),
            Message::text(Role::Model, format!("answer {number} {}", "x".repeat(length))),
        ]
    };
    let messages = (0..turns).flat_map(turn).chain([Message::text(Role::User, "and now?")]).collect();
    ModelRequest { model: "gemini-2.5-flash".into(), messages, ..request() }
}

fn question(of: &ModelRequest) -> ModelRequest {
    ModelRequest {
        response_schema: Some(json!({"type": "object"})),
        max_output_tokens: Some(64),
        ..of.clone()
    }
}

/// What the server was asked: the request line, and the name of the cache that was used or the number of messages.
fn asked(server: &Server) -> Vec<String> {
    let told = server.requests().into_iter().map(|(head, body)| {
        assert_eq!(head.matches(&format!("x-goog-api-key: {KEY}")).count(), 1, "{head}");
        let line = head.lines().next().unwrap();
        let target = line.trim_end_matches(" HTTP/1.1").replace("/v1/models/gemini-2.5-flash:", "");
        let body: Value = serde_json::from_str(&body).unwrap_or_default();
        let messages = body["contents"].as_array().map(Vec::len).unwrap_or_default();
        match body["cachedContent"].as_str() {
            Some(name) => {
                assert!(body.get("systemInstruction").is_none() && body.get("tools").is_none(), "{body}");
                format!("{target} {name} +{messages}")
            }
            None => format!("{target} {messages}"),
        }
    });
    told.collect()
}

fn usage(events: &crate::Events) -> Usage {
    let usage = without_errors(events).into_iter().rev().find_map(|event| match event {
        ModelEvent::Usage(usage) => Some(*usage),
        _ => None,
    });
    usage.unwrap()
}

/// The prefix of a conversation is stored once, used by all requests that begin with it, and removed at the end.
#[tokio::test]
async fn a_prefix_is_made_once_used_by_all_and_removed_at_the_end() {
    let removed = response("200 OK", "connection: close\r\n", "{}");
    let server = Server::start_each([made("one"), whole(), whole(), whole(), removed]).await;
    let keeper = PrefixCachingModel::new(client(&server), HOUR).unwrap();
    let turn = conversation(2, 3_000);
    let first = answer_to(&keeper, &turn).await;
    let second = answer_to(&keeper, &question(&turn)).await;
    // A later step of the turn: messages come after the user's words.
    let mut further = turn.clone();
    further.messages.push(Message::text(Role::Model, "Let me see."));
    further.messages.push(Message::text(Role::User, "go on"));
    answer_to(&keeper, &further).await;
    assert_eq!(keeper.close().await, 0);
    assert_eq!(keeper.close().await, 0);
    let expected = [
        "POST /v1/cachedContents 4",
        "POST streamGenerateContent?alt=sse cachedContents/one +1",
        "POST streamGenerateContent?alt=sse cachedContents/one +1",
        "POST streamGenerateContent?alt=sse cachedContents/one +3",
        "DELETE /v1/cachedContents/one 0",
    ];
    assert_eq!(asked(&server), expected);

    // The request that had the cache made also has its cost. The other requests have the provider's own count.
    let plain = usage(&gemini().whole_answer_to(&conversation(2, 3_000)));
    assert_eq!(usage(&second), plain);
    let paid = Usage {
        input_tokens: plain.input_tokens + 2_000,
        cache_creation_tokens: 2_000,
        cache_token_seconds: 2_000 * 3_600,
        ..plain
    };
    assert_eq!(usage(&first), paid);
    assert!(matches!(first.last(), Some(Ok(ModelEvent::Finished(_)))));
}

/// Work ahead of the user may turn out to be useless, and storage has to be paid for. So it uses a cache that exists,
/// but has none made.
#[tokio::test]
async fn requests_that_nobody_waits_for_use_what_is_there_and_have_nothing_made() {
    let gone = || refused("403 Forbidden", "CachedContent not found (or permission denied)");
    let server = Server::start_each([
        whole(),
        made("one"),
        whole(),
        whole(),
        whole(),
        gone(),
        whole(),
        whole(),
        made("two"),
        whole(),
        whole(),
    ])
    .await;
    let keeper = Arc::new(PrefixCachingModel::new(client(&server), HOUR).unwrap());
    let ahead = keeper.reader();
    let turn = conversation(2, 3_000);
    // The requests come before there is a cache, with one, after the conversation outgrew it, and after it is gone.
    answer_to(&ahead, &question(&turn)).await;
    let first = answer_to(&*keeper, &turn).await;
    let events = answer_to(&ahead, &question(&turn)).await;
    assert_eq!(usage(&events).cache_creation_tokens, 0, "it was the turn's to pay for: {first:?}");
    answer_to(&ahead, &conversation(9, 3_000)).await;
    answer_to(&ahead, &question(&turn)).await;
    answer_to(&ahead, &question(&turn)).await;
    answer_to(&*keeper, &turn).await;
    answer_to(&ahead, &question(&turn)).await;
    let expected = [
        "POST streamGenerateContent?alt=sse 5",
        "POST /v1/cachedContents 4",
        "POST streamGenerateContent?alt=sse cachedContents/one +1",
        "POST streamGenerateContent?alt=sse cachedContents/one +1",
        "POST streamGenerateContent?alt=sse cachedContents/one +15",
        "POST streamGenerateContent?alt=sse cachedContents/one +1",
        "POST streamGenerateContent?alt=sse 5",
        "POST streamGenerateContent?alt=sse 5",
        "POST /v1/cachedContents 4",
        "POST streamGenerateContent?alt=sse cachedContents/two +1",
        "POST streamGenerateContent?alt=sse cachedContents/two +1",
    ];
    assert_eq!(asked(&server), expected);
}

/// If a conversation has become much longer than its prefix, a longer prefix takes its place.
#[tokio::test]
async fn a_conversation_that_outgrows_its_prefix_gets_another() {
    let removed = || response("200 OK", "connection: close\r\n", "{}");
    let server =
        Server::start_each([made("one"), whole(), whole(), removed(), made("two"), whole(), removed()]).await;
    let keeper = PrefixCachingModel::new(client(&server), HOUR).unwrap();
    for turns in [2, 3, 9] {
        answer_to(&keeper, &conversation(turns, 3_000)).await;
    }
    keeper.close().await;
    let expected = [
        "POST /v1/cachedContents 4",
        "POST streamGenerateContent?alt=sse cachedContents/one +1",
        "POST streamGenerateContent?alt=sse cachedContents/one +3",
        "DELETE /v1/cachedContents/one 0",
        "POST /v1/cachedContents 18",
        "POST streamGenerateContent?alt=sse cachedContents/two +1",
        "DELETE /v1/cachedContents/two 0",
    ];
    assert_eq!(asked(&server), expected);
}

/// If the provider refuses to store a prefix, requests are sent whole, and it is only tried again for a longer one.
#[tokio::test]
async fn what_the_provider_will_not_keep_is_sent_whole_and_not_tried_again_soon() {
    for refusal in [
        refused("400 Bad Request", "Cached content is too small"),
        refused("429 Too Many Requests", "busy"),
        refused("500 Internal Server Error", "oops"),
        response("200 OK", "connection: close\r\n", r#"{"name":"cachedContents/../../x"}"#),
        response("404 Not Found", "connection: close\r\n", "404 page not found"),
        vec![],
    ] {
        let server = Server::start_each([refusal, whole(), whole(), made("later"), whole()]).await;
        let keeper = PrefixCachingModel::new(client(&server), HOUR).unwrap();
        let events = answer_to(&keeper, &conversation(2, 3_000)).await;
        assert_eq!(events, gemini().whole_answer_to(&conversation(2, 3_000)));
        answer_to(&keeper, &conversation(3, 3_000)).await;
        answer_to(&keeper, &conversation(5, 3_000)).await;
        let expected = [
            "POST /v1/cachedContents 4",
            "POST streamGenerateContent?alt=sse 5",
            "POST streamGenerateContent?alt=sse 7",
            "POST /v1/cachedContents 10",
            "POST streamGenerateContent?alt=sse cachedContents/later +1",
        ];
        assert_eq!(asked(&server), expected);
    }
}

/// If a prefix has disappeared, the request is sent whole, and the next one has a new prefix made.
#[tokio::test]
async fn a_prefix_that_is_gone_is_sent_and_made_anew() {
    let gone = || refused("403 Forbidden", "CachedContent not found (or permission denied)");
    let server = Server::start_each([made("one"), gone(), whole(), made("two"), whole()]).await;
    let keeper = PrefixCachingModel::new(client(&server), HOUR).unwrap();
    let turn = conversation(2, 3_000);
    let events = answer_to(&keeper, &turn).await;
    assert_eq!(usage(&events).cache_creation_tokens, 2_000, "it was paid for");
    answer_to(&keeper, &turn).await;
    let expected = [
        "POST /v1/cachedContents 4",
        "POST streamGenerateContent?alt=sse cachedContents/one +1",
        "POST streamGenerateContent?alt=sse 5",
        "POST /v1/cachedContents 4",
        "POST streamGenerateContent?alt=sse cachedContents/two +1",
    ];
    assert_eq!(asked(&server), expected);
}

/// A prefix is not used after its time has passed.
#[tokio::test]
async fn a_prefix_has_its_time() {
    let server = Server::start_each([made("one"), whole(), made("two"), whole()]).await;
    let keeper = PrefixCachingModel::new(client(&server), Duration::from_secs(1)).unwrap();
    let turn = conversation(2, 3_000);
    answer_to(&keeper, &turn).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    answer_to(&keeper, &turn).await;
    assert_eq!(
        asked(&server)[2..],
        ["POST /v1/cachedContents 4", "POST streamGenerateContent?alt=sse cachedContents/two +1"]
    );
}

/// While one request has a prefix made, others are sent whole instead of waiting. If that request is dropped, the next
/// one may try.
#[tokio::test]
async fn nobody_waits_for_another_ones_prefix_and_one_that_was_dropped_may_be_tried_again() {
    let silent = vec![Step::UntilClientLeaves];
    let server = Server::start_each([silent, whole(), made("two"), whole()]).await;
    let keeper = PrefixCachingModel::new(client(&server), HOUR).unwrap();
    let turn = conversation(2, 3_000);
    let making = tokio::time::timeout(Duration::from_millis(300), keeper.stream(&turn));
    let other = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        answer_to(&keeper, &turn).await
    };
    let (dropped, other) = tokio::join!(making, other);
    assert!(dropped.is_err());
    assert_eq!(other, gemini().whole_answer_to(&conversation(2, 3_000)));
    answer_to(&keeper, &turn).await;
    let expected = [
        "POST /v1/cachedContents 4",
        "POST streamGenerateContent?alt=sse 5",
        "POST /v1/cachedContents 4",
        "POST streamGenerateContent?alt=sse cachedContents/two +1",
    ];
    assert_eq!(asked(&server), expected);
}

/// A short beginning is not worth storing, and a request with another beginning does not use the prefix.
#[tokio::test]
async fn what_is_short_or_changes_is_not_kept_and_conversations_do_not_mix() {
    let server = Server::start_each([whole(), made("one"), whole(), made("two"), whole(), whole()]).await;
    let keeper = PrefixCachingModel::new(client(&server), HOUR).unwrap();
    answer_to(&keeper, &conversation(1, 100)).await;
    let turn = conversation(2, 3_000);
    let tool =
        ToolSchema { name: "ls".into(), description: String::new(), parameters: json!({"type": "object"}) };
    let with_tool = ModelRequest { tools: vec![tool], ..turn.clone() };
    for request in [&turn, &with_tool, &turn] {
        answer_to(&keeper, request).await;
    }
    let expected = [
        "POST streamGenerateContent?alt=sse 3",
        "POST /v1/cachedContents 4",
        "POST streamGenerateContent?alt=sse cachedContents/one +1",
        "POST /v1/cachedContents 4",
        "POST streamGenerateContent?alt=sse cachedContents/two +1",
        "POST streamGenerateContent?alt=sse cachedContents/one +1",
    ];
    assert_eq!(asked(&server), expected);

    for format in formats().into_iter().filter(|format| format.name() != "gemini") {
        let client = format.client("http://localhost:1/v1", short());
        let error = PrefixCachingModel::new(client.clone(), HOUR).err().unwrap().to_string();
        assert!(error.contains("only Gemini"), "{error}");
        assert!(client.cache_prefix(request(), HOUR).await.is_err());
    }
}
