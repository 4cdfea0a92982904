use proptest::prelude::*;

use super::*;
use crate::testing::{any_messages, call, legal_history, message, result, text};

#[test]
fn what_is_legal_and_what_is_not() {
    use Role::{Model, Tool, User};
    let asked = |parts| vec![message(User, [text("go")]), message(Model, parts)];
    let cases: Vec<(&str, Vec<Message>, Option<&str>)> = vec![
        ("nothing", vec![], None),
        ("plain", asked(vec![text("hi")]), None),
        (
            "two calls, results in two messages",
            [
                asked(vec![call("1"), call("2"), text("x")]),
                vec![message(Tool, [result("1")]), message(Tool, [result("2")])],
            ]
            .concat(),
            None,
        ),
        (
            "no result",
            asked(vec![call("1")]),
            Some(
                r#"history entry 1: the call "1" has no result; add a tool message with its result right after it"#,
            ),
        ),
        (
            "the user speaks before the result",
            [asked(vec![call("1")]), vec![message(User, [text("?")]), message(Tool, [result("1")])]].concat(),
            Some(
                r#"history entry 1: the call "1" has no result; add a tool message with its result right after it"#,
            ),
        ),
        (
            "out of order",
            [asked(vec![call("1"), call("2")]), vec![message(Tool, [result("2"), result("1")])]].concat(),
            Some(
                r#"history entry 2: the result "2" answers no call that waits for it; the next one must be for "1""#,
            ),
        ),
        (
            "twice",
            [asked(vec![call("1")]), vec![message(Tool, [result("1"), result("1")])]].concat(),
            Some(r#"history entry 2: the result "1" answers no call that waits for it"#),
        ),
        (
            "same id again",
            [
                asked(vec![call("1")]),
                vec![message(Tool, [result("1")]), message(Model, [call("1")]), message(Tool, [result("1")])],
            ]
            .concat(),
            Some(r#"history entry 3: the id "1" is used by an earlier call; ids must be unique"#),
        ),
        ("no id", asked(vec![call("")]), Some("history entry 1: a toolCall has an empty id")),
        (
            "the user calls",
            vec![message(User, [call("1")])],
            Some("history entry 0: only a model message may hold a toolCall"),
        ),
        (
            "a tool chats",
            vec![message(Tool, [text("x")])],
            Some("history entry 0: a toolResult belongs in a tool message, and nothing else does"),
        ),
    ];
    for (name, messages, expected) in cases {
        let found = check_pairing(&messages).err().map(|error| error.to_string());
        assert_eq!(found.as_deref(), expected, "{name}");
    }
}

#[test]
fn repair_reaches_the_middle_and_moves_a_late_result() {
    let broken = vec![
        message(Role::User, [text("go")]),
        message(Role::Model, [text("on it"), call("1"), call("1")]),
        message(Role::Tool, [result("ghost")]),
        message(Role::User, [text("well?")]),
        message(Role::Tool, [result("1")]),
        message(Role::Model, [call("1")]),
        message(Role::Tool, [result("1")]),
    ];
    insta::assert_json_snapshot!(repair_pairing(broken));
}

proptest! {
    #[test]
    fn repaired_is_legal_and_loses_no_words(messages in any_messages()) {
        let words = |messages: &[Message]| -> Vec<String> {
            messages.iter().filter(|message| message.role != Role::Tool).map(Message::to_text).filter(|text| !text.is_empty()).collect()
        };
        let calls = |messages: &[Message]| messages.iter().filter(|message| message.role == Role::Model).flat_map(Message::tool_calls).count();
        let repaired = repair_pairing(messages.clone());
        prop_assert_eq!(check_pairing(&repaired), Ok(()));
        prop_assert_eq!(words(&repaired), words(&messages));
        prop_assert_eq!(calls(&repaired), calls(&messages));
        prop_assert_eq!(repair_pairing(repaired.clone()), repaired);
    }

    #[test]
    fn legal_history_is_unchanged(messages in legal_history(0..30)) {
        prop_assert_eq!(check_pairing(&messages), Ok(()));
        prop_assert_eq!(repair_pairing(messages.clone()), messages);
    }
}
