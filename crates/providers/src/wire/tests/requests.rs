use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::providers;
use crate::Provider;
use crate::testing::{Script, call, legal_history, message, request, result, text, tools};
use headstart_forked_query::{
    BackgroundModel, CacheSafeParams, Image, ImageType, Message, ModelRequest, Opaque, Part, Role,
    ToolOutcome, ToolResult,
};

fn conversation() -> Vec<Message> {
    let outcome = |id: &str, outcome: ToolOutcome| {
        Part::ToolResult(ToolResult { id: id.into(), name: "ls".into(), outcome })
    };
    vec![
        message(Role::User, [text("look at \"src\"\nplease")]),
        message(Role::Model, [text("Looking."), call("a"), call("b")]),
        message(Role::Tool, [result("a")]),
        message(Role::Tool, [outcome("b", ToolOutcome::Error("no such folder".into()))]),
        message(Role::Model, [call("c"), call("not plain")]),
        message(
            Role::Tool,
            [
                outcome("c", ToolOutcome::Output(json!({"files": 2}))),
                outcome("not plain", ToolOutcome::Output(json!(""))),
            ],
        ),
        message(Role::Model, [text("Two files.")]),
    ]
}

/// The main request of a turn, the fork with a question, and the fork that speculates.
fn requests(history: &[Message]) -> [ModelRequest; 3] {
    let background = BackgroundModel::main(Script::answering([]) as Arc<_>, MODEL);
    let params = CacheSafeParams::new(request().system, tools(), history, MODEL);
    let main = ModelRequest { model: MODEL.into(), messages: params.history().to_vec(), ..request() };
    let mut question = params.fork(&background);
    question.messages.push(message(Role::User, [text("What next?")]));
    question.response_schema = Some(json!({"type": "object", "additionalProperties": false}));
    question.max_output_tokens = Some(64);
    let mut speculation = params.fork(&background);
    speculation.messages.push(message(Role::User, [text("run the tests")]));
    [main, question, speculation]
}

/// The same history by a model that wants something back with each of its answers, in every place where this format
/// supports that.
fn thinking(history: &[Message], provider: &Provider) -> Vec<Message> {
    let raw = match provider.wire.id() {
        "anthropic" => json!({"type": "thinking", "thinking": "hm \"so\"", "signature": "c2ln"}),
        "responses" => json!({"type": "reasoning", "encrypted_content": "Z2Vo", "summary": []}),
        "ollama" => json!({"thinking": "hm"}),
        _ => json!({"reasoning_content": "hm\n", "extra_content": {"google": {"thought_signature": "c2ln"}}}),
    };
    let with = match provider.wire.id() {
        "responses" => json!("commentary"),
        "gemini" => json!("c2ln"),
        _ => json!({"google": {"thought_signature": "Y2Fs"}}),
    };
    let data = json!([{"raw": raw}, {"text": 3, "with": with}, {"raw": raw}, {"call": true, "with": with}]);
    let mut history = history.to_vec();
    for message in history.iter_mut().filter(|message| message.role == Role::Model) {
        let opaque = Opaque { format: provider.wire.id().into(), model: MODEL.into(), data: data.clone() };
        message.parts.insert(0, Part::Opaque(opaque));
    }
    history
}

/// A name for which every format has a special rule.
const MODEL: &str = "gemini-3-pro";

fn encode(provider: &Provider, request: &ModelRequest) -> String {
    String::from_utf8(provider.wire.encode(request)).unwrap()
}

#[test]
fn requests_on_the_wire() {
    let [main, question, speculation] = requests(&conversation());
    for provider in providers() {
        let name = &provider.name;
        for (kind, request) in [("main", &main), ("question", &question), ("speculation", &speculation)] {
            let body: Value = serde_json::from_str(&encode(&provider, request)).unwrap();
            insta::assert_json_snapshot!(format!("{name}_{kind}"), body);
        }
    }
}

