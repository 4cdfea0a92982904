//! Habits of servers and gateways that the documentation of the format does not describe: they do not stream, frame the
//! answer differently, put words into parts, join calls, and report errors in places of their own.

use headstart_forked_query::{ModelEvent, Usage};
use serde_json::{Value, json};

use crate::Events;
use crate::formats::{Format, KEY, error, formats, without_errors};
use crate::server::{Step, response, streaming_as};

fn format(name: &str) -> Format {
    formats().into_iter().find(|format| format.name() == name).unwrap()
}

/// The same answer as one document: a thought, words, a call, and the cost.
fn whole(format: &Format) -> Value {
    match format.name() {
        "anthropic" => json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "call_a", "name": "ls", "input": {"path": "src"}},
            ],
            "stop_reason": "tool_use", "stop_sequence": null,
            "usage": {"input_tokens": 12, "cache_read_input_tokens": 1000, "output_tokens": 9},
        }),
        "gemini" => json!({
            "candidates": [{"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": [
                {"text": "hm", "thought": true},
                {"text": "I look."},
                {"functionCall": {"id": "call_a", "name": "ls", "args": {"path": "src"}}},
            ]}}],
            "usageMetadata": {"promptTokenCount": 1012, "cachedContentTokenCount": 1000, "candidatesTokenCount": 9},
        }),
        "responses" => json!({
            "id": "resp_1", "object": "response", "status": "completed", "error": null, "incomplete_details": null,
            "output": [
                {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]},
                {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "I look.", "annotations": []}]},
                {"type": "function_call", "id": "fc_1", "call_id": "call_a", "name": "ls", "arguments": "{\"path\":\"src\"}"},
            ],
            "usage": {"input_tokens": 1012, "input_tokens_details": {"cached_tokens": 1000}, "output_tokens": 9},
        }),
        "ollama" => json!({
            "model": "m", "created_at": "2025-08-07T20:33:03Z",
            "message": {"role": "assistant", "content": "I look.", "thinking": "hm",
                "tool_calls": [{"id": "call_a", "function": {"name": "ls", "arguments": {"path": "src"}}}]},
            "done": true, "done_reason": "stop", "prompt_eval_count": 1012, "eval_count": 9,
        }),
        _ => json!({
            "id": "chatcmpl-1", "object": "chat.completion",
            "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
                "role": "assistant", "content": "I look.", "reasoning_content": "hm",
                "tool_calls": [{"id": "call_a", "type": "function", "function": {"name": "ls", "arguments": "{\"path\":\"src\"}"}}],
            }}],
            "usage": {"prompt_tokens": 1012, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 1000}},
        }),
    }
}

