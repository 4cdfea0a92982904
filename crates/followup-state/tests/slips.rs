//! Typing slips: a key that leads away from the suggestion, and is taken back or not.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use headstart_followup_state::{
    AcceptMethod, Config, Effect, Event, FollowupController, Millis, Outcome, RequestId, filter,
};

fn suggested(request: u64, text: &str) -> Event {
    Event::suggested(RequestId(request), [filter(text).unwrap()])
}

fn edited(text: &str) -> Event {
    Event::Edited { text: text.to_owned() }
}

/// A controller that shows `run it` since 300 ms.
fn showing() -> FollowupController {
    let mut controller = FollowupController::new(Config::default());
    controller.handle(0, suggested(1, "run it"));
    controller.handle(300, Event::Wake);
    controller
}

/// The effects of an event as text, one word for each.
fn words(controller: &mut FollowupController, now: Millis, event: Event) -> String {
    let effects = controller.handle(now, event);
    let word = |effect: &Effect| match effect {
        Effect::Show { rest, suggestion, .. } => {
            format!("show[{}]", rest.as_deref().unwrap_or(suggestion.as_str()))
        }
        Effect::Hide => "hide".to_owned(),
        Effect::WakeAt { at } => format!("wake@{at}"),
        Effect::Record { outcome: Outcome::Ignored { time_to_ignore_ms, .. } } => {
            format!("ignored:{time_to_ignore_ms}")
        }
        Effect::AbandonSpeculation => "abandon".to_owned(),
        Effect::StartSpeculation { .. } => "start".to_owned(),
        other => format!("{other:?}"),
    };
    effects.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// A slip hides the suggestion for a moment only. If the key is taken back in time, everything is as before.
#[test]
fn a_slip_hides_and_taking_it_back_brings_all_back() {
    let mut controller = showing();
    assert_eq!(words(&mut controller, 1_000, edited("x")), "hide wake@3000");
    assert!(controller.visible().is_none() && controller.rest().is_none() && controller.place().is_none());
    assert!(controller.is_on_offer());
    assert_eq!(words(&mut controller, 2_999, edited("")), "hide show[run it]");
    // The wake that was requested for the slip comes late and must do nothing.
    assert_eq!(words(&mut controller, 3_000, Event::Wake), "");
    assert_eq!(controller.visible().unwrap().as_str(), "run it");
    // A second slip, in the middle of a word, has a new time limit.
    controller.handle(4_000, edited("run"));
    assert_eq!(words(&mut controller, 5_000, edited("runx")), "hide wake@7000");
    assert_eq!(words(&mut controller, 6_000, Event::Wake), "wake@7000");
    assert_eq!(words(&mut controller, 6_999, edited("run")), "hide show[ it]");
}

/// A slip that is not taken back within two seconds, or a second key, gives the suggestion up.
#[test]
fn two_seconds_or_a_second_key_give_it_up() {
    let mut controller = showing();
    controller.handle(1_000, edited("x"));
    assert_eq!(words(&mut controller, 3_000, Event::Wake), "ignored:700 abandon");
    assert_eq!(words(&mut controller, 3_100, edited("")), "");
    assert!(!controller.is_on_offer());

    let mut controller = showing();
    controller.handle(1_000, edited("x"));
    assert_eq!(words(&mut controller, 1_100, edited("xy")), "ignored:700 abandon");
    assert_eq!(words(&mut controller, 1_200, edited("")), "");

    // The slip also ends in time if the host does not wake the controller.
    let mut controller = showing();
    controller.handle(1_000, edited("x"));
    assert_eq!(words(&mut controller, 3_000, edited("")), "ignored:700 abandon");
}

/// A slip is one key that inserts, removes or replaces a character.
#[test]
fn only_one_key_is_a_slip() {
    let cases = [
        ("", "x", true),
        ("run", "rn", true),
        ("run", "ran", true),
        ("run it", "run its", true),
        ("r", "é", true),
        ("", "xy", false),
        ("run", "x", false),
        ("run it", "rn t", false),
    ];
    for (before, after, is_slip) in cases {
        let mut controller = showing();
        controller.handle(900, edited(before));
        let effects = words(&mut controller, 1_000, edited(after));
        let expected = if is_slip { "hide wake@3000" } else { "ignored:700 hide abandon" };
        assert_eq!(effects, expected, "{before:?} {after:?}");
    }
}

/// A line that holds the whole suggestion with blanks or a full stop around it is no slip: if it is sent, the
/// suggestion is sent, so the user wants the work that was done for it.
#[test]
fn blanks_and_a_full_stop_around_all_of_it_are_no_slip() {
    let mut controller = showing();
    controller.handle(900, edited("run it"));
    for text in ["run it.", "run it. ", "run it .", " run it"] {
        assert_eq!(words(&mut controller, 1_000, edited(text)), "hide show[]", "{text:?}");
        assert_eq!((controller.visible().unwrap().as_str(), controller.rest()), ("run it", Some("")));
    }
}

/// A suggestion that waits for its delay stays through a slip, and is shown when the slip was taken back.
#[test]
fn what_waits_is_kept_through_a_slip_and_shows_in_its_time() {
    let mut controller = FollowupController::new(Config::default());
    controller.handle(0, suggested(1, "run it"));
    assert_eq!(words(&mut controller, 100, edited("x")), "wake@2100");
    assert_eq!(words(&mut controller, 300, Event::Wake), "wake@2100");
    assert_eq!(words(&mut controller, 400, edited("")), "wake@400");
    assert_eq!(words(&mut controller, 400, Event::Wake), "show[run it]");

    let mut controller = FollowupController::new(Config::default());
    controller.handle(0, suggested(1, "run it"));
    controller.handle(100, edited("x"));
    assert_eq!(words(&mut controller, 2_100, Event::Wake), "abandon");
}

/// Every other event ends the slip: the suggestion is given up, except by a key that types nothing and by turning.
#[test]
fn whatever_comes_during_a_slip_ends_it() {
    let cases: [(Event, &str); 7] = [
        (Event::Dismiss, "ignored:700 abandon"),
        (Event::Keystroke { typed: true }, "ignored:700 abandon"),
        (Event::Keystroke { typed: false }, ""),
        (Event::Clear, "ignored:700 abandon hide"),
        (Event::Enabled { enabled: false }, "ignored:700 abandon hide"),
        (Event::Cleanup, "ignored:700 abandon"),
        (Event::accept(AcceptMethod::Tab), "ignored:700 abandon"),
    ];
    for (event, expected) in cases {
        let mut controller = showing();
        controller.handle(1_000, edited("x"));
        assert_eq!(words(&mut controller, 1_100, event.clone()), expected, "{event:?}");
    }
    for event in [Event::NextCandidate, Event::PreviousCandidate] {
        let mut controller = showing();
        controller.handle(1_000, edited("x"));
        assert_eq!(words(&mut controller, 1_100, event), "");
        assert_eq!(words(&mut controller, 1_200, edited("")), "hide show[run it]");
    }
}

/// An answer that arrives during a slip replaces the suggestion that the slip has hidden.
#[test]
fn an_answer_during_a_slip_takes_its_place() {
    let mut controller = showing();
    controller.handle(1_000, edited("x"));
    assert_eq!(words(&mut controller, 1_100, suggested(2, "push it")), "ignored:700 abandon");
    let mut controller = showing();
    controller.handle(1_000, edited("p"));
    assert_eq!(words(&mut controller, 1_100, suggested(2, "push it")), "ignored:700 abandon start wake@1400");
    assert_eq!(words(&mut controller, 1_400, Event::Wake), "show[ush it]");
}

/// The user has seen the suggestion before the slip, so Tab takes it without delay.
#[test]
fn tab_after_a_slip_that_was_taken_back_takes_it_at_once() {
    let mut controller = showing();
    controller.handle(1_000, edited("x"));
    controller.handle(1_050, edited(""));
    let effects = controller.handle(1_060, Event::accept(AcceptMethod::Tab));
    assert!(effects.contains(&Effect::Insert { text: "run it".into() }), "{effects:?}");
}

/// If the clock jumps back, a slip lasts its full time again at most.
#[test]
fn a_clock_that_jumps_back_makes_a_slip_no_longer_than_it_is() {
    let mut controller = showing();
    controller.handle(10_000, edited("x"));
    assert_eq!(words(&mut controller, 50, Event::Wake), "wake@2050");
    assert_eq!(words(&mut controller, 2_050, Event::Wake), "ignored:0 abandon");
}
