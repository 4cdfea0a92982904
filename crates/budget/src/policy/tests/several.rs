use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::*;

/// The answer for each candidate: `run`, or the code of the reason against it.
fn answers(history: &History, guesses: &[Guess<'_>], most: usize) -> Vec<&'static str> {
    let answers = history.policy.allow_candidates(&history.experience, guesses, most, NOW);
    answers.iter().map(|answer| answer.as_ref().map_or_else(SkipReason::code, |_| "run")).collect()
}

#[test]
fn the_best_that_may_run_do_and_no_more_than_the_host_wants() {
    let all = ["run the tests", "commit this", "add more tests"].map(|text| guess(text, 30));
    let mixed = ["/clear", "run the tests", "delete all files", "commit this"].map(|text| guess(text, 30));
    let cases: [(&[Guess<'_>], usize, &[&str]); 7] = [
        (&all, 1, &["run", "enough", "enough"]),
        (&all, 2, &["run", "run", "enough"]),
        (&all, 3, &["run", "run", "run"]),
        (&all, 0, &["enough", "enough", "enough"]),
        (&mixed, 2, &["command", "run", "destructive", "run"]),
        (&mixed[..1], 1, &["command"]),
        (&[], 2, &[]),
    ];
    for (guesses, most, expected) in cases {
        assert_eq!(answers(&History::new(), guesses, most), expected, "{guesses:?} {most}");
        assert_eq!(
            answers(&History::new().in_mode(Mode::Always), guesses, most),
            expected,
            "{guesses:?} {most}"
        );
    }
    assert_eq!(answers(&History::new().in_mode(Mode::Off), &all, 3), ["off", "off", "off"]);
}

#[test]
fn each_is_judged_by_its_own_chance() {
    let dear = History::new().repeated(9, |history| history.with_run(70, 300_000, "aborted"));
    let guesses = [guess("fix it", 30), guess("add tests", 90)];
    let dear = History { policy: Policy { limit: Money::new(99.0).unwrap(), ..Policy::default() }, ..dear };
    let slow = (0..20).fold(dear, |history, _| {
        history.line(&format!(r#"{{"type":"speculation","id":"s","at":{NOW},"model":"m","inputTokens":300000,"workMs":300000,"status":"completed"}}"#))
    });
    assert_eq!(answers(&slow, &guesses, 2), ["not_worth_it", "run"]);
}

#[test]
fn further_candidates_of_an_answer_cost_nothing_and_are_learned_from() {
    let line =
        |id: &str, more: &str| format!(r#"{{"type":"suggestion","id":"{id}","at":{NOW},"model":"m"{more}}}"#);
    let outcome = |id: &str, outcome: &str| {
        format!(r#"{{"type":"outcome","id":"{id}","at":{NOW},"outcome":"{outcome}"}}"#)
    };
    let answer =
        History::new().line(&line("a", r#","inputTokens":500"#)).line(&line("b", r#","beside":"a""#));
    assert_near(answer.experience.question_cost(), 500.0);
    let chance = |history: &History| history.experience.chance(None);
    let decided =
        |of_a: &str, of_b: &str| chance(&answer.clone().line(&outcome("a", of_a)).line(&outcome("b", of_b)));
    assert!(chance(&answer) < decided("replaced", "accepted"));
    assert!(decided("ignored", "aborted") < chance(&answer));
    // A candidate that was not seen teaches nothing: the result is as if there had been only one.
    let alone = chance(&answer.clone().line(&outcome("a", "ignored")));
    assert_eq!(decided("ignored", "aborted").to_bits(), alone.to_bits());
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    /// Together the allowances stay below what is left of the day, however many run.
    #[test]
    fn allowances_add_up_to_no_more_than_what_is_left(
        limit in 0.0_f64..5.0,
        spent in 0_u64..900_000,
        asked in 0_u64..50_000,
        said in 20_u8..=100,
        most in 0_usize..5,
        number in 0_usize..5,
        is_auto in any::<bool>(),
    ) {
        let mode = if is_auto { Mode::Auto } else { Mode::Always };
        let policy = Policy { mode, limit: Money::new(limit).unwrap(), ..Policy::default() };
        let history = History::with(tariff(), policy).with_run(30, spent, "replaced").with_question(asked);
        let guesses = ["run the tests", "commit this", "add tests", "fix it", "explain it"];
        let guesses = guesses.map(|text| guess(text, said));
        let answers = policy.allow_candidates(&history.experience, &guesses[..number], most, NOW);
        prop_assert_eq!(answers.len(), number);
        let allowed: Vec<_> = answers.iter().flatten().collect();
        prop_assert!(allowed.len() <= most);
        let money: f64 = allowed.iter().map(|allowance| allowance.cost.unwrap().most.units()).sum();
        prop_assert!(money <= history.left() + 1e-9, "{} {}", money, history.left());
    }
}
