//! Servers that are not the provider: a wrong address, a proxy, a login page, another interface.

use futures::future::join_all;

use crate::formats::{Format, KEY, error, formats};
use crate::server::{Step, response, streaming_as};

/// The answers of such servers, and the error that is reported for each.
fn wrong_servers(format: &Format) -> Vec<(Vec<Step>, String)> {
    let ok = |kind: &str, body: &str| response("200 OK", &format!("content-type: {kind}\r\n"), body);
    let name = format.provider.wire.format();
    let wrong = |with: &str| format!("does not speak {name} (it answered with {with}); check the base URL");
    let page = "<!doctype html>\n<html><title>Log in</title><script>a()</script></html>";
    let streamed = |bytes: Vec<u8>| vec![streaming_as(format.kind), Step::Chunk(bytes), Step::LastChunk];
    let other =
        if format.name() == "anthropic" { r#"{"object":"list","data":[]}"# } else { r#"{"type":"message"}"# };
    let quoted = |text: &str| format!("\"{text}\"");
    vec![
        (ok("text/html; charset=utf-8", page), wrong("a web page: Log in")),
        (ok("text/html", "hello"), wrong("a web page: hello")),
        (ok("text/plain", page), wrong("a web page: Log in")),
        (ok("text/plain", "hello\nworld"), wrong("\"hello world\"")),
        (ok("text/plain", &format!("your key is {KEY}")), wrong("\"your key is ***\"")),
        (ok("application/json", other), wrong(&quoted(other))),
        (
            streamed(format.frame(other)),
            wrong(&quoted(String::from_utf8(format.frame(other)).unwrap().trim())),
        ),
        (streamed(b"OK\n".to_vec()), wrong("\"OK\"")),
        (streamed(vec![0x1f, 0x8b, 8, 0, b'\n', b'\n', 0xff, b'\n']), wrong("bytes that are no text")),
        // Errors in the server's own words, with status 200.
        (
            ok("application/json", r#"{"error":{"message":"no such app"}}"#),
            "failed (500): no such app; try again later".into(),
        ),
        (
            ok("text/plain", r#"{"code":1001,"message":"no such app"}"#),
            "failed (500): no such app; try again later".into(),
        ),
        (
            streamed(format.frame(r#"{"detail":"no such app"}"#)),
            "failed (500): no such app; try again later".into(),
        ),
        // Other addresses of the same server, or of a proxy in front of it.
        (
            response("302 Found", &format!("location: /login?next={KEY}#top\r\n"), ""),
            format!("does not speak {name} (it answered with a redirect (302) to "),
        ),
        (
            response("307 Temporary Redirect", "location: https://me:secret@else.where/v1/\r\n", page),
            wrong("a redirect (307) to https://else.where/v1/"),
        ),
        (response("308 Permanent Redirect", "", ""), wrong("a redirect (308)")),
        (response("404 Not Found", "", "404 page not found"), wrong("404: 404 page not found")),
        (response("404 Not Found", "", page), wrong("404: a web page: Log in")),
        (response("404 Not Found", "", r#"{"detail":"Not Found"}"#), wrong("404: Not Found")),
        (response("405 Method Not Allowed", "", ""), wrong("405: no further message")),
        // The answer of `python3 -m http.server`.
        (
            response(
                "501 Unsupported method ('POST')",
                "content-type: text/html\r\n",
                "<title>Error response</title>",
            ),
            wrong("501: a web page: Error response"),
        ),
        // The right server, which does not know the model.
        (
            response(
                "404 Not Found",
                "",
                r#"{"error":{"message":"The model `x` does not exist","code":"model_not_found"}}"#,
            ),
            "rejected the request (404): The model `x` does not exist; check the name of the model".into(),
        ),
        (
            response(
                "404 Not Found",
                "",
                r#"{"type":"error","error":{"type":"not_found_error","message":"model: x"}}"#,
            ),
            "rejected the request (404): model: x; check the name of the model".into(),
        ),
        (
            response("404 Not Found", "", r#"{"error":"model 'x' not found"}"#),
            "rejected the request (404): model 'x' not found; check the name of the model".into(),
        ),
        // A proxy that cannot reach the provider.
        (
            response(
                "502 Bad Gateway",
                "content-type: text/html\r\n",
                "<html><head><title>502 Bad Gateway</title></head></html>",
            ),
            "failed (502): a web page: 502 Bad Gateway; try again later".into(),
        ),
        (
            response("503 Service Unavailable", "", "<h1>Busy</h1>"),
            "failed (503): a web page: Busy; try again later".into(),
        ),
    ]
}

/// An answer that cannot come from the provider is reported as a wrong address, with what was found there.
#[tokio::test]
async fn a_wrong_server_is_told_from_an_answer_that_was_cut() {
    for format in formats() {
        let run = wrong_servers(&format).into_iter().map(|(script, expected)| {
            let format = &format;
            async move {
                let events = format.against(script.clone()).await;
                assert_eq!(events.len(), 1, "{events:?}");
                let said = error(&events);
                assert!(said.starts_with(&expected), "{}\n{said}\n{expected}\n{script:?}", format.name());
                assert!(!said.contains("secret@"), "{said}");
            }
        });
        join_all(run).await;
    }
}

/// If the bytes may be the beginning of an answer, the connection is to blame and not the address.
#[tokio::test]
async fn an_answer_that_is_cut_before_its_first_event_is_no_wrong_server() {
    for format in formats() {
        let first = &format.pieces.iter().find(|piece| piece.contains('{')).unwrap().as_bytes()[..9];
        let scripts = [
            format.chunks([first]),
            [format.chunks([first]), vec![Step::LastChunk]].concat(),
            [format.chunks([&b"\n\n"[..]]), vec![Step::LastChunk]].concat(),
        ];
        for script in scripts {
            let events = format.against(script).await;
            assert_eq!(error(&events), "cut the answer short; try again", "{}", format.name());
        }
    }
}
