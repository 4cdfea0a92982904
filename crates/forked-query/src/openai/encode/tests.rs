use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::testing::{Script, call, legal_history, message, request, result, text, tools};
use crate::{BackgroundModel, CacheSafeParams, Provider};

fn conversation() -> Vec<Message> {
    vec![
        message(Role::User, [text("look at \"src\"\nplease")]),
        message(Role::Model, [text("Looking."), call("a"), call("b")]),
        message(
            Role::Tool,
            [
                result("a"),
                Part::ToolResult(ToolResult {
                    id: "b".into(),
                    name: "ls".into(),
                    outcome: ToolOutcome::Error("no such folder".into()),
                }),
            ],
        ),
        message(Role::Model, [call("c")]),
        message(
            Role::Tool,
            [Part::ToolResult(ToolResult {
                id: "c".into(),
                name: "ls".into(),
                outcome: ToolOutcome::Output(json!({"files": 2})),
            })],
        ),
        message(Role::Model, [text("Two files.")]),
    ]
}

/// The main request of a turn, the fork with a question, and the fork that speculates.
fn requests(history: &[Message]) -> [ModelRequest; 3] {
    let background = BackgroundModel::main(Script::answering([]) as Arc<_>, "main");
    let params = CacheSafeParams::new(request().system, tools(), history, "main");
    let main = ModelRequest { messages: params.history().to_vec(), ..request() };
    let mut question = params.fork(&background);
    question.messages.push(message(Role::User, [text("What next?")]));
    question.response_schema = Some(json!({"type": "object", "additionalProperties": false}));
    question.max_output_tokens = Some(64);
    let mut speculation = params.fork(&background);
    speculation.messages.push(message(Role::User, [text("run the tests")]));
    [main, question, speculation]
}

fn as_json(request: &ModelRequest, options: &WireOptions) -> Value {
    serde_json::from_slice(&encode(request, options)).unwrap()
}

#[test]
fn requests_on_the_wire() {
    let [main, question, speculation] = requests(&conversation());
    for provider in [Provider::openai(), Provider::dashscope(), Provider::ollama()] {
        let name = &provider.name;
        insta::assert_json_snapshot!(format!("{name}_main"), as_json(&main, &provider.wire));
        insta::assert_json_snapshot!(format!("{name}_question"), as_json(&question, &provider.wire));
        insta::assert_json_snapshot!(format!("{name}_speculation"), as_json(&speculation, &provider.wire));
    }
}

#[test]
fn switches() {
    let [_, question, _] = requests(&[]);
    let strict = WireOptions { structured_output: StructuredOutput::JsonSchema, ..WireOptions::default() };
    let template = WireOptions { thinking: ThinkingSwitch::ChatTemplate, ..WireOptions::default() };
    let effort =
        WireOptions { thinking: ThinkingSwitch::ReasoningEffort("minimal".into()), ..WireOptions::default() };
    insta::assert_json_snapshot!([strict, template, effort].map(|options| {
        let mut body = as_json(&question, &options);
        body.as_object_mut().unwrap().shift_remove("tools");
        body
    }));
    let thinking = ModelRequest { thinking: true, ..question };
    let body = as_json(&thinking, &Provider::dashscope().wire);
    assert_eq!(body.get("enable_thinking"), None, "a model that may think is left to its default");
}

/// The bytes of a request up to the end of the text of its last shared message.
fn shared_prefix(main: &[u8]) -> usize {
    let text = String::from_utf8(main.to_vec()).unwrap();
    let messages = text.find("\"messages\":").unwrap();
    // The end of the last message: what follows is no part of the prefix.
    let marked = text.rfind(r#","cache_control""#).filter(|place| messages < *place);
    marked.or_else(|| text.rfind("}]")).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A forked request begins with the bytes of the main request, to the end of the shared history.
    #[test]
    fn a_fork_begins_with_the_bytes_of_the_main_request(mut history in legal_history(0..12)) {
        history.insert(0, message(Role::User, [text("go")]));
        history.push(message(Role::Model, [text("done")]));
        let [main, question, speculation] = requests(&history);
        for wire in [Provider::openai().wire, Provider::dashscope().wire, Provider::ollama().wire] {
            let main = encode(&main, &wire);
            let prefix = &main[..shared_prefix(&main)];
            prop_assert!(String::from_utf8_lossy(prefix).ends_with("done\""), "the whole history is in the prefix");
            for fork in [&question, &speculation] {
                prop_assert!(encode(fork, &wire).starts_with(prefix));
            }
        }
    }

    /// The annotations stay within the four that are allowed.
    #[test]
    fn at_most_three_marks(history in legal_history(0..12)) {
        for request in requests(&history) {
            let body = String::from_utf8(encode(&request, &Provider::dashscope().wire)).unwrap();
            prop_assert!(body.matches("\"cache_control\"").count() <= 3);
            prop_assert_eq!(encode(&request, &WireOptions::default()).windows(13).filter(|at| at == b"cache_control").count(), 0);
        }
    }
}
