use serde_json::{Value, json};

use super::*;
use crate::testing::{call, message, request, text};
use headstart_forked_query::{ModelRequest, Part, Role, ToolOutcome, ToolResult};

fn as_json(request: &ModelRequest) -> Value {
    serde_json::from_slice(&encode(request, &Options::default())).unwrap()
}

fn result(id: &str, output: &str) -> Part {
    let outcome = ToolOutcome::Output(json!(output));
    Part::ToolResult(ToolResult { id: id.into(), name: "ls".into(), outcome })
}

/// The provider refuses texts of white space, messages without content, and marks on empty blocks.
#[test]
fn what_is_empty_is_left_out_and_never_marked() {
    let asked = ModelRequest {
        system: Some(" ".into()),
        messages: vec![
            message(Role::User, [text("go")]),
            message(Role::Model, [text(" \n"), call("a"), call("b")]),
            message(Role::Tool, [result("a", "listing"), result("b", "")]),
            message(Role::Model, [text("")]),
        ],
        ..request()
    };
    let body = as_json(&asked);
    assert_eq!(body.get("system"), None);
    let mark = json!({"type": "ephemeral"});
    let expected = json!([
        {"role": "user", "content": [{"type": "text", "text": "go", "cache_control": mark}]},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "a", "name": "ls", "input": {"path": "src/a"}},
            {"type": "tool_use", "id": "b", "name": "ls", "input": {"path": "src/b"}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "listing", "cache_control": mark},
            {"type": "tool_result", "tool_use_id": "b"},
        ]},
    ]);
    assert_eq!(body["messages"], expected);
}

/// Anthropic refuses requests without a limit of output tokens, so every request has one.
#[test]
fn every_request_has_a_limit() {
    assert_eq!(as_json(&request())["max_tokens"], 32_000);
    assert_eq!(as_json(&ModelRequest { max_output_tokens: Some(9), ..request() })["max_tokens"], 9);
    for (model, expected) in [
        ("claude-sonnet-4-5", 9),
        ("claude-3-7-sonnet-20250219", 9),
        ("some-model-5", 9),
        ("claude-opus-5", 9 + 4_096),
        ("claude-haiku-5-5", 9 + 4_096),
        ("anthropic.claude-fable-5-1", 9 + 4_096),
    ] {
        let asked = ModelRequest { model: model.into(), max_output_tokens: Some(9), ..request() };
        assert_eq!(as_json(&asked)["max_tokens"], expected, "{model}");
    }
}
