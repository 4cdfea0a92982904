//! The controller, one behaviour per test. A log is a list of times and events, each with the effects that are
//! expected.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use headstart_followup_state::{
    AcceptMethod, CandidatePosition, Config, Effect, Event, FollowupController, Millis, Outcome,
    OutcomeLedger, RequestId, Source, Suggestion, filter,
};

fn suggestion(text: &str) -> Suggestion {
    filter(text).unwrap()
}

fn suggested(request: u64, text: &str) -> Event {
    Event::suggested(RequestId(request), [suggestion(text)])
}

fn nothing(request: u64) -> Event {
    Event::suggested(RequestId(request), None)
}

fn start(text: &str) -> Effect {
    Effect::StartSpeculation { suggestions: suggestion(text).into() }
}

fn show(text: &str) -> Effect {
    Effect::Show { suggestion: suggestion(text), rest: None, place: CandidatePosition::default() }
}

fn insert(text: &str) -> Effect {
    Effect::Insert { text: text.to_owned() }
}

fn accepted(source: Source, time: u64, first: Option<u64>, length: usize) -> Effect {
    Effect::Record {
        outcome: Outcome::Accepted {
            accept_method: AcceptMethod::Tab,
            source,
            time_to_accept_ms: time,
            time_to_first_keystroke_ms: first,
            suggestion_length: length,
        },
    }
}

fn ignored(time: u64, first: Option<u64>, length: usize) -> Effect {
    Effect::Record {
        outcome: Outcome::Ignored {
            time_to_ignore_ms: time,
            time_to_first_keystroke_ms: first,
            suggestion_length: length,
        },
    }
}

fn fallback(text: &str) -> Event {
    Event::Accept { method: AcceptMethod::Tab, fallback_text: Some(text.to_owned()), skip_insert: false }
}

/// Plays a log and compares the effects of every event with the expected ones.
fn check(log: impl IntoIterator<Item = (Millis, Event, Vec<Effect>)>) -> FollowupController {
    // Tab takes a suggestion without delay here. A test of its own checks that it has a delay by default.
    let mut controller = FollowupController::new(Config { tab_delay_ms: 0, ..Config::default() });
    for (step, (now, event, expected)) in log.into_iter().enumerate() {
        let effects = controller.handle(now, event.clone());
        assert_eq!(effects.to_vec(), expected, "step {step}: {event:?} at {now}");
    }
    controller
}

/// The log after which `run it` is on screen since 300 ms.
fn shown() -> Vec<(Millis, Event, Vec<Effect>)> {
    vec![
        (0, suggested(1, "run it"), vec![start("run it"), Effect::WakeAt { at: 300 }]),
        (300, Event::Wake, vec![show("run it")]),
    ]
}

fn after_shown(log: impl IntoIterator<Item = (Millis, Event, Vec<Effect>)>) -> FollowupController {
    check(shown().into_iter().chain(log))
}

#[test]
fn a_suggestion_shows_after_its_delay_and_not_before() {
    check([
        (1_000, suggested(1, "run it"), vec![start("run it"), Effect::WakeAt { at: 1_300 }]),
        (1_299, Event::Wake, vec![Effect::WakeAt { at: 1_300 }]),
        (1_300, Event::Wake, vec![show("run it")]),
        (1_301, Event::Wake, vec![]),
    ]);
}

#[test]
fn within_the_delay_the_last_suggestion_wins() {
    check([
        (0, suggested(1, "run it"), vec![start("run it"), Effect::WakeAt { at: 300 }]),
        (
            200,
            suggested(2, "push it"),
            vec![Effect::AbandonSpeculation, start("push it"), Effect::WakeAt { at: 500 }],
        ),
        (300, Event::Wake, vec![Effect::WakeAt { at: 500 }]),
        (500, Event::Wake, vec![show("push it")]),
    ]);
}

/// A suggestion on screen stays until its successor is shown.
#[test]
fn a_shown_suggestion_stays_until_its_successor_shows() {
    let controller = after_shown([
        (
            400,
            suggested(2, "push it"),
            vec![Effect::AbandonSpeculation, start("push it"), Effect::WakeAt { at: 700 }],
        ),
        (700, Event::Wake, vec![Effect::Hide, show("push it")]),
    ]);
    assert_eq!(controller.visible(), Some(&suggestion("push it")));
}

