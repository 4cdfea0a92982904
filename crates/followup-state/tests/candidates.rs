//! Several candidates, one behaviour per test: turning to another candidate, narrowing them by typing, accepting one.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use headstart_followup_state::{
    AcceptMethod, CandidatePosition, Config, Effect, Event, FollowupController, MAX_CANDIDATES, Millis,
    Outcome, RequestId, Suggestion, Suggestions, filter,
};

const TEXTS: [&str; 3] = ["run the tests", "commit this", "Commit and push"];

fn suggestion(text: &str) -> Suggestion {
    filter(text).unwrap()
}

fn suggested(request: u64, texts: &[&str]) -> Event {
    Event::suggested(RequestId(request), texts.iter().map(|text| suggestion(text)))
}

fn edited(text: &str) -> Event {
    Event::Edited { text: text.to_owned() }
}

/// A controller that shows these candidates since 300 ms; nothing is typed.
fn showing(texts: &[&str]) -> FollowupController {
    let mut controller = FollowupController::new(Config::default());
    controller.handle(0, suggested(1, texts));
    controller.handle(300, Event::Wake);
    controller
}

/// What is on screen, as text: the number of the candidate, how many there are, what is typed, and in brackets the
/// rest.
fn screen(controller: &FollowupController, typed: &str) -> String {
    match (controller.visible(), controller.place(), controller.rest()) {
        (Some(_), Some(CandidatePosition { number, of }), Some(rest)) => {
            format!("{number}/{of} {typed}[{rest}]")
        }
        (None, None, None) => format!("{typed}[]"),
        other => panic!("half a suggestion: {other:?}"),
    }
}

/// The first candidate is shown with its place, and speculation may run for all of them.
#[test]
fn the_best_one_shows_with_its_place_and_all_may_be_run() {
    let mut controller = FollowupController::new(Config::default());
    let effects = controller.handle(0, suggested(1, &TEXTS));
    let start = Effect::StartSpeculation { suggestions: Suggestions::new(TEXTS.map(suggestion)).unwrap() };
    assert_eq!(effects.to_vec(), [start, Effect::WakeAt { at: 300 }]);
    let show = Effect::Show {
        suggestion: suggestion(TEXTS[0]),
        rest: None,
        place: CandidatePosition { number: 1, of: MAX_CANDIDATES },
    };
    assert_eq!(controller.handle(300, Event::Wake).to_vec(), [show]);
}

/// Equal candidates count once, and at most three are kept.
#[test]
fn repetitions_and_what_there_is_no_room_for_are_left_out() {
    let cases: [(&[&str], &str); 4] = [
        (&["run it", "run it.", " run it"], "1/1 [run it]"),
        (&["run it", "Run it"], "1/2 [run it]"),
        (&["run it", "push it", "commit this", "tag it"], "1/3 [run it]"),
        (&["run it", "run it", "push it"], "1/2 [run it]"),
    ];
    for (texts, expected) in cases {
        assert_eq!(screen(&showing(texts), ""), expected, "{texts:?}");
    }
}

#[test]
fn the_user_turns_to_the_next_one_round_and_round() {
    let mut controller = showing(&TEXTS);
    let mut shown = Vec::new();
    for event in [Event::NextCandidate, Event::NextCandidate, Event::NextCandidate, Event::PreviousCandidate]
    {
        let effects = controller.handle(400, event);
        assert!(matches!(effects[..], [Effect::Hide, Effect::Show { .. }]), "{effects:?}");
        shown.push(screen(&controller, ""));
    }
    assert_eq!(
        shown,
        ["2/3 [commit this]", "3/3 [Commit and push]", "1/3 [run the tests]", "3/3 [Commit and push]"]
    );
}

#[test]
fn there_is_nothing_to_turn_to_from_the_only_one_or_from_none() {
    for mut controller in [showing(&["run it"]), showing(&[])] {
        let before = screen(&controller, "");
        assert!(controller.handle(400, Event::NextCandidate).is_empty());
        assert!(controller.handle(400, Event::PreviousCandidate).is_empty());
        assert_eq!(screen(&controller, ""), before);
    }
}

/// Only the candidates that begin with the typed text stay, in any case of letters. An empty line brings all of them
/// back.
#[test]
fn typing_narrows_whatever_the_case_and_an_empty_line_brings_all_back() {
    let mut controller = showing(&TEXTS);
    let steps = [
        ("r", "1/1 r[un the tests]"),
        ("Run ", "1/1 Run [the tests]"),
        ("", "1/3 [run the tests]"),
        ("c", "1/2 c[ommit this]"),
        ("COMMIT", "1/2 COMMIT[ this]"),
        ("commit a", "1/1 commit a[nd push]"),
        ("commit", "1/2 commit[ this]"),
        ("commit this", "1/1 commit this[]"),
        ("", "1/3 [run the tests]"),
    ];
    for (typed, expected) in steps {
        let effects = controller.handle(500, edited(typed));
        let [Effect::Hide, Effect::Show { rest, .. }] = &effects[..] else {
            panic!("{typed:?}: {effects:?}")
        };
        assert_eq!(rest.is_none(), typed.is_empty());
        assert_eq!(screen(&controller, typed), expected);
    }
    assert!(controller.handle(500, edited("")).is_empty(), "nothing new");
}

