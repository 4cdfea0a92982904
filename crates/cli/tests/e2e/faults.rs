//! Holds what happens if a provider fails in the middle of a speculation: the status says so, staged work is kept, and
//! nothing is applied.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::Session;
use crate::support::server::{ScriptedResponse, Server, StreamStep, calls, delta, end, says};

const KEY: &str = "sk-faults-0123456789abcdef";

/// Much longer than any limit below.
const LONG: Duration = Duration::from_secs(25);

struct Fault {
    name: &'static str,
    /// The answers in place of the model's second one, one for each request.
    answers: Vec<ScriptedResponse>,
    /// Text that the error must contain; `None` if the work is done all the same.
    says: Option<&'static str>,
}

fn partial_delta() -> StreamStep {
    delta(&json!({"content": "I will"}))
}

/// The steps of an answer in words.
fn steps(text: &str) -> Vec<StreamStep> {
    let ScriptedResponse::Stream(steps) = says(text) else { unreachable!("an answer in words is a stream") };
    steps
}

fn response_head(more: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n{more}\r\n").into_bytes()
}

/// The events of an answer in words, as bytes.
fn bytes(text: &str) -> String {
    let events = steps(text).into_iter().map(|step| match step {
        StreamStep::Data(data) => format!("data: {data}\n\n"),
        other => unreachable!("{other:?} is no event"),
    });
    events.collect()
}

