//! Suggestions, the work that is done ahead for them, and how a user takes or declines it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::atomic::Ordering;

use headstart_agent::{
    ActionError, EditKind, GuessView, Item, NotAppliedReason, Phase, Subject, UserAnswer, View,
};
use headstart_budget::policy::{Mode, SkipReason};
use headstart_overlay_fs::{Choice, Keep};
use headstart_tool_gate::{AheadWrites, ApprovalMode};

use crate::harness::{Harness, HarnessOptions, lock};

fn not_taken(harness: &Harness) -> Vec<(&NotAppliedReason, bool)> {
    let items = harness.known.values().filter_map(|item| match item {
        Item::NotApplied { why, anew, .. } => Some((why, *anew)),
        _ => None,
    });
    items.collect()
}

/// A conversation that shows a suggestion whose work waits for the model.
fn with_work_that_runs() -> Harness {
    let mut harness = Harness::new(&HarnessOptions::default());
    harness.model.suggest("edit made.txt");
    harness.say("talk");
    harness.model.hold(true);
    harness.agent.submit("talk more").unwrap();
    // First the answer to the turn is released, then the answer to the question for a suggestion.
    for _ in 0..2 {
        harness.settle();
        harness.model.release(false);
    }
    let view = harness.advance(1_000);
    assert!(view.ahead.as_ref().is_some_and(|ahead| ahead.finished.is_none()), "{view:?}");
    harness
}

/// Finished work is applied when it is taken, without another request to the model, so the user does not wait.
#[test]
fn work_that_is_taken_is_there_at_once_and_the_next_prompt_is_suggested() {
    let mut harness = Harness::with_suggestion(&HarnessOptions::default(), "edit made.txt");
    assert_eq!(harness.file("made.txt"), None, "nothing is written ahead of the user");
    let asked = lock(&harness.model.turns).len();
    harness.model.suggest("talk on");
    assert_eq!(harness.agent.take("edit made.txt"), Ok(()));
    let view = harness.advance(1_000);
    assert_eq!(harness.file("made.txt").as_deref(), Some("edit made.txt\n"));
    assert_eq!(lock(&harness.model.turns).len(), asked, "the model was not asked again");
    assert_eq!(harness.outcomes(), ["accepted"]);
    assert_eq!(view.phase, Phase::Idle);
    // The work asked for the next suggestion before it was taken, so no question for one is asked now.
    assert!(
        harness
            .known
            .values()
            .any(|item| matches!(item, Item::Applied(applied) if applied.changes.len() == 1))
    );
    harness.say("talk");
    assert_eq!(harness.prompts(), ["talk", "talk more", "edit made.txt", "talk"]);
}

/// Work asks for the next suggestion by itself. That is one question, also where its answer came after the work was
/// written down and before it was taken.
#[test]
fn a_question_that_came_with_taken_work_is_counted_once() {
    let mut harness = with_work_that_runs();
    harness.model.suggest("talk on");
    while harness.agent.view().ahead.as_ref().is_some_and(|ahead| ahead.finished.is_none()) {
        harness.model.release(false);
        harness.settle();
    }
    harness.model.release(false);
    harness.settle();
    assert_eq!(harness.agent.take("edit made.txt"), Ok(()));
    harness.advance(1_000);
    let lines = harness.lines("suggestion");
    let questions: Vec<_> = lines.iter().filter(|line| line.get("candidateOf").is_none()).collect();
    assert_eq!(questions.len(), 2, "the one before the work and the one after it: {questions:#?}");
    assert!(questions.iter().all(|line| line["suppressed"].is_null()), "{questions:#?}");
    assert!(questions[1]["inputTokens"].as_u64().is_some_and(|tokens| 0 < tokens), "{questions:#?}");
}

/// A user who types the suggestion instead of taking it gets the work too, despite blanks and a full stop.
#[test]
fn the_same_words_typed_take_the_work_as_well() {
    let mut harness = Harness::with_suggestion(&HarnessOptions::default(), "edit made.txt");
    for text in ["ed", "edit made.tx", "edit made.txt"] {
        harness.agent.edited(text, EditKind::Typed);
    }
    harness.say(" edit made.txt.");
    assert_eq!((harness.outcomes(), harness.file("made.txt").is_some()), (vec!["accepted".to_owned()], true));
}

