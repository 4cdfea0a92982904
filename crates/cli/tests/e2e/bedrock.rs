//! Holds how a model of Amazon Bedrock is used. A server on the loopback interface plays it with recorded messages.

use serde_json::json;

use crate::support::Session;
use crate::support::server::{ScriptedResponse, Server};

const CALLS: &[u8] = include_bytes!("../../../providers/tests/streams/bedrock.bin");
const SAID: &[u8] = include_bytes!("../../../providers/tests/streams/bedrock-said.bin");
const THROTTLED: &[u8] = include_bytes!("../../../providers/tests/streams/bedrock-throttled.bin");
const MODEL: &str = "bedrock:us.anthropic.claude-x-v1:0";
const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

fn messages(recorded: &[u8]) -> ScriptedResponse {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/vnd.amazon.eventstream\r\nconnection: close\r\n";
    let head = format!("{head}content-length: {}\r\n\r\n", recorded.len());
    ScriptedResponse::Bytes([head.as_bytes(), recorded].concat(), Vec::new())
}

fn session() -> Session {
    Session::with_project()
        .variable("AWS_REGION", "eu-central-1")
        .variable("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
        .variable("AWS_SECRET_ACCESS_KEY", SECRET)
        .variable("AWS_SESSION_TOKEN", "session-0123456789")
        .variable("HEADSTART_SUGGEST", "off")
}

#[test]
fn a_turn_is_signed_streamed_and_goes_on_after_its_call() {
    let session = session();
    let server = Server::start(vec![messages(CALLS), messages(SAID)]);
    let chat = ["chat", "--json", "--model", MODEL, "--base-url", &server.base_url];
    let outcome = session.run_with_input(&chat, "what does hello.txt say?\n");
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert!(outcome.stdout.contains("It says hello."), "{outcome}");
    assert!(outcome.stdout.contains(r#""name":"read_file""#), "{outcome}");
    let requests = server.requests();
    assert_eq!(requests.len(), 2, "{outcome}");
    for request in &requests {
        let line = request.head.lines().next().unwrap();
        assert!(line.contains("/model/us.anthropic.claude-x-v1%3A0/converse-stream"), "{line}");
        let signed = "authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/";
        assert!(request.head.contains(signed), "{}", request.head);
        assert!(request.head.contains("/eu-central-1/bedrock/aws4_request"), "{}", request.head);
        assert!(request.head.contains("x-amz-security-token: session-0123456789"), "{}", request.head);
        assert!(!request.head.contains(SECRET) && !request.body.contains(SECRET));
    }
    let mark = r#",{"cachePoint":{"type":"default"}}"#;
    let [before, after] = [&requests[0], &requests[1]].map(|request| request.body.replace(mark, ""));
    let shared = before.trim_end_matches(['}', ']']);
    assert!(after.starts_with(shared), "the prefix changed: {before} {after}");
    assert!(after.contains(r#""toolUseId":"tooluse_kZJMlvQmRJ6eAyJE5GIl7Q""#), "{after}");
    session.assert_home_lacks(SECRET);
}

#[test]
fn work_ahead_reads_it_too_and_a_key_of_its_own_is_sent_as_one() {
    let session = session().variable("AWS_BEARER_TOKEN_BEDROCK", "bedrock-api-key-0123456789");
    let server = Server::start(vec![messages(CALLS), messages(SAID)]);
    let outcome = session.run(&server.speculation(MODEL, &["what does hello.txt say?"]));
    assert_eq!(outcome.code, Some(0), "{outcome}");
    let finished = outcome.finished();
    assert_eq!(finished["status"], "completed", "{outcome}");
    let usage = (&finished["usage"]["inputTokens"], &finished["usage"]["outputTokens"]);
    assert_eq!(usage, (&json!(140), &json!(35)), "{outcome}");
    let head = &server.requests()[0].head;
    assert!(head.contains("authorization: Bearer bedrock-api-key-0123456789"), "{head}");
    assert!(!head.contains("AWS4"), "{head}");
}

#[test]
fn what_is_missing_and_what_the_service_says_is_told() {
    let with = |variables: &[(&str, &str)]| {
        variables.iter().fold(Session::with_project(), |session, (name, value)| session.variable(name, value))
    };
    let region = ("AWS_DEFAULT_REGION", "us-east-1");
    let rows: [(&[(&str, &str)], &str); 4] = [
        (&[], "AWS_REGION: is not set, and Bedrock has an address in each region"),
        (
            &[("AWS_REGION", "evil.example/")],
            "AWS_REGION: \"evil.example/\" is no region; it looks like us-east-1",
        ),
        (&[region], "AWS_ACCESS_KEY_ID: is not set, and bedrock:us.anthropic.claude-x-v1:0 needs it"),
        (&[region, ("AWS_ACCESS_KEY_ID", "AKID")], "AWS_SECRET_ACCESS_KEY: is not set"),
    ];
    for (variables, expected) in rows {
        let outcome = with(variables).run(&["speculate", "--model", MODEL, "go"]);
        assert_eq!(outcome.code, Some(2), "{outcome}");
        assert!(outcome.stderr.contains(expected), "{expected}: {outcome}");
    }

    let session = session();
    let server = Server::answering(|_| messages(THROTTLED));
    session.write("home/.config/headstart/config.toml", "[requests]\nretries = 0\n");
    let outcome = session.run(&server.speculation(MODEL, &["go"]));
    assert!(outcome.stdout.contains("Too many tokens"), "{outcome}");
    assert!(outcome.stdout.contains("rate_limited"), "{outcome}");
}
