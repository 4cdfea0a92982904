//! What a host may set for the requests to a server: headers, the header of the key, and a query in the base URL.

use headstart_providers::openai::WireOptions;
use headstart_providers::{
    ApiKey, Header, HttpModel, KeyHeader, PrefixCachingModel, Provider, Wire, responses,
};
use serde_json::Value;

use crate::formats::{Format, KEY, error, formats, short};
use crate::server::{Server, Step, response, streaming_as};
use crate::{ask, request};

const SECRET: &str = "gateway-secret-0123456789";

fn header(name: &str, value: &str) -> Header {
    Header { name: name.into(), value: value.into() }
}

fn client(format: &Format, server: &Server, query: &str) -> HttpModel {
    let provider = Provider {
        headers: vec![
            header("X-Team", "blue"),
            header("anthropic-version", "2099-01-01"),
            header("x-gateway", SECRET),
        ],
        key_header: Some(KeyHeader::Named("x-api-key")),
        ..format.provider.clone().with_base_url(format!("{}{query}", server.base_url))
    };
    HttpModel::new(provider, Some(ApiKey::new(KEY)), short()).unwrap()
}

fn whole(format: &Format) -> Vec<Step> {
    let head = streaming_as(&format!("{}\r\nconnection: close", format.kind));
    vec![head, Step::Chunk(format.stream().into_bytes()), Step::LastChunk]
}

/// The headers, the header for the key and the query of a host are sent as it has set them, and the key is sent once.
#[tokio::test]
async fn headers_key_and_query_are_as_the_host_has_them_in_every_format() {
    for format in formats() {
        let server = Server::start(whole(&format)).await;
        let events = ask(&client(&format, &server, "?api-version=2024-10-21&team=a%20b")).await;
        assert_eq!(events, format.whole_answer(), "{}", format.name());
        let (head, _) = server.request();
        let target = head.lines().next().unwrap();
        let own = if format.name() == "gemini" { "&alt=sse" } else { "" };
        assert!(target.ends_with(&format!("?api-version=2024-10-21&team=a%20b{own} HTTP/1.1")), "{target}");
        let lines: Vec<_> = head.lines().map(str::to_lowercase).collect();
        let all = |name: &str| {
            lines.iter().filter(|line| line.starts_with(&format!("{name}:"))).collect::<Vec<_>>()
        };
        assert_eq!(all("x-team"), ["x-team: blue"]);
        assert_eq!(all("x-gateway"), [&format!("x-gateway: {SECRET}")]);
        assert_eq!(
            all("anthropic-version"),
            ["anthropic-version: 2099-01-01"],
            "it comes in place of the format's"
        );
        assert_eq!(all("x-api-key"), [&format!("x-api-key: {KEY}")]);
        assert_eq!(head.matches(KEY).count(), 1, "the key is sent once: {head}");
    }
}

/// Headers and queries may contain secrets, so no error and no debug output shows them.
#[tokio::test]
async fn what_a_host_adds_is_in_no_error() {
    let query = "?code=query-secret-0123456789";
    for format in formats() {
        let echo = format!(r#"{{"error":{{"message":"no: {SECRET} {KEY} query-secret-0123456789"}}}}"#);
        let redirect = response("307 Temporary Redirect", "location: /v2/\r\n", "");
        for (script, expected) in [
            (response("400 Bad Request", "", &echo), "rejected the request (400): no: *** *** ***"),
            (redirect, "does not speak"),
            (vec![], "closed the connection"),
        ] {
            let server = Server::start(script).await;
            let client = client(&format, &server, query);
            let events = ask(&client).await;
            assert!(error(&events).starts_with(expected), "{}", error(&events));
            let told = format!("{events:?}");
            assert!([SECRET, KEY, "query-secret"].iter().all(|secret| !told.contains(secret)), "{told}");
            let shown = format!("{client:?}");
            assert!(!shown.contains(SECRET) && !shown.contains(KEY), "{shown}");
        }
    }
    let nobody =
        formats().swap_remove(0).client("http://127.0.0.1:1/v1?code=query-secret-0123456789", short());
    let said = ask(&nobody).await.pop().unwrap().unwrap_err().to_string();
    assert!(said.starts_with("cannot reach http://127.0.0.1:1/v1/messages: "), "{said}");
}

/// Requests that make and remove a cache have the host's headers and query too.
#[tokio::test]
async fn a_cache_with_a_name_is_made_with_them_too() {
    let format = formats().into_iter().find(|format| format.name() == "gemini").unwrap();
    let made = response("200 OK", "connection: close\r\n", r#"{"name":"cachedContents/one"}"#);
    let server = Server::start_each([made, response("200 OK", "connection: close\r\n", "{}")]).await;
    let client = client(&format, &server, "?api-version=1");
    let prefix = client.cache_prefix(request(), std::time::Duration::from_secs(60)).await.unwrap();
    client.delete_prefix(&prefix).await.unwrap();
    let targets: Vec<_> =
        server.requests().iter().map(|(head, _)| head.lines().next().unwrap().to_owned()).collect();
    assert_eq!(
        targets,
        [
            "POST /v1/cachedContents?api-version=1 HTTP/1.1",
            "DELETE /v1/cachedContents/one?api-version=1 HTTP/1.1"
        ]
    );
    for (head, _) in server.requests() {
        assert!(head.to_lowercase().contains("x-team: blue"), "{head}");
    }
    PrefixCachingModel::new(client, std::time::Duration::from_secs(60)).unwrap();
}

/// A header that is invalid, or that the client sets by itself, is an error when the client is made.
#[test]
fn a_header_that_cannot_be_sent_is_told() {
    let cases = [
        (header("x team", "a"), "openai: \"x team\" is no name of a header"),
        (header("", "a"), "openai: \"\" is no name of a header"),
        (
            header("Content-Length", "1"),
            "openai: the header content-length is the client's own; leave it out",
        ),
        (header("host", "x"), "openai: the header host is the client's own; leave it out"),
        (
            header("x-team", "a\nb"),
            "openai: the value of the header x-team holds characters that none may hold",
        ),
    ];
    for (header, expected) in cases {
        let provider = Provider { headers: vec![header], ..Provider::openai() };
        let error = HttpModel::new(provider, Some(ApiKey::new(KEY)), short()).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[tokio::test]
async fn the_name_of_a_cache_is_sent_where_a_format_has_a_place_for_it() {
    let key = Some("team-blue".to_owned());
    let chat = Wire::Chat(WireOptions { prompt_cache_key: key.clone(), ..WireOptions::default() });
    let responses =
        Wire::Responses(responses::Options { prompt_cache_key: key, ..responses::Options::default() });
    for (name, wire) in [("chat", chat), ("responses", responses)] {
        let format = formats().into_iter().find(|format| format.name() == name).unwrap();
        let server = Server::start(whole(&format)).await;
        let provider = Provider { wire, ..format.provider.clone().with_base_url(&server.base_url) };
        ask(&HttpModel::new(provider, None, short()).unwrap()).await;
        let body: Value = serde_json::from_str(&server.request().1).unwrap();
        assert_eq!(body["prompt_cache_key"], "team-blue");
    }
}