/// If the user sends something else, the work is dropped and has changed nothing.
#[test]
fn other_words_leave_nothing_of_it() {
    let mut harness = Harness::with_suggestion(&HarnessOptions::default(), "edit made.txt");
    let before = harness.tree.snapshot();
    harness.agent.edited("so", EditKind::Typed);
    // For two seconds the typing may be a slip that is taken back; then the suggestion and its work are given up.
    let view = harness.advance(2_000);
    assert!(view.suggestion.is_none() && view.ahead.is_none());
    harness.say("something else");
    assert_eq!(harness.tree.snapshot(), before);
    assert_eq!(harness.outcomes(), ["ignored"]);
}

/// If the work still runs when it is taken, the turn waits for the rest of it instead of running anew.
#[test]
fn work_is_joined_where_it_still_runs() {
    let mut harness = with_work_that_runs();
    harness.agent.take("edit made.txt").unwrap();
    assert_eq!(harness.settle().phase, Phase::Accepting);
    harness.model.hold(false);
    assert_eq!(harness.settle().phase, Phase::Idle);
    assert_eq!((harness.outcomes(), harness.file("made.txt").is_some()), (vec!["joined".to_owned()], true));
}

/// Whoever does not want to wait for work that still runs has its prompt run in the foreground. Of the work nothing is
/// applied, and that is said.
#[test]
fn work_that_is_joined_can_be_left_for_a_turn() {
    let mut harness = with_work_that_runs();
    assert_eq!(harness.agent.run_here(), Err(ActionError::Stale), "nobody waits for it yet");
    harness.agent.take("edit made.txt").unwrap();
    assert_eq!(harness.settle().phase, Phase::Accepting);
    assert_eq!(harness.agent.run_here(), Ok(()));
    assert_eq!(harness.settle().phase, Phase::Turn);
    assert_eq!(harness.agent.run_here(), Err(ActionError::Stale), "it runs here already");
    harness.model.hold(false);
    assert_eq!(harness.settle().phase, Phase::Idle);
    assert!(
        matches!(not_taken(&harness)[..], [(NotAppliedReason::Interrupted, true)]),
        "{:?}",
        harness.known
    );
    assert_eq!(harness.outcomes(), ["aborted"]);
    assert_eq!(harness.file("made.txt").as_deref(), Some("edit made.txt\n"));
    assert_eq!(harness.prompts(), ["talk", "talk more", "edit made.txt"]);
}

/// After an interrupt of a turn that waits for its work, neither the work nor a queued prompt may run. Both prompts are
/// given back as a draft.
#[test]
fn an_interrupt_while_work_is_joined_applies_nothing_and_runs_nothing() {
    let mut harness = with_work_that_runs();
    let before = harness.tree.snapshot();
    harness.agent.take("edit made.txt").unwrap();
    harness.agent.submit("two").unwrap();
    harness.settle();
    harness.agent.interrupt().unwrap();
    harness.model.hold(false);
    let requests = lock(&harness.model.turns).len();
    let view = harness.advance(60_000);
    assert_eq!(harness.tree.snapshot(), before);
    assert_eq!(lock(&harness.model.turns).len(), requests, "no turn began by itself");
    assert_eq!(view.draft.as_ref().map(|draft| draft.text.as_str()), Some("edit made.txt\ntwo"));
    assert!(
        matches!(not_taken(&harness)[..], [(NotAppliedReason::Interrupted, false)]),
        "{:?}",
        harness.known
    );
    assert_eq!(harness.outcomes(), ["aborted"]);
}

/// Work that stopped before a call that needs consent goes on from there: the call is asked about, and the model does
/// not have to say it again.
#[test]
fn work_that_stopped_goes_on_where_it_was_and_asks_there() {
    let setting = HarnessOptions {
        mode: ApprovalMode::Default,
        ahead_writes: AheadWrites::Boundary,
        ..HarnessOptions::default()
    };
    let mut harness = Harness::with_suggestion(&setting, "edit made.txt");
    assert_eq!(harness.file("made.txt"), None);
    let asked = lock(&harness.model.turns).len();
    harness.agent.take("edit made.txt").unwrap();
    let view = harness.settle();
    let question = view.question.clone().expect("a question");
    assert!(matches!(&*question.about, Subject::Call(judged) if judged.call.name == "write_file"));
    assert_eq!(lock(&harness.model.turns).len(), asked, "the model said it already");
    harness.agent.answer(question.id, UserAnswer::Yes).unwrap();
    harness.settle();
    assert!(harness.file("made.txt").is_some());
    let calls = harness.known.values().filter(|item| matches!(item, Item::Call(_))).count();
    assert_eq!(calls, 1, "told by the work and by the turn, it is one call");
}