/// A suggestion with the same text keeps the speculation that runs for it.
#[test]
fn the_same_text_again_keeps_its_speculation() {
    after_shown([(400, suggested(2, "run it"), vec![Effect::WakeAt { at: 700 }])]);
}

/// An answer without a suggestion hides the one on screen without a delay, also if suggestions are disabled.
#[test]
fn nothing_hides_at_once_and_always() {
    check([(0, nothing(1), vec![Effect::Hide]), (1, nothing(2), vec![Effect::Hide])]);
    after_shown([(400, nothing(2), vec![Effect::AbandonSpeculation, Effect::Hide])]);
    check([(0, Event::Enabled { enabled: false }, vec![]), (1, nothing(1), vec![Effect::Hide])]);
}

#[test]
fn disabled_shows_nothing() {
    let controller = check([
        (0, Event::Enabled { enabled: false }, vec![]),
        (1, suggested(1, "run it"), vec![]),
        (400, Event::Wake, vec![]),
    ]);
    assert!(controller.visible().is_none() && !controller.is_enabled());
    after_shown([
        (400, Event::Enabled { enabled: false }, vec![Effect::AbandonSpeculation, Effect::Hide]),
        (401, Event::Enabled { enabled: true }, vec![]),
    ]);
}

/// The order of the effects is part of the interface: first the outcome, then hiding, then the insertion.
#[test]
fn accept_records_then_hides_then_inserts() {
    let controller = after_shown([(
        450,
        Event::accept(AcceptMethod::Tab),
        vec![accepted(Source::Live, 150, None, 6), Effect::Hide, insert("run it")],
    )]);
    assert!(controller.visible().is_none());
}

/// The speculation for an accepted suggestion belongs to the engine, so later events do not abandon it.
#[test]
fn accept_does_not_abandon_the_speculation_of_what_it_accepts() {
    after_shown([
        (
            450,
            Event::accept(AcceptMethod::Tab),
            vec![accepted(Source::Live, 150, None, 6), Effect::Hide, insert("run it")],
        ),
        (460, Event::Clear, vec![Effect::Hide]),
    ]);
    after_shown([
        (
            400,
            suggested(2, "push it"),
            vec![Effect::AbandonSpeculation, start("push it"), Effect::WakeAt { at: 700 }],
        ),
        (
            450,
            Event::accept(AcceptMethod::Tab),
            vec![
                accepted(Source::Live, 150, None, 6),
                Effect::Hide,
                Effect::AbandonSpeculation,
                insert("run it"),
            ],
        ),
    ]);
}

#[test]
fn tab_takes_nothing_that_has_only_just_come_on_screen() {
    let showing = || {
        let mut controller = FollowupController::new(Config::default());
        controller.handle(0, suggested(1, "run it"));
        controller.handle(300, Event::Wake);
        controller
    };
    for (now, takes) in [(300, false), (699, false), (700, true), (9_000, true)] {
        let effects = showing().handle(now, Event::accept(AcceptMethod::Tab));
        assert_eq!(effects.contains(&insert("run it")), takes, "{now}");
        assert!(takes || effects.is_empty(), "{now}: {effects:?}");
    }
    // Other keys do not wait, because they take nothing away from the user. A suggestion that was narrowed does not
    // wait again either, because the user has seen it already.
    for method in [AcceptMethod::Right, AcceptMethod::Enter] {
        assert!(showing().handle(301, Event::accept(method)).contains(&insert("run it")));
    }
    let mut narrowed = showing();
    narrowed.handle(690, Event::Edited { text: "ru".into() });
    assert!(narrowed.handle(700, Event::accept(AcceptMethod::Tab)).contains(&insert("run it")));
    // The successor of a suggestion is new to the user.
    let mut replaced = showing();
    replaced.handle(800, suggested(2, "push it"));
    replaced.handle(1_100, Event::Wake);
    assert!(replaced.handle(1_499, Event::accept(AcceptMethod::Tab)).is_empty());
    assert!(replaced.handle(1_500, Event::accept(AcceptMethod::Tab)).contains(&insert("push it")));
    // With nothing on screen there is no delay.
    let mut empty = FollowupController::new(Config::default());
    assert!(empty.handle(0, fallback("now")).contains(&insert("now")));
    // If the clock jumped back, Tab takes the suggestion at once.
    assert!(showing().handle(5, Event::accept(AcceptMethod::Tab)).contains(&insert("run it")));
}

