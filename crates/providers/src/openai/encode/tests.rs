use serde_json::json;

use super::*;
use crate::Provider;
use crate::Wire;
use crate::openai::Effort;
use crate::testing::request;
use headstart_forked_query::{Image, ImageType, Message, ModelRequest, Part};

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

/// Anthropic finds no prefix by itself, so a gateway to it gets the marks; a model of somebody else's does not.
#[test]
fn a_gateway_to_anthropic_is_told_what_to_cache() {
    let user = |text: &str| Message::text(Role::User, text);
    let messages = vec![user("a"), Message::text(Role::Model, "Yes."), user("b")];
    let options = WireOptions { cache: CacheAnnotations::ByName, ..WireOptions::default() };
    let body = |model: &str| {
        let system = Some("You are brief.".to_owned());
        as_json(
            &ModelRequest { model: model.to_owned(), system, messages: messages.clone(), ..request() },
            &options,
        )
    };
    for model in ["anthropic/claude-sonnet-4.5", "Claude-Opus", "bedrock/eu.anthropic.claude-haiku"] {
        let body = body(model);
        let marked = |at: &str| {
            body.pointer(&format!("{at}/content/0/cache_control/type")) == Some(&json!("ephemeral"))
        };
        let marks: Vec<_> = (0..4).map(|place| marked(&format!("/messages/{place}"))).collect();
        assert_eq!(marks, [true, true, false, true], "{model}: {body}");
        assert!(
            body["tools"].as_array().into_iter().flatten().all(|tool| tool.get("cache_control").is_none())
        );
    }
    for model in ["gpt-5", "qwen3-coder"] {
        assert!(!body(model).to_string().contains("cache_control"), "{model}");
    }
    // A gateway that takes texts only is asked again without.
    let refusal = r#"{"error":{"message":"messages.0.content must be a string: lists are not supported"}}"#;
    let wire = Wire::Chat(options.clone());
    assert_eq!(wire.refused_parameter(400, refusal), Some("cache_control"));
    let Wire::Chat(left) = wire.without_parameters(&["cache_control"]) else { panic!("another format") };
    assert_eq!(left.cache, CacheAnnotations::None);
}

/// A conversation that was cut off before an answer has two messages of the user in a row, and many chat templates
/// refuse those.
#[test]
fn two_messages_of_the_user_in_a_row_are_one() {
    let image = Part::Image(Image { media_type: ImageType::Png, data: "iVBORw0KGgo=".into() });
    let picture = Message { role: Role::User, parts: vec![Part::Text { text: "see".into() }, image] };
    let user = |text: &str| Message::text(Role::User, text);
    let said = |messages: Vec<Message>, cache| {
        let body = as_json(
            &ModelRequest { messages, ..request() },
            &WireOptions { cache, ..WireOptions::default() },
        );
        let messages =
            body["messages"].as_array().unwrap().iter().filter(|message| message["role"] != "system");
        messages.map(|message| (message["role"].clone(), message["content"].clone())).collect::<Vec<_>>()
    };
    let model = Message::text(Role::Model, "Yes.");
    let talk = vec![user("a"), user("b"), model.clone(), user("c"), user("d"), user("e")];
    assert_eq!(
        said(talk.clone(), CacheAnnotations::None),
        [("user", "a\n\nb"), ("assistant", "Yes."), ("user", "c\n\nd\n\ne")]
            .map(|(role, text)| (json!(role), json!(text)))
    );
    let marked = said(talk, CacheAnnotations::DashScope);
    assert_eq!(marked.len(), 3);
    assert_eq!(marked[2].1[0]["text"], "c\n\nd\n\ne");
    let with_image = said(vec![user("a"), picture.clone(), user("b")], CacheAnnotations::None);
    let [(_, content)] = &with_image[..] else { panic!("{with_image:?}") };
    let kinds: Vec<_> = content.as_array().unwrap().iter().map(|block| block["type"].clone()).collect();
    assert_eq!(kinds, ["text", "text", "image_url", "text"]);
}
