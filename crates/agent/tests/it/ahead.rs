//! Suggestions, the work that is done ahead for them, and how a user takes or declines it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::atomic::Ordering;

use headstart_agent::{Answer, Edit, Item, NotTaken, Phase, Refused, Subject};
use headstart_budget::policy::{Mode, SkipReason};
use headstart_overlay_fs::{Choice, Keep};
use headstart_tool_gate::{AheadWrites, ApprovalMode};

use crate::world::{Setting, World, lock};

fn not_taken(world: &World) -> Vec<(&NotTaken, bool)> {
    let items = world.known.values().filter_map(|item| match item {
        Item::NotTaken { why, anew, .. } => Some((why, *anew)),
        _ => None,
    });
    items.collect()
}

/// A conversation that shows a suggestion whose work waits for the model.
fn with_work_that_runs() -> World {
    let mut world = World::new(&Setting::default());
    world.model.suggest("edit made.txt");
    world.say("talk");
    world.model.hold(true);
    world.agent.submit("talk more").unwrap();
    // First the answer to the turn is released, then the answer to the question for a suggestion.
    for _ in 0..2 {
        world.settle();
        world.model.release(false);
    }
    let view = world.pass(1_000);
    assert!(view.ahead.as_ref().is_some_and(|ahead| ahead.finished.is_none()), "{view:?}");
    world
}

/// Finished work is applied when it is taken, without another request to the model, so the user does not wait.
#[test]
fn work_that_is_taken_is_there_at_once_and_the_next_prompt_is_suggested() {
    let mut world = World::with_suggestion(&Setting::default(), "edit made.txt");
    assert_eq!(world.file("made.txt"), None, "nothing is written ahead of the user");
    let asked = lock(&world.model.turns).len();
    world.model.suggest("talk on");
    assert_eq!(world.agent.take("edit made.txt"), Ok(()));
    let view = world.pass(1_000);
    assert_eq!(world.file("made.txt").as_deref(), Some("edit made.txt\n"));
    assert_eq!(lock(&world.model.turns).len(), asked, "the model was not asked again");
    assert_eq!(world.outcomes(), ["accepted"]);
    assert_eq!(view.phase, Phase::Idle);
    // The work asked for the next suggestion before it was taken, so no question for one is asked now.
    assert!(
        world.known.values().any(|item| matches!(item, Item::Applied(applied) if applied.changes.len() == 1))
    );
    world.say("talk");
    assert_eq!(world.prompts(), ["talk", "talk more", "edit made.txt", "talk"]);
}

/// A user who types the suggestion instead of taking it gets the work too, despite blanks and a full stop.
#[test]
fn the_same_words_typed_take_the_work_as_well() {
    let mut world = World::with_suggestion(&Setting::default(), "edit made.txt");
    for text in ["ed", "edit made.tx", "edit made.txt"] {
        world.agent.edited(text, Edit::Typed);
    }
    world.say(" edit made.txt.");
    assert_eq!((world.outcomes(), world.file("made.txt").is_some()), (vec!["accepted".to_owned()], true));
}

/// If the user sends something else, the work is dropped and has changed nothing.
#[test]
fn other_words_leave_nothing_of_it() {
    let mut world = World::with_suggestion(&Setting::default(), "edit made.txt");
    let before = world.tree.snapshot();
    world.agent.edited("so", Edit::Typed);
    // For two seconds the typing may be a slip that is taken back; then the suggestion and its work are given up.
    let view = world.pass(2_000);
    assert!(view.suggestion.is_none() && view.ahead.is_none());
    world.say("something else");
    assert_eq!(world.tree.snapshot(), before);
    assert_eq!(world.outcomes(), ["ignored"]);
}

/// If the work still runs when it is taken, the turn waits for the rest of it instead of running anew.
#[test]
fn work_is_joined_where_it_still_runs() {
    let mut world = with_work_that_runs();
    world.agent.take("edit made.txt").unwrap();
    assert_eq!(world.settle().phase, Phase::Accepting);
    world.model.hold(false);
    assert_eq!(world.settle().phase, Phase::Idle);
    assert_eq!((world.outcomes(), world.file("made.txt").is_some()), (vec!["joined".to_owned()], true));
}

