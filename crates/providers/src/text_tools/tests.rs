use futures::executor::block_on;
use headstart_forked_query::{Message, Role, ToolCall, check_pairing};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::testing::{Script, call, legal_history, message, request, result, text};

fn answer(pieces: &[&str], reason: FinishReason) -> Vec<ModelEvent> {
    let words = pieces.iter().map(|piece| Ok(ModelEvent::Text((*piece).to_owned())));
    let usage = Usage { input_tokens: 7, output_tokens: 3, ..Usage::default() };
    let end = [Ok(ModelEvent::Usage(usage)), Ok(ModelEvent::Finished(reason))];
    let script = Script::answering(words.chain(end));
    let model = TextTools::new(script, ToolSupport::Text, Arc::default());
    let events = block_on(model.stream(&request())).unwrap();
    let events: Vec<_> = block_on(events.collect());
    joined(events.into_iter().map(Result::unwrap))
}

/// Joins consecutive texts of the events.
fn joined(events: impl IntoIterator<Item = ModelEvent>) -> Vec<ModelEvent> {
    let mut all: Vec<ModelEvent> = Vec::new();
    for event in events {
        match (all.last_mut(), event) {
            (Some(ModelEvent::Text(before)), ModelEvent::Text(text)) => before.push_str(&text),
            (_, event) => all.push(event),
        }
    }
    all
}

fn text_event(text: &str) -> ModelEvent {
    ModelEvent::Text(text.to_owned())
}

fn call_event(id: &str, name: &str, args: serde_json::Value) -> ModelEvent {
    let serde_json::Value::Object(args) = args else { panic!("arguments are an object") };
    ModelEvent::ToolCall(ToolCall { id: id.to_owned(), name: name.to_owned(), args })
}

#[test]
fn blocks_of_an_answer_are_calls() {
    let ls = |id| call_event(id, "ls", json!({"path": "src"}));
    let block = "```tool_call\n{\"name\": \"ls\", \"arguments\": {\"path\": \"src\"}}\n```";
    let rows: Vec<(String, Vec<ModelEvent>)> = vec![
        ("Nothing to do.\n".into(), vec![text_event("Nothing to do.\n")]),
        (format!("I look.\n\n{block}\n"), vec![text_event("I look."), ls("call")]),
        (block.into(), vec![ls("call")]),
        (format!("{block}\n\n  {block}"), vec![ls("call"), ls("call-2")]),
        // A call without the closing fence counts too.
        (block.trim_end_matches('`').into(), vec![ls("call")]),
        // Another block is words, and so is a call that is quoted within a line.
        ("```rust\nfn tool_call() {}\n```\n".into(), vec![text_event("```rust\nfn tool_call() {}\n```\n")]),
        ("Write ```tool_call for that.".into(), vec![text_event("Write ```tool_call for that.")]),
        ("    ```tool_call\n".into(), vec![text_event("    ```tool_call\n")]),
        // A text of several lines is one JSON string, so none of its lines is a fence; a longer fence works too.
        (
            "````tool_call\r\n{\"name\": \"write_file\",\n \"args\": {\"content\": \"```\\n\"}}\r\n````\n"
                .into(),
            vec![call_event("call", "write_file", json!({"content": "```\n"}))],
        ),
        (
            "```tool_call\n[{\"name\": \"a\"}, {\"name\": \"b\", \"parameters\": \"{\\\"x\\\": 1}\"}]\n```"
                .into(),
            vec![call_event("call", "a", json!({})), call_event("call-2", "b", json!({"x": 1}))],
        ),
        (
            "```tool_call\nls src\n```\n".into(),
            vec![call_event("call", "tool_call", json!({ ToolCall::MALFORMED_ARGUMENTS: "ls src" }))],
        ),
    ];
    for (said, expected) in rows {
        let events = answer(&[&said], FinishReason::Stop);
        let usage = Usage { input_tokens: 7, output_tokens: 3, ..Usage::default() };
        let end = [ModelEvent::Usage(usage), ModelEvent::Finished(FinishReason::Stop)];
        let (found, rest): (Vec<_>, Vec<_>) = events
            .into_iter()
            .partition(|event| matches!(event, ModelEvent::Text(_) | ModelEvent::ToolCall(_)));
        assert_eq!((joined(found), rest), (expected, end.to_vec()), "{said:?}");
    }
}

