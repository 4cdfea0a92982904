//! Questions to a model that runs on the user's machine: it is slow, and answers one request after the other.

use std::sync::atomic::Ordering;

use headstart_agent::EditKind;

use crate::harness::{Harness, HarnessOptions};

/// A conversation of two turns, after the second of which a suggestion can be asked for.
fn talked() -> Harness {
    let mut harness =
        Harness::new(&HarnessOptions { is_local: true, candidates: 3, ..HarnessOptions::default() });
    harness.model.suggest("edit made.txt");
    for prompt in ["talk", "talk more"] {
        harness.say(prompt);
    }
    harness
}

fn asked(harness: &Harness) -> u64 {
    harness.model.asked.load(Ordering::SeqCst)
}

#[test]
fn it_is_asked_after_a_second_so_that_a_quick_prompt_does_not_wait_behind_the_question() {
    let mut harness = talked();
    harness.advance(999);
    assert_eq!(asked(&harness), 0);
    harness.advance(1);
    assert_ne!(asked(&harness), 0);
    let view = harness.advance(1_000);
    assert_eq!(view.suggestion.as_ref().map(|shown| shown.text.as_str()), Some("edit made.txt"));

    let mut quick = talked();
    quick.advance(900);
    quick.agent.edited("rea", EditKind::Typed);
    quick.advance(900);
    quick.agent.submit("read notes.txt").unwrap();
    quick.settle();
    assert_eq!(asked(&quick), 0, "who types at once is not waited for");
    assert!(quick.lines("suggestion").is_empty(), "what was not sent costs nothing");
}

#[test]
fn an_answer_that_takes_ten_seconds_is_given_up() {
    let mut harness = talked();
    harness.model.hold(true);
    let view = harness.advance(10_999);
    assert_eq!((asked(&harness), view.is_asking, view.unsuggested.as_deref()), (1, true, None));
    let view = harness.advance(1);
    assert_eq!((view.is_asking, view.unsuggested.as_deref()), (false, Some("too_slow")));
    let lines = harness.lines("suggestion");
    assert_eq!(lines.last().unwrap()["suppressed"], "too_slow");
}
