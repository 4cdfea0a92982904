use serde_json::json;

use crate::testing::{call, message, request};
use crate::{Decoder, Provider};
use headstart_forked_query::{ModelError, ModelEvent, ModelRequest, Role};

type Events = Vec<Result<ModelEvent, ModelError>>;

fn run(chunks: &[&str]) -> Events {
    run_for(chunks, &request())
}

fn run_for(chunks: &[&str], request: &ModelRequest) -> Events {
    let mut decoder = Decoder::new(&Provider::openai(), request);
    let mut events: Events = chunks.iter().flat_map(|chunk| decoder.data(chunk)).collect();
    events.extend(decoder.end());
    events
}

/// Servers deviate from the format in many ways. All of these answers are read.
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

/// An answer that cannot be read ends with an error that says why, and nothing follows it.
#[test]
fn broken_answers() {
    let hi = r#"{"choices":[{"delta":{"content":"hi"}}]}"#;
    let cases: &[(&[&str], &str)] = &[
        (&[], "openai closed the connection before it answered; try again"),
        (&[hi], "openai cut the answer short; try again"),
        (
            &[hi, "{\"cho"],
            "openai sent a malformed answer: EOF while parsing a string at line 1 column 5 in: {\"cho",
        ),
        (
            &[hi, r#"{"choices":[{"delta":{"content":5}}]}"#],
            "openai sent a malformed answer: invalid type: integer `5`, expected a string in: {\"choices\":[{\"delta\":{\"content\":5}}]}",
        ),
        (
            &[hi, r#"{"error":{"message":"overloaded","code":503}}"#, hi],
            "openai failed (503): overloaded; try again later",
        ),
        (
            &[r#"{"object":"error","message":"too long","code":400}"#],
            "openai rejected the request (400): too long",
        ),
        (
            &[r#"{"code":"Throttling","message":"slow down"}"#],
            "openai limits the rate of requests; try again later; it says: slow down",
        ),
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

/// Servers may give an id that a call of the conversation has already, so such a call gets another one.
#[test]
fn ids_of_the_conversation_are_not_given_again() {
    let mut asked = request();
    asked.messages.push(message(Role::Model, [call("call_0")]));
    let chunk = json!({"choices": [{"finish_reason": "stop", "delta": {"tool_calls": [
        {"index": 0, "id": "call_0", "function": {"name": "ls"}}, {"index": 1, "function": {"name": "ls"}},
    ]}}]});
    let events = run_for(&[&chunk.to_string()], &asked);
    let ids: Vec<_> = events
        .into_iter()
        .filter_map(|event| match event.unwrap() {
            ModelEvent::ToolCall(call) => Some(call.id),
            _ => None,
        })
        .collect();
    assert_eq!(ids, ["call_0-2", "call"]);
}
