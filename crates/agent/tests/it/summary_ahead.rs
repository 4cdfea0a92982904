//! The summary of a long conversation that is written while the user reads.

use std::sync::atomic::Ordering;

use headstart_agent::{Compacted, Item, Phase};
use headstart_budget::policy::Mode;
use headstart_context::Window;
use serde_json::Value;

use crate::world::{Setting, World, lock};

const SEES: u64 = 16_000;

fn world(background: Mode) -> World {
    let window = Some(Window { tokens: SEES, ..Window::default() });
    let world = World::new(&Setting { background, window, ..Setting::default() });
    world.model.sees.store(SEES, Ordering::SeqCst);
    world
}

/// How many summaries the model was asked for.
fn asked(world: &World) -> usize {
    lock(&world.model.turns).iter().filter(|request| !request.thinking).count()
}

fn compactions(world: &World) -> Vec<&Compacted> {
    let items = world.known.values().filter_map(|item| match item {
        Item::Compacted(compacted) => Some(compacted),
        _ => None,
    });
    items.collect()
}

fn few_words() -> String {
    format!("talk {}", "of this and that ".repeat(15))
}

fn many_words() -> String {
    format!("talk {}", "of this and that ".repeat(300))
}

/// Talks until a summary is asked for ahead, before a turn needs it.
fn talk_until_asked(world: &mut World) {
    for _ in 0..200 {
        world.say(&few_words());
        assert!(compactions(world).is_empty(), "it came too late");
        if asked(world) == 1 {
            return;
        }
    }
    panic!("no summary was asked for");
}

/// The turn that needs a summary uses the one that was written ahead. Its cost is noted when it was written.
// Row: X23
#[test]
fn the_turn_that_needs_it_finds_it_there() {
    let mut world = world(Mode::Always);
    talk_until_asked(&mut world);
    let lines = world.lines("summary");
    assert_eq!(lines.len(), 1, "what it cost is written down before anybody needs it");
    assert!(lines[0]["inputTokens"].as_u64() > Some(1_000), "{lines:?}");
    let turns = world.lines("turn").len();
    world.say(&many_words());
    assert_eq!((asked(&world), world.lines("turn").len()), (1, turns + 1), "it is not asked for once more");
    let [compacted] = compactions(&world)[..] else { panic!("{:?}", compactions(&world)) };
    assert!(compacted.summary.is_some() && compacted.after < compacted.before / 2, "{compacted:?}");
}

/// A turn that needs the summary while it is being written waits for it, instead of asking for a second one.
#[test]
fn a_turn_that_comes_too_early_waits_for_the_one_that_is_being_written() {
    let mut world = world(Mode::Always);
    talk_until_asked(&mut world);
    // The conversation goes on differently than expected, and the next summary is slow.
    world.model.hold(true);
    world.agent.submit(&few_words()).expect("it is idle");
    world.settle();
    world.model.release(false);
    let view = world.settle();
    assert_eq!((view.phase, asked(&world)), (Phase::Idle, 2));
    world.agent.submit(&many_words()).expect("it is idle");
    assert_eq!((world.settle().phase, asked(&world)), (Phase::Compacting, 2));
    world.model.hold(false);
    assert_eq!((world.settle().phase, asked(&world)), (Phase::Idle, 2));
    assert!(compactions(&world).iter().all(|compacted| compacted.summary.is_some()));
    assert_eq!((compactions(&world).len(), world.lines("summary").len()), (1, 2));
}

/// A summary of a conversation that was cleared is dropped, although it was paid for.
#[test]
fn one_of_what_was_said_before_is_thrown_away() {
    let mut world = world(Mode::Always);
    talk_until_asked(&mut world);
    world.say(&few_words());
    assert_eq!((asked(&world), compactions(&world).len()), (2, 0), "there is more to sum up now");
    world.agent.clear().expect("it is idle");
    world.settle();
    world.say("talk");
    assert_eq!((asked(&world), world.lines("summary").len()), (2, 2));
}

/// Without background work a summary is only written when a turn needs it.
#[test]
fn who_wants_no_background_work_gets_none() {
    let mut off = world(Mode::Off);
    for _ in 0..200 {
        off.say(&few_words());
        if !compactions(&off).is_empty() {
            break;
        }
        assert_eq!(asked(&off), 0, "it was asked for ahead");
    }
    assert_eq!((asked(&off), off.lines("summary").len(), compactions(&off).len()), (1, 0, 1));

    // Background work is switched off while a summary is being written: its cost is unknown and is noted as not
    // measured.
    let mut world = world(Mode::Always);
    talk_until_asked(&mut world);
    world.model.hold(true);
    world.agent.submit(&few_words()).expect("it is idle");
    world.settle();
    world.model.release(false);
    world.settle();
    assert_eq!(asked(&world), 2);
    world.agent.set_background(Mode::Off);
    world.settle();
    assert_eq!(world.lines("summary").last().map(|line| line["unmeasured"].clone()), Some(Value::from(1)));
    world.model.hold(false);
    world.say(&many_words());
    assert_eq!((asked(&world), world.lines("summary").len()), (3, 2), "the turn asks for its own");
}

/// Closing a conversation does not wait for a summary, but the ledger notes it.
#[test]
fn a_conversation_that_ends_waits_for_no_summary() {
    let mut world = world(Mode::Always);
    talk_until_asked(&mut world);
    world.model.hold(true);
    world.agent.submit(&few_words()).expect("it is idle");
    world.settle();
    world.model.release(false);
    world.settle();
    let world = world.close();
    assert_eq!(world.lines("summary").len(), 2);
}
