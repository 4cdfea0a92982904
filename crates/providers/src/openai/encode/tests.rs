use serde_json::json;

use super::*;
use crate::Provider;
use crate::Wire;
use crate::openai::Effort;
use crate::testing::request;
use headstart_forked_query::{Message, ModelRequest};

fn as_json(request: &ModelRequest, options: &WireOptions) -> Value {
    serde_json::from_slice(&encode(request, options)).unwrap()
}

#[test]
fn switches() {
    let question = ModelRequest {
        tools: Vec::new(),
        messages: vec![Message::text(Role::User, "What next?")],
        thinking: false,
        response_schema: Some(json!({"type": "object", "additionalProperties": false})),
        max_output_tokens: Some(64),
        ..request()
    };
    let strict = WireOptions { structured_output: StructuredOutput::JsonSchema, ..WireOptions::default() };
    let template = WireOptions { thinking: ThinkingSwitch::ChatTemplate, ..WireOptions::default() };
    let effort = WireOptions {
        thinking: ThinkingSwitch::ReasoningEffort(Effort::Value("minimal".into())),
        ..WireOptions::default()
    };
    insta::assert_json_snapshot!([strict, template, effort].map(|options| as_json(&question, &options)));

    let thinking = ModelRequest { thinking: true, ..question };
    let Wire::Chat(dashscope) = Provider::dashscope().wire else { panic!("chat completions") };
    let body = as_json(&thinking, &dashscope);
    assert_eq!(body.get("enable_thinking"), None, "a model that may think is left to its default");
}
