use proptest::prelude::*;
use serde_json::{Value, json};

use crate::testing::{call, message, request};
use crate::{Decoder, Provider};
use headstart_forked_query::{ModelError, ModelEvent, ModelRequest, Role, Usage};

type Events = Vec<Result<ModelEvent, ModelError>>;

/// Realistic streams with the same content: a thought, words in two pieces, parallel calls.
fn recorded() -> [(Provider, &'static str); 5] {
    [
        (Provider::anthropic(), include_str!("../../../tests/streams/anthropic.txt")),
        (Provider::gemini(), include_str!("../../../tests/streams/gemini.txt")),
        (Provider::responses(), include_str!("../../../tests/streams/responses.txt")),
        (Provider::ollama(), include_str!("../../../tests/streams/ollama.txt")),
        (Provider::dashscope(), include_str!("../../../tests/streams/chat.txt")),
    ]
}

/// Decodes a stream that arrives in these pieces.
fn decode<'a>(provider: &Provider, pieces: impl IntoIterator<Item = &'a [u8]>) -> Events {
    decode_for(provider, &request(), pieces)
}

fn decode_for<'a>(
    provider: &Provider,
    request: &ModelRequest,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Events {
    let mut decoder = Decoder::new(provider, request);
    let mut events: Events = pieces.into_iter().flat_map(|piece| decoder.bytes(piece)).collect();
    events.extend(decoder.end());
    assert!(decoder.is_closed() && decoder.end().is_empty());
    events
}

/// Data of events, framed as the format has it.
fn framed(provider: &Provider, data: &[&str]) -> Vec<u8> {
    let frame = |data: &&str| match provider.name.as_str() {
        "ollama" => format!("{data}\n"),
        _ => format!("data: {data}\n\n"),
    };
    data.iter().map(frame).collect::<String>().into_bytes()
}

fn run(provider: &Provider, data: &[&str]) -> Events {
    decode(provider, [&framed(provider, data)[..]])
}

fn is_legal(events: &Events) -> bool {
    let Some((last, before)) = events.split_last() else { return false };
    matches!(last, Err(_) | Ok(ModelEvent::Finished(_)))
        && !before.iter().any(|event| matches!(event, Err(_) | Ok(ModelEvent::Finished(_))))
}

#[test]
fn a_whole_answer_of_each_format() {
    for (provider, stream) in recorded() {
        let events = decode(&provider, [stream.as_bytes()]);
        insta::assert_debug_snapshot!(format!("{}_answer", provider.name), events);
    }
}

#[test]
fn any_split_gives_the_same_events() {
    for (provider, stream) in recorded() {
        let bytes = stream.as_bytes();
        let expected = decode(&provider, [bytes]);
        assert_eq!(decode(&provider, bytes.chunks(1)), expected, "{}", provider.name);
        for place in 0..=bytes.len() {
            let (before, after) = bytes.split_at(place);
            assert_eq!(decode(&provider, [before, after]), expected, "{} split at {place}", provider.name);
        }
    }
}

/// A stream that ends early, at any byte, is a cut answer that keeps what came, or a complete one, and never half a
/// call.
#[test]
fn any_end_is_a_cut_or_the_end() {
    for (provider, stream) in recorded() {
        let whole = decode(&provider, [stream.as_bytes()]);
        for place in 0..stream.len() {
            let events = decode(&provider, [&stream.as_bytes()[..place]]);
            let (last, before) = events.split_last().unwrap();
            match last {
                Ok(_) => assert!(whole.starts_with(&before[..before.len().min(1)]), "{}", provider.name),
                Err(error) => {
                    // The cost is unknown if the server had not reported it yet.
                    let untold = Ok(ModelEvent::Usage(Usage::UNTOLD));
                    let before = before.strip_suffix(&[untold]).unwrap_or(before);
                    let name = provider.label();
                    let expected = match place {
                        0 => ModelError::Dropped { provider: name, source: None },
                        _ => ModelError::Cut { provider: name, source: None },
                    };
                    assert_eq!(*error, expected);
                    assert!(whole.starts_with(before), "{} cut at {place}: {events:?}", provider.name);
                    assert!(!before.iter().any(|event| matches!(event, Ok(ModelEvent::ToolCall(_)))));
                }
            }
        }
    }
}