/// Turning only visits candidates that match the typed text, and the one that was turned to is remembered.
#[test]
fn turning_stays_within_what_matches_and_is_remembered() {
    let mut controller = showing(&TEXTS);
    controller.handle(400, edited("com"));
    controller.handle(410, Event::NextCandidate);
    assert_eq!(screen(&controller, "com"), "2/2 com[mit and push]");
    controller.handle(420, Event::NextCandidate);
    assert_eq!(screen(&controller, "com"), "1/2 com[mit this]");
    controller.handle(430, Event::PreviousCandidate);
    controller.handle(440, edited(""));
    assert_eq!(screen(&controller, ""), "3/3 [Commit and push]");
    controller.handle(450, edited("r"));
    assert_eq!(screen(&controller, "r"), "1/1 r[un the tests]");
}

/// If no candidate begins with the typed text, all are dismissed and their work is abandoned.
#[test]
fn a_text_that_none_begins_with_dismisses_all() {
    for (before, text, length) in
        [("", "xy", 13), ("commit t", "commit txx", 11), ("", " run", 13), ("", "run the testss", 13)]
    {
        let mut controller = showing(&TEXTS);
        controller.handle(400, edited(before));
        let effects = controller.handle(500, edited(text));
        let [
            Effect::Record { outcome: Outcome::Ignored { suggestion_length, .. } },
            Effect::Hide,
            Effect::AbandonSpeculation,
        ] = &effects[..]
        else {
            panic!("{text:?}: {effects:?}")
        };
        assert_eq!(*suggestion_length, length, "{text:?}");
        assert_eq!(screen(&controller, text), format!("{text}[]"));
        controller.handle(600, edited(""));
        assert_eq!(screen(&controller, ""), "[]", "it does not come back");
    }
}

/// An accept takes the candidate on screen, and abandons the work for the others.
#[test]
fn the_one_on_screen_is_taken_and_the_work_for_the_others_dropped() {
    for (typed, turns, expected) in [("", 0, 0), ("", 2, 2), ("COMM", 0, 1), ("COMM", 1, 2)] {
        let mut controller = showing(&TEXTS);
        controller.handle(400, edited(typed));
        for _ in 0..turns {
            controller.handle(450, Event::NextCandidate);
        }
        let effects = controller.handle(800, Event::accept(AcceptMethod::Tab));
        let taken = suggestion(TEXTS[expected]);
        let [Effect::Record { .. }, Effect::Hide, others, insert] = &effects[..] else {
            panic!("{effects:?}")
        };
        assert_eq!(*others, Effect::AbandonOthers { suggestion: taken.clone() });
        assert_eq!(
            *insert,
            Effect::Insert { text: taken.as_str().to_owned() },
            "all of it, in its own spelling"
        );
        // Work that was accepted must not be abandoned by a later event.
        assert_eq!(controller.handle(900, Event::Clear).to_vec(), [Effect::Hide]);
    }
}

/// A suggestion that still waits for its delay is narrowed by typing like one on screen.
#[test]
fn what_waits_is_narrowed_too() {
    let mut controller = FollowupController::new(Config::default());
    controller.handle(0, suggested(1, &TEXTS));
    assert!(controller.handle(100, edited("co")).is_empty());
    let effects = controller.handle(300, Event::Wake);
    let show = Effect::Show {
        suggestion: suggestion(TEXTS[1]),
        rest: Some("mmit this".to_owned()),
        place: CandidatePosition { number: 1, of: 2 },
    };
    assert_eq!(effects.to_vec(), [show]);

    let mut controller = FollowupController::new(Config::default());
    controller.handle(0, suggested(1, &TEXTS));
    assert_eq!(controller.handle(100, edited("xy")).to_vec(), [Effect::AbandonSpeculation]);
    assert!(controller.handle(300, Event::Wake).is_empty());
    // A late answer must not disturb a user who types.
    assert!(controller.handle(400, suggested(1, &TEXTS)).is_empty());
}

