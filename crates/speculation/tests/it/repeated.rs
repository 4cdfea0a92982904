//! A model that repeats the same call is told so, and then stopped; one that repeats the same words is cut off.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use futures::executor::block_on;
use headstart_forked_query::{Message, ModelEvent, Part, Role, ToolOutcome, check_pairing};
use headstart_speculation::{Ending, Limit, Limits, Transcript};
use headstart_tool_gate::ApprovalMode;
use serde_json::json;

use crate::support::{Fixture, Reply, call, calls, says, write};

fn look() -> Reply {
    calls([call("read_file", &json!({ "file_path": "src/lib.rs" }))])
}

/// A search whose arguments are written in one of two orders, which is still the same call.
fn search(first: &str) -> Reply {
    let (pattern, path) = (json!("nothing like it"), json!("src"));
    let args = match first {
        "pattern" => json!({ "pattern": pattern, "path": path }),
        _ => json!({ "path": path, "pattern": pattern }),
    };
    calls([call("grep", &args)])
}

/// Runs the answers as a turn. Returns how it ended and which results were errors.
fn turn(answers: Vec<Reply>) -> (Ending, Vec<bool>) {
    let fixture = Fixture::new(ApprovalMode::Yolo, answers);
    let (turn, _events) = fixture.engine.turn(
        fixture.model.clone(),
        fixture.request(),
        Transcript::new("do it"),
        Limits::default(),
    );
    let ending = block_on(turn.run());
    let messages = turn.transcript().messages;
    check_pairing(&messages).unwrap();
    let parts = messages.iter().flat_map(|message| &message.parts);
    let errors = parts.filter_map(|part| match part {
        Part::ToolResult(result) => Some(matches!(result.outcome, ToolOutcome::Error(_))),
        _ => None,
    });
    (ending, errors.collect())
}

#[test]
fn the_fourth_call_is_told_and_the_fifth_ends_the_turn() {
    let (ending, errors) = turn((0..8).map(|_| look()).collect());
    assert_eq!(ending, Ending::Exhausted { limit: Limit::Repeated });
    assert_eq!(errors, [false, false, false, true]);
}

#[test]
fn a_model_that_is_told_may_do_something_else() {
    let mut answers: Vec<_> = (0..4).map(|_| look()).collect();
    answers.extend([search("path"), says("Done.")]);
    let (ending, errors) = turn(answers);
    assert_eq!((ending, errors), (Ending::Completed, vec![false, false, false, true, false]));
}

#[test]
fn other_reads_in_between_and_another_order_of_arguments_change_nothing() {
    let answers = vec![
        search("path"),
        look(),
        search("pattern"),
        look(),
        search("path"),
        look(),
        search("pattern"),
        look(),
        search("path"),
    ];
    let (ending, errors) = turn(answers);
    assert_eq!(ending, Ending::Exhausted { limit: Limit::Repeated });
    assert_eq!(errors.iter().filter(|error| **error).count(), 2);
}

#[test]
fn what_may_have_changed_something_begins_anew() {
    let mut answers = Vec::new();
    for round in 0..6 {
        answers.extend([search("path"), calls([write("made.txt", &format!("{round}"))])]);
    }
    answers.push(says("Done."));
    let (ending, errors) = turn(answers);
    assert_eq!(ending, Ending::Completed);
    assert!(errors.iter().all(|error| !error), "{errors:?}");
}

#[test]
fn ahead_of_the_user_it_ends_after_three_same_answers() {
    let fixture = Fixture::new(ApprovalMode::AutoEdit, (0..8).map(|_| look()));
    let (_speculation, finished) = fixture.speculate("do it");
    assert_eq!(finished.ending, Ending::Exhausted { limit: Limit::Repeated });
    let results = finished.transcript.messages.iter().flat_map(|message| &message.parts);
    assert_eq!(results.filter(|part| matches!(part, Part::ToolResult(_))).count(), 3);
}

/// A small model may write one sentence without end, in its answer or before it.
#[test]
fn an_answer_that_only_repeats_itself_is_cut_off_and_its_beginning_stays() {
    let endless = |piece: fn(String) -> ModelEvent| {
        let begins = ModelEvent::Text("I look at it first.\n".to_owned());
        let repeats = (0..2_000).map(|_| piece("That may well be so. ".to_owned()));
        // It does not come to its end.
        [begins].into_iter().chain(repeats).collect::<Vec<_>>()
    };
    for (events, said) in [
        (endless(ModelEvent::Text), "I look at it first.\nThat may well be so. "),
        (endless(ModelEvent::Thought), "I look at it first.\n"),
    ] {
        let fixture = Fixture::new(ApprovalMode::Yolo, [Reply::Events(events)]);
        let asks = Transcript::new("is it so?");
        let (turn, _events) =
            fixture.engine.turn(fixture.model.clone(), fixture.request(), asks, Limits::default());
        let Ending::Failed { error, code: Some(code), .. } = block_on(turn.run()) else { panic!("it fails") };
        assert_eq!(code, "repetition");
        assert!(error.contains("repeated itself"), "{error}");
        assert_eq!(turn.transcript().messages.last(), Some(&Message::text(Role::Model, said)));
    }
}