/// If everything comes twice, no format may read more calls than there were, or go on after its end.
#[test]
fn events_that_come_twice() {
    let calls = |events: &Events| {
        let calls = events.iter().filter_map(|event| match event {
            Ok(ModelEvent::ToolCall(call)) => Some((call.name.clone(), call.args.clone())),
            _ => None,
        });
        calls.collect::<Vec<_>>()
    };
    for (provider, stream) in recorded() {
        let lines: Vec<&str> = stream
            .lines()
            .filter_map(
                |line| {
                    if provider.name == "ollama" { Some(line) } else { line.strip_prefix("data: ") }
                },
            )
            .flat_map(|data| [data, data])
            .collect();
        let events = run(&provider, &lines);
        assert!(is_legal(&events), "{}: {events:?}", provider.name);
        assert!(events.iter().all(Result::is_ok), "{}: {events:?}", provider.name);
        if provider.name == "responses" {
            assert_eq!(events, decode(&provider, [stream.as_bytes()]), "its events are numbered");
        }
        // Characters of arguments that came twice are not valid arguments, so the tool reports an error, and nothing
        // half-right runs.
        if matches!(provider.name.as_str(), "anthropic" | "dashscope") {
            assert_eq!(calls(&events).len(), calls(&decode(&provider, [stream.as_bytes()])).len());
            assert!(
                calls(&events)[0].1.contains_key(headstart_forked_query::ToolCall::MALFORMED_ARGUMENTS),
                "{}",
                provider.name
            );
        }
    }
}

