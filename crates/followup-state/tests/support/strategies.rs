//! Random histories and random texts.

use headstart_followup_state::{AcceptMethod, Event, Millis, RequestId, Suggestion, filter};
use proptest::prelude::*;

pub(super) fn a_suggestion() -> impl Strategy<Value = Suggestion> {
    prop_oneof!["run it", "push it", "commit this", "提交并推送"]
        .prop_map(|text: String| filter(&text).unwrap())
}

/// The other candidates: often none, and sometimes more than the controller keeps.
fn some_others() -> impl Strategy<Value = Vec<Suggestion>> {
    proptest::collection::vec(a_suggestion(), 0..5)
}

/// The text of the input line: the beginning of a suggestion in any case, or any text.
pub(super) fn a_prompt() -> impl Strategy<Value = String> {
    let beginning = (a_suggestion(), 0_usize..12, any::<bool>()).prop_map(|(text, length, shout)| {
        let typed: String = text.as_str().chars().take(length).collect();
        if shout { typed.to_uppercase() } else { typed }
    });
    prop_oneof![4 => beginning, 2 => Just(String::new()), 1 => "\\PC{0,4}", 1 => ".{0,4}"]
}

fn an_event() -> impl Strategy<Value = Event> {
    let request = || (0_u64..12).prop_map(RequestId);
    let method = prop_oneof![Just(AcceptMethod::Tab), Just(AcceptMethod::Enter), Just(AcceptMethod::Right)];
    let fallback =
        proptest::option::of(prop_oneof![Just(String::new()), Just("run it".to_owned()), ".{0,4}"]);
    prop_oneof![
        1 => request().prop_map(|request| Event::Requested { request }),
        6 => (request(), proptest::option::weighted(0.9, a_suggestion()), some_others())
            .prop_map(|(request, suggestion, others)| Event::suggested(request, suggestion.into_iter().chain(others))),
        1 => request().prop_map(|request| Event::Suppressed { request, reason: "empty".into() }),
        1 => any::<bool>().prop_map(|enabled| Event::Enabled { enabled }),
        4 => (method, fallback, any::<bool>())
            .prop_map(|(method, fallback_text, skip_insert)| Event::Accept { method, fallback_text, skip_insert }),
        1 => Just(Event::Dismiss),
        1 => Just(Event::Clear),
        2 => any::<bool>().prop_map(|typed| Event::Keystroke { typed }),
        4 => a_prompt().prop_map(|text| Event::Edited { text }),
        3 => prop_oneof![Just(Event::NextCandidate), Just(Event::PreviousCandidate)],
        8 => Just(Event::Wake),
        1 => Just(Event::Cleanup),
    ]
}

/// A random log. Its times mostly go forward in steps around the two delays, and sometimes jump to any time.
pub(super) fn a_log() -> impl Strategy<Value = Vec<(Millis, Event)>> {
    let step = prop_oneof![20 => (0_u64..400).prop_map(Ok), 1 => any::<u64>().prop_map(Err)];
    proptest::collection::vec((step, an_event()), 0..60).prop_map(|steps| {
        let mut now: Millis = 0;
        let mut requests = 0;
        steps
            .into_iter()
            .map(|(step, mut event)| {
                now = match step {
                    Ok(forward) => now.saturating_add(forward),
                    Err(anywhere) => anywhere,
                };
                // Half of the answers belong to a new request, so that not all of them are late.
                if let Event::Suggested { request, .. } = &mut event
                    && request.0 % 2 == 0
                {
                    requests += 12;
                    request.0 += requests;
                }
                (now, event)
            })
            .collect()
    })
}

/// Texts close to the filter's rules: words that it knows, marks that it looks for, and arbitrary characters.
pub(super) fn a_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("run the tests".to_owned()),
        "[ .。!?？:;,/#*`'\"()<>|&-]{0,3}",
        "[a-zA-Zа-я]{1,8}",
        "[\u{4E00}-\u{4E20}\u{3042}-\u{3060}\u{AC00}-\u{AC20}\u{0E01}-\u{0E10}]{1,6}",
        "(git|push|rm|-rf|--force|delete|all|files|thanks|nice|let me|/commit|yes|no|1\\.|U\\.S\\.|fix:)",
        "\\PC{0,6}",
        ".{0,6}",
    ];
    proptest::collection::vec((piece, prop_oneof![Just(""), Just(" ")]), 0..8)
        .prop_map(|pieces| pieces.into_iter().map(|(piece, space)| piece + space).collect())
}