/// If the user has edited a file that the work changes, the user chooses which version is kept before anything is
/// written.
#[test]
fn an_edit_of_the_users_is_asked_about_and_their_choice_counts() {
    for (keep, expected) in [(Keep::Yours, "mine\n"), (Keep::Work, "changed\n")] {
        let mut harness = Harness::with_suggestion(&HarnessOptions::default(), "change notes.txt");
        harness.write("notes.txt", "mine\n");
        harness.agent.take("change notes.txt").unwrap();
        let view = harness.settle();
        assert_eq!(view.phase, Phase::Asking);
        let question = view.question.clone().expect("a question");
        let Subject::Conflicts { conflicts, .. } = &*question.about else { panic!("{question:?}") };
        let choices = conflicts.iter().map(|conflict| Choice { conflict: conflict.clone(), keep }).collect();
        assert_eq!(
            harness.file("notes.txt").as_deref(),
            Some("mine\n"),
            "nothing is written before the answer"
        );
        harness.agent.answer(question.id, UserAnswer::Choices(choices)).unwrap();
        harness.settle();
        assert_eq!(harness.file("notes.txt").as_deref(), Some(expected));
        assert_eq!(harness.outcomes(), ["accepted"]);
    }
}

/// After a no to a conflict, nothing is applied and the prompt is given back. `Anew` drops the work and runs the prompt
/// again.
#[test]
fn no_to_a_conflict_gives_the_prompt_back_and_anew_runs_it() {
    let mut harness = Harness::with_suggestion(&HarnessOptions::default(), "change notes.txt");
    harness.write("notes.txt", "mine\n");
    harness.agent.take("change notes.txt").unwrap();
    let question = harness.settle().question.clone().expect("a question");
    harness.agent.answer(question.id, UserAnswer::No).unwrap();
    let view = harness.settle();
    assert_eq!(view.draft.as_ref().map(|draft| draft.text.as_str()), Some("change notes.txt"));
    assert_eq!((view.phase, harness.outcomes()), (Phase::Idle, vec!["conflict".to_owned()]));

    let mut harness = Harness::with_suggestion(&HarnessOptions::default(), "change notes.txt");
    harness.write("notes.txt", "mine\n");
    harness.agent.take("change notes.txt").unwrap();
    let question = harness.settle().question.clone().expect("a question");
    harness.agent.answer(question.id, UserAnswer::Anew).unwrap();
    let view = harness.settle();
    assert_eq!(view.phase, Phase::Idle);
    assert!(
        matches!(not_taken(&harness)[..], [(NotAppliedReason::Conflict(_), true)]),
        "{:?}",
        harness.known
    );
    let id = harness.known.values().find_map(|item| match item {
        Item::NotApplied { id, .. } => Some(id.clone()),
        _ => None,
    });
    let staged = harness.agent.changes(&id.unwrap()).unwrap();
    assert_eq!(staged.summary().len(), 1, "what was not applied can be looked at");
    assert_eq!(harness.prompts().last().map(String::as_str), Some("change notes.txt"));
}

/// Without consent to edits, finished work is applied only after the user has seen its changes and said yes.
#[test]
fn in_default_mode_work_is_written_only_after_a_yes() {
    for (answer, written) in [(UserAnswer::Yes, true), (UserAnswer::No, false)] {
        let setting = HarnessOptions { mode: ApprovalMode::Default, ..HarnessOptions::default() };
        let mut harness = Harness::with_suggestion(&setting, "edit made.txt");
        harness.agent.take("edit made.txt").unwrap();
        let question = harness.settle().question.clone().expect("a question");
        assert!(matches!(&*question.about, Subject::Changes(_)), "{question:?}");
        assert_eq!(harness.file("made.txt"), None);
        harness.agent.answer(question.id, answer).unwrap();
        harness.settle();
        assert_eq!(harness.file("made.txt").is_some(), written);
    }
}

/// A suggestion that is no longer shown cannot be taken, because the user did not see what the key would accept.
#[test]
fn a_key_takes_only_what_is_shown() {
    let mut harness = Harness::with_suggestion(&HarnessOptions::default(), "edit made.txt");
    assert_eq!(harness.agent.take("edit other.txt"), Err(ActionError::Stale));
    harness.agent.dismiss();
    assert_eq!(harness.agent.take("edit made.txt"), Err(ActionError::Stale));
    let view = harness.settle();
    assert!(view.suggestion.is_none() && view.ahead.is_none());
    assert_eq!(harness.outcomes(), ["ignored"]);
}