/// How each format ends, and how it reports an error.
const ENDS: &[(&str, &[&str], &str)] = &[
    (
        "anthropic",
        &[
            r#"{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":8}}"#,
            r#"{"type":"message_stop"}"#,
        ],
        "Length",
    ),
    ("anthropic", &[r#"{"type":"message_delta","delta":{"stop_reason":"refusal"}}"#], "ContentFilter"),
    (
        "anthropic",
        &[
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}"#,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        ],
        "anthropic failed (529): Overloaded; try again later",
    ),
    (
        "anthropic",
        &[
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#,
            r#"{"type":"message_stop"}"#,
        ],
        "anthropic sent a malformed answer: a tool call has no name",
    ),
    (
        "anthropic",
        &[r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta"}}"#],
        "anthropic sent a malformed answer: missing field `text` in: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\"}}",
    ),
    (
        "gemini",
        &[r#"{"candidates":[{"content":{"parts":[{"text":"hi"}]},"finishReason":"MAX_TOKENS"}]}"#],
        "Length",
    ),
    ("gemini", &[r#"{"candidates":[{"finishReason":"SAFETY"}]}"#], "ContentFilter"),
    ("gemini", &[r#"{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}"#], "ContentFilter"),
    (
        "gemini",
        &[
            r#"[{"candidates":[{"content":{"parts":[{"text":"hi"}]}}]},{"candidates":[{"finishReason":"STOP"}]}]"#,
        ],
        "Stop",
    ),
    (
        "gemini",
        &[
            r#"{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"Malformed function call: ls("}]}"#,
        ],
        "gemini sent a malformed answer: the model's call cannot be read (MALFORMED_FUNCTION_CALL): Malformed function call: ls(",
    ),
    (
        "gemini",
        &[r#"{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}"#],
        "gemini failed (503): The model is overloaded.; try again later",
    ),
    (
        "responses",
        &[
            r#"{"type":"response.refusal.delta","delta":"No."}"#,
            r#"{"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"}}}"#,
        ],
        "Length",
    ),
    (
        "responses",
        &[r#"{"type":"response.incomplete","response":{"incomplete_details":{"reason":"content_filter"}}}"#],
        "ContentFilter",
    ),
    (
        "responses",
        &[
            r#"{"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded","message":"slow"}}}"#,
        ],
        "responses limits the rate of requests; try again later; it says: slow",
    ),
    (
        "responses",
        &[r#"{"type":"error","code":"server_error","message":"oops","sequence_number":3}"#],
        "responses failed (500): oops; try again later",
    ),
    (
        "responses",
        &[
            r#"{"object":"response","error":null,"output":[{"type":"message","content":[{"type":"output_text","text":"hi"}]}]}"#,
        ],
        "Stop",
    ),
    (
        "gemini",
        &[r#"{"candidates":[{"finishReason":"MISSING_THOUGHT_SIGNATURE"}]}"#],
        "gemini sent a malformed answer: a call of the conversation lacks its signature (MISSING_THOUGHT_SIGNATURE)",
    ),
    (
        "gemini",
        &[r#"{"candidates":[{"finishReason":"MALFORMED_RESPONSE"}]}"#],
        "gemini sent a malformed answer: the model's answer cannot be read (MALFORMED_RESPONSE)",
    ),
    ("gemini", &[r#"{"candidates":[{"finishReason":"IMAGE_RECITATION"}]}"#], "ContentFilter"),
    (
        "responses",
        &[
            r#"{"type":"response.failed","response":{"error":{"code":"context_length_exceeded","message":"too long"}}}"#,
        ],
        "responses rejected the request (400), which is longer than the model's window: too long",
    ),
    (
        "anthropic",
        &[r#"{"type":"error","error":{"type":"timeout_error","message":"Request timed out"}}"#],
        "anthropic failed (504): Request timed out; try again later",
    ),
    (
        "anthropic",
        &[r#"{"type":"error","error":{"type":"not_found_error","message":"model: x"}}"#],
        "anthropic rejected the request (404): model: x; check the name of the model",
    ),
    ("ollama", &[r#"{"message":{"content":"hi"},"done":true,"done_reason":"length"}"#], "Length"),
    (
        "ollama",
        &[r#"{"message":{"content":"hi"},"done":false}"#, r#"{"error":"llama runner has terminated"}"#],
        "ollama failed (500): llama runner has terminated; try again later",
    ),
    (
        "ollama",
        &[r#"{"message":{"content":"hi"#, r#"{"done":true}"#],
        "ollama sent a malformed answer: EOF while parsing a string at line 1 column 25 in: {\"message\":{\"content\":\"hi",
    ),
];

#[test]
fn endings_and_errors() {
    for (provider, data, expected) in ENDS {
        let events = run(&Provider::preset(provider).unwrap(), data);
        assert!(is_legal(&events), "{data:?}: {events:?}");
        let end = match events.last().unwrap() {
            Ok(ModelEvent::Finished(reason)) => format!("{reason:?}"),
            Ok(other) => panic!("no end: {other:?}"),
            Err(error) => error.to_string(),
        };
        assert_eq!(end, *expected, "{data:?}");
    }
}

/// Tokens that providers charge separately are counted separately, whatever they are called.
#[test]
fn tokens_that_are_written_into_the_cache_are_counted() {
    let cases = [
        (
            "openai",
            r#"{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":60,"cache_write_tokens":30}}}"#,
        ),
        (
            "dashscope",
            r#"{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":60,"cache_creation_input_tokens":30}}}"#,
        ),
        (
            "responses",
            r#"{"type":"response.completed","response":{"usage":{"input_tokens":100,"output_tokens":1,"input_tokens_details":{"cached_tokens":60,"cache_write_tokens":30}}}}"#,
        ),
        (
            "anthropic",
            r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":10,"output_tokens":1,"cache_read_input_tokens":60,"cache_creation_input_tokens":30,"cache_creation":{"ephemeral_5m_input_tokens":30}}}"#,
        ),
    ];
    let expected = Usage {
        input_tokens: 100,
        cached_input_tokens: 60,
        cache_creation_tokens: 30,
        output_tokens: 1,
        ..Usage::default()
    };
    for (name, data) in cases {
        let events = run(&Provider::preset(name).unwrap(), &[data]);
        assert!(events.contains(&Ok(ModelEvent::Usage(expected))), "{name}: {events:?}");
    }
}

/// The length of an answer is limited, so that a server cannot fill the memory.
#[test]
fn an_answer_that_is_too_large_is_given_up() {
    for (provider, _) in recorded() {
        let mut decoder = Decoder::new(&provider, &request());
        let piece = vec![b'x'; 1024 * 1024];
        let events: Events = (0..20).flat_map(|_| decoder.bytes(&piece)).collect();
        let [Err(error)] = &events[..] else { panic!("{events:?}") };
        assert!(error.to_string().ends_with("an event is longer than 8 MiB"), "{error}");

        let mut decoder = Decoder::new(&provider, &request());
        // Lines without content.
        let mut lines = vec![b' '; 1024 * 1024];
        lines.push(b'\n');
        let events: Events = (0..65).flat_map(|_| decoder.bytes(&lines)).collect();
        let [Err(error)] = &events[..] else { panic!("{events:?}") };
        assert!(error.to_string().ends_with("it is longer than 64 MiB"), "{error}");
    }
}

/// An id that a call of the conversation has already is replaced, because each result must belong to one call.
#[test]
fn ids_of_the_conversation_are_not_given_again() {
    for (provider, stream) in recorded() {
        let mut asked = request();
        let first = decode(&provider, [stream.as_bytes()]);
        let ids = |events: &Events| {
            let ids = events.iter().filter_map(|event| match event {
                Ok(ModelEvent::ToolCall(call)) => Some(call.id.clone()),
                _ => None,
            });
            ids.collect::<Vec<String>>()
        };
        asked.messages.push(message(Role::Model, ids(&first).iter().map(|id| call(id))));
        let again = ids(&decode_for(&provider, &asked, [stream.as_bytes()]));
        assert!(again.iter().all(|id| !id.is_empty() && !ids(&first).contains(id)), "{again:?}");
    }
}

/// The field names that any of the formats knows.
const NAMES: &[&str] = &[
    "type",
    "index",
    "delta",
    "content_block",
    "text",
    "partial_json",
    "id",
    "name",
    "input",
    "message",
    "usage",
    "stop_reason",
    "error",
    "candidates",
    "content",
    "parts",
    "functionCall",
    "args",
    "finishReason",
    "thought",
    "usageMetadata",
    "choices",
    "tool_calls",
    "function",
    "arguments",
    "finish_reason",
    "response",
    "item",
    "output",
    "call_id",
    "sequence_number",
    "done",
    "done_reason",
    "thinking",
];

const VALUES: &[&str] = &[
    "content_block_start",
    "content_block_delta",
    "tool_use",
    "input_json_delta",
    "text_delta",
    "message_delta",
    "message_stop",
    "response.output_item.done",
    "response.completed",
    "response.failed",
    "function_call",
    "STOP",
    "MALFORMED_FUNCTION_CALL",
    "{\"a\":",
    "ls",
];

/// Almost valid events, to reach rare paths of the decoders.
fn any_data() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|flag| json!(flag)),
        any::<i64>().prop_map(|number| json!(number)),
        (0..VALUES.len()).prop_map(|index| json!(VALUES[index])),
    ];
    let value = leaf.prop_recursive(6, 24, 4, |inner| {
        let field = ((0..NAMES.len()).prop_map(|index| NAMES[index]), inner.clone());
        prop_oneof![
            1 => proptest::collection::vec(inner, 0..3).prop_map(|list| json!(list)),
            3 => proptest::collection::vec(field, 0..5).prop_map(|fields| Value::Object(
                fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
            )),
        ]
    });
    prop_oneof![6 => value.prop_map(|value| value.to_string()), 1 => ".{0,20}", 1 => Just("[DONE]".to_owned())]
}

proptest! {
    /// Any input gives events and one end: an error or `Finished`.
    #[test]
    fn decoders_are_total(data in proptest::collection::vec(any_data(), 0..6)) {
        let data: Vec<&str> = data.iter().map(String::as_str).collect();
        for (provider, _) in recorded() {
            let events = run(&provider, &data);
            prop_assert!(is_legal(&events), "{}: {:?}", provider.name, events);
        }
    }

    #[test]
    fn any_bytes_as_a_stream(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        for (provider, _) in recorded() {
            prop_assert!(is_legal(&decode(&provider, [&bytes[..]])));
            let mut document = Decoder::new(&provider, &request()).unstreamed();
            let mut events = document.bytes(&bytes);
            events.extend(document.end());
            prop_assert!(is_legal(&events));
        }
    }

    /// With one wrong byte the result is an error or other words, never a panic or two ends.
    #[test]
    fn a_stream_with_a_wrong_byte(place in any::<prop::sample::Index>(), byte in any::<u8>()) {
        for (provider, stream) in recorded() {
            let mut bytes = stream.as_bytes().to_vec();
            let place = place.index(bytes.len());
            bytes[place] = byte;
            let events = decode(&provider, [&bytes[..]]);
            prop_assert!(is_legal(&events), "{}: {:?}", provider.name, events);
        }
    }

    #[test]
    fn any_pieces_give_the_same_events(places in proptest::collection::vec(any::<prop::sample::Index>(), 0..8)) {
        for (provider, stream) in recorded() {
            let bytes = stream.as_bytes();
            let mut places: Vec<usize> = places.iter().map(|place| place.index(bytes.len())).collect();
            places.extend([0, bytes.len()]);
            places.sort_unstable();
            let pieces = places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
            prop_assert_eq!(decode(&provider, pieces), decode(&provider, [bytes]));
        }
    }
}

/// If the characters of calls are requested, all of them come, and the complete calls as well.
#[test]
fn the_letters_of_a_call_are_told_on_demand() {
    let mut streamed = Vec::new();
    for (provider, stream) in recorded() {
        let plain = decode(&provider, [stream.as_bytes()]);
        let mut decoder = Decoder::new(&provider, &request()).with_call_fragments();
        let mut events: Events = stream.as_bytes().chunks(7).flat_map(|bytes| decoder.bytes(bytes)).collect();
        events.extend(decoder.end());
        let mut letters: Vec<(String, String)> = Vec::new();
        for event in &events {
            if let Ok(ModelEvent::CallFragment { index, name, letters: more }) = event {
                letters.resize(letters.len().max(index + 1), Default::default());
                letters[*index].0.clone_from(name);
                letters[*index].1.push_str(more);
            }
        }
        events.retain(|event| !matches!(event, Ok(ModelEvent::CallFragment { .. })));
        assert_eq!(events.len(), plain.len(), "{}", provider.wire.id());
        let calls: Vec<_> = plain
            .iter()
            .filter_map(|event| match event {
                Ok(ModelEvent::ToolCall(call)) => Some(call),
                _ => None,
            })
            .collect();
        for ((name, letters), call) in letters.iter().zip(&calls) {
            assert_eq!(*name, call.name);
            let args: Value = serde_json::from_str(letters).unwrap_or_default();
            assert_eq!(args, Value::Object(call.args.clone()), "{letters}");
            streamed.push(provider.wire.id());
        }
    }
    for format in ["anthropic", "chat", "responses"] {
        assert!(
            streamed.contains(&format),
            "{streamed:?}: the recording of {format} holds a call whose letters come one by one"
        );
    }
}
