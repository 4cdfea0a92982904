//! Turns, queued prompts, questions, and the state after an interrupt.

use std::sync::Arc;

use async_trait::async_trait;
use headstart_agent::{ActionError, AfterDecline, EditKind, Item, Phase, Subject, Submission, UserAnswer};
use headstart_forked_query::{Part, ToolOutcome, ToolSchema};
use headstart_speculation::{CallStage, Ending};
use headstart_tool_gate::ApprovalMode;
use headstart_toolbox::{Tool, ToolContext, ToolError, ToolOutput};
use serde_json::{Map, Value, json};

use crate::harness::{Harness, HarnessOptions, lock};

fn ends(harness: &Harness) -> Vec<&Ending> {
    let ends = harness.known.values().filter_map(|item| match item {
        Item::End { ending } => Some(ending),
        _ => None,
    });
    ends.collect()
}

/// A turn is shown as its prompt, its calls, its answer and its end, and the ledger gets one line.
#[test]
fn a_turn_is_told_from_the_prompt_to_its_end() {
    let mut harness = Harness::new(&HarnessOptions::default());
    let view = harness.say("edit made.txt");
    assert_eq!(view.phase, Phase::Idle);
    assert_eq!(harness.file("made.txt").as_deref(), Some("edit made.txt\n"));
    let told: Vec<_> = harness.known.values().collect();
    let [Item::Prompt { text }, Item::Call(call), Item::Answer { text: said }, Item::End { ending }] =
        told[..]
    else {
        panic!("{told:?}");
    };
    assert_eq!((text.as_str(), said.as_str()), ("edit made.txt", "Done: edit made.txt."));
    assert!(call.outcome.is_some());
    assert_eq!(*ending, Ending::Completed);
    assert_eq!(view.items.len(), 4);
    assert_eq!(harness.lines("turn").len(), 1, "what it cost is written down");
}

/// Prompts that are sent during a turn are queued and run in their order.
#[test]
fn prompts_that_are_sent_meanwhile_run_one_after_the_other() {
    let mut harness = Harness::new(&HarnessOptions::default());
    harness.model.hold(true);
    assert_eq!(harness.agent.submit("talk"), Ok(Submission::Started));
    harness.settle();
    for prompt in ["two", "three"] {
        assert_eq!(harness.agent.submit(prompt), Ok(Submission::Queued));
    }
    assert_eq!(harness.agent.view().queued, ["two", "three"]);
    harness.model.hold(false);
    let view = harness.settle();
    assert_eq!(harness.prompts(), ["talk", "two", "three"]);
    assert!(view.queued.is_empty() && view.draft.is_none());
}

/// After a failed turn, its prompt and the queued ones are given back as a draft, and nothing runs by itself.
#[test]
fn what_was_to_follow_a_turn_that_failed_is_the_draft() {
    let mut harness = Harness::new(&HarnessOptions::default());
    harness.model.hold(true);
    harness.agent.submit("fail now").unwrap();
    harness.agent.submit("two").unwrap();
    harness.model.hold(false);
    let view = harness.settle();
    assert_eq!((view.phase, view.queued.len()), (Phase::Idle, 0));
    assert_eq!(view.draft.as_ref().map(|draft| draft.text.as_str()), Some("fail now\ntwo"));
    assert!(matches!(ends(&harness)[..], [Ending::Failed { .. }]), "{:?}", harness.known);
    // The model does not know the failed prompt, because the turn is not part of the conversation.
    harness.say("talk");
    assert_eq!(harness.prompts(), ["talk"]);
}

/// After an interrupt, the prompt and the queued ones are given back as a draft, and no turn begins by itself.
#[test]
fn an_interrupted_turn_gives_back_what_was_to_follow_and_nothing_runs_by_itself() {
    let mut harness = Harness::new(&HarnessOptions::default());
    harness.model.hold(true);
    for prompt in ["read notes.txt", "two"] {
        harness.agent.submit(prompt).unwrap();
        harness.settle();
    }
    assert_eq!(harness.agent.interrupt(), Ok(()));
    harness.model.hold(false);
    let view = harness.advance(60_000);
    assert_eq!(view.draft.as_ref().map(|draft| draft.text.as_str()), Some("read notes.txt\ntwo"));
    assert_eq!(ends(&harness), [&Ending::Aborted]);
    assert_eq!(harness.prompts(), ["read notes.txt"], "one request, and none after it");
    assert_eq!(harness.agent.interrupt(), Err(ActionError::Stale));
}

