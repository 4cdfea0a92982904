mod several;
mod simulation;

use super::*;
use crate::ledger::{Entry, Money, Outcome, Prices, read};

const NOW: u64 = 1_000_000_000_000;

/// Lines of a ledger as they would be written now.
struct History(String, u32);

impl History {
    fn new() -> Self {
        Self(String::new(), 0)
    }

    /// A turn of the user.
    fn turn(self, tokens: u64, ms: u64) -> Self {
        self.line(&format!(
            r#"{{"type":"turn","at":{NOW},"model":"m","inputTokens":{tokens},"workMs":{ms}}}"#
        ))
    }

    /// Turns of the user that leave room for a lot.
    fn rich() -> Self {
        Self::new().times(100, |history| history.turn(1_000_000, 20_000))
    }

    /// A suggestion that ran, and what became of it.
    fn ran(mut self, kind: &str, tokens: u64, outcome: &str, saved_ms: u64) -> Self {
        self.1 += 1;
        let id = self.1;
        self.line(&format!(
            r#"{{"type":"speculation","id":"{id}","at":{NOW},"kind":"{kind}","model":"m","inputTokens":{tokens},"workMs":1000}}"#
        ))
        .line(&format!(
            r#"{{"type":"outcome","id":"{id}","at":{NOW},"outcome":"{outcome}","savedMs":{saved_ms}}}"#
        ))
    }

    /// A turn after which the policy gave way.
    fn held(self, code: &str) -> Self {
        self.line(&format!(
            r#"{{"type":"suggestion","id":"h","at":{NOW},"model":"m","suppressed":"{code}"}}"#
        ))
    }

    fn line(mut self, line: &str) -> Self {
        self.0 += line;
        self.0 += "\n";
        self
    }

    fn times(self, times: u32, add: impl Fn(Self) -> Self) -> Self {
        (0..times).fold(self, |history, _| add(history))
    }

    fn experience(&self) -> Experience {
        let book = read(self.0.as_bytes());
        assert!(book.damaged.is_empty(), "{:?}", book.damaged);
        Experience::of(Tariff::new("m", Prices::default()), &book.entries)
    }
}

/// The code of the answer; `run` where it is yes.
fn answer(policy: Policy, history: &History, text: &str) -> &'static str {
    match policy.run(&history.experience(), text, NOW) {
        Ok(_) => "run",
        Err(hold) => hold.code(),
    }
}

fn mode(mode: Mode) -> Policy {
    Policy { mode, ..Policy::default() }
}

#[test]
fn what_runs_and_what_does_not() {
    let fresh = History::new;
    let rich = History::rich;
    let taken = || rich().times(10, |history| history.ran("verify", 10_000, "accepted", 15_000));
    let ignored = || rich().times(10, |history| history.ran("verify", 10_000, "replaced", 0));
    let dear = || rich().times(10, |history| history.ran("verify", 900_000, "accepted", 100));
    let fruitless = || dear().times(4, |history| history.ran("verify", 900_000, "replaced", 0));
    let (off, auto, always) = (mode(Mode::Off), mode(Mode::Auto), mode(Mode::Always));
    let cases = [
        ("nothing is known", fresh(), "run the tests", "off", "run", "run"),
        ("the user takes them", taken(), "run the tests", "off", "run", "run"),
        ("a slash command", taken(), "/clear", "off", "command", "command"),
        ("a slash command after blanks", taken(), "  /clear", "off", "command", "command"),
        ("a destructive command", taken(), "run rm -rf /", "off", "destructive", "destructive"),
        ("a destructive order", taken(), "delete all files", "off", "destructive", "destructive"),
        ("the user never takes them", ignored(), "run the tests", "off", "unlikely", "run"),
        (
            "likely, yet it saves less than it costs",
            fruitless(),
            "run the tests",
            "off",
            "not_worth_it",
            "run",
        ),
        (
            "the user's turns cost too little",
            fresh().turn(10_000, 20_000),
            "run the tests",
            "off",
            "share",
            "run",
        ),
    ];
    for (name, history, text, if_off, if_auto, if_always) in cases {
        let answers = [off, auto, always].map(|policy| answer(policy, &history, text));
        assert_eq!(answers, [if_off, if_auto, if_always], "{name}");
    }
}

#[test]
fn a_kind_is_judged_by_its_own_record_and_begins_as_the_project_is() {
    let history = History::rich()
        .times(8, |history| history.ran("verify", 1_000, "accepted", 9_000))
        .times(8, |history| history.ran("commit", 1_000, "replaced", 0));
    let experience = history.experience();
    let chance = |kind| experience.chance(kind).mean();
    assert!(0.7 < chance(Kind::Verify) && chance(Kind::Commit) < 0.2);
    assert!((0.25..0.6).contains(&chance(Kind::Fix)), "{}", chance(Kind::Fix));
    assert!(experience.chance(Kind::Verify).deviation() < experience.chance(Kind::Fix).deviation());
    assert_eq!(answer(Policy::default(), &history, "run the tests"), "run");
    assert_eq!(answer(Policy::default(), &history, "commit this"), "unlikely");
}

