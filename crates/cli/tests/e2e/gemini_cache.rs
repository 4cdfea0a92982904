//! Holds that Gemini is asked to keep the beginning of a conversation under a name, that the name is used, and that
//! Gemini is told to forget it.

use serde_json::{Value, json};

use crate::formats::{FORMATS, Format, KEY};
use crate::support::server::{Request, ScriptedResponse, Server};
use crate::support::{Outcome, Session};

fn gemini() -> &'static Format {
    FORMATS.iter().find(|format| format.prefix == "gemini").unwrap()
}

fn created_cache() -> ScriptedResponse {
    let body = json!({"name": "cachedContents/abc", "usageMetadata": {"totalTokenCount": 1_000}}).to_string();
    ScriptedResponse::Whole { status: "200 OK", headers: "content-type: application/json\r\n", body }
}

fn scripted_work() -> Vec<ScriptedResponse> {
    vec![
        gemini().stream("Let me look.", &[("read_file", json!({"file_path": "greeting.txt"}))]),
        gemini().stream("A greeting.", &[]),
        gemini().stream(r#"{"suggestion":"run the tests"}"#, &[]),
    ]
}

/// For each request, the resource it asks for and the name under which its beginning is kept.
fn cache_requests(requests: &[Request]) -> Vec<(String, Value)> {
    let sent_requests = requests.iter().map(|request| {
        let line = request.head.lines().next().unwrap().to_lowercase();
        let body: Value = serde_json::from_str(&request.body).unwrap_or_default();
        (line.split(' ').take(2).collect::<Vec<_>>().join(" "), body["cachedContent"].clone())
    });
    sent_requests.collect()
}

fn session() -> Session {
    let session = Session::with_project().variable(gemini().variable, KEY);
    let prices = "[models.'gemini:gemini-3-test'.prices]\ninput = 1\ncached = 0.1\ncache_write = 2\nstorage = 36\noutput = 10\n";
    session.write("home/.config/headstart/config.toml", prices);
    session
}

/// Has two turns of a chat whose input is a pipe.
fn chat(session: &Session, server: &Server) -> Outcome {
    let model = gemini().model();
    let chat =
        ["--json", "chat", "--cache-seconds", "100", "--model", &model, "--base-url", &server.base_url];
    session.run_with_input(&chat, "read it\nonce more\n")
}

fn turns() -> Vec<ScriptedResponse> {
    vec![
        gemini().stream("Let me look.", &[("read_file", json!({"file_path": "greeting.txt"}))]),
        gemini().stream("A greeting.", &[]),
        gemini().stream("Still a greeting.", &[]),
    ]
}

#[test]
fn a_prefix_is_made_and_used_by_turns_and_removed() {
    let session = session();
    let forgotten = ScriptedResponse::Whole { status: "200 OK", headers: "", body: "{}".into() };
    let server = Server::start([vec![created_cache()], turns(), vec![forgotten]].concat());
    let outcome = chat(&session, &server);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let asked = "post /v1/models/gemini-3-test:streamgeneratecontent?alt=sse".to_owned();
    let name = json!("cachedContents/abc");
    let expected = [
        ("post /v1/cachedcontents".to_owned(), Value::Null),
        (asked.clone(), name.clone()),
        (asked.clone(), name.clone()),
        (asked, name),
        ("delete /v1/cachedcontents/abc".to_owned(), Value::Null),
    ];
    assert_eq!(cache_requests(&server.requests()), expected);
    let made = server.requests()[0].json();
    assert_eq!((&made["ttl"], &made["model"]), (&json!("100s"), &json!("models/gemini-3-test")));
    assert!(
        server.requests().iter().all(|request| request.head.contains(KEY) && !request.body.contains(KEY))
    );
    session.assert_home_lacks(KEY);
}

#[test]
fn a_prefix_that_is_refused_is_no_trouble() {
    let session = session();
    let refusal = r#"{"error":{"code":400,"message":"Cached content is too small."}}"#.to_owned();
    let refused = ScriptedResponse::Whole { status: "400 Bad Request", headers: "", body: refusal };
    let server = Server::start([vec![refused], turns()].concat());
    let outcome = chat(&session, &server);
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert!(cache_requests(&server.requests())[1..].iter().all(|(_, name)| name.is_null()));
    assert_eq!(server.requests().len(), 4);
}

/// Work ahead keeps nothing at the provider, because the user has not asked to pay for storing it.
#[test]
fn work_ahead_has_nothing_kept() {
    let session = session();
    let server = Server::start(scripted_work());
    let (model, url) = (gemini().model(), server.base_url.clone());
    let ahead = ["speculate", "--cache-seconds", "100", "--model", &model, "--base-url", &url, "read it"];
    let outcome = session.run(&ahead);
    assert_eq!((outcome.code, server.requests().len()), (Some(0), 3), "{outcome}");
    assert!(
        cache_requests(&server.requests())
            .iter()
            .all(|(line, name)| !line.contains("cached") && name.is_null())
    );
    assert!(outcome.stderr.contains("--cache-seconds changes nothing here: only the turns"), "{outcome}");
}

#[test]
fn nobody_is_asked_to_keep_anything_by_itself_and_others_cannot() {
    let session = session();
    let server = Server::start(scripted_work());
    let (model, url) = (gemini().model(), server.base_url.clone());
    let outcome = session.run(&["speculate", "--model", &model, "--base-url", &url, "read it"]);
    assert_eq!((outcome.code, server.requests().len()), (Some(0), 3), "{outcome}");

    let recording = session.recording(&json!({"turns": [{"text": "Done."}]}));
    let outcome = session.run(&["speculate", "--cache-seconds", "9", "--model", &recording, "go"]);
    assert!(
        outcome.stderr.contains("--cache-seconds changes nothing: only Gemini keeps prefixes by name"),
        "{outcome}"
    );
}
