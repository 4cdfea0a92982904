//! Ports that fail, panic, never answer, or no longer exist.

use futures::FutureExt;
use headstart_agent::{ActionError, Item, Phase};
use headstart_speculation::Ending;

use crate::harness::{Harness, HarnessOptions, StoreBehaviour, lock};

/// A panic of the model fails its turn, but the conversation goes on.
#[test]
fn a_model_that_panics_ends_its_turn_and_nothing_else() {
    let mut harness = Harness::new(&HarnessOptions::default());
    harness.say("talk");
    let view = harness.say("panic");
    assert_eq!(view.phase, Phase::Idle);
    let failed = |item: &Item| matches!(item, Item::End { ending: Ending::Failed { code, .. } } if code.as_deref() == Some("internal"));
    assert!(harness.known.values().any(failed), "{:?}", harness.known);
    harness.say("talk more");
    assert_eq!(harness.prompts(), ["talk", "talk more"]);
}

/// A panic in work ahead does not affect the conversation.
#[test]
fn work_ahead_that_panics_costs_the_conversation_nothing() {
    let mut harness = Harness::with_suggestion(&HarnessOptions::default(), "panic right now");
    assert_eq!(lock(&harness.model.ahead).len(), 1);
    let view = harness.say("talk on");
    assert_eq!(view.phase, Phase::Idle);
    assert_eq!(harness.prompts(), ["talk", "talk more", "talk on"]);
}

/// If a store fails, the user is told once and not with each turn.
#[test]
fn what_cannot_be_kept_is_told_once() {
    let mut harness = Harness::new(&HarnessOptions { store_fails: true, ..HarnessOptions::default() });
    for prompt in ["talk", "talk more", "talk on"] {
        harness.say(prompt);
    }
    let told = harness.known.values().filter(|item| matches!(item, Item::Trouble { .. })).count();
    assert_eq!(told, 2, "the ledger and the session: {:?}", harness.known);
    assert_eq!(harness.prompts().len(), 3);
}

/// If the driver is dropped, the conversation has ended, and nobody may wait for it forever.
#[test]
fn a_conversation_whose_driver_is_dropped_is_over() {
    let mut harness = Harness::new(&HarnessOptions::default());
    harness.model.hold(true);
    harness.agent.submit("talk").unwrap();
    harness.settle();
    let agent = harness.agent.clone();
    drop(harness);
    assert_eq!(agent.view().phase, Phase::Ended);
    assert_eq!(agent.submit("talk"), Err(ActionError::Ended));
    assert!(agent.idle().now_or_never().is_some(), "nobody waits for what is gone");
    assert!(agent.close().now_or_never().is_some());
}

/// Closing a conversation stops the turn and the work ahead, and the ledger gets a line for each.
#[test]
fn the_end_stops_what_runs_and_writes_down_what_it_cost() {
    let mut harness = Harness::with_suggestion(&HarnessOptions::default(), "edit made.txt");
    harness.model.hold(true);
    harness.agent.submit("talk").unwrap();
    harness.settle();
    let harness = harness.close();
    assert_eq!(harness.agent.view().phase, Phase::Ended);
    assert_eq!(harness.lines("turn").len(), 3);
    assert_eq!(harness.outcomes().len(), 1);
    assert_eq!(harness.file("made.txt"), None);
}

/// The texts by which the user was told that something failed.
fn troubles(harness: &Harness) -> Vec<String> {
    let told = harness.known.values().filter_map(|item| match item {
        Item::Trouble { text } => Some(text.clone()),
        _ => None,
    });
    told.collect()
}