/// A question stays until it is answered, and an answer that does not fit it is refused.
#[test]
fn a_question_stands_until_it_is_answered_and_takes_only_an_answer_that_fits() {
    let because = UserAnswer::NoBecause("use another name".to_owned());
    for (answer, ran) in [(UserAnswer::Yes, true), (UserAnswer::No, false), (because, false)] {
        let mut harness =
            Harness::new(&HarnessOptions { mode: ApprovalMode::Default, ..HarnessOptions::default() });
        let view = harness.say("edit made.txt");
        let question = view.question.clone().expect("a question");
        let Subject::Call(judged) = &*question.about else { panic!("{question:?}") };
        assert_eq!(judged.call.name, "write_file");
        let diff = judged.changes.as_ref().expect("what it would change").diff();
        assert!(diff.contains("+edit made.txt"), "{diff}");
        assert!(harness.known.values().any(|item| matches!(item, Item::Call(call) if call.waiting)));
        for wrong in [UserAnswer::Anew, UserAnswer::Settled, UserAnswer::Choices(Vec::new())] {
            assert_eq!(harness.agent.answer(question.id, wrong), Err(ActionError::Stale));
        }
        assert_eq!(harness.settle().question, Some(question.clone()));
        assert_eq!(harness.agent.answer(question.id, answer.clone()), Ok(()));
        assert_eq!(harness.agent.answer(question.id, answer), Err(ActionError::Stale), "it was answered");
        let view = harness.settle();
        assert_eq!((view.question.as_ref(), view.phase), (None, Phase::Idle));
        assert_eq!(harness.file("made.txt").is_some(), ran);
        let call = harness.known.values().find_map(|item| match item {
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
#[test]
fn an_interrupt_takes_the_question_with_it() {
    let mut harness =
        Harness::new(&HarnessOptions { mode: ApprovalMode::Default, ..HarnessOptions::default() });
    let question = harness.say("edit made.txt").question.clone().expect("a question");
    harness.agent.interrupt().unwrap();
    assert_eq!(harness.agent.answer(question.id, UserAnswer::Yes), Err(ActionError::Stale));
    let view = harness.settle();
    assert_eq!((view.phase, view.question.clone()), (Phase::Idle, None));
    assert_eq!(harness.file("made.txt"), None);
    assert_eq!(ends(&harness), [&Ending::Aborted]);
}

/// The user chooses whether the turn goes on after a no. A no with a reason always goes on, because the reason is meant
/// for the model.
#[test]
fn a_no_goes_to_the_model_or_ends_the_turn_as_its_user_wants() {
    let because = || UserAnswer::NoBecause("another name".to_owned());
    for (after_decline, answer, goes_on) in [
        (AfterDecline::Continue, UserAnswer::No, true),
        (AfterDecline::Stop, UserAnswer::No, false),
        (AfterDecline::Stop, because(), true),
    ] {
        let mut harness = Harness::new(&HarnessOptions {
            mode: ApprovalMode::Default,
            after_decline,
            ..HarnessOptions::default()
        });
        let question = harness.say("edit made.txt").question.clone().expect("a question");
        harness.agent.answer(question.id, answer).unwrap();
        let view = harness.settle();
        assert_eq!((view.phase, view.question.clone(), harness.file("made.txt")), (Phase::Idle, None, None));
        let requests = || lock(&harness.model.turns).len();
        let ending = if goes_on { Ending::Completed } else { Ending::Aborted };
        assert_eq!((ends(&harness), requests()), (vec![&ending], if goes_on { 2 } else { 1 }));
        // The conversation can go on, and the model knows of the no.
        harness.say("talk");
        let last = lock(&harness.model.turns).last().cloned().unwrap();
        let told = serde_json::to_string(&last.messages).unwrap();
        assert!(told.contains("the user declined this call"), "{told}");
    }
}

/// If nobody attends the conversation, a call that needs consent is declined without a question.
#[test]
fn whoever_is_not_there_is_not_asked() {
    let mut harness = Harness::new(&HarnessOptions {
        mode: ApprovalMode::Default,
        attended: false,
        ..HarnessOptions::default()
    });
    let view = harness.say("edit made.txt");
    assert_eq!((view.phase, harness.file("made.txt")), (Phase::Idle, None));
    let declined = harness.known.values().filter(|item| matches!(item, Item::Declined(_))).count();
    assert_eq!(declined, 1, "{:?}", harness.known);
}

/// The model does not see what was cleared. Nothing can be cleared while a turn runs.
#[test]
fn what_is_forgotten_is_not_asked_again_and_what_runs_is_not_forgotten() {
    let mut harness = Harness::new(&HarnessOptions::default());
    harness.say("talk");
    harness.model.hold(true);
    harness.agent.submit("talk more").unwrap();
    assert_eq!(harness.agent.clear(), Err(ActionError::Busy));
    harness.model.hold(false);
    harness.settle();
    assert_eq!(harness.agent.clear(), Ok(()));
    let view = harness.settle();
    assert!(view.items.is_empty() && harness.known.is_empty());
    harness.say("talk anew");
    assert_eq!(harness.prompts(), ["talk anew"]);
}

/// An empty prompt is refused, and so is everything after the end.
#[test]
fn an_empty_prompt_is_none_and_after_the_end_nothing_is_taken() {
    let mut harness = Harness::new(&HarnessOptions::default());
    assert_eq!(harness.agent.submit(" \n"), Err(ActionError::Empty));
    harness.say("talk");
    let harness = harness.close();
    assert_eq!(harness.agent.submit("talk"), Err(ActionError::Ended));
    assert_eq!(harness.agent.interrupt(), Err(ActionError::Ended));
    assert_eq!(harness.agent.take("x"), Err(ActionError::Ended));
    harness.agent.edited("x", EditKind::Typed);
    assert_eq!(harness.agent.view().phase, Phase::Ended);
}

/// A prompt with a mention that cannot be resolved fails before it is sent, and is given back as a draft.
#[test]
fn a_prompt_whose_mention_is_not_there_is_not_sent_and_is_in_the_line_again() {
    let mut harness = Harness::new(&HarnessOptions::default());
    harness.model.hold(true);
    harness.agent.submit("talk").unwrap();
    harness.agent.submit("talk about @none").unwrap();
    harness.model.hold(false);
    let view = harness.settle();
    assert!(
        matches!(ends(&harness)[..], [Ending::Completed, Ending::Failed { error, .. }] if error.starts_with("@none: ")),
        "{:?}",
        harness.known
    );
    assert_eq!(harness.prompts(), ["talk"]);
    assert_eq!(view.draft.as_ref().map(|draft| draft.text.as_str()), Some("talk about @none"));
}

/// Only the prompt that was queued last can be taken back, and only until it runs.
#[test]
fn the_prompt_that_was_queued_last_can_be_taken_back() {
    let mut harness = Harness::new(&HarnessOptions::default());
    harness.model.hold(true);
    for prompt in ["talk", "talk more", "talk on"] {
        harness.say(prompt);
    }
    assert_eq!(harness.agent.take_back_queued().as_deref(), Some("talk on"));
    assert_eq!(harness.agent.view().queued, ["talk more"]);
    harness.model.hold(false);
    harness.settle();
    assert_eq!(harness.agent.take_back_queued(), None);
    assert_eq!(harness.prompts(), ["talk", "talk more"]);
}

/// A tool that never answers.
struct Stuck;

#[async_trait]
impl Tool for Stuck {
    fn schema(&self) -> ToolSchema {
        ToolSchema::of("wait", "Waits.", &json!({}), &[])
    }

    async fn run(
        &self,
        _args: &Map<String, Value>,
        _context: ToolContext<'_>,
    ) -> Result<ToolOutput, ToolError> {
        std::future::pending().await
    }
}

/// The results that the model knows, in order.
fn results(harness: &Harness) -> Vec<ToolOutcome> {
    let requests = lock(&harness.model.turns);
    let messages = requests.last().expect("a request").messages.iter();
    let parts = messages.flat_map(|message| &message.parts).filter_map(|part| match part {
        Part::ToolResult(result) => Some(result.outcome.clone()),
        _ => None,
    });
    parts.collect()
}

/// What a call did until it was interrupted stays, so the call stays in the conversation, and so do those before and
/// behind it.
#[test]
fn the_model_reads_which_call_was_interrupted_and_which_did_not_run() {
    let mut harness =
        Harness::new(&HarnessOptions { tools: vec![Arc::new(Stuck)], ..HarnessOptions::default() });
    harness.agent.submit("calls write made.txt, wait, write never.txt").unwrap();
    harness.advance(2_500);
    assert_eq!(harness.file("made.txt").as_deref(), Some("made\n"));
    harness.agent.interrupt().unwrap();
    let view = harness.settle();
    assert_eq!((view.phase, view.draft.clone()), (Phase::Idle, None), "the prompt was answered");
    harness.say("talk");
    let [ToolOutcome::Output(_), ToolOutcome::Error(interrupted), ToolOutcome::Error(not_run)] =
        &results(&harness)[..]
    else {
        panic!("{:?}", results(&harness))
    };
    assert_eq!(interrupted, "[interrupted by the user after 2 s; what it did until then stays]");
    assert_eq!(not_run, "[not run: the turn ended before it]");
    assert_eq!(harness.file("never.txt"), None);
    // Another process knows the same.
    let before = lock(&harness.model.turns).last().unwrap().messages.clone();
    let kept = lock(&harness.store.kept).clone();
    let mut later = Harness::new(&HarnessOptions { kept, ..HarnessOptions::default() });
    later.say("talk");
    assert!(lock(&later.model.turns).last().unwrap().messages.starts_with(&before));
}
