use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn call(id: &str, name: &str) -> ToolCall {
    ToolCall { id: id.into(), name: name.into(), args: Map::from_iter([("path".to_owned(), "a".into())]) }
}

fn fragment(index: usize, name: &str, letters: &str) -> CallInput {
    CallInput::Fragment { index, name: name.into(), letters: letters.into() }
}

fn ended(id: &str, failed: bool) -> CallInput {
    CallInput::Ended { id: id.into(), failed }
}

#[test]
fn two_calls_that_come_letter_by_letter_are_told_from_their_first_letter_to_their_results() {
    let mut states = CallStates::new(Origin::Turn);
    let mut told = Vec::new();
    let mut handle = |now, input| told.extend(states.handle(now, input).unwrap());
    for (place, letter) in r#"{"file_path":"a.rs","line":12,"content":"#.chars().enumerate() {
        handle(place as u64 * 40, fragment(0, "write_file", &letter.to_string()));
    }
    handle(2_000, fragment(1, "shell", ""));
    handle(2_050, fragment(1, "", r#"{"command":"ls"}"#));
    let calls = vec![call("w1", "write_file"), call("s1", "shell")];
    handle(2_100, CallInput::Answered(calls));
    handle(2_200, CallInput::ConsentAsked("w1".into()));
    handle(2_300, CallInput::Begun("w1".into()));
    handle(2_400, ended("w1", false));
    handle(2_400, CallInput::Begun("s1".into()));
    handle(2_500, ended("s1", true));
    let told: Vec<_> = told
        .iter()
        .map(|state| {
            let args = serde_json::to_string(&state.args).unwrap();
            format!(
                "{} {:?} {:?} {}{args}",
                state.number,
                state.id,
                state.stage,
                if state.waiting { "waits " } else { "" }
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            r#"0 "" Generating {}"#,
            r#"0 "" Generating {"file_path":"a.rs"}"#,
            r#"0 "" Generating {"file_path":"a.rs","line":12}"#,
            r#"1 "" Generating {}"#,
            r#"0 "w1" Generated {"path":"a"}"#,
            r#"1 "s1" Generated {"path":"a"}"#,
            r#"0 "w1" Generated waits {}"#,
            r#"0 "w1" Calling {}"#,
            r#"0 "w1" Done {}"#,
            r#"1 "s1" Calling {}"#,
            r#"1 "s1" Errored {}"#,
        ]
    );
}

/// A model counts the calls of each answer from 0, so the pieces of a call in a later answer are those of one call.
#[test]
fn the_pieces_of_a_call_in_a_later_answer_are_one_call() {
    let mut states = CallStates::new(Origin::Turn);
    states.handle(0, fragment(0, "shell", r#"{"command":"ls"}"#)).unwrap();
    states.handle(100, CallInput::Answered(vec![call("s1", "shell")])).unwrap();
    let mut numbers = Vec::new();
    for (now, letters) in [(200, r#"{"command""#), (400, r#":"pwd""#), (600, "}")] {
        let changed = states.handle(now, fragment(0, "shell", letters)).unwrap();
        numbers.extend(changed.iter().map(|state| state.number));
    }
    let changed = states.handle(700, CallInput::Answered(vec![call("s2", "shell")])).unwrap();
    numbers.extend(changed.iter().map(|state| state.number));
    assert_eq!(numbers, [1, 1, 1]);
}

#[test]
fn what_the_answer_does_not_hold_is_canceled_and_what_is_declined_or_left_too() {
    let mut machine = CallStates::new(Origin::Ahead);
    let stages =
        |told: Vec<CallState>| told.into_iter().map(|state| (state.number, state.stage)).collect::<Vec<_>>();
    assert_eq!(stages(machine.handle(0, fragment(0, "ls", "{")).unwrap()), [(0, CallStage::Generating)]);
    assert_eq!(stages(machine.handle(0, fragment(1, "edit", "{")).unwrap()), [(1, CallStage::Generating)]);
    let told = machine.handle(1, CallInput::Answered(vec![call("e", "edit"), call("g", "grep")])).unwrap();
    let (canceled, generated) = (CallStage::Canceled, CallStage::Generated);
    assert_eq!(stages(told), [(0, canceled), (1, generated), (2, generated)]);
    machine.handle(2, CallInput::ConsentAsked("e".into())).unwrap();
    assert_eq!(stages(machine.handle(2, CallInput::Declined("e".into())).unwrap()), [(1, canceled)]);
    assert_eq!(machine.handle(3, CallInput::Begun("e".into())), Err(InvalidTransition));
    assert_eq!(stages(machine.handle(4, CallInput::RunEnded).unwrap()), [(2, CallStage::Boundary)]);
    assert_eq!(machine.handle(5, CallInput::RunEnded).unwrap(), []);
}

#[test]
fn each_state_has_its_sentence() {
    use CallStage::{Calling, Canceled, Done, Errored, Generated, Generating};
    let args = Map::from_iter([("command".to_owned(), "cargo test".into())]);
    let sentences: Vec<_> = [Generating, Generated, Calling, Done, Errored, Canceled]
        .map(|stage| stage.sentence(&Wording::of("shell"), &args))
        .into();
    assert_eq!(
        sentences,
        [
            "is generating output to run cargo test",
            "wants to run cargo test",
            "is running cargo test",
            "ran cargo test",
            "tried to run cargo test",
            "tried to run cargo test",
        ]
    );
}

#[test]
fn only_what_is_complete_of_the_arguments_is_told() {
    let cases = [
        ("", json!({})),
        ("[1", json!({})),
        (r#"{"a"#, json!({})),
        (r#"{"a":"x"#, json!({})),
        (r#"{"a":"x\"#, json!({})),
        (r#"{"a":"x\u00e4"#, json!({})),
        (r#"{"a":"x\u00e4""#, json!({ "a": "xä" })),
        (r#"{"a":12"#, json!({})),
        (r#"{"a":12,"#, json!({ "a": 12 })),
        (r#" { "a" : 1.5 , "b" : [1, {"c": "d"}] , "e" : "f" , "g" : tr"#, json!({ "a": 1.5, "e": "f" })),
        (r#"{"a":{"b":"c"},"d":true,"e":null}"#, json!({})),
    ];
    for (letters, expected) in cases {
        assert_eq!(Value::Object(complete_fields(letters)), expected, "{letters}");
    }
}

/// A simple model of the states: a map, and the list of legal transitions.
#[derive(Default)]
struct Model(BTreeMap<usize, (String, CallStage)>);

impl Model {
    fn take_in(&mut self, told: &[CallState]) {
        use CallStage::{Boundary, Calling, Canceled, Done, Errored, Generated, Generating};
        for state in told {
            let before = self.0.insert(state.number, (state.id.clone(), state.stage));
            let legal: &[CallStage] = match before.as_ref().map(|(_, stage)| *stage) {
                None => &[Generating, Generated],
                Some(Generating) => &[Generating, Generated, Canceled],
                Some(Generated) => &[Generated, Calling, Done, Errored, Canceled, Boundary],
                // What it wanted in a view may have to be asked about.
                Some(Calling) if state.waiting => &[Generated],
                Some(Calling) => &[Done, Errored, Canceled, Boundary],
                Some(_) => &[],
            };
            assert!(legal.contains(&state.stage), "{before:?} became {state:?}");
            assert!(!state.waiting || state.stage == Generated, "{state:?}");
            if let Some((id, _)) = before {
                assert!(id.is_empty() || id == state.id, "a call has one id");
            }
        }
    }
}

proptest! {
    #[test]
    fn each_call_ends_once_whatever_comes(steps in proptest::collection::vec((0_u8..9, 0_usize..4, 0_u64..150), 0..80)) {
        let mut states = CallStates::new(Origin::Turn);
        let mut model = Model::default();
        let (mut now, mut answers) = (0, 0);
        let names = ["edit", "shell", "edit", "ls"];
        for (kind, which, later) in steps {
            now += later;
            let id = format!("{}-{which}", answers - i32::from(which % 2 == 1));
            let input = match kind {
                0 => fragment(which, names[which], r#"{"a":"b","#),
                1 => {
                    answers += 1;
                    CallInput::Answered((0..which).map(|place| call(&format!("{answers}-{place}"), names[place])).collect())
                }
                2 => CallInput::AnswerCut,
                3 => CallInput::ConsentAsked(id),
                4 => CallInput::Declined(id),
                5 | 6 => CallInput::Begun(id),
                7 => ended(&id, later % 2 == 0),
                _ => CallInput::Stopped(id),
            };
            let before = states.clone();
            if let Ok(told) = states.handle(now, input) {
                model.take_in(&told);
            } else {
                prop_assert_eq!(format!("{states:?}"), format!("{before:?}"));
            }
        }
        model.take_in(&states.handle(now, CallInput::RunEnded).unwrap());
        prop_assert!(model.0.values().all(|(_, stage)| stage.is_end()));
        prop_assert_eq!(states.handle(now, CallInput::RunEnded).unwrap(), Vec::new());
    }

    #[test]
    fn what_is_told_of_arguments_is_a_part_of_them(
        args in proptest::collection::btree_map("[a-z]{1,4}", prop_oneof![
            any::<String>().prop_map(Value::from), any::<i32>().prop_map(Value::from), any::<bool>().prop_map(Value::from),
            proptest::collection::vec(any::<String>(), 0..3).prop_map(Value::from),
        ], 0..5),
        cut in any::<prop::sample::Index>(),
    ) {
        let whole: Map<String, Value> = args.into_iter().collect();
        let letters = serde_json::to_string(&whole).unwrap();
        let mut end = cut.index(letters.len() + 1);
        while !letters.is_char_boundary(end) {
            end -= 1;
        }
        for (name, value) in complete_fields(&letters[..end]) {
            prop_assert_eq!(Some(&value), whole.get(&name));
        }
    }
}