/// Switching background work off takes the suggestion and its work away at once, and no suggestion is asked for any
/// more.
#[test]
fn switched_off_nothing_is_asked_and_what_runs_is_gone_at_once() {
    let mut harness = Harness::with_suggestion(&HarnessOptions::default(), "edit made.txt");
    harness.agent.set_background(Mode::Off);
    let view = harness.agent.view();
    assert!(view.suggestion.is_none() && view.ahead.is_none());
    let asked = harness.model.asked.load(Ordering::SeqCst);
    harness.model.suggest("talk on");
    harness.say("talk");
    harness.advance(1_000);
    assert_eq!(harness.model.asked.load(Ordering::SeqCst), asked);
    harness.agent.set_background(Mode::Always);
    harness.say("talk");
    let view = harness.advance(1_000);
    assert_eq!(view.suggestion.as_ref().map(|shown| shown.text.as_str()), Some("talk on"));
}

/// A host may ask at each update whether a suggestion would come, so the question itself must not make an update.
#[test]
fn whether_a_suggestion_would_come_can_be_asked_at_each_update_for_that_makes_none() {
    let mut harness = Harness::new(&HarnessOptions::default());
    let before = harness.say("talk").revision;
    assert_eq!(harness.agent.may_suggest(), Ok(()));
    assert_eq!(harness.settle().revision, before, "an update is told where the revision is another one");
    harness.agent.set_background(Mode::Off);
    let before = harness.settle().revision;
    assert_eq!(harness.agent.may_suggest(), Err(SkipReason::Off));
    assert_eq!(harness.settle().revision, before);
}

/// If background work is switched off while a suggestion is asked for, its answer does not count, even if it is
/// switched on again. The ledger notes the question, because it may have cost something.
#[test]
fn switched_off_a_question_that_is_under_way_is_not_waited_for() {
    let mut harness = Harness::new(&HarnessOptions::default());
    harness.model.suggest("edit made.txt");
    harness.say("talk");
    harness.model.hold(true);
    harness.agent.submit("talk more").unwrap();
    harness.settle();
    harness.model.release(false);
    harness.settle();
    assert_eq!(harness.model.asked.load(Ordering::SeqCst), 1, "it is under way");
    harness.agent.set_background(Mode::Off);
    harness.agent.set_background(Mode::Always);
    harness.model.hold(false);
    let view = harness.advance(1_000);
    assert!(view.suggestion.is_none() && view.ahead.is_none());
    let told: Vec<_> = harness.lines("suggestion").iter().map(|line| line["suppressed"].clone()).collect();
    assert_eq!(told, ["dropped"], "what it may have cost is written down");
}

/// In plan mode there are no suggestions.
#[test]
fn in_plan_mode_nothing_is_suggested_and_what_was_is_gone() {
    let mut harness = Harness::with_suggestion(&HarnessOptions::default(), "edit made.txt");
    lock(&harness.host.rules).mode = ApprovalMode::Plan;
    harness.agent.rules_changed();
    assert!(harness.agent.view().suggestion.is_none());
    let asked = harness.model.asked.load(Ordering::SeqCst);
    harness.say("talk");
    harness.advance(1_000);
    assert_eq!(harness.model.asked.load(Ordering::SeqCst), asked);
}

/// A user who already types the next prompt needs no suggestion, so none is asked for.
#[test]
fn whoever_types_the_next_prompt_is_asked_for_no_suggestion() {
    let mut harness = Harness::new(&HarnessOptions::default());
    harness.say("talk");
    let asked = harness.model.asked.load(Ordering::SeqCst);
    harness.model.hold(true);
    harness.agent.submit("talk more").unwrap();
    harness.settle();
    harness.agent.edited("my own", EditKind::Typed);
    harness.model.hold(false);
    harness.advance(1_000);
    assert_eq!(harness.model.asked.load(Ordering::SeqCst), asked);
}

/// If the user has undone a change, the model is told so, and work that was done before does not count.
#[test]
fn what_the_user_took_back_is_told_and_work_that_rests_on_it_is_not_taken() {
    let mut harness = Harness::new(&HarnessOptions::default());
    harness.model.suggest("read made.txt");
    harness.say("talk");
    harness.say("edit made.txt");
    harness.advance(1_000);
    let path = headstart_overlay_fs::WorkspacePath::parse("made.txt").unwrap();
    harness.tree.remove(&path);
    harness.agent.take("read made.txt").unwrap();
    harness.settle();
    assert_eq!(harness.outcomes(), ["aborted"]);
    assert!(
        harness.known.values().any(|item| matches!(item, Item::Undone { text } if text.contains("made.txt")))
    );
    let told = harness.prompts().pop().expect("a prompt");
    assert!(told.contains("made.txt") && told.ends_with("read made.txt") && told.len() > 20, "{told}");
}

