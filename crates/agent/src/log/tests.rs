use headstart_forked_query::{ToolCall, ToolOutcome, ToolResult};
use headstart_speculation::{CallInput, CallStates};
use proptest::prelude::*;
use serde_json::Value;

use super::*;

fn said(text: &str) -> Event {
    Event::Text { text: text.to_owned() }
}

fn began(id: &str) -> Event {
    let call = ToolCall { id: id.to_owned(), name: "grep".to_owned(), args: serde_json::Map::new() };
    Event::ToolCall { call }
}

fn ended(id: &str) -> Event {
    let outcome = ToolOutcome::Output(Value::from(id));
    Event::ToolResult {
        result: ToolResult { id: id.to_owned(), name: "grep".to_owned(), outcome },
        items: Vec::new(),
    }
}

/// Applies changes to a list of items, as a reader of all changes does.
fn fold(known: &mut Vec<(usize, Item)>, changes: Vec<ItemChange>) {
    for change in changes {
        match change {
            ItemChange::Cleared => known.clear(),
            ItemChange::Added { key, item } => known.push((key, (*item).clone())),
            ItemChange::Changed { key, item } => {
                let place = known.iter().position(|(known, _)| *known == key).expect("a known item");
                known[place].1 = (*item).clone();
            }
            ItemChange::Appended { key, text } => match known.last_mut() {
                Some((last, Item::Answer { text: known })) if *last == key => known.push_str(&text),
                other => panic!("no answer with the key {key}: {other:?}"),
            },
        }
    }
}

/// An event about a call that is already an item changes that item instead of adding one.
#[test]
fn a_call_that_is_told_twice_is_one_item() {
    let mut log = Log::default();
    for event in [said("Let me look."), began("1"), began("1"), ended("1"), said("Found "), said("it.")] {
        log.apply_event(event);
    }
    let kinds: Vec<_> = log.items().iter().map(|item| std::mem::discriminant(&**item)).collect();
    assert_eq!(kinds.len(), 3, "{:?}", log.items());
    let Item::Call(call) = &*log.items()[1] else { panic!("{:?}", log.items()) };
    assert_eq!(call.outcome, Some(ToolOutcome::Output(Value::from("1"))));
    assert_eq!(*log.items()[2], Item::Answer { text: "Found it.".to_owned() });
}

/// A call with the id of an earlier call is another item if the earlier one has ended.
#[test]
fn a_call_with_the_id_of_one_before_is_another_one() {
    let mut log = Log::default();
    for event in [began("1"), ended("1"), began("1"), ended("1")] {
        log.apply_event(event);
    }
    assert_eq!(log.items().len(), 2);
    log.apply_event(began("2"));
    log.close_call();
    log.apply_event(began("2"));
    assert_eq!(log.items().len(), 4, "a turn that goes on with no call has another one");
}

/// Tells the log the states that the engine's own state machine `states` gives for an input.
fn states(log: &mut Log, states: &mut CallStates, now_ms: u64, input: CallInput) {
    log.set_source(now_ms, Origin::Turn);
    for state in states.handle(now_ms, input).unwrap_or_default() {
        log.apply_event(Event::CallState(state));
    }
}

fn call_at(log: &Log, key: usize) -> CallItem {
    let Item::Call(call) = &*log.items()[key] else { panic!("{:?}", log.items()) };
    (**call).clone()
}

