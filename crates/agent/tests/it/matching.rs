//! Prompts that ask in their own words for the work that ran ahead.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use headstart_agent::{ActionError, AppliedWork, EditKind, Item, Matching, Phase, Subject, UserAnswer};
use headstart_tool_gate::ApprovalMode;
use serde_json::json;

use crate::harness::{Harness, HarnessOptions, lock, text_of};

const GUESS: &str = "edit made.txt";

/// A conversation whose suggestion takes option 2, and the work for it.
fn with_option(options: &HarnessOptions) -> Harness {
    let guess = json!({ "text": GUESS, "chance": 70, "kind": "choice", "sign": "2", "also": ["make it"] });
    let mut harness = Harness::new(options);
    harness.model.suggest(&json!({ "guesses": [guess] }).to_string());
    // The answer repeats the prompt, so it offers the options: a sign that it does not name counts for nothing.
    for prompt in ["talk", "talk of 1 or 2"] {
        harness.say(prompt);
    }
    let view = harness.advance(1_000);
    assert_eq!(view.suggestion.as_ref().map(|shown| shown.text.as_str()), Some(GUESS), "{view:?}");
    harness
}

/// The user types this, key by key, takes their time, and sends it.
fn type_and_send(harness: &mut Harness, prompt: &str) {
    for (end, c) in prompt.char_indices() {
        harness.agent.edited(&prompt[..end + c.len_utf8()], EditKind::Typed);
    }
    harness.advance(5_000);
    harness.agent.edited("", EditKind::Changed);
    harness.agent.submit(prompt).unwrap();
    harness.advance(1_000);
}

fn applied(harness: &Harness) -> Vec<&AppliedWork> {
    let items = harness.known.values().filter_map(|item| match item {
        Item::Applied(applied) => Some(&**applied),
        _ => None,
    });
    items.collect()
}

/// The user's prompts, as the conversation shows them.
fn sent(harness: &Harness) -> Vec<&str> {
    let prompts = harness.known.values().filter_map(|item| match item {
        Item::Prompt { text } => Some(text.as_str()),
        _ => None,
    });
    prompts.skip(2).collect()
}

/// What the model reads as the user's words in its next request.
fn told(harness: &mut Harness) -> Vec<String> {
    harness.say("talk");
    let turns = lock(&harness.model.turns);
    turns.last().unwrap().messages.iter().map(text_of).collect()
}

#[test]
fn other_words_for_the_same_work_take_it_and_the_history_holds_these_words() {
    for typed in ["the second one", "2", "make it", "Edit made.txt, please"] {
        let mut harness = with_option(&HarnessOptions::default());
        let asked = lock(&harness.model.turns).len();
        type_and_send(&mut harness, typed);
        assert_eq!(harness.file("made.txt").as_deref(), Some("edit made.txt\n"), "{typed}");
        assert_eq!(lock(&harness.model.turns).len(), asked, "the model was not asked again");
        assert_eq!(
            (harness.outcomes(), harness.agent.view().phase),
            (vec!["accepted".to_owned()], Phase::Idle)
        );
        assert_eq!(applied(&harness)[0].guess.as_deref(), Some(GUESS));
        assert_eq!(harness.lines("outcome").last().unwrap()["takenBy"], "typed");
        assert_eq!(sent(&harness), [typed]);
        let told = told(&mut harness);
        assert!(told.iter().any(|text| text == typed), "{told:?}");
        assert!(!told.iter().any(|text| text == GUESS), "the guess was never said: {told:?}");
    }
}

#[test]
fn words_for_something_else_take_nothing() {
    for typed in ["3", "2?", "not 2", "2, but elsewhere", "make it so that it compiles"] {
        let mut harness = with_option(&HarnessOptions::default());
        let before = harness.tree.snapshot();
        type_and_send(&mut harness, typed);
        assert_eq!(harness.tree.snapshot(), before, "{typed}");
        assert_eq!((harness.outcomes(), applied(&harness).len()), (vec!["ignored".to_owned()], 0), "{typed}");
        assert_eq!(harness.agent.matched(), None);
    }
}

#[test]
fn nothing_is_dropped_while_the_user_types() {
    let mut harness = with_option(&HarnessOptions::default());
    for text in ["w", "wh", "wha", "what", ""] {
        harness.agent.edited(text, EditKind::Typed);
        harness.advance(3_000);
        assert!(harness.outcomes().is_empty(), "{text:?}: the work is still there");
    }
    type_and_send(&mut harness, "2");
    assert_eq!(harness.outcomes(), ["accepted"]);
}

/// A letter that is deleted again has decided nothing: the suggestion is there with its work, and Tab takes both.
#[test]
fn a_line_that_is_empty_again_brings_the_suggestion_back() {
    for (typed, back) in [("w", ""), ("what", ""), ("what", "edit")] {
        let mut harness = with_option(&HarnessOptions::default());
        harness.agent.edited(typed, EditKind::Typed);
        let away = harness.advance(3_000);
        assert!(away.suggestion.is_none() && away.ahead.is_none(), "{typed:?}: {away:?}");
        let requests = lock(&harness.model.turns).len();
        harness.agent.edited(back, EditKind::Typed);
        let view = harness.advance(1_000);
        assert_eq!(view.suggestion.as_ref().map(|shown| shown.text.as_str()), Some(GUESS), "{back:?}");
        assert!(view.ahead.as_ref().is_some_and(|ahead| ahead.finished.is_some()), "{back:?}");
        assert_eq!(harness.agent.take(GUESS), Ok(()));
        harness.advance(1_000);
        assert_eq!(harness.file("made.txt").as_deref(), Some("edit made.txt\n"));
        assert_eq!(harness.outcomes(), ["accepted"]);
        assert_eq!(lock(&harness.model.turns).len(), requests, "the work was not done once more");
    }
}