/// The guess of a view that has this text.
fn guess<'a>(view: &'a View, text: &str) -> &'a GuessView {
    view.guesses.iter().find(|guess| guess.text == text).expect("the guess is there")
}

/// Another guess than the best one runs once its user has looked at it for 300 ms, beside the first.
#[test]
fn a_further_guess_runs_once_it_is_marked_for_a_moment_and_can_be_taken() {
    let setting = HarnessOptions { candidates: 3, ..HarnessOptions::default() };
    let mut harness = Harness::with_suggestion(&setting, "edit a.txt|edit b.txt|edit c.txt");
    let view = harness.settle();
    assert!(guess(&view, "edit a.txt").ahead.is_some());
    assert!(guess(&view, "edit b.txt").ahead.is_none(), "only the best one runs by itself");
    harness.agent.mark("edit c.txt");
    harness.advance(200);
    harness.agent.mark("edit b.txt");
    let view = harness.advance(299);
    assert!(view.guesses[1..].iter().all(|guess| guess.ahead.is_none()), "nobody looked long enough");
    let view = harness.advance(1);
    assert!(guess(&view, "edit b.txt").ahead.is_some());
    assert!(guess(&view, "edit c.txt").ahead.is_none(), "it was only passed by");
    harness.agent.mark("edit b.txt");
    harness.advance(1_000);
    assert_eq!(lock(&harness.model.ahead).len(), 4, "two run once, each asks twice");
    // A list opens over any line.
    harness.agent.edited("something else", EditKind::Typed);
    let view = harness.advance(5_000);
    assert!(view.suggestion.is_none() && guess(&view, "edit b.txt").ahead.is_some());
    assert_eq!(harness.agent.take_guess("edit x.txt"), Err(ActionError::Stale));
    harness.agent.take_guess("edit b.txt").unwrap();
    harness.settle();
    assert_eq!((harness.file("a.txt"), harness.file("c.txt")), (None, None));
    assert!(harness.file("b.txt").is_some());
    let mut outcomes = harness.outcomes();
    outcomes.sort();
    assert_eq!(outcomes.len(), 3, "{outcomes:?}");
    assert_eq!(outcomes.iter().filter(|outcome| *outcome == "accepted").count(), 1);
}

/// Whoever turns the suggestion on the screen looks at what comes, as in a list.
#[test]
fn a_further_suggestion_that_stays_on_the_screen_runs_too() {
    let setting = HarnessOptions { candidates: 2, ..HarnessOptions::default() };
    let mut harness = Harness::with_suggestion(&setting, "edit a.txt|edit b.txt");
    harness.agent.next_suggestion();
    assert!(harness.advance(299).ahead.is_none());
    let view = harness.advance(1);
    assert_eq!(view.suggestion.as_ref().map(|shown| shown.text.as_str()), Some("edit b.txt"));
    assert!(view.ahead.is_some());
    harness.agent.take("edit b.txt").unwrap();
    harness.settle();
    assert_eq!((harness.file("a.txt").is_some(), harness.file("b.txt").is_some()), (false, true));
}

/// A marked guess costs nothing where its chance does not allow it, nothing runs ahead at all, or it is gone.
#[test]
fn a_marked_guess_that_may_not_run_does_not() {
    let setting = HarnessOptions { candidates: 2, ..HarnessOptions::default() };
    let mut harness = Harness::with_suggestion(&setting, "edit a.txt|edit b.txt");
    harness.agent.set_speculation(false);
    harness.model.suggest("edit one.txt|edit two.txt");
    harness.agent.suggest();
    harness.advance(1_000);
    harness.agent.mark("edit two.txt");
    let view = harness.advance(1_000);
    assert!(view.guesses.len() == 2 && view.guesses.iter().all(|guess| guess.ahead.is_none()));
    harness.agent.set_speculation(true);
    harness.agent.mark("edit one.txt");
    harness.agent.mark("edit two.txt");
    harness.agent.dismiss();
    assert!(harness.advance(1_000).guesses.is_empty());
    assert_eq!(harness.agent.take_guess("edit two.txt"), Err(ActionError::Stale));
}