/// After an interrupt of a turn that waits for its work, neither the work nor a queued prompt may run. Both prompts are
/// given back as a draft.
#[test]
fn an_interrupt_while_work_is_joined_applies_nothing_and_runs_nothing() {
    let mut world = with_work_that_runs();
    let before = world.tree.snapshot();
    world.agent.take("edit made.txt").unwrap();
    world.agent.submit("two").unwrap();
    world.settle();
    world.agent.interrupt().unwrap();
    world.model.hold(false);
    let requests = lock(&world.model.turns).len();
    let view = world.pass(60_000);
    assert_eq!(world.tree.snapshot(), before);
    assert_eq!(lock(&world.model.turns).len(), requests, "no turn began by itself");
    assert_eq!(view.draft.as_ref().map(|draft| draft.text.as_str()), Some("edit made.txt\ntwo"));
    assert!(matches!(not_taken(&world)[..], [(NotTaken::Interrupted, false)]), "{:?}", world.known);
    assert_eq!(world.outcomes(), ["aborted"]);
}

/// Work that stopped before a call that needs consent goes on from there: the call is asked about, and the model does
/// not have to say it again.
#[test]
fn work_that_stopped_goes_on_where_it_was_and_asks_there() {
    let setting =
        Setting { mode: ApprovalMode::Default, ahead_writes: AheadWrites::Boundary, ..Setting::default() };
    let mut world = World::with_suggestion(&setting, "edit made.txt");
    assert_eq!(world.file("made.txt"), None);
    let asked = lock(&world.model.turns).len();
    world.agent.take("edit made.txt").unwrap();
    let view = world.settle();
    let question = view.question.clone().expect("a question");
    assert!(matches!(&*question.about, Subject::Call(judged) if judged.call.name == "write_file"));
    assert_eq!(lock(&world.model.turns).len(), asked, "the model said it already");
    world.agent.answer(question.id, Answer::Yes).unwrap();
    world.settle();
    assert!(world.file("made.txt").is_some());
    let calls = world.known.values().filter(|item| matches!(item, Item::Call(_))).count();
    assert_eq!(calls, 1, "told by the work and by the turn, it is one call");
}

/// If the user has edited a file that the work changes, the user chooses which version is kept before anything is
/// written.
#[test]
fn an_edit_of_the_users_is_asked_about_and_their_choice_counts() {
    for (keep, expected) in [(Keep::Yours, "mine\n"), (Keep::Work, "changed\n")] {
        let mut world = World::with_suggestion(&Setting::default(), "change notes.txt");
        world.write("notes.txt", "mine\n");
        world.agent.take("change notes.txt").unwrap();
        let view = world.settle();
        assert_eq!(view.phase, Phase::Asking);
        let question = view.question.clone().expect("a question");
        let Subject::Conflicts { conflicts, .. } = &*question.about else { panic!("{question:?}") };
        let choices = conflicts.iter().map(|conflict| Choice { conflict: conflict.clone(), keep }).collect();
        assert_eq!(
            world.file("notes.txt").as_deref(),
            Some("mine\n"),
            "nothing is written before the answer"
        );
        world.agent.answer(question.id, Answer::Choices(choices)).unwrap();
        world.settle();
        assert_eq!(world.file("notes.txt").as_deref(), Some(expected));
        assert_eq!(world.outcomes(), ["accepted"]);
    }
}

/// After a no to a conflict, nothing is applied and the prompt is given back. `Anew` drops the work and runs the prompt
/// again.
#[test]
fn no_to_a_conflict_gives_the_prompt_back_and_anew_runs_it() {
    let mut world = World::with_suggestion(&Setting::default(), "change notes.txt");
    world.write("notes.txt", "mine\n");
    world.agent.take("change notes.txt").unwrap();
    let question = world.settle().question.clone().expect("a question");
    world.agent.answer(question.id, Answer::No).unwrap();
    let view = world.settle();
    assert_eq!(view.draft.as_ref().map(|draft| draft.text.as_str()), Some("change notes.txt"));
    assert_eq!((view.phase, world.outcomes()), (Phase::Idle, vec!["conflict".to_owned()]));

    let mut world = World::with_suggestion(&Setting::default(), "change notes.txt");
    world.write("notes.txt", "mine\n");
    world.agent.take("change notes.txt").unwrap();
    let question = world.settle().question.clone().expect("a question");
    world.agent.answer(question.id, Answer::Anew).unwrap();
    let view = world.settle();
    assert_eq!(view.phase, Phase::Idle);
    assert!(matches!(not_taken(&world)[..], [(NotTaken::Conflict(_), true)]), "{:?}", world.known);
    let id = world.known.values().find_map(|item| match item {
        Item::NotTaken { id, .. } => Some(id.clone()),
        _ => None,
    });
    let staged = world.agent.changes(&id.unwrap()).unwrap();
    assert_eq!(staged.summary().len(), 1, "what was not applied can be looked at");
    assert_eq!(world.prompts().last().map(String::as_str), Some("change notes.txt"));
}