#[expect(clippy::too_many_lines, reason = "a table, one entry for each fault")]
fn faults() -> Vec<Fault> {
    let fault = |name, answer, says: &'static str| Fault { name, answers: vec![answer], says: Some(says) };
    let passes = |name, answer| Fault { name, answers: vec![answer], says: None };
    let stream = |steps: &[StreamStep]| ScriptedResponse::Stream(steps.to_vec());
    let twice = steps("Both say farewell.").into_iter().flat_map(|step| [step.clone(), step]);
    let whole = bytes("Both say farewell.");
    let letters = whole.chars().map(|letter| StreamStep::Raw(letter.to_string()));
    let refused = |status| ScriptedResponse::Whole {
        status,
        headers: "retry-after: 0\r\n",
        body: format!(r#"{{"error":{{"message":"busy, {KEY}"}}}}"#),
    };
    let limited = || refused("429 Too Many Requests");
    let failing = || refused("502 Bad Gateway");
    let empty = || {
        ": still here\n\n".to_owned() + r#"data: {"choices":[{"index":0,"delta":{"content":""}}]}"# + "\n\n"
    };
    let sized = |length: usize, body: &str| {
        let bytes =
            [response_head(&format!("content-length: {length}\r\n")), body.as_bytes().to_vec()].concat();
        ScriptedResponse::Bytes(bytes, vec![StreamStep::Cut])
    };
    vec![
        passes("a byte at a time", ScriptedResponse::Stream(letters.collect())),
        passes("every event twice", ScriptedResponse::Stream(twice.collect())),
        passes("more bytes promised than come, the answer being whole", sized(9_999, &whole)),
        passes(
            "silence after the end",
            ScriptedResponse::Stream([steps("Done."), vec![StreamStep::Wait(LONG)]].concat()),
        ),
        fault("hangs up", stream(&[partial_delta(), StreamStep::Cut]), "cut the answer short"),
        fault("ends too early", stream(&[partial_delta()]), "cut the answer short"),
        // A request of whose answer no byte came is sent again.
        Fault {
            name: "hangs up before it says anything, each time",
            answers: vec![stream(&[StreamStep::Cut]), stream(&[StreamStep::Cut]), stream(&[StreamStep::Cut])],
            says: Some("closed the connection before it answered"),
        },
        Fault {
            name: "hangs up before it says anything, once",
            answers: vec![stream(&[StreamStep::Cut]), says("Done.")],
            says: None,
        },
        fault(
            "resets",
            stream(&[partial_delta(), StreamStep::Wait(Duration::from_millis(200)), StreamStep::Reset]),
            "cut the answer short",
        ),
        Fault {
            name: "resets at once, each time",
            answers: (0..3).map(|_| ScriptedResponse::Bytes(Vec::new(), vec![StreamStep::Reset])).collect(),
            says: Some("closed the connection before it answered"),
        },
        fault("more bytes promised than come", sized(9_999, &whole[..200]), "cut the answer short"),
        fault("fewer bytes promised than come", sized(200, &whole), "cut the answer short"),
        fault(
            "broken JSON",
            stream(&[partial_delta(), StreamStep::Data("{\"choices\":[".into())]),
            "malformed answer",
        ),
        fault(
            "a line of 16 MB",
            stream(&[partial_delta(), StreamStep::Raw("data: ".to_owned() + &"x".repeat(16 * 1024 * 1024))]),
            "an event is longer than 8 MiB",
        ),
        fault(
            "empty events without end",
            stream(&[partial_delta(), StreamStep::ForEver(empty(), Duration::from_millis(20))]),
            "sent nothing for 2 s",
        ),
        fault(
            "silence",
            ScriptedResponse::Bytes(Vec::new(), vec![StreamStep::Wait(LONG)]),
            "sent nothing for 1 s",
        ),
        fault("silence after the head", stream(&[StreamStep::Wait(LONG)]), "sent nothing for 1 s"),
        fault(
            "silence in the middle",
            stream(&[partial_delta(), StreamStep::Wait(LONG)]),
            "sent nothing for 1 s",
        ),
        fault(
            "an error in the stream",
            stream(&[
                partial_delta(),
                StreamStep::Data(format!(r#"{{"error":{{"message":"overloaded, {KEY}","code":529}}}}"#)),
            ]),
            "failed (529): overloaded, ***",
        ),
        fault(
            "a page",
            ScriptedResponse::Whole {
                status: "200 OK",
                headers: "content-type: text/html\r\n",
                body: "<title>Log in</title>".into(),
            },
            "does not speak OpenAI's chat completions (it answered with a web page: Log in); check the base URL",
        ),
        fault(
            "somebody else",
            ScriptedResponse::Whole {
                status: "200 OK",
                headers: "content-type: text/plain\r\n",
                body: "it works".into(),
            },
            "does not speak OpenAI's chat completions (it answered with \"it works\"); check the base URL",
        ),
        fault(
            "a redirect",
            ScriptedResponse::Whole {
                status: "302 Found",
                headers: "location: /login?key=secret\r\n",
                body: String::new(),
            },
            "/login); check the base URL",
        ),
        // Work ahead makes a storm no worse.
        Fault { name: "a storm", answers: vec![limited()], says: Some("busy, ***") },
        Fault { name: "failures", answers: vec![failing(), failing(), failing()], says: Some("busy, ***") },
        Fault { name: "failures that pass", answers: vec![failing(), failing(), says("Done.")], says: None },
    ]
}

#[test]
fn every_fault_has_its_status_and_nothing_staged_is_lost_or_applied() {
    for fault in faults() {
        let session = Session::with_project().variable("OPENAI_API_KEY", KEY);
        let limits = "[requests]\nretries = 2\nfirst_byte_seconds = 1\nidle_seconds = 1\nstalled_seconds = 2\nconnect_seconds = 1\n";
        session.write("home/.config/headstart/config.toml", limits);
        let edit = json!({"file_path": "greeting.txt", "old_string": "world", "new_string": "moon"});
        let work =
            calls(&[("edit", edit), ("write_file", json!({"file_path": "bye.txt", "content": "bye\n"}))]);
        let suggestion = says(r#"{"suggestion":"run the tests"}"#);
        let count = fault.answers.len();
        let server = Server::start([vec![work], fault.answers, vec![suggestion]].concat());
        let before = session.hash();
        let outcome = session.run(&server.speculation("openai:test", &["go"]));
        let name = fault.name;
        assert_eq!(session.hash(), before, "{name}: {outcome}");
        assert!(!outcome.stdout.contains(KEY) && !outcome.stderr.contains(KEY), "{name}: {outcome}");
        session.assert_home_lacks(KEY);
        let finished = outcome.finished();
        let (status, code) = if fault.says.is_some() { ("failed", 1) } else { ("completed", 0) };
        assert_eq!((&finished["status"], outcome.code), (&json!(status), Some(code)), "{name}: {outcome}");
        if let Some(says) = fault.says {
            let error = finished["error"].as_str().unwrap();
            assert!(error.contains(says), "{name}: {error}");
            assert!(error.starts_with(&format!("openai at {} ", server.base_url)), "{name}: {error}");
        }
        let paths: Vec<&Value> =
            finished["changes"].as_array().unwrap().iter().map(|change| &change["path"]).collect();
        assert_eq!(paths, [&json!("bye.txt"), &json!("greeting.txt")], "{name}: {outcome}");
        // After a failure nobody asks for a suggestion.
        let requests = 1 + count + usize::from(fault.says.is_none());
        assert_eq!(server.requests().len(), requests, "{name}");

        // The staged work is complete as far as it came, and can be taken.
        let accept = session.run(&["accept", finished["id"].as_str().unwrap()]);
        assert_eq!(accept.code, Some(0), "{name}: {accept}");
        assert_eq!(session.text("greeting.txt").unwrap(), "hello\nmoon\n", "{name}");
        assert_eq!(session.text("bye.txt").unwrap(), "bye\n", "{name}");
    }
}

/// An answer that only has an end is a failure, even if the server sends its usage with it.
#[test]
fn an_answer_of_nothing_is_a_failure() {
    let session = Session::with_project().variable("OPENAI_API_KEY", KEY);
    let server = Server::start(vec![ScriptedResponse::Stream(end("stop").to_vec())]);
    let outcome =
        session.run(&["speculate", "--json", "--model", "openai:test", "--base-url", &server.base_url, "go"]);
    assert_eq!(outcome.finished()["status"], "failed", "{outcome}");
}
