use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::testing::{call, message, request, result, text};
use headstart_forked_query::{Message, Role};

fn as_json(request: &ModelRequest, options: &Options) -> Value {
    serde_json::from_slice(&encode(request, options)).unwrap()
}

fn cached() -> ModelRequest {
    let messages = vec![message(Role::User, [text("go")]), message(Role::Model, [text("gone")])];
    ModelRequest { model: "gemini-2.5-flash".into(), messages, ..request() }
}

fn followed_by(more: &str) -> ModelRequest {
    let mut request = cached();
    request.messages.push(Message::text(Role::User, more));
    request
}

/// The prefix that was cached is left out of later requests, but only of those that begin with exactly that prefix.
#[test]
fn what_is_cached_is_made_once_and_then_left_out() {
    let body: Value =
        serde_json::from_slice(&encode_cache(&cached(), &Options::default(), Duration::from_secs(300)))
            .unwrap();
    let whole = as_json(&followed_by("on"), &Options::default());
    assert_eq!((&body["model"], &body["ttl"]), (&json!("models/gemini-2.5-flash"), &json!("300s")));
    assert_eq!((&body["systemInstruction"], &body["tools"]), (&whole["systemInstruction"], &whole["tools"]));
    assert_eq!(body["contents"].as_array().unwrap()[..], whole["contents"].as_array().unwrap()[..2]);

    let answer = r#"{"name":"cachedContents/abc-1","usageMetadata":{"totalTokenCount":1500}}"#;
    let (name, tokens) = read_cache(answer).unwrap();
    assert_eq!(tokens, 1_500);
    let prefix = CachedPrefix { name, request: Arc::new(cached()), tokens };
    let options = Options { cached: Some(prefix), ..Options::default() };
    let expected = json!({"cachedContent": "cachedContents/abc-1", "contents": [{"role": "user", "parts": [{"text": "on"}]}]});
    assert_eq!(as_json(&followed_by("on"), &options), expected);

    // A request that begins differently, or asks nothing more, is sent whole.
    let mut others = [followed_by("on"), followed_by("on"), followed_by("on"), followed_by("on"), cached()];
    others[0].model = "gemini-2.5-pro".into();
    others[1].system = None;
    others[2].tools.clear();
    others[3].messages.remove(0);
    for other in others {
        assert_eq!(as_json(&other, &options), as_json(&other, &Options::default()));
    }
    for body in [
        "",
        "{}",
        r#"{"name":"models/x"}"#,
        r#"{"name":5}"#,
        r#"{"name":"cachedContents/../models/x"}"#,
        r#"{"name":"cachedContents/"}"#,
    ] {
        assert_eq!(read_cache(body), None, "{body}");
    }
}

/// Each generation of models has another parameter for little thinking. Requests that should think have none.
#[test]
fn thinking_is_kept_short_in_the_words_of_the_model() {
    let by_name = |model: &str, thinking: bool| {
        let request = ModelRequest { model: model.into(), thinking, ..request() };
        as_json(&request, &Options::default())["generationConfig"]["thinkingConfig"].clone()
    };
    let cases = [
        ("gemini-2.5-flash", json!({"thinkingBudget": 0})),
        ("gemini-2.5-flash-lite", json!({"thinkingBudget": 0})),
        ("models/gemini-2.5-pro", json!({"thinkingBudget": 128})),
        ("gemini-3-pro-preview", json!({"thinkingLevel": "low"})),
        ("gemini-3.5-flash", json!({"thinkingLevel": "low"})),
        ("gemini-2.0-flash", Value::Null),
        ("gemma-3-27b-it", Value::Null),
        ("gemini-", Value::Null),
    ];
    for (model, expected) in cases {
        assert_eq!(by_name(model, false), expected, "{model}");
        assert_eq!(by_name(model, true), Value::Null, "{model}");
    }
}

/// If thoughts cannot be turned off, they must not use up the limit of the answer.
#[test]
fn the_limit_of_an_answer_leaves_room_for_thoughts() {
    for (model, expected) in [
        ("gemini-2.5-flash", 64),
        ("gemini-2.5-pro", 64 + 128),
        ("gemini-3-pro", 64 + 4_096),
        ("gemini-1", 64),
    ] {
        let request =
            ModelRequest { model: model.into(), thinking: false, max_output_tokens: Some(64), ..request() };
        assert_eq!(
            as_json(&request, &Options::default())["generationConfig"]["maxOutputTokens"],
            expected,
            "{model}"
        );
    }
}

/// From the third family on the first of parallel calls must be signed. A signature is sent back with its call or its
/// words, to the model that gave it.
#[test]
fn calls_are_signed_where_they_must_be() {
    let skip = json!("skip_thought_signature_validator");
    let given = json!("given");
    let cases = [
        ("gemini-3-pro", "gemini-3-pro", &skip, &given),
        ("gemini-3-pro", "gemini-3-flash", &skip, &Value::Null),
        ("gemini-2.5-pro", "gemini-2.5-pro", &Value::Null, &given),
    ];
    for (model, by, first, second) in cases {
        let data = json!([{"text": 2, "with": "of words"}, {"call": true}, {"call": true, "with": "given"}]);
        let opaque = headstart_forked_query::Opaque { format: "gemini".into(), model: by.into(), data };
        let messages = vec![
            message(
                Role::Model,
                [headstart_forked_query::Part::Opaque(opaque), text("hm"), call("a"), call("b")],
            ),
            message(Role::Tool, [result("a"), result("b")]),
        ];
        let request = ModelRequest { model: model.into(), messages, ..request() };
        let mut body = as_json(&request, &Options::default());
        let mut parts = body["contents"][0]["parts"].take();
        let words = parts.as_array_mut().unwrap().remove(0);
        assert_eq!(words["text"], "hm");
        assert_eq!(words.get("thoughtSignature").is_some(), model == by);
        assert_eq!((&parts[0]["thoughtSignature"], &parts[1]["thoughtSignature"]), (first, second));
        body["contents"][0]["parts"] = parts;
        let parts = &body["contents"][0]["parts"];
        assert_eq!(
            (&parts[0]["functionCall"]["id"], &body["contents"][1]["parts"][1]["functionResponse"]["id"]),
            (&json!("a"), &json!("b"))
        );
        let bare = as_json(&request, &Options { call_ids: CallIds::Omitted, ..Options::default() });
        assert_eq!(bare["contents"][0]["parts"][1]["functionCall"].get("id"), None);
        assert_eq!(bare["contents"][1]["parts"][0]["functionResponse"].get("id"), None);
    }
}