#[test]
fn the_setting_says_what_words_take() {
    for (matching, typed, takes) in [
        (Matching::Off, "Edit made.txt!", false),
        (Matching::Exact, "Edit made.txt!", true),
        (Matching::Exact, "2", false),
        (Matching::Meaning, "2", true),
    ] {
        let mut harness = with_option(&HarnessOptions { matching, ..HarnessOptions::default() });
        harness.agent.submit(typed).unwrap();
        harness.advance(1_000);
        assert_eq!(applied(&harness).len() == 1, takes, "{matching:?} {typed}");
    }
}

#[test]
fn in_a_mode_that_asks_before_writes_the_question_is_the_same_as_at_tab() {
    let options = HarnessOptions { mode: ApprovalMode::Default, ..HarnessOptions::default() };
    let mut asked = Vec::new();
    for words in [None, Some("the second")] {
        let mut harness = with_option(&options);
        match words {
            None => harness.agent.take(GUESS).unwrap(),
            Some(words) => drop(harness.agent.submit(words).unwrap()),
        }
        let view = harness.settle();
        assert_eq!((view.phase, harness.file("made.txt")), (Phase::Asking, None));
        let question = view.question.clone().unwrap();
        let Subject::Changes(changes) = &*question.about else { panic!("{question:?}") };
        asked.push(format!("{changes:?}"));
        // Nothing is matched while a question is open: the prompt waits.
        harness.agent.submit("2").unwrap();
        assert_eq!(harness.agent.view().queued, ["2"]);
        assert_eq!(harness.agent.take_back_queued().as_deref(), Some("2"));
        harness.agent.answer(question.id, UserAnswer::No).unwrap();
        let view = harness.settle();
        let draft = view.draft.as_ref().unwrap().text.clone();
        assert_eq!((draft.as_str(), harness.file("made.txt")), (words.unwrap_or(GUESS), None));
    }
    assert_eq!(asked[0], asked[1]);
}

#[test]
fn what_adds_to_the_guess_is_offered_and_both_parts_are_done() {
    let mut harness = with_option(&HarnessOptions::default());
    let typed = "2, and Talk on";
    for text in ["2", "2,", typed] {
        harness.agent.edited(text, EditKind::Typed);
    }
    harness.advance(5_000);
    let extension = harness.agent.extension(typed).unwrap();
    assert_eq!(
        (extension.guess.as_str(), extension.same.as_str(), extension.rest.as_str()),
        (GUESS, "2", "Talk on")
    );
    harness.agent.take_extended(typed).unwrap();
    harness.advance(1_000);
    assert_eq!(sent(&harness), ["2", "Talk on"]);
    assert_eq!((harness.outcomes(), harness.file("made.txt").is_some()), (vec!["accepted".to_owned()], true));
    assert_eq!(harness.lines("outcome").last().unwrap()["takenBy"], "extended");
    assert_eq!(harness.agent.take_extended(typed), Err(ActionError::Stale));

    let mut harness = with_option(&HarnessOptions::default());
    type_and_send(&mut harness, typed);
    assert_eq!(sent(&harness), [typed], "sent as typed, it is one prompt of its own");
    assert_eq!((harness.outcomes(), applied(&harness).len()), (vec!["ignored".to_owned()], 0));
}

#[test]
fn work_that_was_matched_can_be_taken_back_and_the_prompt_runs_as_typed() {
    let mut harness = with_option(&HarnessOptions::default());
    let asked = lock(&harness.model.turns).len();
    type_and_send(&mut harness, "2");
    let matched = harness.agent.matched().unwrap();
    assert_eq!((matched.prompt.as_str(), matched.has_changes), ("2", true));
    harness.agent.submit_as_typed(&matched.prompt).unwrap();
    harness.advance(1_000);
    assert_eq!(harness.agent.matched(), None);
    assert_eq!(sent(&harness), ["2", "2"]);
    assert_eq!(lock(&harness.model.turns).len(), asked + 1, "the model is asked this time");
}

#[test]
fn work_that_rests_on_what_changed_since_is_checked_as_at_tab() {
    let mut harness = with_option(&HarnessOptions::default());
    harness.write("made.txt", "the user's own\n");
    harness.agent.submit("2").unwrap();
    let view = harness.advance(1_000);
    let about = view.question.as_ref().map(|question| question.about.clone());
    assert!(matches!(about.as_deref(), Some(Subject::Conflicts { .. })), "{about:?}");
    assert_eq!(harness.file("made.txt").as_deref(), Some("the user's own\n"));
}

#[test]
fn a_dismissed_suggestion_and_one_of_another_model_is_not_matched() {
    for dismisses in [true, false] {
        let mut harness = with_option(&HarnessOptions::default());
        harness.agent.edited("x", EditKind::Typed);
        harness.advance(5_000);
        if dismisses {
            harness.agent.dismiss();
        } else {
            harness.agent.drop_suggestion();
        }
        harness.settle();
        harness.agent.edited("", EditKind::Changed);
        harness.agent.submit("2").unwrap();
        harness.advance(1_000);
        assert_eq!(applied(&harness).len(), 0);
    }
}