/// A call is shown from the first character that arrives, and later events change the same item.
#[test]
fn a_call_is_an_item_from_its_first_letter_on_and_keeps_its_place() {
    let (mut log, mut machine) = (Log::new(Toolbox::standard(None)), CallStates::new(Origin::Turn));
    let letters = r#"{"pattern":"fn","#.to_owned();
    states(&mut log, &mut machine, 0, CallInput::Fragment { index: 0, name: "grep".into(), letters });
    assert_eq!(call_at(&log, 0).sentence, "is generating output to search for fn");
    let call = |id: &str| ToolCall { id: id.into(), name: "grep".into(), args: serde_json::Map::new() };
    states(&mut log, &mut machine, 5, CallInput::Answered(vec![call("1"), call("2")]));
    states(&mut log, &mut machine, 10, CallInput::Begun("1".into()));
    states(&mut log, &mut machine, 11, CallInput::Begun("2".into()));
    log.apply_event(Event::CallOutput { id: "2".into(), end: "half".into() });
    assert_eq!(call_at(&log, 1).printed.as_deref(), Some("half"));
    states(&mut log, &mut machine, 111, CallInput::Ended { id: "2".into(), failed: true });
    for event in [began("1"), ended("1"), began("2"), ended("2")] {
        log.apply_event(event);
    }
    assert_eq!(log.items().len(), 2);
    let second = call_at(&log, 1);
    assert_eq!(
        (second.stage, second.took, second.printed),
        (CallStage::Errored, Some(Duration::from_millis(100)), None)
    );
    assert_eq!(second.outcome, Some(ToolOutcome::Output(Value::from("2"))));
    assert_eq!(call_at(&log, 0).stage, CallStage::Done);
}

/// A call that still waits or runs at the end of a turn is shown as canceled. Calls of the next run are new items.
#[test]
fn what_waits_or_runs_when_a_turn_ends_is_canceled_and_the_next_run_counts_anew() {
    let (mut log, mut machine) = (Log::default(), CallStates::new(Origin::Turn));
    let call = |id: &str| ToolCall { id: id.into(), name: "shell".into(), args: serde_json::Map::new() };
    states(&mut log, &mut machine, 0, CallInput::Answered(vec![call("1"), call("2")]));
    states(&mut log, &mut machine, 0, CallInput::Begun("1".into()));
    log.end_calls();
    assert_eq!([0, 1].map(|key| call_at(&log, key).stage), [CallStage::Canceled; 2]);
    log.begin_run();
    states(&mut log, &mut CallStates::new(Origin::Turn), 0, CallInput::Answered(vec![call("3")]));
    assert_eq!((log.items().len(), call_at(&log, 2).stage), (3, CallStage::Generated));
}

/// The work that stopped at a call tells it, and the turn that goes on asks about it: together they are one item.
#[test]
fn a_call_at_which_work_stopped_goes_on_as_the_same_item() {
    let mut log = Log::default();
    log.set_source(0, Origin::Ahead);
    log.apply_event(began("1"));
    log.begin_run();
    let call = ToolCall { id: "1".into(), name: "grep".into(), args: serde_json::Map::new() };
    let mut machine = CallStates::new(Origin::Turn);
    states(&mut log, &mut machine, 1, CallInput::Answered(vec![call]));
    states(&mut log, &mut machine, 2, CallInput::ConsentAsked("1".into()));
    let item = call_at(&log, 0);
    assert_eq!((log.items().len(), item.stage, item.waiting), (1, CallStage::Generated, true));
}

/// Several pieces of an answer between two reads are one change.
#[test]
fn words_that_are_told_together_come_as_one_change() {
    let mut log = Log::default();
    log.apply_event(said("a"));
    log.take_changes();
    log.apply_event(said("b"));
    log.apply_event(said("c"));
    assert_eq!(log.take_changes(), [ItemChange::Appended { key: 0, text: "bc".to_owned() }]);
    assert_eq!(log.take_changes(), []);
}

proptest! {
    /// A reader who takes all changes, however seldom, has all items.
    #[test]
    fn the_fold_of_all_changes_is_the_log(steps in prop::collection::vec(0..7_usize, 0..60)) {
        let (mut log, mut known) = (Log::default(), Vec::new());
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                0 => log.apply_event(said(&format!("{number} "))),
                1 => log.apply_event(began("1")),
                2 => log.apply_event(began(&number.to_string())),
                3 => log.apply_event(ended("1")),
                4 => log.push(Item::Prompt { text: number.to_string() }),
                5 if number % 7 == 0 => log.clear(),
                _ => fold(&mut known, log.take_changes()),
            }
        }
        fold(&mut known, log.take_changes());
        let items: Vec<_> = known.into_iter().map(|(_, item)| item).collect();
        let expected: Vec<_> = log.items().iter().map(|item| (**item).clone()).collect();
        prop_assert_eq!(items, expected);
    }
}
