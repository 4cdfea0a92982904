//! Turns, queued prompts, questions, and the state after an interrupt.

use headstart_agent::{AfterDecline, Answer, Edit, Item, Phase, Refused, Subject, Submitted};
use headstart_speculation::{CallStage, Ending};
use headstart_tool_gate::ApprovalMode;

use crate::world::{Setting, World, lock};

fn ends(world: &World) -> Vec<&Ending> {
    let ends = world.known.values().filter_map(|item| match item {
        Item::End { ending } => Some(ending),
        _ => None,
    });
    ends.collect()
}

/// A turn is shown as its prompt, its calls, its answer and its end, and the ledger gets one line.
// Row: S2
#[test]
fn a_turn_is_told_from_the_prompt_to_its_end() {
    let mut world = World::new(&Setting::default());
    let view = world.say("edit made.txt");
    assert_eq!(view.phase, Phase::Idle);
    assert_eq!(world.file("made.txt").as_deref(), Some("edit made.txt\n"));
    let told: Vec<_> = world.known.values().collect();
    let [Item::Prompt { text }, Item::Call(call), Item::Answer { text: said }, Item::End { ending }] =
        told[..]
    else {
        panic!("{told:?}");
    };
    assert_eq!((text.as_str(), said.as_str()), ("edit made.txt", "Done: edit made.txt."));
    assert!(call.outcome.is_some());
    assert_eq!(*ending, Ending::Completed);
    assert_eq!(view.items.len(), 4);
    assert_eq!(world.lines("turn").len(), 1, "what it cost is written down");
}

/// Prompts that are sent during a turn are queued and run in their order.
#[test]
fn prompts_that_are_sent_meanwhile_run_one_after_the_other() {
    let mut world = World::new(&Setting::default());
    world.model.hold(true);
    assert_eq!(world.agent.submit("talk"), Ok(Submitted::Begins));
    world.settle();
    for prompt in ["two", "three"] {
        assert_eq!(world.agent.submit(prompt), Ok(Submitted::Queued));
    }
    assert_eq!(world.agent.view().queued, ["two", "three"]);
    world.model.hold(false);
    let view = world.settle();
    assert_eq!(world.prompts(), ["talk", "two", "three"]);
    assert!(view.queued.is_empty() && view.draft.is_none());
}

/// After a failed turn, its prompt and the queued ones are given back as a draft, and nothing runs by itself.
#[test]
fn what_was_to_follow_a_turn_that_failed_is_the_draft() {
    let mut world = World::new(&Setting::default());
    world.model.hold(true);
    world.agent.submit("fail now").unwrap();
    world.agent.submit("two").unwrap();
    world.model.hold(false);
    let view = world.settle();
    assert_eq!((view.phase, view.queued.len()), (Phase::Idle, 0));
    assert_eq!(view.draft.as_ref().map(|draft| draft.text.as_str()), Some("fail now\ntwo"));
    assert!(matches!(ends(&world)[..], [Ending::Failed { .. }]), "{:?}", world.known);
    // The model does not know the failed prompt, because the turn is not part of the conversation.
    world.say("talk");
    assert_eq!(world.prompts(), ["talk"]);
}

/// After an interrupt, the prompt and the queued ones are given back as a draft, and no turn begins by itself.
#[test]
fn an_interrupted_turn_gives_back_what_was_to_follow_and_nothing_runs_by_itself() {
    let mut world = World::new(&Setting::default());
    world.model.hold(true);
    for prompt in ["read notes.txt", "two"] {
        world.agent.submit(prompt).unwrap();
        world.settle();
    }
    assert_eq!(world.agent.interrupt(), Ok(()));
    world.model.hold(false);
    let view = world.pass(60_000);
    assert_eq!(view.draft.as_ref().map(|draft| draft.text.as_str()), Some("read notes.txt\ntwo"));
    assert_eq!(ends(&world), [&Ending::Aborted]);
    assert_eq!(world.prompts(), ["read notes.txt"], "one request, and none after it");
    assert_eq!(world.agent.interrupt(), Err(Refused::Stale));
}

/// A question stays until it is answered, and an answer that does not fit it is refused.
// Row: S12
#[test]
fn a_question_stands_until_it_is_answered_and_takes_only_an_answer_that_fits() {
    let because = Answer::NoBecause("use another name".to_owned());
    for (answer, ran) in [(Answer::Yes, true), (Answer::No, false), (because, false)] {
        let mut world = World::new(&Setting { mode: ApprovalMode::Default, ..Setting::default() });
        let view = world.say("edit made.txt");
        let question = view.question.clone().expect("a question");
        let Subject::Call(judged) = &*question.about else { panic!("{question:?}") };
        assert_eq!(judged.call.name, "write_file");
        let diff = judged.changes.as_ref().expect("what it would change").diff();
        assert!(diff.contains("+edit made.txt"), "{diff}");
        assert!(world.known.values().any(|item| matches!(item, Item::Call(call) if call.waiting)));
        for wrong in [Answer::Anew, Answer::Settled, Answer::Choices(Vec::new())] {
            assert_eq!(world.agent.answer(question.id, wrong), Err(Refused::Stale));
        }
        assert_eq!(world.settle().question, Some(question.clone()));
        assert_eq!(world.agent.answer(question.id, answer.clone()), Ok(()));
        assert_eq!(world.agent.answer(question.id, answer), Err(Refused::Stale), "it was answered");
        let view = world.settle();
        assert_eq!((view.question.as_ref(), view.phase), (None, Phase::Idle));
        assert_eq!(world.file("made.txt").is_some(), ran);
        let call = world.known.values().find_map(|item| match item {
            Item::Call(call) => Some(call.clone()),
            _ => None,
        });
        let call = call.expect("a call");
        let (stage, sentence) = if ran {
            (CallStage::Done, "wrote made.txt")
        } else {
            (CallStage::Canceled, "tried to write made.txt")
        };
        assert_eq!((call.stage, call.sentence.as_str(), call.waiting), (stage, sentence, false));
    }
}

