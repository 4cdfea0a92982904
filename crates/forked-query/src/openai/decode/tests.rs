use eventsource_stream::Eventsource;
use futures::executor::block_on;
use futures::{StreamExt, stream};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::Role;
use crate::testing::{call, message, request};

type Events = Vec<Result<ModelEvent, ModelError>>;

/// Decodes a stream of server-sent events that arrives in these pieces.
fn decode(pieces: Vec<Vec<u8>>, request: &ModelRequest) -> Events {
    let mut decoder = Decoder::new(&Provider::openai(), request);
    let pieces = stream::iter(pieces.into_iter().map(Ok::<_, std::convert::Infallible>));
    let data: Vec<_> = block_on(pieces.eventsource().collect());
    let mut events = Vec::new();
    for event in data {
        append(&mut events, decoder.data(&event.unwrap().data));
    }
    append(&mut events, decoder.end());
    events
}

fn append(events: &mut Events, more: Result<Vec<ModelEvent>, ModelError>) {
    match more {
        Ok(more) => events.extend(more.into_iter().map(Ok)),
        Err(error) => events.push(Err(error)),
    }
}

fn sse(chunks: &[&str]) -> Vec<u8> {
    chunks.iter().flat_map(|chunk| format!("data: {chunk}\n\n").into_bytes()).collect()
}

fn run(chunks: &[&str]) -> Events {
    decode(vec![sse(chunks)], &request())
}

const WHOLE: &[&str] = &[
    r#"{"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null}"#,
    r#"{"choices":[{"index":0,"delta":{"reasoning_content":"hm, größer"}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"content":"I look "}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"content":"nach 語 und \"x\""}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"ls","arguments":""}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_b","function":{"name":"grep","arguments":"{\"pat"}},{"index":0,"function":{"arguments":"{\"path\":"}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"src\"}"}},{"index":1,"function":{"arguments":"tern\":\"ü\"}"}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
    r#"{"choices":[],"usage":{"prompt_tokens":1200,"completion_tokens":30,"total_tokens":1230,"prompt_tokens_details":{"cached_tokens":1024}}}"#,
    "[DONE]",
];

#[test]
fn a_whole_answer() {
    insta::assert_debug_snapshot!(run(WHOLE));
}

#[test]
fn any_split_gives_the_same_events() {
    let bytes = sse(WHOLE);
    let expected = decode(vec![bytes.clone()], &request());
    assert_eq!(decode(bytes.iter().map(|byte| vec![*byte]).collect(), &request()), expected);
    for place in 0..=bytes.len() {
        let (before, after) = bytes.split_at(place);
        assert_eq!(
            decode(vec![before.to_vec(), after.to_vec()], &request()),
            expected,
            "split at byte {place}"
        );
    }
}