/// A model that writes the result of its own call has made it up, so its answer ends at the call.
#[test]
fn results_that_the_model_makes_up_are_no_part_of_its_answer() {
    let block = "```tool_call\n{\"name\": \"ls\"}\n```\n";
    let said = format!("I look.\n{block}\nResult of ls:\n```\nsecrets.txt\n```\nSo I know.\n{block}");
    let events = answer(&[&said, "and more"], FinishReason::Stop);
    assert_eq!(
        events,
        [
            text_event("I look."),
            call_event("call", "ls", json!({})),
            ModelEvent::Usage(Usage::UNTOLD),
            ModelEvent::Finished(FinishReason::Stop),
        ]
    );
}

/// A call that was cut by the limit of the answer is not made, because its arguments are incomplete.
#[test]
fn a_call_that_the_limit_of_the_answer_cut_is_none() {
    let said = "I write.\n```tool_call\n{\"name\": \"write_file\", \"arguments\": {\"content\": \"half";
    let events = answer(&[said], FinishReason::Length);
    assert_eq!(
        (&events[0], events.last()),
        (&text_event("I write."), Some(&ModelEvent::Finished(FinishReason::Length)))
    );
    assert!(!events.iter().any(|event| matches!(event, ModelEvent::ToolCall(_))), "{events:?}");
}

proptest! {
    #[test]
    fn any_split_gives_the_same_events(
        pieces in proptest::collection::vec(
            prop_oneof![
                Just("words "), Just("\n"), Just(" "), Just("`"), Just("```"), Just("```tool_call\n"), Just("tool"), Just("_call"),
                Just("```tool_call\n{\"name\": \"ls\", \"arguments\": {}}\n```\n"), Just("{\"name\": \"ü\"}\n"), Just("\r\n"), Just("日"),
            ],
            0..12,
        ),
        sizes in proptest::collection::vec(1..9_usize, 1..6),
        is_whole in any::<bool>(),
    ) {
        let said: String = pieces.concat();
        let reason = if is_whole { FinishReason::Stop } else { FinishReason::Length };
        let letters: Vec<char> = said.chars().collect();
        let mut cut = Vec::new();
        let (mut place, mut sizes) = (0, sizes.iter().cycle());
        while place < letters.len() {
            let end = letters.len().min(place + sizes.next().unwrap());
            cut.push(letters[place..end].iter().collect::<String>());
            place = end;
        }
        let cut: Vec<&str> = cut.iter().map(String::as_str).collect();
        let without_costs = |events: Vec<ModelEvent>| -> Vec<ModelEvent> {
            // The cost is only known if the answer was read to its end, so it is not compared.
            joined(events.into_iter().filter(|event| !matches!(event, ModelEvent::Usage(_))))
        };
        prop_assert_eq!(
            without_costs(answer(&cut, reason)),
            without_costs(answer(&[&said], reason)),
            "{:?}", cut
        );
    }

    /// For every conversation: each request in words begins with the previous one, and the sides take turns.
    #[test]
    fn a_conversation_in_words_only_grows_and_has_no_two_messages_of_a_side_in_a_row(history in legal_history(1..12)) {
        let mut before = String::new();
        for end in 0..=history.len() {
            if check_pairing(&history[..end]).is_err() {
                continue;
            }
            let converted = with_text_tools(&ModelRequest { messages: history[..end].to_vec(), ..request() }, ToolSupport::Text);
            prop_assert!(converted.tools.is_empty());
            prop_assert!(converted.messages.windows(2).all(|pair| pair[0].role != pair[1].role));
            let are_words = converted.messages.iter().all(|message| matches!(message.parts.as_slice(), [Part::Text { .. }]));
            prop_assert!(are_words);
            let converted = converted.messages.iter().map(|message| format!("\n<{:?}>\n{}", message.role, message.to_text()));
            let flat = converted.collect::<Vec<_>>().concat();
            prop_assert!(flat.starts_with(&before), "{before}\n---\n{flat}");
            before = flat;
        }
    }

    /// A call that is told in words is read as the same call, so a model can copy it.
    #[test]
    fn what_is_told_as_a_call_is_read_as_that_call(name in "[a-z_]{1,12}", path in ".{0,30}") {
        let mut block = with_text_tools(
            &ModelRequest {
                messages: vec![message(Role::Model, [Part::ToolCall(ToolCall {
                    id: "x".into(),
                    name: name.clone(),
                    args: serde_json::Map::from_iter([("path".to_owned(), json!(path))]),
                })])],
                ..request()
            },
            ToolSupport::Text,
        );
        let said = block.messages.remove(0).to_text();
        let events = answer(&[&said], FinishReason::Stop);
        prop_assert!(events.contains(&call_event("call", &name, json!({ "path": path }))), "{:?}", events);
    }
}