/// A key that is held down must accept only once, so accepts shortly after another one are ignored.
#[test]
fn a_second_accept_within_the_lock_is_ignored() {
    after_shown([
        (
            450,
            Event::accept(AcceptMethod::Tab),
            vec![accepted(Source::Live, 150, None, 6), Effect::Hide, insert("run it")],
        ),
        (549, fallback("again"), vec![]),
        (550, fallback("again"), vec![accepted(Source::Fallback, 0, None, 5), insert("again")]),
    ]);
}

/// A new turn may accept at once, so it ends the lock.
#[test]
fn clear_and_cleanup_open_the_lock() {
    for event in [Event::Clear, Event::Cleanup] {
        let mut controller = FollowupController::new(Config::default());
        controller.handle(0, fallback("one"));
        controller.handle(1, event);
        assert_eq!(controller.handle(2, fallback("two")).last(), Some(&insert("two")));
    }
}

#[test]
fn accept_without_text_changes_nothing_and_takes_no_lock() {
    check([
        (0, Event::accept(AcceptMethod::Enter), vec![]),
        (0, fallback(""), vec![]),
        (1, fallback("now"), vec![accepted(Source::Fallback, 0, None, 3), insert("now")]),
    ]);
}

/// An accept while a suggestion still waits does not take the suggestion: it is dropped, and only a text of the host is
/// inserted, if there is one.
#[test]
fn accept_drops_what_waits() {
    check([
        (0, suggested(1, "run it"), vec![start("run it"), Effect::WakeAt { at: 300 }]),
        (100, Event::accept(AcceptMethod::Tab), vec![Effect::AbandonSpeculation]),
        (300, Event::Wake, vec![]),
    ]);
    check([
        (0, suggested(1, "run it"), vec![start("run it"), Effect::WakeAt { at: 300 }]),
        (100, fallback("run it"), vec![accepted(Source::Fallback, 0, None, 6), insert("run it")]),
        (300, Event::Wake, vec![]),
    ]);
}

/// A host that inserts the text by itself skips the insertion. The accept is recorded as usual.
#[test]
fn a_skipped_insert_is_still_recorded() {
    let skip = Event::Accept { method: AcceptMethod::Tab, fallback_text: None, skip_insert: true };
    after_shown([(450, skip, vec![accepted(Source::Live, 150, None, 6), Effect::Hide])]);
}

/// Only a suggestion that was on screen can have been ignored, so only such a one is recorded.
#[test]
fn dismiss_records_only_what_was_on_screen() {
    check([(0, Event::Dismiss, vec![])]);
    check([
        (0, suggested(1, "run it"), vec![start("run it"), Effect::WakeAt { at: 300 }]),
        (100, Event::Dismiss, vec![Effect::AbandonSpeculation]),
        (300, Event::Wake, vec![]),
    ]);
    after_shown([(
        900,
        Event::Dismiss,
        vec![ignored(600, None, 6), Effect::Hide, Effect::AbandonSpeculation],
    )]);
}

/// The first key after a suggestion came on screen is timed. A key that types dismisses the suggestion.
#[test]
fn the_first_keystroke_is_recorded_and_typing_dismisses() {
    after_shown([
        (350, Event::Keystroke { typed: false }, vec![]),
        (
            500,
            Event::Keystroke { typed: true },
            vec![ignored(200, Some(50), 6), Effect::Hide, Effect::AbandonSpeculation],
        ),
    ]);
    after_shown([
        (350, Event::Keystroke { typed: false }, vec![]),
        (
            360,
            Event::accept(AcceptMethod::Tab),
            vec![accepted(Source::Live, 60, Some(50), 6), Effect::Hide, insert("run it")],
        ),
    ]);
}