/// Without consent to edits, finished work is applied only after the user has seen its changes and said yes.
#[test]
fn in_default_mode_work_is_written_only_after_a_yes() {
    for (answer, written) in [(Answer::Yes, true), (Answer::No, false)] {
        let setting = Setting { mode: ApprovalMode::Default, ..Setting::default() };
        let mut world = World::with_suggestion(&setting, "edit made.txt");
        world.agent.take("edit made.txt").unwrap();
        let question = world.settle().question.clone().expect("a question");
        assert!(matches!(&*question.about, Subject::Changes(_)), "{question:?}");
        assert_eq!(world.file("made.txt"), None);
        world.agent.answer(question.id, answer).unwrap();
        world.settle();
        assert_eq!(world.file("made.txt").is_some(), written);
    }
}

/// A suggestion that is no longer shown cannot be taken, because the user did not see what the key would accept.
#[test]
fn a_key_takes_only_what_is_shown() {
    let mut world = World::with_suggestion(&Setting::default(), "edit made.txt");
    assert_eq!(world.agent.take("edit other.txt"), Err(Refused::Stale));
    world.agent.dismiss();
    assert_eq!(world.agent.take("edit made.txt"), Err(Refused::Stale));
    let view = world.settle();
    assert!(view.suggestion.is_none() && view.ahead.is_none());
    assert_eq!(world.outcomes(), ["ignored"]);
}

/// Switching background work off takes the suggestion and its work away at once, and no suggestion is asked for any
/// more.
#[test]
fn switched_off_nothing_is_asked_and_what_runs_is_gone_at_once() {
    let mut world = World::with_suggestion(&Setting::default(), "edit made.txt");
    world.agent.set_background(Mode::Off);
    let view = world.agent.view();
    assert!(view.suggestion.is_none() && view.ahead.is_none());
    let asked = world.model.asked.load(Ordering::SeqCst);
    world.model.suggest("talk on");
    world.say("talk");
    world.pass(1_000);
    assert_eq!(world.model.asked.load(Ordering::SeqCst), asked);
    world.agent.set_background(Mode::Always);
    world.say("talk");
    let view = world.pass(1_000);
    assert_eq!(view.suggestion.as_ref().map(|shown| shown.text.as_str()), Some("talk on"));
}

/// A host may ask at each update whether a suggestion would come, so the question itself must not make an update.
#[test]
fn whether_a_suggestion_would_come_can_be_asked_at_each_update_for_that_makes_none() {
    let mut world = World::new(&Setting::default());
    let before = world.say("talk").revision;
    assert_eq!(world.agent.may_suggest(), Ok(()));
    assert_eq!(world.settle().revision, before, "an update is told where the revision is another one");
    world.agent.set_background(Mode::Off);
    let before = world.settle().revision;
    assert_eq!(world.agent.may_suggest(), Err(SkipReason::Off));
    assert_eq!(world.settle().revision, before);
}

/// If background work is switched off while a suggestion is asked for, its answer does not count, even if it is
/// switched on again. The ledger notes the question, because it may have cost something.
#[test]
fn switched_off_a_question_that_is_under_way_is_not_waited_for() {
    let mut world = World::new(&Setting::default());
    world.model.suggest("edit made.txt");
    world.say("talk");
    world.model.hold(true);
    world.agent.submit("talk more").unwrap();
    world.settle();
    world.model.release(false);
    world.settle();
    assert_eq!(world.model.asked.load(Ordering::SeqCst), 1, "it is under way");
    world.agent.set_background(Mode::Off);
    world.agent.set_background(Mode::Always);
    world.model.hold(false);
    let view = world.pass(1_000);
    assert!(view.suggestion.is_none() && view.ahead.is_none());
    let told: Vec<_> = world.lines("suggestion").iter().map(|line| line["suppressed"].clone()).collect();
    assert_eq!(told, ["dropped"], "what it may have cost is written down");
}