#[test]
fn the_past_is_forgotten() {
    let history = History::new()
        .times(200, |history| history.ran("fix", 1_000, "replaced", 0))
        .times(25, |history| history.ran("fix", 1_000, "accepted", 1_000));
    assert!(0.6 < history.experience().chance(Kind::Fix).mean());
}

#[test]
fn showing_and_running_have_thresholds_of_their_own() {
    let policy = Policy { second_is_worth: 1e6, ..Policy::default() };
    let history = History::rich();
    let experience = history.experience();
    let chance = experience.chance(Kind::Fix).mean();
    for (show_from, run_from, shows, runs) in [
        (chance - 0.01, chance - 0.01, true, true),
        (chance - 0.01, chance + 0.01, true, false),
        (chance + 0.01, chance - 0.01, false, true),
    ] {
        let policy = Policy { show_from, run_from, ..policy };
        assert_eq!(policy.show(&experience, "fix it").is_ok(), shows);
        assert_eq!(policy.run(&experience, "fix it", NOW).is_ok(), runs);
    }
}

#[test]
fn the_dial_says_what_a_second_is_worth() {
    let history = History::rich().times(4, |history| history.ran("fix", 100_000, "accepted", 2_000));
    let history = history.times(4, |history| history.ran("fix", 100_000, "replaced", 0));
    let with = |second_is_worth| answer(Policy { second_is_worth, ..Policy::default() }, &history, "fix it");
    assert_eq!([with(1_000.0), with(100_000.0)], ["not_worth_it", "run"]);
}

#[test]
fn suggestions_ignored_in_a_row_bring_a_pause_that_ends() {
    let policy = Policy::default();
    let ignored = |times| {
        let history = History::rich();
        let history = history.times(10, |history| history.ran("fix", 1_000, "accepted", 9_000));
        history.times(times, |history| history.ran("fix", 1_000, "ignored", 0))
    };
    let asks = |history: &History| policy.ask(&history.experience(), NOW).map_err(|hold| hold.code());
    assert_eq!(asks(&ignored(2)), Ok(()));
    // 1, 2, 4, 8 turns pass, and no more than 16 however many were ignored.
    for (times, pause) in [(3, 1), (4, 2), (5, 4), (6, 8)] {
        let waiting = |turns| ignored(times).times(turns, |history| history.held("backing_off"));
        assert_eq!(asks(&waiting(pause - 1)), Err("backing_off"), "{times}");
        assert_eq!(asks(&waiting(pause)), Ok(()), "{times}");
    }
    let long = ignored(60).times(16, |history| history.held("backing_off"));
    assert_ne!(asks(&long), Err("backing_off"));
    // One that is taken ends it, one that nobody saw changes nothing.
    assert_eq!(asks(&ignored(3).ran("fix", 1_000, "accepted", 1_000)), Ok(()));
    assert_eq!(asks(&ignored(3).ran("fix", 1_000, "aborted", 0)), Err("backing_off"));
    assert_eq!(Policy { mode: Mode::Always, ..policy }.ask(&ignored(60).experience(), NOW), Ok(()));
}

#[test]
fn a_project_where_nothing_is_taken_is_left_alone_and_tried_again_after_a_while() {
    let history = History::rich().times(30, |history| history.ran("fix", 10, "replaced", 0));
    let asks =
        |history: &History| Policy::default().ask(&history.experience(), NOW).map_err(|hold| hold.code());
    assert_eq!(asks(&history), Err("unlikely"));
    assert_eq!(asks(&history.times(40, |history| history.held("unlikely"))), Ok(()));
}

#[test]
fn caps_hold_in_every_mode_each_in_its_span() {
    let spent =
        r#"{"type":"speculation","id":"x","at":NOW,"model":"m","inputTokens":900,"workMs":9000,"money":2.5}"#;
    let entry: Entry = serde_json::from_str(&spent.replace("NOW", &NOW.to_string())).unwrap();
    let roomy = Cap { tokens: 1_000, money: Money::new(3.0), time: Duration::from_secs(10) };
    let tight = [
        (Cap { tokens: 900, ..roomy }, Measure::Tokens),
        (Cap { money: Money::new(2.5), ..roomy }, Measure::Money),
        (Cap { time: Duration::from_secs(9), ..roomy }, Measure::Time),
    ];
    let policy = Policy { mode: Mode::Always, turn: roomy, session: roomy, day: roomy, ..Policy::default() };
    let mut experience = History::new().experience();
    experience.observe(&entry);
    let allowance = policy.run(&experience, "fix it", NOW).unwrap();
    assert_eq!((allowance.tokens, allowance.time), (100, Duration::from_secs(1)));
    for (cap, measure) in tight {
        for (scope, policy) in [
            (Scope::Turn, Policy { turn: cap, ..policy }),
            (Scope::Session, Policy { session: cap, ..policy }),
            (Scope::Day, Policy { day: cap, ..policy }),
        ] {
            let reached = Hold::Cap { scope, measure };
            assert_eq!(policy.run(&experience, "fix it", NOW), Err(reached));
            assert_eq!(policy.ask(&experience, NOW), Err(reached));
            // The next turn, the next session and the next day begin anew.
            let mut later = experience.clone();
            later.observe(&Entry::Turn(crate::ledger::Work { at: NOW, ..Default::default() }));
            assert_eq!(policy.ask(&later, NOW).is_ok(), scope == Scope::Turn);
            assert_eq!(
                policy
                    .ask(
                        &Experience::of(Tariff::new("m", Prices::default()), std::slice::from_ref(&entry)),
                        NOW
                    )
                    .is_ok(),
                scope != Scope::Day
            );
            let tomorrow = NOW + 24 * 60 * 60 * 1_000;
            assert_eq!(policy.ask(&experience, tomorrow).is_ok(), scope == Scope::Day);
        }
    }
}