#[test]
fn a_request_in_words() {
    let history = vec![
        Message::text(Role::User, "What is here?"),
        message(Role::Model, [text("I look."), call("1"), call("2")]),
        message(Role::Tool, [result("1")]),
        message(Role::Tool, [result("2")]),
        Message::text(Role::User, "Go on."),
    ];
    let converted = with_text_tools(&ModelRequest { messages: history, ..request() }, ToolSupport::Text);
    insta::assert_snapshot!(
        std::iter::once(format!("<system>\n{}", converted.system.unwrap()))
            .chain(converted.messages.iter().map(|message| format!(
                "<{:?}>\n{}",
                message.role,
                message.to_text()
            )))
            .collect::<Vec<_>>()
            .join("\n\n")
    );
}

fn refusal() -> ModelError {
    ModelError::ToolsRefused {
        provider: "Ollama".into(),
        status: 400,
        message: "m does not support tools".into(),
    }
}

/// Refuses tools, with an error or with the first event, and answers requests without them.
struct RefusingModel {
    in_stream: bool,
    asked: Mutex<Vec<ModelRequest>>,
}

#[async_trait]
impl Model for RefusingModel {
    async fn stream(&self, request: &ModelRequest) -> Result<EventStream, ModelError> {
        self.asked.lock().unwrap().push(request.clone());
        let events = match (request.tools.is_empty(), self.in_stream) {
            (false, false) => return Err(refusal()),
            (false, true) => vec![Err(refusal())],
            (true, _) => vec![Ok(text_event("Done.")), Ok(ModelEvent::Finished(FinishReason::Stop))],
        };
        Ok(stream::iter(events).boxed())
    }
}

/// If a model refuses tools, they are sent in words from then on, for all who ask that model. The host is told once.
#[test]
fn a_refusal_is_answered_in_words_told_once_and_remembered_for_all_who_ask() {
    for in_stream in [false, true] {
        let server = Arc::new(RefusingModel { in_stream, asked: Mutex::default() });
        let refusals = Arc::new(ToolRefusals::default());
        let model = || TextTools::new(Arc::clone(&server) as _, ToolSupport::Native, Arc::clone(&refusals));
        let (turns, ahead) = (model(), model());
        for asking in [&turns, &ahead, &turns] {
            let events = block_on(asking.stream(&request())).unwrap();
            assert_eq!(block_on(events.collect::<Vec<_>>())[0], Ok(text_event("Done.")));
        }
        let offers: Vec<bool> =
            server.asked.lock().unwrap().iter().map(|asked| !asked.tools.is_empty()).collect();
        assert_eq!(offers, [true, false, false, false], "it is refused once");
        assert_eq!(refusals.take_new(), [ToolRefusal { model: "main".into(), error: refusal() }]);
        assert_eq!(refusals.take_new(), []);
    }
}

/// A question has the tools in its system text, so that it shares the prefix of the turns, but its answer has no calls.
#[test]
fn questions_share_the_prefix_and_a_model_without_tools_is_told_of_none() {
    let script = Script::saying("{\"suggestion\": \"```tool_call\"}");
    let question = ModelRequest { response_schema: Some(json!({})), ..request() };
    let model = TextTools::new(Arc::clone(&script) as _, ToolSupport::Text, Arc::default());
    let events = block_on(block_on(model.stream(&question)).unwrap().collect::<Vec<_>>());
    assert_eq!(events[0], Ok(text_event("{\"suggestion\": \"```tool_call\"}")));
    drop(block_on(model.stream(&request())).unwrap());
    let asked = script.requests();
    assert_eq!(asked[0].system, asked[1].system);
    assert!(asked[0].system.as_ref().unwrap().contains("## read_file"));

    let without = TextTools::new(Arc::clone(&script) as _, ToolSupport::None, Arc::default());
    drop(block_on(without.stream(&request())).unwrap());
    let asked = script.last_request();
    assert_eq!((asked.system.as_deref(), asked.tools.len()), (Some("Be brief."), 0));
}
