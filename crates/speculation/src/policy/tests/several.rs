use proptest::prelude::*;

use super::*;

/// What is answered for each candidate: `run`, or the code of the hold.
fn answers(policy: &Policy, history: &History, texts: &[&str], most: usize) -> Vec<&'static str> {
    let answers = policy.run_several(&history.experience(), texts, most, NOW);
    answers.iter().map(|answer| answer.as_ref().map_or_else(Hold::code, |_| "run")).collect()
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
        assert_eq!(answers(&mode(Mode::Always), &History::rich(), texts, most), expected, "{texts:?} {most}");
    }
    assert_eq!(answers(&mode(Mode::Off), &History::rich(), &texts, 3), ["off", "off", "off"]);
}

#[test]
fn the_one_by_itself_is_judged_as_ever() {
    let dear = History::rich().times(10, |history| history.ran("verify", 900_000, "accepted", 100));
    let fruitless = dear.times(4, |history| history.ran("verify", 900_000, "replaced", 0));
    let poor = History::new().turn(10_000, 20_000);
    for history in [History::new(), History::rich(), fruitless, poor] {
        for mode_ in [Mode::Off, Mode::Auto, Mode::Always] {
            for text in ["run the tests", "commit this", "/clear", "rm -rf /"] {
                let policy = mode(mode_);
                let alone = policy.run(&history.experience(), text, NOW);
                assert_eq!(policy.run_several(&history.experience(), &[text], 1, NOW), [alone], "{text}");
            }
        }
    }
}

#[test]
fn a_candidate_that_the_user_seldom_comes_to_is_not_worth_as_much() {
    // Taken nine times of ten: the second is reached once in ten.
    let taken = History::rich()
        .times(30, |history| history.ran("verify", 60_000, "accepted", 10_000))
        .times(10, |history| history.ran("commit", 60_000, "accepted", 10_000));
    let auto = mode(Mode::Auto);
    assert_eq!(answers(&auto, &taken, &["commit this"], 2), ["run"], "by itself it is worth it");
    assert_eq!(answers(&auto, &taken, &["run the tests", "commit this"], 2), ["run", "not_worth_it"]);
    assert_eq!(answers(&mode(Mode::Always), &taken, &["run the tests", "commit this"], 2), ["run", "run"]);
    // Where the better one is seldom taken, the second comes into its own.
    let refused = History::rich()
        .times(30, |history| history.ran("verify", 60_000, "replaced", 0))
        .times(10, |history| history.ran("commit", 60_000, "accepted", 10_000));
    assert_eq!(answers(&auto, &refused, &["run the tests", "commit this"], 2), ["unlikely", "run"]);
}

#[test]
fn the_share_has_to_hold_all_of_them() {
    // Room for one run and a half.
    let history = History::new()
        .times(20, |history| history.turn(100_000, 20_000))
        .times(5, |history| history.ran("verify", 400_000, "accepted", 15_000));
    let experience = history.experience();
    let auto = Policy { share: 1.0, second_is_worth: 1e9, ..mode(Mode::Auto) };
    let all = auto.left_of_share(&experience, NOW);
    let tight = Policy { share: 1.5 * experience.least_run() / all, ..auto };
    assert_eq!(answers(&tight, &history, &["run the tests", "verify it"], 2), ["run", "share"]);
    assert_eq!(answers(&auto, &history, &["run the tests", "verify it"], 2), ["run", "run"]);
}

#[test]
fn further_candidates_of_an_answer_cost_nothing_and_are_learned_from() {
    let line = |id: &str, more: &str| {
        format!(r#"{{"type":"suggestion","id":"{id}","at":{NOW},"kind":"commit","model":"m"{more}}}"#)
    };
    let outcome = |id: &str, outcome: &str| {
        format!(r#"{{"type":"outcome","id":"{id}","at":{NOW},"outcome":"{outcome}"}}"#)
    };
    let answer =
        History::rich().line(&line("a", r#","inputTokens":500"#)).line(&line("b", r#","beside":"a""#));
    let before = answer.experience();
    let decided = |of_a: &str, of_b: &str| {
        History(answer.0.clone(), 0).line(&outcome("a", of_a)).line(&outcome("b", of_b)).experience()
    };
    let chance = |experience: &Experience| experience.chance(Kind::Commit).mean();
    assert_eq!(before.query_spends().tokens, 500, "one query");
    assert!(chance(&before) < chance(&decided("replaced", "accepted")));
    assert!(chance(&decided("ignored", "aborted")) < chance(&before));
    // What was not seen teaches nothing: it is as if there had been one.
    let alone = History(answer.0.clone(), 0).line(&outcome("a", "ignored")).experience();
    assert_eq!(chance(&decided("ignored", "aborted")).to_bits(), chance(&alone).to_bits());
}

proptest! {
    /// Together they stay below every cap and the share, however many run.
    #[test]
    fn allowances_add_up_to_no_more_than_what_is_left(
        tokens in 0_u64..3_000_000,
        seconds in 0_u64..900,
        money in proptest::option::of(0.0_f64..5.0),
        spent in 0_u64..1_000_000,
        most in 0_usize..5,
        number in 0_usize..5,
        is_auto in any::<bool>(),
    ) {
        let cap = Cap { tokens, money: money.and_then(Money::new), time: Duration::from_secs(seconds) };
        let policy = Policy { turn: cap, ..mode(if is_auto { Mode::Auto } else { Mode::Always }) };
        let history = History::rich().ran("verify", spent, "accepted", 1_000);
        let mut experience = history.experience();
        let asked = format!(r#"{{"type":"suggestion","id":"q","at":{NOW},"model":"m","inputTokens":{spent}}}"#);
        experience.observe(&read(format!("{asked}\n").as_bytes()).entries[0]);
        let texts = ["run the tests", "commit this", "add tests", "fix it", "explain it"];
        let answers = policy.run_several(&experience, &texts[..number], most, NOW);
        prop_assert_eq!(answers.len(), number);
        let allowed: Vec<_> = answers.iter().flatten().collect();
        prop_assert!(allowed.len() <= most);
        let used = experience.spent(Scope::Turn, NOW);
        prop_assert!(allowed.iter().map(|allowance| allowance.tokens).sum::<u64>() <= tokens.saturating_sub(used.tokens));
        prop_assert!(allowed.iter().map(|allowance| allowance.time).sum::<Duration>() <= cap.time);
        let money: Money = allowed.iter().filter_map(|allowance| allowance.cost).map(|cost| cost.most).sum();
        let share = Money::new(policy.left_of_share(&experience, NOW) / 1e6).unwrap();
        prop_assert!(!is_auto || money <= share, "{money:?} {share:?}");
    }
}