#[test]
fn money_and_share_limit_a_run_by_the_price_of_the_model_that_runs_it() {
    let price = |input, cached, output| {
        let money = |units| Money::new(units).unwrap();
        crate::ledger::Price::new(money(input), money(cached), money(output))
    };
    let prices =
        Prices::from_iter([("m".to_owned(), price(2.0, 0.2, 8.0)), ("f".to_owned(), price(0.5, 0.5, 1.0))]);
    let tariff = Tariff::new("m", prices).with_background("f");
    let work =
        |tokens| serde_json::json!({"type":"turn","at":NOW,"model":"m","inputTokens":tokens,"workMs":20_000});
    let turn: Entry = serde_json::from_value(work(1_000_000)).unwrap();
    let experience = Experience::of(tariff, &[turn]);
    // 8 % of a million tokens; a quarter of the turn's cost is more than that.
    let policy = Policy { second_is_worth: 1e6, ..Policy::default() };
    assert!(matches!(policy.run(&experience, "fix it", NOW), Err(Hold::Share { .. })));
    let policy = Policy { share: 0.5, ..policy };
    let allowance = policy.run(&experience, "fix it", NOW).unwrap();
    let cost = allowance.cost.unwrap();
    // Half of the two units that the turn cost, less one query of 15 % of it.
    assert_eq!(cost, CostLimit { price: price(0.5, 0.5, 1.0), most: Money::new(0.7).unwrap() });
    let capped = Policy { turn: Cap { money: Money::new(0.25), ..policy.turn }, ..policy };
    assert_eq!(capped.run(&experience, "fix it", NOW).unwrap().cost.unwrap().most, Money::new(0.25).unwrap());
}

#[test]
fn every_hold_says_why_in_words_and_in_a_code() {
    let holds = [
        Hold::Off,
        Hold::Command,
        Hold::Destructive,
        Hold::BackingOff { ignored: 4, left: 2 },
        Hold::Unlikely { chance: 0.08, from: 0.3 },
        Hold::NotWorthIt { saving: 900.0, loss: 1_200.4 },
        Hold::Share { left: 10.0, costs: 800.0 },
        Hold::Cap { scope: Scope::Day, measure: Measure::Money },
    ];
    let lines: Vec<_> = holds.iter().map(|hold| format!("{}: {hold}", hold.code())).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn an_outcome_that_is_told_twice_is_one_observation() {
    let history = History::new().ran("fix", 10, "conflict", 0);
    let twice = History(history.0.clone(), history.1)
        .line(&format!(r#"{{"type":"outcome","id":"1","at":{NOW},"outcome":"accepted","savedMs":5}}"#));
    assert_eq!(history.experience().chance(Kind::Fix), twice.experience().chance(Kind::Fix));
    // The run is the user's own all the same.
    assert_eq!(
        (history.experience().lately(NOW), twice.experience().lately(NOW)),
        ((0.0, 10.0), (10.0, 0.0))
    );
    assert_eq!(
        Outcome::ALL.map(|outcome| serde_json::to_value(outcome).unwrap()),
        Outcome::ALL.map(Outcome::name)
    );
}

#[test]
fn a_step_on_top_of_others_runs_where_the_user_is_likely_to_come_that_far() {
    let taken = || History::rich().times(10, |history| history.ran("verify", 10_000, "accepted", 15_000));
    let mixed = || taken().times(10, |history| history.ran("commit", 10_000, "replaced", 0));
    let (verify, commit) = ("run the tests", "commit this");
    let cases = [
        (History::new(), vec![], "run"),
        (History::new(), vec![verify], "unlikely"),
        (taken(), vec![verify], "run"),
        (taken(), vec![verify, verify], "run"),
        (mixed(), vec![commit], "unlikely"),
        (mixed(), vec![verify, commit], "unlikely"),
    ];
    for (history, below, expected) in cases {
        let experience = history.experience();
        let run = |policy: Policy| policy.run_above(&experience, below.iter().copied(), verify, NOW);
        let code = |answer: Result<Allowance, Hold>| answer.map_or_else(|hold| hold.code(), |_| "run");
        assert_eq!(code(run(mode(Mode::Auto))), expected, "{below:?}");
        assert_eq!(code(run(mode(Mode::Always))), "run");
        assert_eq!(code(run(mode(Mode::Off))), "off");
    }
}
