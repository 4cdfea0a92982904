//! Which words of a user ask for the same work as a guess: pairs that must come out as written, and properties that
//! hold whatever is typed.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use headstart_followup_state::{GuessKind, Match, Meaning};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};
use serde::Deserialize;

#[derive(Deserialize)]
struct Pair {
    guess: String,
    kind: GuessKind,
    sign: Option<String>,
    #[serde(default)]
    also: Vec<String>,
    typed: String,
    expect: String,
}

impl Pair {
    fn meaning(&self) -> Meaning {
        let (sign, also) = (self.sign.clone(), self.also.clone());
        Meaning { kind: Some(self.kind), sign, also, chance: None }.bounded()
    }
}

fn pairs() -> Vec<Pair> {
    include_str!("matching_pairs.jsonl").lines().map(|row| serde_json::from_str(row).unwrap()).collect()
}

fn name(found: Match) -> &'static str {
    match found {
        Match::Same(_) => "match",
        Match::Extends { .. } => "extends",
        Match::No => "no",
    }
}

#[test]
fn every_pair_comes_out_as_written() {
    let pairs = pairs();
    let must_not = pairs.iter().filter(|pair| pair.expect == "no").count();
    assert!(100 <= pairs.len() && 45 <= must_not, "{} pairs, {must_not} of them must not match", pairs.len());
    let wrong: Vec<String> = pairs
        .iter()
        .filter_map(|pair| {
            let found = pair.meaning().compare(&pair.guess, &pair.typed);
            let Pair { guess, typed, expect, .. } = pair;
            (name(found) != expect).then(|| format!("{guess:?} / {typed:?}: expected {expect}, is {found:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn what_is_added_begins_behind_the_word_that_joins_it() {
    let meaning = Meaning { kind: Some(GuessKind::Permission), ..Meaning::default() };
    for (typed, added) in [
        ("Yes, and Format the CODE", "Format the CODE"),
        ("Oui, et mets à jour la doc", "mets à jour la doc"),
        ("好,然后更新文档", "更新文档"),
        ("yes; and then also run the tests", "run the tests"),
        ("Yes.\nUpdate the imports.", "Update the imports."),
    ] {
        let Match::Extends { end, at } = meaning.compare("yes, rename it", typed) else { panic!("{typed}") };
        assert!(matches!(meaning.compare("yes, rename it", &typed[..end]), Match::Same(_)), "{typed}");
        assert_eq!(typed[at..].trim(), added);
    }
}

#[test]
fn what_a_model_said_is_bounded() {
    let long = "x".repeat(10 * 1024);
    let also = vec![
        long.clone(),
        "a\u{7}b".into(),
        " ".into(),
        "one".into(),
        "two".into(),
        "three".into(),
        "four".into(),
    ];
    let meaning = Meaning { sign: Some(long), also, ..Meaning::default() }.bounded();
    assert_eq!((meaning.sign, meaning.also), (None, vec!["one".into(), "two".into(), "three".into()]));
}

fn a_text() -> impl Strategy<Value = String> {
    let words = pairs().into_iter().flat_map(|pair| [pair.typed, pair.guess]).collect::<Vec<_>>();
    prop_oneof![
        any::<String>(),
        "[ 0-9a-zA-Z,.?!&#-]{0,40}",
        proptest::collection::vec(proptest::sample::select(words), 0..4).prop_map(|words| words.join(" ")),
    ]
}

proptest! {
    #![proptest_config(Config { rng_seed: RngSeed::Fixed(39), cases: 400, ..Config::default() })]

    #[test]
    fn it_never_panics_and_a_guess_is_itself(guess in a_text(), typed in a_text(), sign in a_text(), also in a_text(), kind in 0..3) {
        let kind = [None, Some(GuessKind::Choice), Some(GuessKind::Permission)][usize::try_from(kind).unwrap()];
        let meaning = Meaning { kind, sign: Some(sign), also: vec![also], chance: None }.bounded();
        if let Match::Extends { end, at } = meaning.compare(&guess, &typed) {
            prop_assert!(end <= at && at < typed.len());
            prop_assert!(typed.is_char_boundary(at) && typed.is_char_boundary(end));
        }
        if !guess.trim().is_empty() {
            prop_assert!(matches!(meaning.compare(&guess, &guess), Match::Same(_)));
        }
    }

    #[test]
    fn a_question_or_a_refusal_never_asks_for_the_work(pair in 0..pairs().len(), turned in 0..4_usize) {
        let pair = &pairs()[pair];
        let typed = match turned {
            0 => format!("{}?", pair.guess),
            1 => format!("don't {}", pair.guess),
            2 => format!("{}, but not now", pair.guess),
            _ => format!("why {}", pair.guess),
        };
        prop_assert_eq!(pair.meaning().compare(&pair.guess, &typed), Match::No);
    }
}
