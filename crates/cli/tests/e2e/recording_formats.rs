//! Holds for each provider that its answers, recorded and played again, do the same work at the same speed, and that no
//! key is in the recording wherever it was in the answers.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::formats::{FORMATS, Format, KEY};
use crate::support::server::{ScriptedResponse, Server, StreamStep};
use crate::support::{Outcome, Session};

const PAUSE: Duration = Duration::from_millis(300);

/// The answer with a pause before its first event and one before its last.
fn with_pauses(answer: ScriptedResponse) -> ScriptedResponse {
    let ScriptedResponse::Stream(mut steps) = answer else { unreachable!("an answer in words is a stream") };
    steps.insert(steps.len() - 1, StreamStep::Wait(PAUSE));
    steps.insert(0, StreamStep::Wait(PAUSE));
    ScriptedResponse::Stream(steps)
}

fn refusal() -> ScriptedResponse {
    let body = json!({"error": {"message": format!("it broke, {KEY}")}}).to_string();
    ScriptedResponse::Whole { status: "502 Bad Gateway", headers: "retry-after: 0\r\n", body }
}

/// Answers that read a file with the key in it, say and write what they found, and say where the key could be sent.
fn script(format: &Format) -> Vec<ScriptedResponse> {
    let url = format!("https://example.com/v1/models/x:streamGenerateContent?alt=sse&key={KEY}");
    vec![
        refusal(),
        with_pauses(format.stream("Let me look.", &[("read_file", json!({"file_path": "keys.txt"}))])),
        format.stream(
            &format!("I found {KEY}; curl -H 'x-goog-api-key: {KEY}' {url}"),
            &[("write_file", json!({"file_path": "found.txt", "content": format!("key: {KEY}\n{url}\n")}))],
        ),
        format.stream("It is written down.", &[]),
        format.stream(&json!({"suggestion": "rotate the keys"}).to_string(), &[]),
    ]
}

fn speculate(session: &Session, arguments: &[&str]) -> (Outcome, Duration) {
    let started = Instant::now();
    let outcome =
        session.run(&[&["speculate", "--json", "--mode", "auto-edit"], arguments, &["go"]].concat());
    (outcome, started.elapsed())
}

/// The events without texts: the calls, the results, and how the work ended.
fn event_summary(outcome: &Outcome) -> Vec<Value> {
    let lines = outcome.json().into_iter().filter(|line| line["type"] != "text");
    let told = lines.map(|line| match line["type"].as_str().unwrap() {
        "toolCall" => json!(["call", line["call"]["name"]]),
        "toolResult" => json!(["result", line["result"]["name"], line["result"]["status"]]),
        _ => {
            let paths: Vec<_> =
                line["changes"].as_array().unwrap().iter().map(|change| change["path"].clone()).collect();
            let usage = &line["usage"];
            let spent = ["inputTokens", "cachedInputTokens", "outputTokens", "turns", "toolCalls"];
            json!([line["status"], paths, line["next"], spent.map(|name| usage[name].clone())])
        }
    });
    told.collect()
}

#[test]
fn every_format_is_recorded_and_played_with_its_timing_and_without_its_key() {
    for format in &FORMATS {
        let name = format.prefix;
        let session = Session::with_project().variable(format.variable, KEY);
        session.write("project/keys.txt", format!("production: {KEY}\n"));
        let server = Server::start(script(format));
        let model =
            ["--model", &format.model(), "--base-url", &server.base_url, "--record", "../record.json"];
        let (live, _) = speculate(&session, &model);
        assert_eq!(live.code, Some(0), "{name}: {live}");
        assert_eq!(server.requests().len(), 5, "{name}");
        // The key was in the head of each request, in the output of a tool, and in the answers.
        assert!(server.requests().iter().all(|request| request.head.contains(KEY)), "{name}");
        assert!(server.requests()[2].body.contains(&format!("production: {KEY}")), "{name}");

        let text = fs::read_to_string(session.workspace().join("../record.json")).unwrap();
        for piece in KEY.as_bytes().windows(12) {
            let piece = str::from_utf8(piece).unwrap();
            assert!(!text.contains(piece), "{name}: {piece} in {text}");
        }
        let recording: Value = serde_json::from_str(&text).unwrap();
        let turns = recording["turns"].as_array().unwrap();
        assert_eq!(
            (turns.len(), recording["suggestions"].as_array().unwrap().len()),
            (3, 1),
            "{name}: {text}"
        );
        let content = turns[1]["toolCalls"][0]["args"]["content"].as_str().unwrap();
        assert!(
            content.starts_with("key: [scrubbed]\nhttps://example.com/")
                && content.contains("key=[scrubbed]"),
            "{content}"
        );
        assert!(turns[1]["text"].as_str().unwrap().starts_with("I found [scrubbed]; curl"), "{name}: {text}");
        // The time of the refusal is not counted, because the provider would not take it again.
        let pause = |field: &str| turns[0][field].as_u64().unwrap();
        assert!((250..5_000).contains(&pause("delayMs")), "{name}: {text}");
        // What a busy machine begins to read later counts as delay, and the rest of the stream is shorter by that.
        assert!((500..10_000).contains(&(pause("delayMs") + pause("streamMs"))), "{name}: {text}");

        let played = ["--model", "replay:../record.json", "--speed"];
        let (slow, slow_time) = speculate(&session, &[&played[..], &["1"]].concat());
        let (fast, _) = speculate(&session, &[&played[..], &["100"]].concat());
        assert_eq!(event_summary(&slow), event_summary(&live), "{name}");
        assert_eq!(event_summary(&fast), event_summary(&live), "{name}");
        let model_ms = |outcome: &Outcome| outcome.finished()["usage"]["modelMs"].as_u64().unwrap();
        assert!(500 <= model_ms(&slow) && PAUSE < slow_time, "{name}: {slow}");
        assert!(model_ms(&fast) < model_ms(&slow) / 3, "{name}: {} {}", model_ms(&fast), model_ms(&slow));
    }
}
