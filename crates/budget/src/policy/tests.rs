mod acceptance;
mod several;
mod user;

use super::*;
use crate::ledger::{Entry, Outcome, read};
use headstart_forked_query::{Price, Prices};

const NOW: u64 = 1_000_000_000_000;
const DAY: u64 = 24 * 60 * 60 * 1_000;

/// A session, described by the lines of its ledger as they would be written now.
#[derive(Clone)]
struct History {
    policy: Policy,
    experience: Experience,
    ids: u32,
}

/// A model of which a million input tokens cost two dollars.
fn tariff() -> Tariff {
    Tariff::new("m", Prices::from_iter([("m".to_owned(), price(2.0, 0.2, 8.0))]))
}

fn price(input: f64, cached: f64, output: f64) -> Price {
    let money = |units| Money::new(units).unwrap();
    Price::new(money(input), money(cached), money(output))
}

/// A guess of which the model said that it is this sure.
fn guess(text: &str, said: u8) -> Guess<'_> {
    Guess { text, said: Some(said) }
}

impl History {
    fn new() -> Self {
        Self::with(tariff(), Policy::default())
    }

    fn with(tariff: Tariff, policy: Policy) -> Self {
        Self { policy, experience: Experience::of(tariff, Habits::default(), &[]), ids: 0 }
    }

    /// A turn of the user.
    fn with_turn(self, tokens: u64) -> Self {
        self.line(&format!(
            r#"{{"type":"turn","at":{NOW},"model":"m","inputTokens":{tokens},"workMs":20000}}"#
        ))
    }

    /// A question for a suggestion that gave none.
    fn with_question(self, tokens: u64) -> Self {
        self.line(&format!(
            r#"{{"type":"suggestion","id":"","at":{NOW},"model":"m","suppressed":"empty","inputTokens":{tokens}}}"#
        ))
    }