#[test]
fn servers_of_their_own_mind() {
    let cases: &[(&str, &[&str])] = &[
        (
            "every call has index 0",
            &[
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"ls","arguments":"{}"}},{"index":0,"id":"y","function":{"name":"ls","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#,
            ],
        ),
        (
            "no index, no id, arguments as an object",
            &[
                r#"{"choices":[{"delta":{"tool_calls":[{"function":{"name":"ls","arguments":{"path":"."}}}]},"finish_reason":"stop"}]}"#,
                "[DONE]",
            ],
        ),
        (
            "the same id twice in one answer, and the name repeated",
            &[
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"ls","arguments":"{"}}]}}]}"#,
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"ls","arguments":"}"}},{"index":1,"id":"x","function":{"name":"grep"}}]},"finish_reason":"tool_calls"}]}"#,
            ],
        ),
        (
            "arguments that are no object",
            &[
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"ls","arguments":"{\"path\": src}"}}]},"finish_reason":"tool_calls"}]}"#,
            ],
        ),
        (
            "no streaming at all",
            &[
                r#"{"choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}"#,
            ],
        ),
        ("done without a reason", &[r#"{"choices":[{"delta":{"content":"hi"}}]}"#, "[DONE]", "not json"]),
        ("a reason without done", &[r#"{"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}"#]),
        ("length", &[r#"{"choices":[{"delta":{"content":"hi"},"finish_reason":"length"}]}"#]),
        ("filtered", &[r#"{"choices":[{"delta":{"refusal":"No."},"finish_reason":"content_filter"}]}"#]),
        (
            "empty reasons, nulls, second choice",
            &[
                r#"{"choices":[{"delta":{"content":null,"tool_calls":null},"finish_reason":""},{"index":1,"delta":{"content":"other"}}]}"#,
                r#"{"choices":null}"#,
                r#"{"choices":[{"index":0,"finish_reason":"stop"}]}"#,
            ],
        ),
        (
            "usage of another shape",
            &[
                r#"{"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":-1}}"#,
                r#"{"choices":[],"usage":{"prompt_tokens":9,"prompt_cache_hit_tokens":8}}"#,
            ],
        ),
    ];
    for (name, chunks) in cases {
        let name = format!("own_mind_{}", name.replace([' ', ','], "_"));
        insta::assert_debug_snapshot!(name, run(chunks));
    }
}

#[test]
fn broken_answers() {
    let hi = r#"{"choices":[{"delta":{"content":"hi"}}]}"#;
    let cases: &[(&[&str], &str)] = &[
        (&[], "openai cut the answer short"),
        (&[hi], "openai cut the answer short"),
        (
            &[hi, "{\"cho"],
            "openai sent a malformed answer: EOF while parsing a string at line 1 column 5 in: {\"cho",
        ),
        (
            &[hi, r#"{"choices":[{"delta":{"content":5}}]}"#],
            "openai sent a malformed answer: invalid type: integer `5`, expected a string in: {\"choices\":[{\"delta\":{\"content\":5}}]}",
        ),
        (&[hi, r#"{"error":{"message":"overloaded","code":503}}"#, hi], "openai failed (503): overloaded"),
        (
            &[r#"{"object":"error","message":"too long","code":400}"#],
            "openai rejected the request (400): too long",
        ),
        (&[r#"{"code":"Throttling","message":"slow down"}"#], "openai limits the rate of requests"),
        (
            &[
                r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x"}]},"finish_reason":"tool_calls"}]}"#,
            ],
            "openai sent a malformed answer: a tool call has no name",
        ),
    ];
    for (chunks, expected) in cases {
        let mut events = run(chunks);
        let error = events.pop().unwrap().unwrap_err();
        assert_eq!(error.to_string(), *expected);
        assert!(events.iter().all(Result::is_ok), "nothing follows an error");
    }
}

#[test]
fn ids_of_the_conversation_are_not_given_again() {
    let mut asked = request();
    asked.messages.push(message(Role::Model, [call("call_0")]));
    let chunk = json!({"choices": [{"finish_reason": "stop", "delta": {"tool_calls": [
        {"index": 0, "id": "call_0", "function": {"name": "ls"}}, {"index": 1, "function": {"name": "ls"}},
    ]}}]});
    let events = decode(vec![sse(&[&chunk.to_string()])], &asked);
    let ids: Vec<_> = events
        .into_iter()
        .filter_map(|event| match event.unwrap() {
            ModelEvent::ToolCall(call) => Some(call.id),
            _ => None,
        })
        .collect();
    assert_eq!(ids, ["call_0-2", "call"]);
}

/// Chunks that are nearly right, so that the decoder is led into its corners.
fn any_data() -> impl Strategy<Value = String> {
    let name = prop_oneof![
        Just("choices"),
        Just("delta"),
        Just("content"),
        Just("tool_calls"),
        Just("function"),
        Just("arguments"),
        Just("index"),
        Just("id"),
        Just("name"),
        Just("finish_reason"),
        Just("usage"),
        Just("error")
    ];
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<i64>().prop_map(|number| json!(number)),
        "[a-z{}\"]{0,6}".prop_map(|text| json!(text)),
    ];
    let value = leaf.prop_recursive(6, 24, 3, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(|list| json!(list)),
            proptest::collection::vec((name.clone(), inner), 0..4).prop_map(|fields| Value::Object(
                fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
            )),
        ]
    });
    prop_oneof![4 => value.prop_map(|value| value.to_string()), 1 => ".{0,20}", 1 => Just("[DONE]".to_owned())]
}

proptest! {
    /// Whatever comes is events or one error at the end, and `Finished` comes once and last.
    #[test]
    fn the_decoder_is_total(data in proptest::collection::vec(any_data(), 0..6)) {
        let mut decoder = Decoder::new(&Provider::openai(), &request());
        let mut events: Events = Vec::new();
        for data in &data {
            append(&mut events, decoder.data(data));
        }
        append(&mut events, decoder.end());
        let last = events.pop();
        prop_assert!(matches!(last, Some(Err(_) | Ok(ModelEvent::Finished(_)))));
        prop_assert!(events.iter().all(|event| !matches!(event, Err(_) | Ok(ModelEvent::Finished(_)))));
        prop_assert_eq!(decoder.end(), Ok(Vec::new()));
    }

    #[test]
    fn any_bytes_as_a_stream(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        let mut decoder = Decoder::new(&Provider::openai(), &request());
        let _ = decoder.data(&String::from_utf8_lossy(&bytes));
        let _ = decoder.end();
        prop_assert!(decoder.is_closed());
    }

    #[test]
    fn any_three_pieces_give_the_same_events(first in 0..2_000_usize, second in 0..2_000_usize) {
        let bytes = sse(WHOLE);
        let (first, second) = (first.min(second).min(bytes.len()), first.max(second).min(bytes.len()));
        let pieces = vec![bytes[..first].to_vec(), bytes[first..second].to_vec(), bytes[second..].to_vec()];
        prop_assert_eq!(decode(pieces, &request()), run(WHOLE));
    }
}