/// In plan mode there are no suggestions.
#[test]
fn in_plan_mode_nothing_is_suggested_and_what_was_is_gone() {
    let mut world = World::with_suggestion(&Setting::default(), "edit made.txt");
    lock(&world.host.rules).mode = ApprovalMode::Plan;
    world.agent.rules_changed();
    assert!(world.agent.view().suggestion.is_none());
    let asked = world.model.asked.load(Ordering::SeqCst);
    world.say("talk");
    world.pass(1_000);
    assert_eq!(world.model.asked.load(Ordering::SeqCst), asked);
}

/// A user who already types the next prompt needs no suggestion, so none is asked for.
#[test]
fn whoever_types_the_next_prompt_is_asked_for_no_suggestion() {
    let mut world = World::new(&Setting::default());
    world.say("talk");
    let asked = world.model.asked.load(Ordering::SeqCst);
    world.model.hold(true);
    world.agent.submit("talk more").unwrap();
    world.settle();
    world.agent.edited("my own", Edit::Typed);
    world.model.hold(false);
    world.pass(1_000);
    assert_eq!(world.model.asked.load(Ordering::SeqCst), asked);
}

/// If the user has undone a change, the model is told so, and work that was done before does not count.
#[test]
fn what_the_user_took_back_is_told_and_work_that_rests_on_it_is_not_taken() {
    let mut world = World::new(&Setting::default());
    world.model.suggest("read made.txt");
    world.say("talk");
    world.say("edit made.txt");
    world.pass(1_000);
    let path = headstart_overlay_fs::WorkspacePath::parse("made.txt").unwrap();
    world.tree.remove(&path);
    world.agent.take("read made.txt").unwrap();
    world.settle();
    assert_eq!(world.outcomes(), ["aborted"]);
    assert!(
        world.known.values().any(|item| matches!(item, Item::Undone { text } if text.contains("made.txt")))
    );
    let told = world.prompts().pop().expect("a prompt");
    assert!(told.contains("made.txt") && told.ends_with("read made.txt") && told.len() > 20, "{told}");
}

/// Several candidates run at once. The one on screen is taken, and the work for the others is dropped.
#[test]
fn of_several_the_one_that_is_shown_is_taken_and_the_others_are_gone() {
    let setting = Setting { candidates: 3, parallel: 2, ..Setting::default() };
    let mut world = World::with_suggestion(&setting, "edit a.txt|edit b.txt|edit c.txt");
    assert_eq!(lock(&world.model.ahead).len(), 4, "two run, each asks twice");
    world.agent.next_suggestion();
    let view = world.settle();
    assert_eq!(view.suggestion.as_ref().map(|shown| shown.text.as_str()), Some("edit b.txt"));
    world.agent.take("edit b.txt").unwrap();
    world.settle();
    assert_eq!((world.file("a.txt"), world.file("c.txt")), (None, None));
    assert!(world.file("b.txt").is_some());
    let mut outcomes = world.outcomes();
    outcomes.sort();
    assert_eq!(outcomes.len(), 3, "{outcomes:?}");
    assert_eq!(outcomes.iter().filter(|outcome| *outcome == "accepted").count(), 1);
}

/// With a depth of 2, work for the next suggestion runs on top of the first work. It is shown at once when the first is
/// taken.
#[test]
fn the_next_step_runs_on_top_and_is_there_when_the_first_is_taken() {
    let setting = Setting { depth: 2, ..Setting::default() };
    let mut world = World::new(&setting);
    for suggestion in ["edit a.txt", "edit b.txt"] {
        world.model.suggest(suggestion);
    }
    world.say("talk");
    world.say("talk more");
    let view = world.pass(1_000);
    assert_eq!(view.ahead.as_ref().map(|ahead| ahead.above), Some(1), "{view:?}");
    world.agent.take("edit a.txt").unwrap();
    let view = world.settle();
    assert_eq!(world.file("b.txt"), None);
    assert_eq!(
        view.suggestion.as_ref().map(|shown| shown.text.as_str()),
        Some("edit b.txt"),
        "it shows at once"
    );
    world.pass(1_000);
    world.agent.take("edit b.txt").unwrap();
    world.settle();
    assert!(world.file("a.txt").is_some() && world.file("b.txt").is_some());
    assert_eq!(world.outcomes(), ["accepted", "accepted"]);
}
