//! Ports that fail, panic or are gone.

use futures::FutureExt;
use headstart_agent::{Item, Phase, Refused};
use headstart_speculation::Ending;

use crate::world::{Setting, World, lock};

#[test]
fn a_model_that_panics_ends_its_turn_and_nothing_else() {
    let mut world = World::new(&Setting::default());
    world.say("talk");
    let view = world.say("panic");
    assert_eq!(view.phase, Phase::Idle);
    let failed = |item: &Item| matches!(item, Item::End { ending: Ending::Failed { code, .. } } if code.as_deref() == Some("internal"));
    assert!(world.known.values().any(failed), "{:?}", world.known);
    world.say("talk more");
    assert_eq!(world.prompts(), ["talk", "talk more"]);
}

#[test]
fn work_ahead_that_panics_costs_the_conversation_nothing() {
    let mut world = World::with_suggestion(&Setting::default(), "panic right now");
    assert_eq!(lock(&world.model.ahead).len(), 1);
    let view = world.say("talk on");
    assert_eq!(view.phase, Phase::Idle);
    assert_eq!(world.prompts(), ["talk", "talk more", "talk on"]);
}

#[test]
fn what_cannot_be_kept_is_told_once() {
    let mut world = World::new(&Setting { store_fails: true, ..Setting::default() });
    for prompt in ["talk", "talk more", "talk on"] {
        world.say(prompt);
    }
    let told = world.known.values().filter(|item| matches!(item, Item::Trouble { .. })).count();
    assert_eq!(told, 2, "the ledger and the session: {:?}", world.known);
    assert_eq!(world.prompts().len(), 3);
}

#[test]
fn a_conversation_whose_driver_is_dropped_is_over() {
    let mut world = World::new(&Setting::default());
    world.model.hold(true);
    world.agent.submit("talk").unwrap();
    world.settle();
    let agent = world.agent.clone();
    drop(world);
    assert_eq!(agent.view().phase, Phase::Ended);
    assert_eq!(agent.submit("talk"), Err(Refused::Ended));
    assert!(agent.idle().now_or_never().is_some(), "nobody waits for what is gone");
    assert!(agent.close().now_or_never().is_some());
}

#[test]
fn the_end_stops_what_runs_and_writes_down_what_it_cost() {
    let mut world = World::with_suggestion(&Setting::default(), "edit made.txt");
    world.model.hold(true);
    world.agent.submit("talk").unwrap();
    world.settle();
    let world = world.close();
    assert_eq!(world.agent.view().phase, Phase::Ended);
    assert_eq!(world.lines("turn").len(), 3);
    assert_eq!(world.outcomes().len(), 1);
    assert_eq!(world.file("made.txt"), None);
}