    /// A suggestion of which the model said that it is this sure, which ran, and what became of it.
    fn with_run(mut self, said: u8, tokens: u64, outcome: &str) -> Self {
        self.ids += 1;
        let id = self.ids;
        self.line(&format!(r#"{{"type":"suggestion","id":"{id}","at":{NOW},"model":"m","chance":{said}}}"#))
            .line(&format!(
                r#"{{"type":"speculation","id":"{id}","at":{NOW},"model":"m","inputTokens":{tokens},"workMs":9000,"status":"completed"}}"#
            ))
            .line(&format!(r#"{{"type":"outcome","id":"{id}","at":{NOW},"outcome":"{outcome}"}}"#))
    }

    /// A turn after which nothing was asked.
    fn with_skip(self, code: &str) -> Self {
        self.line(&format!(
            r#"{{"type":"suggestion","id":"h","at":{NOW},"model":"m","suppressed":"{code}"}}"#
        ))
    }

    fn line(mut self, line: &str) -> Self {
        let book = read(format!("{line}\n").as_bytes());
        assert!(book.damaged.is_empty(), "{:?}", book.damaged);
        for entry in &book.entries {
            self.experience.observe(entry);
        }
        self
    }

    fn repeated(self, times: u32, add: impl Fn(Self) -> Self) -> Self {
        (0..times).fold(self, |history, _| add(history))
    }

    fn left(&self) -> f64 {
        self.policy.left_today(&self.experience, NOW).unwrap()
    }

    fn asks(&self) -> Result<(), &'static str> {
        self.policy.allow_question(&self.experience, NOW).map_err(|skip| skip.code())
    }

    /// The code of the answer; `run` if it is yes.
    fn runs(&self, guess: Guess<'_>) -> &'static str {
        self.policy
            .allow_run(&self.experience, guess, Beside::default(), NOW)
            .map_or_else(|skip| skip.code(), |_| "run")
    }

    fn in_mode(mut self, mode: Mode) -> Self {
        self.policy.mode = mode;
        self
    }

    /// What a run may cost, in money.
    fn most(&self, guess: Guess<'_>) -> f64 {
        let allowance = self.policy.allow_run(&self.experience, guess, Beside::default(), NOW).unwrap();
        allowance.cost.unwrap().most.units()
    }
}

#[track_caller]
fn assert_near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-3 * expected.abs().max(1.0), "{found} is not {expected}");
}

#[test]
fn what_runs_and_what_does_not() {
    let fresh = History::new;
    let dear = || fresh().repeated(9, |history| history.with_run(70, 1_000_000, "accepted"));
    let spent = || fresh().with_question(500_000);
    let free = || History::with(tariff().with_free(["m".to_owned()]), Policy::default());
    let wrong = || free().repeated(30, |history| history.with_run(30, 1, "ignored"));
    let (run, tests) = ("run", guess("run the tests", 30));
    let cases = [
        ("nothing is known", fresh(), tests, ["off", run, run]),
        ("a slash command", fresh(), guess("/clear", 90), ["off", "command", "command"]),
        ("a slash command after blanks", fresh(), guess("  /clear", 90), ["off", "command", "command"]),
        (
            "a destructive order",
            fresh(),
            guess("delete all files", 90),
            ["off", "destructive", "destructive"],
        ),
        ("the day's limit is used up", spent(), tests, ["off", "limit", "limit"]),
        (
            "such work is dear, and the guess unsure",
            dear(),
            guess("fix it", 30),
            ["off", "not_worth_it", run],
        ),
        (
            "such work is dear, and the guess very unsure",
            dear(),
            guess("fix it", 5),
            ["off", "not_worth_it", run],
        ),
        ("a model that costs nothing", free(), tests, ["off", run, run]),
        ("one whose guesses do not come true", wrong(), tests, ["off", "unlikely", run]),
        ("its surer ones", wrong(), guess("run the tests", 60), ["off", run, run]),
        ("a model that says no chance", fresh(), Guess { text: "fix it", said: None }, ["off", run, run]),
    ];
    for (name, history, guess, expected) in cases {
        let answers =
            [Mode::Off, Mode::Auto, Mode::Always].map(|mode| history.clone().in_mode(mode).runs(guess));
        assert_eq!(answers, expected, "{name}");
    }
}

#[test]
fn a_run_may_cost_what_it_is_worth_by_its_chance() {
    let fresh = History::new();
    // It saves as long as work takes, and at most as long as the user pauses.
    assert_near(fresh.experience.saves_seconds(), 68.0);
    let second = 30.0 / 3_600.0;
    let low = 15.5 / 49.0;
    assert_near(fresh.most(guess("fix it", 30)), low / (1.0 - low) * 68.0 * second);
    // What a surer one is worth is more than a day may cost.
    assert_near(fresh.most(guess("fix it", 70)), 7.0 / 4.0 * 68.0 * second);
    let poor = Policy { limit: Money::new(0.5).unwrap(), ..Policy::default() };
    assert_near(History { policy: poor, ..fresh.clone() }.most(guess("fix it", 70)), 0.5);
    let slow = Policy { hour_is_worth: Money::new(3.0).unwrap(), ..Policy::default() };
    assert_near(
        History { policy: slow, ..fresh.clone() }.most(guess("fix it", 70)),
        7.0 / 4.0 * 68.0 * second / 10.0,
    );
    // Work that takes nine seconds saves nine seconds.
    let quick = fresh.repeated(6, |history| history.with_run(70, 1_000, "ignored"));
    assert_near(quick.experience.saves_seconds(), 9.0);
}

#[test]
fn the_time_saved_is_at_most_the_pause_of_this_user() {
    let turn = |at: u64| format!(r#"{{"type":"turn","at":{at},"model":"m","workMs":1000}}"#);
    let hurried = (0..9_u64).fold(History::new(), |history, turns| history.line(&turn(NOW + turns * 6_000)));
    assert_near(hurried.experience.habits().pause_seconds(), 5.0);
    assert_near(hurried.experience.saves_seconds(), 5.0);
    let away = History::new().line(&turn(NOW)).line(&turn(NOW + 20 * 60 * 60 * 1_000));
    assert_near(away.experience.habits().pause_seconds(), 113.0);
}

#[test]
fn where_no_guess_would_run_no_question_is_asked() {
    let dear = History::new().repeated(9, |history| history.with_run(70, 40_000, "aborted"));
    let dear = History { policy: Policy { limit: Money::new(99.0).unwrap(), ..Policy::default() }, ..dear };
    assert_eq!((dear.asks(), dear.runs(guess("fix it", 90))), (Ok(()), "run"));
    let slow = Policy { hour_is_worth: Money::new(3.0).unwrap(), ..dear.policy };
    let slow = History { policy: slow, ..dear };
    assert_eq!((slow.asks(), slow.runs(guess("fix it", 90))), (Err("not_worth_it"), "not_worth_it"));
    assert_eq!(slow.in_mode(Mode::Always).asks(), Ok(()));
}

#[test]
fn each_kind_of_work_is_judged_by_what_it_costs_itself() {
    let work = |text: &str, kind: &str, tokens: u64| {
        format!(
            r#"{{"type":"speculation","id":"{text}","at":{NOW},"model":"m","kind":"{kind}","inputTokens":{tokens}}}"#
        )
    };
    let history = History::new().line(&work("a", "fix", 400_000)).line(&work("b", "verify", 4_000));
    let history =
        History { policy: Policy { limit: Money::new(9.0).unwrap(), ..Policy::default() }, ..history };
    assert_eq!(history.runs(guess("fix the parser", 30)), "not_worth_it");
    assert_eq!(history.runs(guess("run the tests", 30)), "run");
}

#[test]
fn only_what_was_seen_is_a_suggestion_not_taken() {
    for (outcome, row) in [("ignored", 1), ("replaced", 0), ("aborted", 0), ("accepted", 0), ("undone", 0)] {
        assert_eq!(History::new().with_run(30, 10, outcome).experience.habits().row, row, "{outcome}");
    }
    let habits = History::new().with_run(30, 10, "ignored").with_run(30, 10, "conflict");
    let habits = habits.experience.habits();
    assert_eq!((habits.row, habits.decided), (0, 2), "who wanted it took it");
}

#[test]
fn what_came_of_guesses_decides_which_are_shown() {
    let shows = |history: &History, said| history.policy.allow_shown(&history.experience, said).is_ok();
    let all = [Some(5), Some(20), None, Some(60), Some(80)];
    let fresh = History::new();
    assert_eq!(all.map(|said| shows(&fresh, said)), [false, true, true, true, true]);
    let wrong = fresh.repeated(20, |history| history.with_run(30, 1, "ignored"));
    assert_eq!(all.map(|said| shows(&wrong, said)), [false, false, false, true, true]);
    // They are tried again when some turns have passed.
    let later = wrong.clone().repeated(80, |history| history.with_skip("unlikely"));
    assert!(shows(&later, Some(30)));
    assert!(shows(&wrong.in_mode(Mode::Always), Some(5)));
}

#[test]
fn a_day_may_cost_its_limit_and_what_is_taken_costs_nothing() {
    let cases = [
        (History::new(), 1.0),
        (History::new().with_question(50_000), 0.9),
        (History::new().with_turn(1_000_000), 1.0),
        (History::new().with_run(30, 50_000, "ignored"), 0.9),
        (History::new().with_run(30, 50_000, "accepted"), 1.0),
        (History::new().with_run(30, 5_000_000, "ignored"), 0.0),
    ];
    for (history, left) in cases {
        assert_near(history.left(), left);
    }
    let mut spent = History::new().with_question(480_000).with_question(9_000);
    assert_eq!(spent.asks(), Err("limit"), "a question costs more than what is left");
    assert_near(spent.policy.left_today(&spent.experience, NOW + DAY).unwrap(), 1.0);
    spent.experience.grant();
    assert_near(spent.left(), 1.022);
    assert_eq!(spent.asks(), Ok(()));
    // Other sessions of the same day have less. If the clock was set back, no day begins.
    let mut other = History::new();
    other.experience.set_habits(spent.experience.habits().clone());
    assert_near(other.left(), 0.022);
    assert_near(other.policy.left_today(&other.experience, NOW - DAY).unwrap(), 0.022);
}

#[test]
fn without_a_price_a_usual_one_counts() {
    let history = History::with(Tariff::new("m", Prices::default()), Policy::default());
    assert_near(history.clone().with_question(100_000).left(), 0.7);
    let limit = history
        .policy
        .allow_run(&history.experience, guess("fix it", 70), Beside::default(), NOW)
        .unwrap()
        .cost
        .unwrap();
    assert_eq!(limit.price, Price { cache_write: Money::new(3.75).unwrap(), ..price(3.0, 0.3, 12.0) });
    assert_eq!(history.experience.tariff().money(1_000.0), None, "but it is not shown as one that is known");
}

#[test]
fn questions_get_rare_where_nothing_is_taken() {
    let ignored = |times| {
        History::new().with_question(100).repeated(times, |history| history.with_run(70, 1, "ignored"))
    };
    assert_eq!(ignored(19).asks(), Ok(()));
    for row in [20, 40] {
        let waiting = |turns| ignored(row).repeated(turns, |history| history.with_skip("backing_off"));
        assert_eq!((waiting(15).asks(), waiting(16).asks()), (Err("backing_off"), Ok(())), "{row}");
    }
    assert_eq!(ignored(40).with_run(70, 1, "accepted").asks(), Ok(()));
    assert_eq!(ignored(40).with_run(70, 1, "aborted").asks(), Err("backing_off"));
    assert_eq!(ignored(60).in_mode(Mode::Always).asks(), Ok(()));
}

#[test]
fn each_of_two_models_is_judged_by_what_it_costs_itself() {
    let prices = || {
        Prices::from_iter([("m".to_owned(), price(2.0, 0.2, 8.0)), ("f".to_owned(), price(0.5, 0.5, 1.0))])
    };
    let work = |model: &str| {
        format!(
            r#"{{"type":"suggestion","id":"","at":{NOW},"model":"{model}","suppressed":"empty","inputTokens":1000000}}"#
        )
    };
    let with_free = |names: &[&str]| {
        let tariff = Tariff::new("m", prices()).with_background("f");
        let tariff = tariff.with_free(names.iter().map(|name| (*name).to_owned()));
        History::with(tariff, Policy::default())
    };
    assert_near(with_free(&[]).line(&work("f")).experience.session().lost, 250_000.0);
    assert_near(with_free(&["f"]).line(&work("f")).experience.session().lost, 0.0);
    assert_eq!(with_free(&["f"]).line(&work("f")).asks(), Ok(()));
    // The conversation costs nothing, but its background work does: so that is the measure.
    let paid = with_free(&["m"]).with_turn(9_000_000).line(&work("f"));
    assert_near(paid.experience.session().lost, 1_000_000.0);
    assert_eq!((paid.left(), paid.asks()), (0.5, Err("limit")));
    assert_eq!(paid.experience.tariff().money(1e6), Money::new(0.5));
    // A run is ended by the price of the model that runs it.
    let limit = with_free(&[]);
    let limit = limit
        .policy
        .allow_run(&limit.experience, guess("fix it", 30), Beside::default(), NOW)
        .unwrap()
        .cost
        .unwrap();
    assert_eq!(limit.price, price(0.5, 0.5, 1.0));
}

#[test]
fn every_hold_says_why_in_words_and_in_a_code() {
    let holds = [
        SkipReason::Off,
        SkipReason::Command,
        SkipReason::Destructive,
        SkipReason::BackingOff { row: 23, left: 2 },
        SkipReason::Unfit { answers: 20 },
        SkipReason::Limit { limit: Money::new(1.0).unwrap() },
        SkipReason::NotWorthIt { worth: 0.081, costs: 0.32 },
        SkipReason::Unlikely { chance: 0.08, from: 0.25 },
        SkipReason::Battery,
        SkipReason::Load,
    ];
    let lines: Vec<_> = holds.iter().map(|skip| format!("{}: {skip}", skip.code())).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn an_outcome_that_is_told_twice_is_one_observation() {
    let once = History::new().with_run(30, 1_024, "conflict");
    let twice =
        once.clone().line(&format!(r#"{{"type":"outcome","id":"1","at":{NOW},"outcome":"accepted"}}"#));
    let chance = |history: &History| history.experience.chance(Some(30)).to_bits();
    assert_eq!(chance(&once), chance(&twice));
    // The cost of the run counts as the user's own all the same.
    let cost = |history: &History| (history.experience.session().own, history.experience.session().lost);
    let ((own, lost), (own_after, lost_after)) = (cost(&once), cost(&twice));
    for (found, expected) in [(own, 0.0), (lost, 1_024.0), (own_after, 1_024.0), (lost_after, 0.0)] {
        assert_near(found, expected);
    }
    assert_eq!(
        Outcome::ALL.map(|outcome| serde_json::to_value(outcome).unwrap()),
        Outcome::ALL.map(Outcome::name)
    );
}

#[test]
fn habits_are_kept_as_numbers_and_damaged_ones_are_told() {
    let history =
        History::new().with_turn(1_000).with_run(30, 9_000, "accepted").with_run(70, 9_000, "ignored");
    let habits = history.experience.habits();
    let text = serde_json::to_string(habits).unwrap();
    insta::assert_snapshot!(text);
    assert_eq!(serde_json::from_str::<Habits>(&text).unwrap(), *habits);
    assert!(habits.is_valid());
    for wrong in [r#"{"lost":-1}"#, r#"{"calibration":{"m":{"low":{"cameTrue":-1}}}}"#] {
        assert!(!serde_json::from_str::<Habits>(wrong).unwrap().is_valid(), "{wrong}");
    }
    assert!(serde_json::from_str::<Habits>(r#"{"row":-1}"#).is_err());
    assert!(serde_json::from_str::<Habits>(r#"{"row":7,"drawn":0.5}"#).is_ok_and(|habits| habits.row == 7));
}

/// A model that never gives a guess which can be shown costs its machine for nothing.
#[test]
fn a_model_whose_answers_cannot_be_used_is_asked_no_more() {
    let said = |history: History, more: &str| {
        history.line(&format!(r#"{{"type":"suggestion","id":"x","at":{NOW},"model":"m"{more}}}"#))
    };
    let asks = |history: &History| {
        history.policy.allow_question(&history.experience, NOW).map_err(|skip| skip.code()).err()
    };
    let codes = ["echo", "unreadable", "too_slow", "ai_voice"];
    let unfit = |number: usize| {
        (0..number).fold(History::new(), |history, at| {
            said(history, &format!(r#","suppressed":"{}""#, codes[at % codes.len()]))
        })
    };
    assert_eq!((asks(&unfit(19)), asks(&unfit(20))), (None, Some("unfit")));
    // Whoever wants it all the same says so; one good answer begins anew.
    assert_eq!(asks(&unfit(40).in_mode(Mode::Always)), None);
    assert_eq!(asks(&said(unfit(20), "")), None);
    // No guess and no answer say nothing about the model.
    for code in ["empty", "error", "dropped", "typing", "unlikely"] {
        let history = said(unfit(19), &format!(r#","suppressed":"{code}""#));
        assert_eq!(asks(&history), None, "{code}");
        assert_eq!(asks(&said(history, r#","suppressed":"echo""#)), Some("unfit"), "{code}");
    }
}
