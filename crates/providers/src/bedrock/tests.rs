use headstart_forked_query::{Message, ModelError, ModelEvent, ModelRequest, Role, Usage};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::testing::{call, legal_history, message, request, result, text};
use crate::{Decoder, Provider};

const CALLS: &[u8] = include_bytes!("../../tests/streams/bedrock.bin");
const SAID: &[u8] = include_bytes!("../../tests/streams/bedrock-said.bin");
const THROTTLED: &[u8] = include_bytes!("../../tests/streams/bedrock-throttled.bin");

fn read_in(pieces: &[&[u8]]) -> Vec<Result<ModelEvent, ModelError>> {
    let mut decoder = Decoder::new(&Provider::bedrock("us-east-1"), &request());
    let mut events: Vec<_> = pieces.iter().flat_map(|piece| decoder.bytes(piece)).collect();
    events.extend(decoder.end());
    let mut joined: Vec<Result<ModelEvent, ModelError>> = Vec::new();
    for event in events {
        match (joined.last_mut(), event) {
            (Some(Ok(ModelEvent::Text(before))), Ok(ModelEvent::Text(text))) => before.push_str(&text),
            (_, event) => joined.push(event),
        }
    }
    joined
}

fn encoded(model: &str, messages: Vec<Message>) -> Value {
    let request = ModelRequest { model: model.into(), messages, ..request() };
    serde_json::from_slice(&encode(&request, &Options::default())).unwrap()
}

#[test]
fn an_answer_of_recorded_messages_is_read() {
    let events = read_in(&[CALLS]);
    let usage = Usage {
        input_tokens: 100,
        cached_input_tokens: 70,
        cache_creation_tokens: 10,
        output_tokens: 30,
        ..Usage::default()
    };
    let mut events = events.into_iter().map(Result::unwrap);
    assert_eq!(events.next(), Some(ModelEvent::Text("Let me look at ☾.\n".into())));
    assert_eq!(events.next(), Some(ModelEvent::Usage(usage)));
    let Some(ModelEvent::ToolCall(call)) = events.next() else { panic!("a call") };
    assert_eq!(call.name, "read_file");
    assert_eq!(Value::Object(call.args), json!({"file_path": "hello.txt"}));
    assert!(matches!(events.next(), Some(ModelEvent::Finished(_))));

    let said = read_in(&[SAID]);
    assert_eq!(said[0], Ok(ModelEvent::Thought("Hm.".into())));
    assert_eq!(said[1], Ok(ModelEvent::Text("It says hello.".into())));
}

/// Messages of Bedrock have checksums. Damage, an early end and an error in the middle are told apart.
#[test]
fn what_is_damaged_cut_or_refused_in_the_middle_is_an_error() {
    for place in [2, 9, 40, CALLS.len() - 3] {
        let mut damaged = CALLS.to_vec();
        damaged[place] ^= 1;
        let error = read_in(&[&damaged]).pop().unwrap().unwrap_err();
        let expected = ["malformed", "wrong_server", "cut", "dropped"];
        assert!(expected.contains(&error.code()), "{place}: {error}");
    }
    let cut = read_in(&[&CALLS[..CALLS.len() / 2]]).pop().unwrap().unwrap_err();
    assert_eq!(cut.code(), "cut", "{cut}");
    let error = read_in(&[THROTTLED]).pop().unwrap().unwrap_err();
    assert_eq!(error.code(), "rate_limited", "{error}");
    assert!(error.to_string().contains("Too many tokens"), "{error}");
    let page = read_in(&[b"<html><body>Sign in</body></html>"]).pop().unwrap();
    assert!(page.is_err(), "{page:?}");
}

proptest! {
    #[test]
    fn any_split_gives_the_same_events(sizes in proptest::collection::vec(1..200_usize, 1..20)) {
        let mut pieces = Vec::new();
        let (mut rest, mut sizes) = (CALLS, sizes.iter().cycle());
        while !rest.is_empty() {
            let (piece, more) = rest.split_at(rest.len().min(*sizes.next().unwrap()));
            pieces.push(piece);
            rest = more;
        }
        prop_assert_eq!(read_in(&pieces), read_in(&[CALLS]));
    }

    #[test]
    fn any_bytes_are_events_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let events = read_in(&[&bytes]);
        prop_assert!(events.last().is_some_and(Result::is_err), "{:?}", events);
    }

    /// Bedrock demands that the sides take turns. Each request begins with the previous one, except for cache points.
    #[test]
    fn sides_take_turns_and_the_prefix_only_grows(history in legal_history(1..10)) {
        let mut before = String::new();
        for end in 1..=history.len() {
            if headstart_forked_query::check_pairing(&history[..end]).is_err() {
                continue;
            }
            let body = encoded("us.anthropic.claude-x", history[..end].to_vec());
            let messages = body["messages"].as_array().unwrap();
            prop_assert!(messages.windows(2).all(|pair| pair[0]["role"] != pair[1]["role"]), "{}", body);
            let now = body["messages"].to_string().replace(r#",{"cachePoint":{"type":"default"}}"#, "");
            let shared = before.trim_end_matches([']', '}']);
            prop_assert!(now.starts_with(shared), "{}\n{}", before, now);
            before = now;
        }
    }
}

/// Cache points are only set for models that accept them, and calls only sent along with tools.
#[test]
fn a_request_has_tools_system_and_cache_points_where_its_model_takes_them() {
    let history = || {
        vec![
            Message::text(Role::User, "look"),
            message(Role::Model, [text("  "), call("a"), call("not plain!")]),
            message(Role::Tool, [result("a")]),
            message(Role::Tool, [result("not plain!")]),
            Message::text(Role::User, "go on"),
        ]
    };
    let claude = encoded("us.anthropic.claude-sonnet-4-5-v1:0", history());
    insta::assert_snapshot!(serde_json::to_string_pretty(&claude["messages"]).unwrap());
    assert_eq!(claude.to_string().matches("cachePoint").count(), 4);
    assert_eq!(encoded("amazon.nova-pro-v1:0", history()).to_string().matches("cachePoint").count(), 3);
    assert_eq!(encoded("meta.llama4-x", history()).to_string().matches("cachePoint").count(), 0);

    // Without tools there may be no calls either.
    let none = ModelRequest { tools: Vec::new(), messages: history(), ..request() };
    let body = String::from_utf8(encode(&none, &Options::default())).unwrap();
    assert!(
        !body.contains("toolUse") && !body.contains("toolConfig") && body.contains("Result of ls"),
        "{body}"
    );
}

/// At most four stop sequences are sent, and none of white space.
#[test]
fn four_stop_sequences_are_sent_and_no_blank_one() {
    let stops = ["", "a", " \n", "b", "c", "d", "e"].map(str::to_owned).to_vec();
    let limited = ModelRequest { max_output_tokens: Some(9), ..request() };
    let body: Value = serde_json::from_slice(&encode(&limited, &Options { stop_sequences: stops })).unwrap();
    assert_eq!(body["inferenceConfig"], json!({"maxTokens": 9, "stopSequences": ["a", "b", "c", "d"]}));
    let plain: Value = serde_json::from_slice(&encode(&request(), &Options::default())).unwrap();
    assert_eq!(plain.get("inferenceConfig"), None);
}

#[test]
fn a_model_may_be_named_by_its_arn() {
    let arn = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.x-v1:0";
    let expected = "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Ainference-profile%2Fus.x-v1%3A0/converse-stream";
    assert_eq!(path(arn), expected);
}