#[test]
fn where_requests_go() {
    let targets = providers().into_iter().map(|provider| {
        let wire = &provider.wire;
        let query = wire.query().map(|query| format!("?{query}")).unwrap_or_default();
        let url = format!("{}{}{query}", provider.base_url, wire.path("some-model"));
        (
            provider.name.clone(),
            (url, wire.key_header(), wire.headers(), wire.accept(), provider.key_variable),
        )
    });
    insta::assert_debug_snapshot!(targets.collect::<Vec<_>>());
}

pub(super) const EPHEMERAL: &str = r#","cache_control":{"type":"ephemeral"}"#;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A forked request begins with the bytes of the main request, up to the end of the shared history, including
    /// marks.
    #[test]
    fn a_fork_begins_with_the_bytes_of_the_main_request(mut history in legal_history(0..12)) {
        history.insert(0, message(Role::User, [text("go")]));
        history.push(message(Role::Model, [text("the end of it")]));
        for provider in providers() {
            let [main, question, speculation] = requests(&thinking(&history, &provider));
            let main = encode(&provider, &main);
            let end = main.rfind("end of it\"").unwrap() + "end of it\"".len();
            for fork in [&question, &speculation] {
                let fork = encode(&provider, fork);
                prop_assert!(fork.starts_with(&main[..end]), "{}\n{main}\n{fork}", provider.name);
            }
        }
    }

    /// Each request of a growing conversation begins with the bytes of the previous one, up to the end of its
    /// messages. The marks on messages move with the end, because only four are allowed.
    #[test]
    fn a_conversation_that_goes_on_begins_as_it_did(mut history in legal_history(1..12)) {
        history.insert(0, message(Role::User, [text("go")]));
        // What follows a request is an answer: messages of the user in a row are one message in some formats.
        let is_asked = |end: &usize| history[*end - 1].role != Role::User || history[*end].role != Role::User;
        let is_whole = |end: &usize| headstart_forked_query::check_pairing(&history[..*end]).is_ok();
        let ends: Vec<_> = (1..history.len()).filter(|end| is_asked(end) && is_whole(end)).collect();
        for provider in providers() {
            let history = thinking(&history, &provider);
            let whole = ModelRequest { model: MODEL.into(), messages: history.clone(), ..request() };
            for end in &ends {
                let before = ModelRequest { messages: history[..*end].to_vec(), ..whole.clone() };
                let [before, whole] = [&before, &whole].map(|request| encode(&provider, request).replace(EPHEMERAL, ""));
                // The last bracket is that of the messages, unless a format has more lists behind them.
                let end = before.rfind(']').unwrap();
                prop_assert!(whole.starts_with(&before[..end]), "{}\n{before}\n{whole}", provider.name);
            }
        }
    }

    /// There are at most four marks, and none in formats without marks.
    #[test]
    fn at_most_four_marks(history in legal_history(0..12)) {
        for provider in providers() {
            for request in requests(&thinking(&history, &provider)) {
                let most = match provider.name.as_str() { "anthropic" | "dashscope" => 4, _ => 0 };
                let found = encode(&provider, &request).matches("\"cache_control\"").count();
                prop_assert!(found <= most, "{} marks for {}", found, provider.name);
            }
        }
    }
}

/// What a model wants back is sent to that model, and never to another model or in another format.
#[test]
fn thoughts_go_to_the_model_that_had_them_and_to_no_other() {
    let marks = ["hm", "c2ln", "Z2Vo", "Y2Fs", "commentary"];
    let said = |provider: &Provider, request: &ModelRequest| {
        let body = encode(provider, request);
        marks.into_iter().filter(|mark| body.contains(mark)).collect::<Vec<_>>()
    };
    for provider in providers() {
        let expected = match provider.wire.id() {
            "anthropic" => &["hm", "c2ln"][..],
            "responses" => &["Z2Vo", "commentary"],
            "gemini" => &["c2ln"],
            "ollama" => &["hm"],
            _ => &["hm", "c2ln", "Y2Fs"],
        };
        let history = thinking(&conversation(), &provider);
        for request in requests(&history) {
            assert_eq!(said(&provider, &request), expected, "{}", provider.name);
            let other = ModelRequest { model: "other".into(), ..request.clone() };
            assert_eq!(said(&provider, &other), [""; 0], "{}", provider.name);
            for another in providers().iter().filter(|another| another.wire.id() != provider.wire.id()) {
                assert_eq!(said(another, &request), [""; 0], "{} after {}", another.name, provider.name);
            }
        }
    }
}

