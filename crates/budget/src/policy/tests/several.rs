use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::*;

#[test]
fn a_guess_beside_another_is_judged_by_its_own_chance() {
    let dear = History::new().repeated(9, |history| history.with_run(70, 300_000, "aborted"));
    let dear = History { policy: Policy { limit: Money::new(99.0).unwrap(), ..Policy::default() }, ..dear };
    let slow = (0..20).fold(dear, |history, _| {
        history.line(&format!(r#"{{"type":"speculation","id":"s","at":{NOW},"model":"m","inputTokens":300000,"workMs":300000,"status":"completed"}}"#))
    });
    let answer = |text, said| {
        slow.policy.allow_run(
            &slow.experience,
            guess(text, said),
            Beside { promised: 0.5, has_others: false },
            NOW,
        )
    };
    assert_eq!(answer("fix it", 30).map_err(|skip| skip.code()).unwrap_err(), "not_worth_it");
    assert!(answer("add tests", 90).is_ok());
}

/// The first of several does not take all that is left, so that one that its user marks can run beside it.
#[test]
fn half_of_what_is_left_is_kept_for_the_others() {
    let history = History::new().in_mode(Mode::Always);
    let run = |promised, has_others| {
        history.policy.allow_run(
            &history.experience,
            guess("fix it", 70),
            Beside { promised, has_others },
            NOW,
        )
    };
    assert_near(run(0.0, false).unwrap().money(), 1.0);
    let first = run(0.0, true).unwrap().money();
    assert_near(first, 0.5);
    assert_near(run(first, true).unwrap().money(), 0.25);
    assert_near(run(first, false).unwrap().money(), 0.5);
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
        number in 0_usize..5,
        is_auto in any::<bool>(),
    ) {
        let mode = if is_auto { Mode::Auto } else { Mode::Always };
        let policy = Policy { mode, limit: Money::new(limit).unwrap(), ..Policy::default() };
        let history = History::with(tariff(), policy).with_run(30, spent, "replaced").with_question(asked);
        let mut promised = 0.0;
        for (at, text) in ["run the tests", "commit this", "add tests", "fix it", "explain it"].iter().take(number).enumerate() {
            let beside = Beside { promised, has_others: at + 1 < number };
            let answer = policy.allow_run(&history.experience, guess(text, said), beside, NOW);
            promised += answer.map_or(0.0, |allowance| allowance.money());
        }
        prop_assert!(promised <= history.left() + 1e-9, "{} {}", promised, history.left());
    }
}
