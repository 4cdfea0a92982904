use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::*;

/// The answer for each candidate: `run`, or the code of the reason against it.
fn answers(history: &History, texts: &[&str], most: usize) -> Vec<&'static str> {
    let answers = history.policy.allow_candidates(&history.experience, texts, most, NOW);
    answers.iter().map(|answer| answer.as_ref().map_or_else(SkipReason::code, |_| "run")).collect()
}

#[test]
fn the_best_that_may_run_do_and_no_more_than_the_host_wants() {
    let texts = ["run the tests", "commit this", "add more tests"];
    let cases: [(&[&str], usize, &[&str]); 7] = [
        (&texts, 1, &["run", "enough", "enough"]),
        (&texts, 2, &["run", "run", "enough"]),
        (&texts, 3, &["run", "run", "run"]),
        (&texts, 0, &["enough", "enough", "enough"]),
        (
            &["/clear", "run the tests", "delete all files", "commit this"],
            2,
            &["command", "run", "destructive", "run"],
        ),
        (&["/clear"], 1, &["command"]),
        (&[], 2, &[]),
    ];
    for (texts, most, expected) in cases {
        assert_eq!(answers(&History::new(), texts, most), expected, "{texts:?} {most}");
        assert_eq!(answers(&History::new().in_mode(Mode::Always), texts, most), expected, "{texts:?} {most}");
    }
    assert_eq!(answers(&History::new().in_mode(Mode::Off), &texts, 3), ["off", "off", "off"]);
}

#[test]
fn the_one_by_itself_is_judged_as_ever() {
    let poor = History::new().with_turn(10_000).with_question(150_000);
    let tired = History::new().repeated(9, |history| history.with_run(10, "ignored", 0));
    for history in [History::new(), History::new().with_question(1_000), poor, tired] {
        for mode in [Mode::Off, Mode::Auto, Mode::Always] {
            let history = history.clone().in_mode(mode);
            for text in ["run the tests", "commit this", "/clear", "rm -rf /"] {
                let alone = history.policy.allow_run(&history.experience, text, NOW);
                assert_eq!(
                    history.policy.allow_candidates(&history.experience, &[text], 1, NOW),
                    [alone],
                    "{text}"
                );
            }
        }
    }
}

#[test]
fn a_candidate_that_the_user_seldom_comes_to_is_not_worth_as_much() {
    // Nearly all suggestions are taken, so the second one is reached once in ten times.
    let taken = History::new()
        .with_turn(1_000_000)
        .with_question(5_000)
        .repeated(40, |history| history.with_run(10, "accepted", 10_000));
    let texts = ["run the tests", "commit this"];
    assert_eq!(answers(&taken, &texts[1..], 2), ["run"], "by itself it is worth it");
    assert_eq!(answers(&taken, &texts, 2), ["run", "not_worth_it"]);
    assert_eq!(answers(&taken.in_mode(Mode::Always), &texts, 2), ["run", "run"]);
}

#[test]
fn what_is_left_has_to_hold_all_of_them() {
    // There is room for one run and a half.
    let history = History::new().with_question(10_000).with_run(100_000, "replaced", 0);
    assert_near(history.remaining_budget().left, 40_000.0);
    assert_eq!(answers(&history, &["run the tests", "verify it"], 1), ["run", "enough"]);
    assert_eq!(answers(&history, &["run the tests", "verify it"], 2), ["run", "allowance"]);
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
    assert_eq!(answer.experience.question_spending().tokens, 500, "one query");
    let decided = |of_a: &str, of_b: &str| {
        answer.clone().line(&outcome("a", of_a)).line(&outcome("b", of_b)).experience.chance()
    };
    assert!(answer.experience.chance() < decided("replaced", "accepted"));
    assert!(decided("ignored", "aborted") < answer.experience.chance());
    // A candidate that was not seen teaches nothing: the result is as if there had been only one.
    let alone = answer.clone().line(&outcome("a", "ignored")).experience.chance();
    assert_eq!(decided("ignored", "aborted").to_bits(), alone.to_bits());
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    /// Together the allowances stay below every cap and below what is left, however many run.
    #[test]
    fn allowances_add_up_to_no_more_than_what_is_left(
        tokens in 0_u64..3_000_000,
        seconds in 0_u64..900,
        money in proptest::option::of(0.0_f64..5.0),
        spent in 0_u64..200_000,
        asked in 0_u64..50_000,
        most in 0_usize..5,
        number in 0_usize..5,
        is_auto in any::<bool>(),
    ) {
        let cap = Cap { tokens, money: money.and_then(Money::new), time: Duration::from_secs(seconds) };
        let policy = Policy { turn: cap, ..mode(if is_auto { Mode::Auto } else { Mode::Always }) };
        let history = History::with(tariff(), policy).with_run(spent, "replaced", 0).with_question(asked);
        let texts = ["run the tests", "commit this", "add tests", "fix it", "explain it"];
        let answers = policy.allow_candidates(&history.experience, &texts[..number], most, NOW);
        prop_assert_eq!(answers.len(), number);
        let allowed: Vec<_> = answers.iter().flatten().collect();
        prop_assert!(allowed.len() <= most);
        let used = history.experience.spent(Scope::Turn, NOW);
        prop_assert!(allowed.iter().map(|allowance| allowance.tokens).sum::<u64>() <= tokens.saturating_sub(used.tokens));
        prop_assert!(allowed.iter().map(|allowance| allowance.time).sum::<Duration>() <= cap.time);
        let money: Money = allowed.iter().filter_map(|allowance| allowance.cost).map(|cost| cost.most).sum();
        let left = Money::new(history.remaining_budget().left / 1e6).unwrap();
        prop_assert!(!is_auto || money <= left, "{money:?} {left:?}");
    }
}