fn words(events: &Events) -> String {
    let texts = without_errors(events).into_iter().filter_map(|event| match event {
        ModelEvent::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

fn thoughts(events: &Events) -> String {
    let texts = without_errors(events).into_iter().filter_map(|event| match event {
        ModelEvent::Thought(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// The name, arguments and id of each call.
fn calls(events: &Events) -> Vec<(String, String, String)> {
    let calls = without_errors(events).into_iter().filter_map(|event| match event {
        ModelEvent::ToolCall(call) => {
            Some((call.name.clone(), Value::Object(call.args.clone()).to_string(), call.id.clone()))
        }
        _ => None,
    });
    calls.collect()
}

fn input_tokens(events: &Events) -> Option<u64> {
    without_errors(events).into_iter().rev().find_map(|event| match event {
        ModelEvent::Usage(usage) => Some(usage.input_tokens),
        _ => None,
    })
}

/// Whatever media type and framing a server uses for a whole answer, it is read in every format.
#[tokio::test]
async fn a_whole_answer_is_taken_in_every_format_however_it_is_framed() {
    for format in formats() {
        let answer = whole(&format);
        let (line, pretty) = (answer.to_string(), serde_json::to_string_pretty(&answer).unwrap());
        let marked = format!("\u{feff}{line}");
        let ok = |kind: &str, body: &str| {
            let kind = if kind.is_empty() { String::new() } else { format!("content-type: {kind}\r\n") };
            response("200 OK", &kind, body)
        };
        let scripts = [
            ok("application/json", &line),
            ok("application/json; charset=utf-8", &pretty),
            ok("text/plain", &format!("\r\n\n {pretty}\n")),
            ok(format.kind, &line),
            ok("", &pretty),
            ok("application/json", &marked),
            vec![streaming_as(format.kind), Step::Chunk(format.frame(&line)), Step::LastChunk],
            // Server-sent events under the media type of a document.
            vec![
                streaming_as("application/json"),
                Step::Chunk(format!(": wait\n\ndata: {line}\n\n").into_bytes()),
                Step::LastChunk,
            ],
        ];
        for script in scripts {
            let events = format.against(script.clone()).await;
            let place = format!("{} {script:?}", format.name());
            assert!(matches!(events.last(), Some(Ok(ModelEvent::Finished(_)))), "{place}: {events:?}");
            assert_eq!(words(&events), "I look.", "{place}");
            let expected = ("ls".to_owned(), r#"{"path":"src"}"#.to_owned(), "call_a".to_owned());
            assert_eq!(calls(&events), [expected], "{place}");
            assert_eq!(input_tokens(&events), Some(1_012), "{place}");
            // A whole response has no thoughts, but at most a summary of them.
            if format.name() != "responses" {
                assert_eq!(thoughts(&events), "hm", "{place}");
            }
        }
        // A document that is cut in the middle is not an answer.
        let cut = &line[..line.len() - 2];
        let events = format.against(response("200 OK", "content-type: application/json\r\n", cut)).await;
        assert_eq!(error(&events), "cut the answer short; try again", "{}", format.name());
    }
}

/// The content of a message may be a list of parts. Their words and thoughts are told apart.
#[tokio::test]
async fn words_in_parts_are_words_and_thoughts_in_parts_are_thoughts() {
    for format in ["chat", "dashscope"].map(format) {
        let (delta, whole) = (json!({"delta": null}), json!({"message": null}));
        for choice in [delta, whole] {
            let place = choice.as_object().unwrap().keys().next().unwrap().clone();
            let said = |content: Value| {
                format.frame(&json!({"choices": [{place.as_str(): {"content": content}}]}).to_string())
            };
            let end = json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}).to_string();
            let script = vec![
                streaming_as(format.kind),
                Step::Chunk(said(json!([{"type": "thinking", "thinking": [{"type": "text", "text": "h"}]}]))),
                Step::Chunk(said(
                    json!([{"type": "thinking", "thinking": "m"}, {"type": "text", "text": "I "}]),
                )),
                Step::Chunk(said(
                    json!([{"type": "reference", "reference_ids": [1]}, {"type": "text", "text": "look"}]),
                )),
                Step::Chunk(said(json!([]))),
                Step::Chunk(said(json!("."))),
                Step::Chunk(format.frame(&end)),
                Step::LastChunk,
            ];
            let events = format.against(script).await;
            assert_eq!(
                (words(&events).as_str(), thoughts(&events).as_str()),
                ("I look.", "hm"),
                "{events:?}"
            );
        }
    }
    // The other formats have parts of their own, but a gateway may put a text in their place.
    let anthropic = json!({"type": "message", "content": "I look.", "stop_reason": "end_turn"});
    let responses = json!({"object": "response", "output": [{"type": "message", "content": "I look."}]});
    for (name, answer) in [("anthropic", anthropic), ("responses", responses)] {
        let script = response("200 OK", "content-type: application/json\r\n", &answer.to_string());
        assert_eq!(words(&format(name).against(script).await), "I look.", "{name}");
    }
}

/// Gateways put several calls under one index, so calls are told apart by their names and arguments.
#[tokio::test]
async fn calls_that_a_gateway_glues_together_are_two() {
    let call =
        |name: &str, arguments: &str| json!({"index": 0, "function": {"name": name, "arguments": arguments}});
    let streams = [
        vec![json!([call("ls", r#"{"path":"."}"#), call("grep", r#"{"pattern":"x"}"#)])],
        vec![
            json!([call("ls", r#"{"path""#)]),
            json!([{"index": 0, "function": {"arguments": r#":"."}"#}}]),
            json!([call("grep", "")]),
            json!([{"index": 0, "function": {"arguments": r#"{"pattern":"x"}"#}}]),
        ],
        vec![
            json!([{"function": {"name": "ls", "arguments": {"path": "."}}}]),
            json!([{"function": {"name": "grep", "arguments": {"pattern": "x"}}}]),
        ],
    ];
    for format in ["chat", "dashscope"].map(format) {
        for deltas in &streams {
            let mut script = vec![streaming_as(format.kind)];
            for calls in deltas {
                let data = json!({"choices": [{"index": 0, "delta": {"tool_calls": calls}}]});
                script.push(Step::Chunk(format.frame(&data.to_string())));
            }
            let end = json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]});
            script.extend([Step::Chunk(format.frame(&end.to_string())), Step::LastChunk]);
            let found: Vec<_> = calls(&format.against(script).await)
                .into_iter()
                .map(|(name, arguments, _)| format!("{name} {arguments}"))
                .collect();
            assert_eq!(found, [r#"ls {"path":"."}"#, r#"grep {"pattern":"x"}"#], "{deltas:?}");
        }
    }
    // Content blocks that all have the same index.
    let started = |name: &str| json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "", "name": name, "input": {}}});
    let letters = |letters: &str| json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": letters}});
    let anthropic = format("anthropic");
    let events = [
        started("ls"),
        letters(r#"{"path":"."}"#),
        started("grep"),
        letters(r#"{"pattern":"x"}"#),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
        json!({"type": "message_stop"}),
    ];
    let chunks = events.iter().map(|event| Step::Chunk(anthropic.frame(&event.to_string())));
    let script = [streaming_as(anthropic.kind)].into_iter().chain(chunks).chain([Step::LastChunk]).collect();
    let found: Vec<_> = calls(&anthropic.against(script).await).into_iter().map(|(name, ..)| name).collect();
    assert_eq!(found, ["ls", "grep"]);
}

/// Wherever a server puts the message of an error, and in whatever form, it is shown as plain text.
#[tokio::test]
async fn what_went_wrong_is_shown_as_words_wherever_a_server_says_it() {
    for format in formats() {
        let ok = |body: &str| response("200 OK", &format!("content-type: {}\r\n", format.kind), body);
        let bad = |body: &str| response("400 Bad Request", "", body);
        let begun = |rest: &str| {
            let mut script =
                format.chunks(format.pieces[..format.pieces.len() / 2].iter().map(String::as_bytes));
            script.extend([Step::Chunk(rest.as_bytes().to_vec()), Step::LastChunk]);
            script
        };
        let framed = |data: &str| String::from_utf8(format.frame(data)).unwrap();
        let mut cases = vec![
            // The error comes as an event, because a stream was asked for.
            (
                bad("data: {\"error\": {\"message\": \"no such thing\"}}\n\n"),
                "rejected the request (400): no such thing",
            ),
            (
                bad("event: error\ndata: {\"message\": \"no such thing\"}\n\n"),
                "rejected the request (400): no such thing",
            ),
            (bad("event: error\ndata: no such thing\n\n"), "rejected the request (400): no such thing"),
            // The error is only a text, or is in the place where a validation of the request puts it.
            (bad(r#"{"error": "no such thing"}"#), "rejected the request (400): no such thing"),
            (bad(r#""no such thing""#), "rejected the request (400): no such thing"),
            (
                bad(r#"{"detail":[{"type":"missing","loc":["body","x"],"msg":"no such thing"}]}"#),
                "rejected the request (400): no such thing",
            ),
            (ok(r#"{"error": "no such thing"}"#), "failed (500): no such thing; try again later"),
            (ok(&framed(r#"{"error": "no such thing"}"#)), "failed (500): no such thing; try again later"),
            (
                ok(&framed(r#"{"error": {"message": "no such thing", "code": 400}}"#)),
                "rejected the request (400): no such thing",
            ),
            (begun(&framed(r#"{"error": "no such thing"}"#)), "failed (500): no such thing; try again later"),
        ];
        if format.kind == "text/event-stream" {
            cases.extend([
                (ok("event: error\ndata: no such thing\n\n"), "failed (500): no such thing; try again later"),
                (
                    begun("event: error\ndata: no such thing\n\n"),
                    "failed (500): no such thing; try again later",
                ),
                (
                    begun("event: error\ndata: {\"message\": \"no such thing\"}\n\n"),
                    "failed (500): no such thing; try again later",
                ),
            ]);
        }
        for (script, expected) in cases {
            let events = format.against(script.clone()).await;
            assert_eq!(error(&events), expected, "{} {script:?}", format.name());
        }
        // The key stays hidden in these places, too.
        let events = format.against(bad(&format!("data: {{\"error\": \"bad key {KEY}\"}}\n\n"))).await;
        assert_eq!(error(&events), "rejected the request (400): bad key ***");
    }
}

fn costs(events: &Events) -> Vec<Usage> {
    let costs = without_errors(events).into_iter().filter_map(|event| match event {
        ModelEvent::Usage(usage) => Some(*usage),
        _ => None,
    });
    costs.collect()
}

/// The whole answer without its cost.
fn untold(format: &Format) -> Value {
    let mut answer = whole(format);
    let fields = answer.as_object_mut().unwrap();
    for name in ["usage", "usageMetadata", "prompt_eval_count", "eval_count"] {
        fields.remove(name);
    }
    answer
}

/// If a server does not tell the cost of an answer, the cost is counted as unknown, because zero would be wrong.
#[tokio::test]
async fn a_cost_that_is_not_told_is_unknown_and_not_nothing() {
    for format in formats() {
        let ok = |body: &Value| {
            let kind = format!("content-type: {}\r\n", format.kind);
            response("200 OK", &kind, &body.to_string())
        };
        let events = format.against(ok(&untold(&format))).await;
        assert_eq!(costs(&events), [Usage::UNTOLD], "{}", format.name());
        assert!(matches!(events.last(), Some(Ok(ModelEvent::Finished(_)))), "{events:?}");
        let told = costs(&format.against(ok(&whole(&format))).await);
        assert!(told.last().is_some_and(|usage| usage.untold_requests == 0), "{told:?}");
        // If the answer breaks off, the model was at work, so the cost is unknown. If nothing came, it may not have
        // been, so no cost is reported.
        let half = &format.pieces[..format.pieces.len() / 2];
        let cut = costs(&format.against(format.chunks(half.iter().map(String::as_bytes))).await);
        assert!(!cut.is_empty(), "{}", format.name());
        for script in [vec![], response("400 Bad Request", "", r#"{"error":"no"}"#), format.chunks([])] {
            assert_eq!(costs(&format.against(script).await), [], "{}", format.name());
        }
    }
}