/// A new turn records no outcome, and a cleanup leaves the screen to the host.
#[test]
fn clear_records_nothing_and_cleanup_leaves_the_screen_alone() {
    after_shown([(400, Event::Clear, vec![Effect::AbandonSpeculation, Effect::Hide])]);
    check([(0, Event::Clear, vec![Effect::Hide])]);
    let controller = after_shown([(400, Event::Cleanup, vec![Effect::AbandonSpeculation])]);
    assert!(controller.visible().is_none());
}

/// An answer to an old request, or to one that was given up since, changes nothing.
#[test]
fn a_late_answer_changes_nothing() {
    check([
        (0, Event::Requested { request: RequestId(2) }, vec![]),
        (1, suggested(1, "run it"), vec![]),
        (2, suggested(2, "push it"), vec![start("push it"), Effect::WakeAt { at: 302 }]),
        (3, nothing(1), vec![]),
        (4, Event::Suppressed { request: RequestId(1), reason: "empty".into() }, vec![]),
    ]);
    for event in
        [Event::Dismiss, Event::Clear, Event::Keystroke { typed: true }, Event::Cleanup, fallback("x")]
    {
        let mut controller = FollowupController::new(Config::default());
        controller.handle(0, Event::Requested { request: RequestId(1) });
        controller.handle(1, event.clone());
        assert!(controller.handle(2, suggested(1, "run it")).is_empty(), "{event:?}");
        assert!(!controller.handle(3, suggested(2, "run it")).is_empty(), "{event:?}");
    }
}

#[test]
fn a_suppression_is_recorded() {
    let outcome = Outcome::Suppressed { reason: "early_conversation".into() };
    check([(
        0,
        Event::Suppressed { request: RequestId(1), reason: "early_conversation".into() },
        vec![Effect::Record { outcome }],
    )]);
}

/// If the clock is set back, a delay only begins again, and times near the largest number do not overflow.
#[test]
fn a_clock_that_jumps_back_does_no_harm() {
    check([
        (1_000, suggested(1, "run it"), vec![start("run it"), Effect::WakeAt { at: 1_300 }]),
        (10, Event::Wake, vec![Effect::WakeAt { at: 310 }]),
        (310, Event::Wake, vec![show("run it")]),
        (
            5,
            Event::accept(AcceptMethod::Tab),
            vec![accepted(Source::Live, 0, None, 6), Effect::Hide, insert("run it")],
        ),
        (1, fallback("again"), vec![accepted(Source::Fallback, 0, None, 5), insert("again")]),
        (Millis::MAX, suggested(2, "push it"), vec![start("push it"), Effect::WakeAt { at: Millis::MAX }]),
    ]);
}

#[test]
fn the_waits_come_from_the_configuration() {
    let config: Config =
        serde_json::from_str(r#"{"showDelayMs":0,"acceptLockMs":0,"tabDelayMs":0}"#).unwrap();
    let mut controller = FollowupController::new(config);
    controller.handle(7, suggested(1, "run it"));
    assert_eq!(controller.handle(7, Event::Wake).to_vec(), [show("run it")]);
    assert!(controller.handle(7, Event::accept(AcceptMethod::Tab)).contains(&insert("run it")));
    assert!(controller.handle(7, fallback("more")).contains(&insert("more")));
}

#[test]
fn the_ledger_counts_and_rates() {
    let mut ledger = OutcomeLedger::default();
    assert_eq!(ledger.acceptance_rate(), None);
    for effect in
        [accepted(Source::Live, 1, None, 1), ignored(1, None, 1), ignored(2, None, 1), ignored(3, None, 1)]
    {
        let Effect::Record { outcome } = effect else { unreachable!() };
        ledger.record(&outcome);
    }
    for reason in ["empty", "empty", "question"] {
        ledger.record(&Outcome::Suppressed { reason: reason.into() });
    }
    assert_eq!(ledger.acceptance_rate(), Some(0.25));
    assert_eq!((ledger.accepted, ledger.ignored, ledger.suppressed_total()), (1, 3, 3));
    assert_eq!(ledger.suppressed["empty"], 2);
}