/// The request after a step with many parallel calls still has a mark where the previous one had its last.
#[test]
fn the_mark_of_the_request_before_is_still_there() {
    let ids: Vec<String> = (0..30).map(|id| id.to_string()).collect();
    let before = vec![message(Role::User, [text("go")])];
    let step = [
        message(Role::Model, ids.iter().map(|id| call(id))),
        message(Role::Tool, ids.iter().map(|id| result(id))),
    ];
    let first = ModelRequest { messages: before.clone(), ..request() };
    let second = ModelRequest { messages: [before, step.to_vec()].concat(), ..request() };
    for provider in [Provider::anthropic(), Provider::dashscope()] {
        let [first, second] = [&first, &second].map(|request| encode(&provider, request));
        let end = first.rfind(EPHEMERAL).unwrap() + EPHEMERAL.len();
        assert!(second.starts_with(&first[..end]), "{second}");
    }
}

/// Every format has the image in its own form, and later requests begin with the same bytes.
#[test]
fn an_image_is_shown_in_every_format_and_stays_in_the_prefix() {
    let image = Part::Image(Image { media_type: ImageType::Png, data: "iVBORw0KGgo=".into() });
    let mut messages = vec![message(Role::User, [text("what is this?"), image])];
    let url = "data:image/png;base64,iVBORw0KGgo=";
    for provider in providers() {
        let request = ModelRequest { messages: messages.clone(), tools: Vec::new(), ..request() };
        let body = provider.wire.encode(&request);
        let json: Value = serde_json::from_slice(&body).unwrap();
        let (place, expected) = match provider.name.as_str() {
            "anthropic" => (
                "/messages/0/content/1/source",
                json!({"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}),
            ),
            "gemini" => {
                ("/contents/0/parts/1/inlineData", json!({"mimeType": "image/png", "data": "iVBORw0KGgo="}))
            }
            "ollama" => ("/messages/1/images/0", json!("iVBORw0KGgo=")),
            "responses" => ("/input/0/content/1", json!({"type": "input_image", "image_url": url})),
            _ => ("/messages/1/content/1", json!({"type": "image_url", "image_url": {"url": url}})),
        };
        assert_eq!(json.pointer(place), Some(&expected), "{}: {json}", provider.name);
        assert!(json.to_string().contains("what is this?"), "{json}");

        // The request after the answer begins with the same bytes, except for marks.
        messages.push(message(Role::Model, [text("A cat.")]));
        messages.push(message(Role::User, [text("sure?")]));
        let later = ModelRequest { messages: std::mem::take(&mut messages), ..request };
        messages.extend(later.messages[..1].to_vec());
        let mark = r#","cache_control":{"type":"ephemeral"}"#;
        let texts = [body, provider.wire.encode(&later)]
            .map(|body| String::from_utf8(body).unwrap().replace(mark, ""));
        let end = texts[0].find("iVBORw0KGgo=").unwrap() + "iVBORw0KGgo=".len();
        assert_eq!(texts[0][..end], texts[1][..end], "{}", provider.name);
    }
}

/// A model that cannot see images is told in words that there was one.
#[test]
fn a_model_without_images_is_told_that_there_was_one() {
    let script = Script::saying("ok");
    let image = Part::Image(Image { media_type: ImageType::Png, data: "iVBORw0KGgo=".into() });
    let messages = vec![message(Role::User, [text("what is this?"), image])];
    let model = crate::TextOnlyModel::new(Arc::clone(&script) as _);
    let request = ModelRequest { messages, ..request() };
    drop(futures::executor::block_on(headstart_forked_query::Model::stream(&model, &request)).unwrap());
    let asked = script.last_request();
    assert_eq!(asked.messages[0].to_text(), "what is this?\n\n[an image, which you cannot see]");
    assert_eq!(asked.messages[0].images().count(), 0);
}