/// A store that never answers is waited for five seconds. Then the user is told once, and the conversation goes on
/// without that store.
#[test]
fn a_store_that_never_answers_is_told_once_and_the_conversation_goes_on_and_ends() {
    let never = StoreBehaviour::NeverAnswers;
    for (ledger, session, about) in
        [(never, StoreBehaviour::Works, "costs"), (StoreBehaviour::Works, never, "kept"), (never, never, "")]
    {
        let mut harness = Harness::new(&HarnessOptions { ledger, session, ..HarnessOptions::default() });
        harness.say("talk");
        let agent = harness.agent.clone();
        let mut idle = Box::pin(async move { agent.idle().await });
        harness.advance(4_900);
        assert!(!harness.is_done(&mut idle), "a store may take its time");
        harness.advance(200);
        assert!(harness.is_done(&mut idle), "{about}: {:?}", harness.agent.view());
        harness.say("talk more");
        harness.advance(6_000);
        let told = troubles(&harness);
        assert_eq!(told.len(), if about.is_empty() { 2 } else { 1 }, "{told:?}");
        assert!(told.iter().all(|text| text.contains(about) && text.contains("5 s")), "{told:?}");
        assert_eq!(harness.prompts(), ["talk", "talk more"]);
        // The other store must have received everything.
        let kept = lock(&harness.store.kept).matches(r#""type":"prompt""#).count();
        assert_eq!(kept, if session == never { 0 } else { 2 });
        assert_eq!(harness.lines("turn").len(), if ledger == never { 0 } else { 2 });
        harness.close();
    }
}

/// A store that answers late gets everything in order, although the user was told of it meanwhile.
#[test]
fn a_store_that_is_only_slow_has_everything_in_order() {
    let mut harness =
        Harness::new(&HarnessOptions { ledger: StoreBehaviour::NeverAnswers, ..HarnessOptions::default() });
    harness.say("talk");
    harness.advance(6_000);
    assert_eq!(troubles(&harness).len(), 1);
    harness.say("talk more");
    harness.store.answer();
    harness.settle();
    assert_eq!(harness.lines("turn").len(), 2, "what waited is written when it answers");
    harness.close();
}

/// A store that panics is told of once and affects neither the conversation nor the other store.
#[test]
fn a_store_that_panics_is_told_once_and_nothing_else_is_lost() {
    for (ledger, session) in
        [(StoreBehaviour::Panics, StoreBehaviour::Works), (StoreBehaviour::Works, StoreBehaviour::Panics)]
    {
        let mut harness = Harness::new(&HarnessOptions { ledger, session, ..HarnessOptions::default() });
        for prompt in ["talk", "talk more"] {
            harness.say(prompt);
        }
        let told = troubles(&harness);
        assert!(matches!(told.as_slice(), [one] if one.contains("the store panics")), "{told:?}");
        assert_eq!(harness.prompts(), ["talk", "talk more"]);
        harness.close();
    }
}

/// A panic of any method of the host or of the runtime is told, and the conversation can go on after it.
#[test]
fn a_host_or_a_runtime_that_panics_loses_no_conversation() {
    for which in ["now", "sleep", "gate_context", "prompt_attachments", "unix_ms", "machine", "spawn"] {
        let mut harness = Harness::new(&HarnessOptions::default());
        harness.model.suggest("edit made.txt");
        harness.say("talk");
        *lock(&harness.host.panics) = which;
        for prompt in ["talk on", "talk more"] {
            let _ = harness.agent.submit(prompt);
            harness.advance(1_000);
        }
        assert_eq!(harness.agent.view().phase, Phase::Idle, "{which}");
        let is_told = |item: &Item| match item {
            Item::Trouble { text } => text.contains(&format!("{which} panics")),
            Item::End { ending: Ending::Failed { error, .. } } => error.contains("panic"),
            // If `spawn` panics, the conversation does not learn what became of the task, so no reason is told.
            Item::End { ending } => *ending == Ending::Aborted && which == "spawn",
            _ => false,
        };
        let told = harness.known.values().filter(|item| is_told(item)).count();
        assert!(0 < told, "{which}: {:?}", harness.known);
        *lock(&harness.host.panics) = "";
        harness.say("talk at last");
        let said = harness.prompts();
        assert_eq!((said[0].as_str(), said[said.len() - 1].as_str()), ("talk", "talk at last"), "{which}");
        harness.close();
    }
}

/// A front end that no longer reads updates must not stop the conversation.
#[test]
fn a_conversation_at_whose_updates_nobody_looks_goes_on() {
    let mut harness = Harness::new(&HarnessOptions { events: true, ..HarnessOptions::default() });
    harness.say("talk");
    harness.drop_updates();
    for prompt in ["read notes.txt", "talk more"] {
        harness.say(prompt);
    }
    let view = harness.agent.view();
    assert_eq!(view.phase, Phase::Idle);
    assert_eq!(harness.prompts(), ["talk", "read notes.txt", "talk more"]);
    assert!(view.items.iter().any(|item| matches!(&**item, Item::Call(call) if call.outcome.is_some())));
    harness.close();
}