/// A question cannot be answered after an interrupt.
// Row: S11
#[test]
fn an_interrupt_takes_the_question_with_it() {
    let mut world = World::new(&Setting { mode: ApprovalMode::Default, ..Setting::default() });
    let question = world.say("edit made.txt").question.clone().expect("a question");
    world.agent.interrupt().unwrap();
    assert_eq!(world.agent.answer(question.id, Answer::Yes), Err(Refused::Stale));
    let view = world.settle();
    assert_eq!((view.phase, view.question.clone()), (Phase::Idle, None));
    assert_eq!(world.file("made.txt"), None);
    assert_eq!(ends(&world), [&Ending::Aborted]);
}

/// The user chooses whether the turn goes on after a no. A no with a reason always goes on, because the reason is meant
/// for the model.
// Row: S4
#[test]
fn a_no_goes_to_the_model_or_ends_the_turn_as_its_user_wants() {
    let because = || Answer::NoBecause("another name".to_owned());
    for (after_decline, answer, goes_on) in [
        (AfterDecline::Continue, Answer::No, true),
        (AfterDecline::Stop, Answer::No, false),
        (AfterDecline::Stop, because(), true),
    ] {
        let mut world =
            World::new(&Setting { mode: ApprovalMode::Default, after_decline, ..Setting::default() });
        let question = world.say("edit made.txt").question.clone().expect("a question");
        world.agent.answer(question.id, answer).unwrap();
        let view = world.settle();
        assert_eq!((view.phase, view.question.clone(), world.file("made.txt")), (Phase::Idle, None, None));
        let requests = || lock(&world.model.turns).len();
        let ending = if goes_on { Ending::Completed } else { Ending::Aborted };
        assert_eq!((ends(&world), requests()), (vec![&ending], if goes_on { 2 } else { 1 }));
        // The conversation can go on, and the model knows of the no.
        world.say("talk");
        let last = lock(&world.model.turns).last().cloned().unwrap();
        let told = serde_json::to_string(&last.messages).unwrap();
        assert!(told.contains("the user declined this call"), "{told}");
    }
}

/// If nobody attends the conversation, a call that needs consent is declined without a question.
#[test]
fn whoever_is_not_there_is_not_asked() {
    let mut world =
        World::new(&Setting { mode: ApprovalMode::Default, attended: false, ..Setting::default() });
    let view = world.say("edit made.txt");
    assert_eq!((view.phase, world.file("made.txt")), (Phase::Idle, None));
    let declined = world.known.values().filter(|item| matches!(item, Item::Declined(_))).count();
    assert_eq!(declined, 1, "{:?}", world.known);
}

/// The model does not see what was cleared. Nothing can be cleared while a turn runs.
#[test]
fn what_is_forgotten_is_not_asked_again_and_what_runs_is_not_forgotten() {
    let mut world = World::new(&Setting::default());
    world.say("talk");
    world.model.hold(true);
    world.agent.submit("talk more").unwrap();
    assert_eq!(world.agent.clear(), Err(Refused::Busy));
    world.model.hold(false);
    world.settle();
    assert_eq!(world.agent.clear(), Ok(()));
    let view = world.settle();
    assert!(view.items.is_empty() && world.known.is_empty());
    world.say("talk anew");
    assert_eq!(world.prompts(), ["talk anew"]);
}

/// An empty prompt is refused, and so is everything after the end.
#[test]
fn an_empty_prompt_is_none_and_after_the_end_nothing_is_taken() {
    let mut world = World::new(&Setting::default());
    assert_eq!(world.agent.submit(" \n"), Err(Refused::Empty));
    world.say("talk");
    let world = world.close();
    assert_eq!(world.agent.submit("talk"), Err(Refused::Ended));
    assert_eq!(world.agent.interrupt(), Err(Refused::Ended));
    assert_eq!(world.agent.take("x"), Err(Refused::Ended));
    world.agent.edited("x", Edit::Typed);
    assert_eq!(world.agent.view().phase, Phase::Ended);
}

/// A prompt with a mention that cannot be resolved fails before it is sent, and is given back as a draft.
#[test]
fn a_prompt_whose_mention_is_not_there_is_not_sent_and_is_in_the_line_again() {
    let mut world = World::new(&Setting::default());
    world.model.hold(true);
    world.agent.submit("talk").unwrap();
    world.agent.submit("talk about @none").unwrap();
    world.model.hold(false);
    let view = world.settle();
    assert!(
        matches!(ends(&world)[..], [Ending::Completed, Ending::Failed { error, .. }] if error.starts_with("@none: ")),
        "{:?}",
        world.known
    );
    assert_eq!(world.prompts(), ["talk"]);
    assert_eq!(view.draft.as_ref().map(|draft| draft.text.as_str()), Some("talk about @none"));
}

/// Only the prompt that was queued last can be taken back, and only until it runs.
#[test]
fn the_prompt_that_was_queued_last_can_be_taken_back() {
    let mut world = World::new(&Setting::default());
    world.model.hold(true);
    for prompt in ["talk", "talk more", "talk on"] {
        world.say(prompt);
    }
    assert_eq!(world.agent.take_back_queued().as_deref(), Some("talk on"));
    assert_eq!(world.agent.view().queued, ["talk more"]);
    world.model.hold(false);
    world.settle();
    assert_eq!(world.agent.take_back_queued(), None);
    assert_eq!(world.prompts(), ["talk", "talk more"]);
}