/// If only one of the suggestion on screen and its successor matches what is typed, that one stays.
#[test]
fn a_successor_that_does_not_match_goes_and_what_is_on_screen_stays() {
    let mut controller = showing(&["run the tests"]);
    controller.handle(400, suggested(2, &["commit this"]));
    let effects = controller.handle(500, edited("run"));
    let [Effect::Hide, Effect::Show { .. }, Effect::AbandonSpeculation] = &effects[..] else {
        panic!("{effects:?}")
    };
    assert!(controller.handle(700, Event::Wake).is_empty());
    assert_eq!(screen(&controller, "run"), "1/1 run[ the tests]");

    let mut controller = showing(&["run the tests"]);
    controller.handle(400, suggested(2, &["commit this"]));
    let effects = controller.handle(500, edited("com"));
    let [Effect::Record { .. }, Effect::Hide] = &effects[..] else { panic!("{effects:?}") };
    controller.handle(700, Event::Wake);
    assert_eq!(screen(&controller, "com"), "1/1 com[mit this]");
}

/// An answer that does not begin with the typed text is not shown, and no work begins for it.
#[test]
fn an_answer_that_does_not_go_with_what_is_typed_is_not_run() {
    let mut controller = FollowupController::new(Config::default());
    controller.handle(0, edited("fix"));
    controller.handle(1, Event::Requested { request: RequestId(1) });
    assert!(controller.handle(2, suggested(1, &TEXTS)).is_empty());
    assert!(controller.handle(400, Event::Wake).is_empty());
    // A new turn empties the line, so the answers are shown again.
    controller.handle(500, Event::Clear);
    controller.handle(501, suggested(2, &TEXTS));
    controller.handle(900, Event::Wake);
    assert_eq!(screen(&controller, ""), "1/3 [run the tests]");
}

/// Work only goes on if the candidates of the next answer are all the same.
#[test]
fn the_same_ones_again_keep_their_work_and_others_do_not() {
    let mut controller = showing(&TEXTS);
    assert_eq!(controller.handle(400, suggested(2, &TEXTS)).to_vec(), [Effect::WakeAt { at: 700 }]);
    let effects = controller.handle(500, suggested(3, &TEXTS[..2]));
    assert!(matches!(
        effects[..],
        [Effect::AbandonSpeculation, Effect::StartSpeculation { .. }, Effect::WakeAt { .. }]
    ));
}

/// The rest of a suggestion begins at a whole character, whatever the script and the case of letters.
#[test]
fn a_rest_is_cut_between_characters_in_every_script() {
    let cases = [
        ("提交并推送", "提交", Some("并推送")),
        ("Ändere die Tests", "änd", Some("ere die Tests")),
        ("ändere die Tests", "A", None),
        ("run it", "run it now", None),
        ("run it", "", Some("run it")),
        // The lower case of the dotted capital I is two characters, and texts are compared character by character.
        ("İptal et", "i\u{307}", None),
        ("straße prüfen", "STRASSE", None),
    ];
    for (text, typed, expected) in cases {
        assert_eq!(suggestion(text).rest_after(typed), expected, "{text:?} after {typed:?}");
    }
}

/// A typed text equals the suggestion despite blanks and one full stop, but not in another case of letters.
#[test]
fn the_same_text_is_the_same_but_for_blanks_and_a_full_stop() {
    let cases = [
        ("run it", true),
        (" run it. ", true),
        ("run it .", true),
        ("Run it", false),
        ("run it..", false),
        ("", false),
    ];
    for (text, expected) in cases {
        assert_eq!(suggestion("run it.").is_same_as(text), expected, "{text:?}");
    }
}

/// Logs of older hosts can still be read, and a log with one suggestion is written as before: new fields are left out
/// when they say nothing.
#[test]
fn one_suggestion_is_written_as_it_always_was() {
    let event = r#"{"type":"suggested","request":1,"suggestion":"run it"}"#;
    let read: Event = serde_json::from_str(event).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), event);
    let mut controller = FollowupController::new(Config::default());
    let logged = |effects| serde_json::to_string(&effects).unwrap();
    assert_eq!(
        logged(controller.handle(0, read)),
        r#"[{"type":"startSpeculation","suggestion":"run it"},{"type":"wakeAt","at":300}]"#
    );
    assert_eq!(logged(controller.handle(300, Event::Wake)), r#"[{"type":"show","suggestion":"run it"}]"#);
}

/// Every kind of key counts for the time to the first key, also a key that does not type.
#[test]
fn the_time_to_the_first_key_counts_from_the_first_of_any_kind() {
    let first: [Event; 3] = [edited("r"), Event::NextCandidate, Event::Keystroke { typed: false }];
    for event in first {
        let mut controller = showing(&TEXTS);
        controller.handle(350, event.clone());
        controller.handle(400, edited("ru"));
        let effects = controller.handle(500 as Millis, edited("x y"));
        let Effect::Record { outcome: Outcome::Ignored { time_to_first_keystroke_ms, .. } } = &effects[0]
        else {
            panic!("{effects:?}")
        };
        assert_eq!(*time_to_first_keystroke_ms, Some(50), "{event:?}");
    }
}
