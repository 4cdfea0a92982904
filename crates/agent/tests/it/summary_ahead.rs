//! The summary of a long conversation that is written while the user reads.

use std::sync::atomic::Ordering;

use headstart_agent::{Compaction, Item, Phase};
use headstart_budget::policy::Mode;
use headstart_context::Window;
use serde_json::Value;

use crate::harness::{Harness, HarnessOptions, lock};

const SEES: u64 = 16_000;

fn harness(background: Mode) -> Harness {
    let window = Some(Window { tokens: SEES, ..Window::default() });
    let harness = Harness::new(&HarnessOptions { background, window, ..HarnessOptions::default() });
    harness.model.sees.store(SEES, Ordering::SeqCst);
    harness
}

/// How many summaries the model was asked for.
fn asked(harness: &Harness) -> usize {
    lock(&harness.model.turns).iter().filter(|request| !request.thinking).count()
}

fn compactions(harness: &Harness) -> Vec<&Compaction> {
    let items = harness.known.values().filter_map(|item| match item {
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
fn talk_until_asked(harness: &mut Harness) {
    for _ in 0..200 {
        harness.say(&few_words());
        assert!(compactions(harness).is_empty(), "it came too late");
        if asked(harness) == 1 {
            return;
        }
    }
    panic!("no summary was asked for");
}

/// The turn that needs a summary uses the one that was written ahead. Its cost is noted when it was written.
#[test]
fn the_turn_that_needs_it_finds_it_there() {
    let mut harness = harness(Mode::Always);
    talk_until_asked(&mut harness);
    let lines = harness.lines("summary");
    assert_eq!(lines.len(), 1, "what it cost is written down before anybody needs it");
    assert!(lines[0]["inputTokens"].as_u64() > Some(1_000), "{lines:?}");
    let turns = harness.lines("turn").len();
    harness.say(&many_words());
    assert_eq!(
        (asked(&harness), harness.lines("turn").len()),
        (1, turns + 1),
        "it is not asked for once more"
    );
    let [compacted] = compactions(&harness)[..] else { panic!("{:?}", compactions(&harness)) };
    assert!(compacted.summary.is_some() && compacted.after < compacted.before / 2, "{compacted:?}");
}

/// A turn that needs the summary while it is being written waits for it, instead of asking for a second one.
#[test]
fn a_turn_that_comes_too_early_waits_for_the_one_that_is_being_written() {
    let mut harness = harness(Mode::Always);
    talk_until_asked(&mut harness);
    // The conversation goes on differently than expected, and the next summary is slow.
    harness.model.hold(true);
    harness.agent.submit(&few_words()).expect("it is idle");
    harness.settle();
    harness.model.release(false);
    let view = harness.settle();
    assert_eq!((view.phase, asked(&harness)), (Phase::Idle, 2));
    harness.agent.submit(&many_words()).expect("it is idle");
    assert_eq!((harness.settle().phase, asked(&harness)), (Phase::Compacting, 2));
    harness.model.hold(false);
    assert_eq!((harness.settle().phase, asked(&harness)), (Phase::Idle, 2));
    assert!(compactions(&harness).iter().all(|compacted| compacted.summary.is_some()));
    assert_eq!((compactions(&harness).len(), harness.lines("summary").len()), (1, 2));
}

/// A summary of a conversation that was cleared is dropped, although it was paid for.
#[test]
fn one_of_what_was_said_before_is_thrown_away() {
    let mut harness = harness(Mode::Always);
    talk_until_asked(&mut harness);
    harness.say(&few_words());
    assert_eq!((asked(&harness), compactions(&harness).len()), (2, 0), "there is more to sum up now");
    harness.agent.clear().expect("it is idle");
    harness.settle();
    harness.say("talk");
    assert_eq!((asked(&harness), harness.lines("summary").len()), (2, 2));
}

/// Without background work a summary is only written when a turn needs it.
#[test]
fn who_wants_no_background_work_gets_none() {
    let mut off = harness(Mode::Off);
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
    let mut harness = harness(Mode::Always);
    talk_until_asked(&mut harness);
    harness.model.hold(true);
    harness.agent.submit(&few_words()).expect("it is idle");
    harness.settle();
    harness.model.release(false);
    harness.settle();
    assert_eq!(asked(&harness), 2);
    harness.agent.set_background(Mode::Off);
    harness.settle();
    assert_eq!(harness.lines("summary").last().map(|line| line["unmeasured"].clone()), Some(Value::from(1)));
    harness.model.hold(false);
    harness.say(&many_words());
    assert_eq!((asked(&harness), harness.lines("summary").len()), (3, 2), "the turn asks for its own");
}

/// Closing a conversation does not wait for a summary, but the ledger notes it.
#[test]
fn a_conversation_that_ends_waits_for_no_summary() {
    let mut harness = harness(Mode::Always);
    talk_until_asked(&mut harness);
    harness.model.hold(true);
    harness.agent.submit(&few_words()).expect("it is idle");
    harness.settle();
    harness.model.release(false);
    harness.settle();
    let harness = harness.close();
    assert_eq!(harness.lines("summary").len(), 2);
}
