mod acceptance;
mod several;
mod user;

use super::*;
use crate::ledger::{Day, Entry, Outcome, read};
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

fn tariff() -> Tariff {
    Tariff::new("m", Prices::default())
}

fn price(input: f64, cached: f64, output: f64) -> Price {
    let money = |units| Money::new(units).unwrap();
    Price::new(money(input), money(cached), money(output))
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

    /// A suggestion that ran, and what became of it.
    fn with_run(mut self, tokens: u64, outcome: &str, saved_ms: u64) -> Self {
        self.ids += 1;
        let id = self.ids;
        self.line(&format!(
            r#"{{"type":"speculation","id":"{id}","at":{NOW},"model":"m","inputTokens":{tokens},"workMs":1000}}"#
        ))
        .line(&format!(
            r#"{{"type":"outcome","id":"{id}","at":{NOW},"outcome":"{outcome}","savedMs":{saved_ms}}}"#
        ))
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
            self.experience.observe(&self.policy, entry);
        }
        self
    }

    fn repeated(self, times: u32, add: impl Fn(Self) -> Self) -> Self {
        (0..times).fold(self, |history, _| add(history))
    }

    fn remaining_budget(&self) -> RemainingBudget {
        self.policy.remaining_budget(&self.experience, NOW)
    }

    fn asks(&self) -> Result<(), &'static str> {
        self.policy.allow_question(&self.experience, NOW).map_err(|skip| skip.code())
    }

    /// The code of the answer; `run` if it is yes.
    fn runs(&self, text: &str) -> &'static str {
        self.policy.allow_run(&self.experience, text, NOW).map_or_else(|skip| skip.code(), |_| "run")
    }

    fn in_mode(mut self, mode: Mode) -> Self {
        self.policy.mode = mode;
        self
    }

    /// What a run may cost, in tokens.
    fn limit(&self) -> f64 {
        let allowance = self.policy.allow_run(&self.experience, "fix it", NOW).unwrap();
        let cost = allowance.cost.unwrap();
        cost.most.units() * 1e6 / cost.price.input.units()
    }
}

fn mode(mode: Mode) -> Policy {
    Policy { mode, ..Policy::default() }
}

#[track_caller]
fn assert_near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-3 * expected.abs().max(1.0), "{found} is not {expected}");
}

#[test]
fn what_runs_and_what_does_not() {
    let fresh = History::new;
    let ignored = |times| fresh().repeated(times, |history| history.with_run(10, "ignored", 0));
    let dear = || {
        fresh()
            .with_turn(10_000_000)
            .with_question(100_000)
            .repeated(8, |history| history.with_run(10, "accepted", 10))
    };
    let fruitless = || dear().repeated(7, |history| history.with_run(10, "ignored", 0));
    let spent = || fresh().with_question(150_000);
    let (run, tests) = ("run", "run the tests");
    let cases = [
        ("nothing is known", fresh(), tests, ["off", run, run]),
        ("a slash command", fresh(), "/clear", ["off", "command", "command"]),
        ("a slash command after blanks", fresh(), "  /clear", ["off", "command", "command"]),
        ("a destructive command", fresh(), "run rm -rf /", ["off", "destructive", "destructive"]),
        ("a destructive order", fresh(), "delete all files", ["off", "destructive", "destructive"]),
        ("seven were not taken", ignored(7), tests, ["off", run, run]),
        ("eight were not taken", ignored(8), tests, ["off", "row", run]),
        ("one is taken again", ignored(8).with_run(10, "accepted", 9_000), tests, ["off", run, run]),
        ("what is left is used up", spent(), tests, ["off", "allowance", run]),
        ("a question is dearer than what a run saves", fruitless(), tests, ["off", "not_worth_it", run]),
    ];
    for (name, history, text, expected) in cases {
        let answers =
            [Mode::Off, Mode::Auto, Mode::Always].map(|mode| history.clone().in_mode(mode).runs(text));
        assert_eq!(answers, expected, "{name}");
    }
}

#[test]
fn only_what_was_seen_is_a_suggestion_not_taken() {
    for (outcome, row) in [("ignored", 1), ("replaced", 0), ("aborted", 0), ("accepted", 0), ("undone", 0)] {
        assert_eq!(History::new().with_run(10, outcome, 0).experience.habits().row, row, "{outcome}");
    }
    let habits = *History::new().with_run(10, "ignored", 0).with_run(10, "conflict", 0).experience.habits();
    assert_eq!((habits.row, habits.decided), (0, 2), "who wanted it took it");
}

#[test]
fn the_chance_begins_at_35_percent_and_follows_the_last_twenty() {
    let chance = |history: &History| history.experience.chance();
    assert_near(chance(&History::new()), 0.35);
    let ignored = History::new().repeated(200, |history| history.with_run(1, "ignored", 0));
    assert!(chance(&ignored) < 0.05);
    let taken = ignored.repeated(25, |history| history.with_run(1, "accepted", 0));
    assert!(0.65 < chance(&taken), "{}", chance(&taken));
    let always = taken.repeated(300, |history| history.with_run(1, "accepted", 0));
    assert_near(chance(&always), 0.9);
    // Older observations fade with the turns that pass.
    let ignored = History::new().repeated(20, |history| history.with_run(1, "ignored", 0));
    let later = ignored.clone().repeated(100, |history| history.with_skip("backing_off"));
    assert!(chance(&ignored) < 0.1 && 0.15 < chance(&later), "{}", chance(&later));
}

#[test]
fn a_session_may_lose_its_start_and_a_share_of_its_own_turns() {
    let cases = [
        (History::new(), 150_000.0),
        (History::new().with_question(1_000), 149_000.0),
        (History::new().with_turn(100_000).with_question(1_000), 164_000.0),
        (History::new().with_run(50_000, "ignored", 0), 100_000.0),
        // The cost of work that is taken counts as the user's own.
        (History::new().with_run(50_000, "accepted", 9_000), 157_500.0),
        (History::new().with_run(500_000, "ignored", 0), 0.0),
    ];
    for (history, left) in cases {
        assert_near(history.remaining_budget().left, left);
    }
    let mut granted = History::new().with_run(200_000, "ignored", 0);
    assert_eq!(granted.asks(), Ok(()), "no question has cost anything yet");
    granted = granted.with_question(5_000);
    assert_eq!(granted.asks(), Err("allowance"));
    granted.experience.grant();
    assert_near(granted.remaining_budget().left, 95_000.0);
    assert_eq!(granted.asks(), Ok(()));
}

#[test]
fn a_run_explores_first_and_costs_what_it_is_worth_then() {
    let begun = History::new().with_question(1_000);
    assert_near(begun.limit(), 149_000.0 / 2.0);
    // If little is left, a run gets the price of five questions, or all that is left except the question that follows.
    assert_near(begun.clone().with_run(141_000, "replaced", 0).limit(), 5_000.0);
    assert_near(begun.clone().with_run(146_000, "replaced", 0).limit(), 2_000.0);
    assert_eq!(begun.clone().with_run(147_000, "replaced", 0).runs("fix it"), "allowance");
    assert_eq!(begun.clone().with_run(148_500, "replaced", 0).asks(), Err("allowance"));

    let decided = begun
        .repeated(4, |history| history.with_run(10, "accepted", 20_000))
        .repeated(4, |history| history.with_run(10, "ignored", 0));
    let habits = decided.experience.habits();
    assert!(decided.limit() < 80_000.0);
    let worth = habits.chance() * habits.saves_seconds() * 3_750.0 / (1.0 - habits.chance());
    assert_near(decided.limit(), worth);
    let dial = |second_is_worth| {
        let policy = Policy { second_is_worth, ..decided.policy };
        History { policy, ..decided.clone() }
    };
    assert_eq!(dial(10.0).runs("fix it"), "not_worth_it");
    assert_near(dial(375.0).limit(), worth / 10.0);
}

#[test]
fn questions_get_rare_where_nothing_is_taken_and_the_start_gets_smaller() {
    let ignored = |times| {
        History::new().with_question(100).repeated(times, |history| history.with_run(1, "ignored", 0))
    };
    // The number in a row, the turns that pass before the next question, and the part of the start that is left.
    for (row, pause, part) in
        [(11, 0, 1.0), (12, 1, 0.5), (13, 2, 0.5), (15, 8, 0.5), (16, 16, 0.25), (40, 16, 1.0 / 16.0)]
    {
        let waiting = |turns| ignored(row).repeated(turns, |history| history.with_skip("backing_off"));
        if let Some(before) = u32::checked_sub(pause, 1) {
            assert_eq!(waiting(before).asks(), Err("backing_off"), "{row}");
        }
        assert_eq!(waiting(pause).asks(), Ok(()), "{row}");
        assert_near(ignored(row).remaining_budget().left, part * 150_000.0 - 100.0 - f64::from(row));
    }
    assert_eq!(ignored(40).with_run(1, "accepted", 1_000).asks(), Ok(()));
    assert_eq!(ignored(40).with_run(1, "aborted", 0).asks(), Err("backing_off"));
    assert_eq!(ignored(60).in_mode(Mode::Always).asks(), Ok(()));
}

#[test]
fn the_sessions_of_a_day_share_three_starts_and_the_next_day_has_three_more() {
    let mut habits = Habits::default();
    let session = |habits, at: u64| {
        let line = format!(
            r#"{{"type":"suggestion","id":"","at":{at},"model":"m","suppressed":"empty","inputTokens":120000}}"#
        );
        let mut history = History::new();
        history.experience.set_habits(habits);
        let left = history.policy.remaining_budget(&history.experience, at);
        (left, *history.line(&line).experience.habits())
    };
    for (left, limited) in [(150_000.0, false), (150_000.0, false), (150_000.0, false), (90_000.0, true)] {
        let room;
        (room, habits) = session(habits, NOW);
        assert_near(room.left, left);
        assert_eq!(room.day_limits, limited);
    }
    assert_near(habits.starts_used_on(Day::of(NOW)), 3.2);
    let (room, _) = session(habits, NOW);
    assert_eq!((room.left, room.day_starts_left, room.day_limits), (0.0, 0.0, true));
    let (room, after) = session(habits, NOW + DAY);
    assert_eq!((room.left, room.day_limits), (150_000.0, false));
    assert_near(after.starts_used_on(Day::of(NOW + DAY)), 0.8);
    // If the clock was set back, no new day begins and none ends.
    assert_near(after.starts_used_on(Day::of(NOW)), 0.8);

    // What a session loses within its share is not drawn from a start.
    let rich = History::new().with_turn(1_000_000).with_question(100_000);
    assert_near(rich.experience.habits().starts_used_on(Day::of(NOW)), 0.0);
    // What was drawn for a run is given back if the run is then taken.
    let taken = History::new().with_run(75_000, "accepted", 1_000);
    assert_near(taken.experience.habits().starts_used_on(Day::of(NOW)), 0.0);
}

#[test]
fn the_start_is_tokens_or_money_whichever_is_less() {
    let start = |input: f64| {
        let prices = Prices::from_iter([("m".to_owned(), price(input, input / 10.0, input * 5.0))]);
        History::with(Tariff::new("m", prices), Policy::default()).remaining_budget().start
    };
    for (input, expected) in [(3.0, 150_000.0), (5.0, 150_000.0), (10.0, 75_000.0), (30.0, 25_000.0)] {
        assert_near(start(input), expected);
    }
    let none = Policy { start_money: Money::ZERO, ..Policy::default() };
    assert_near(History::with(tariff(), none).remaining_budget().start, 150_000.0);
    let none = Policy { start_tokens: 0.0, ..Policy::default() };
    let none = History::with(tariff(), none).with_turn(10_000).with_question(2_000);
    assert_eq!((none.remaining_budget().start, none.asks()), (0.0, Err("allowance")));
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
    let free = |names: &[&str]| {
        let tariff = Tariff::new("m", prices()).with_background("f");
        let tariff = tariff.with_free(names.iter().map(|name| (*name).to_owned()));
        History::with(tariff, Policy::default())
    };
    assert_near(free(&[]).line(&work("f")).experience.session().lost, 250_000.0);
    assert_near(free(&["f"]).line(&work("f")).experience.session().lost, 0.0);
    assert_eq!(free(&["f"]).line(&work("f")).asks(), Ok(()));
    // The conversation costs nothing, but its background work does: so that is the measure, and there is no share.
    let paid = free(&["m"]).with_turn(9_000_000).line(&work("f"));
    assert_near(paid.experience.session().lost, 1_000_000.0);
    assert_eq!((paid.remaining_budget().left, paid.asks()), (0.0, Err("allowance")));
    assert_eq!(paid.experience.tariff().money(1e6), Money::new(0.5));
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
    let mut experience = History::new().experience;
    experience.observe(&policy, &entry);
    let allowance = policy.allow_run(&experience, "fix it", NOW).unwrap();
    assert_eq!((allowance.tokens, allowance.time), (100, Duration::from_secs(1)));
    for (cap, measure) in tight {
        for (scope, policy) in [
            (Scope::Turn, Policy { turn: cap, ..policy }),
            (Scope::Session, Policy { session: cap, ..policy }),
            (Scope::Day, Policy { day: cap, ..policy }),
        ] {
            let reached = SkipReason::Cap { scope, measure };
            assert_eq!(policy.allow_run(&experience, "fix it", NOW), Err(reached));
            assert_eq!(policy.allow_question(&experience, NOW), Err(reached));
            // The caps begin anew with the next turn, the next session and the next day.
            let mut later = experience.clone();
            later.observe(&policy, &Entry::Turn(crate::ledger::WorkCost { at: NOW, ..Default::default() }));
            assert_eq!(policy.allow_question(&later, NOW).is_ok(), scope == Scope::Turn);
            let next = Experience::of(tariff(), Habits::default(), std::slice::from_ref(&entry));
            assert_eq!(policy.allow_question(&next, NOW).is_ok(), scope != Scope::Day);
            assert_eq!(policy.allow_question(&experience, NOW + DAY).is_ok(), scope == Scope::Day);
        }
    }
}

#[test]
fn money_and_what_is_left_limit_a_run_by_the_price_of_the_model_that_runs_it() {
    let prices =
        Prices::from_iter([("m".to_owned(), price(2.0, 0.2, 8.0)), ("f".to_owned(), price(0.5, 0.5, 1.0))]);
    let tariff = Tariff::new("m", prices).with_background("f");
    let history = History::with(tariff, Policy::default()).with_turn(100_000);
    let cost = |history: &History| {
        history.policy.allow_run(&history.experience, "fix it", NOW).unwrap().cost.unwrap()
    };
    // Half of 150,000 tokens and 15 % of the turn.
    assert_eq!(cost(&history), CostLimit { price: price(0.5, 0.5, 1.0), most: Money::new(0.165).unwrap() });
    let turn = Cap { money: Money::new(0.125), ..history.policy.turn };
    let capped = History { policy: Policy { turn, ..history.policy }, ..history };
    assert_eq!(cost(&capped).most, Money::new(0.125).unwrap());
}

#[test]
fn every_hold_says_why_in_words_and_in_a_code() {
    let holds = [
        SkipReason::Off,
        SkipReason::Command,
        SkipReason::Destructive,
        SkipReason::BackingOff { row: 13, left: 2 },
        SkipReason::Row { row: 8 },
        SkipReason::Allowance { left: 10.0, costs: 800.0, day_limits: false },
        SkipReason::Allowance { left: 10.0, costs: 800.0, day_limits: true },
        SkipReason::NotWorthIt { worth: 900.0, costs: 1_200.4 },
        SkipReason::Unlikely { chance: 0.08, from: 0.6 },
        SkipReason::Enough { most: 1 },
        SkipReason::Cap { scope: Scope::Day, measure: Measure::Money },
        SkipReason::Battery,
        SkipReason::Load,
    ];
    let lines: Vec<_> = holds.iter().map(|skip| format!("{}: {skip}", skip.code())).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn an_outcome_that_is_told_twice_is_one_observation() {
    let once = History::new().with_run(1_000, "conflict", 0);
    let twice = once
        .clone()
        .line(&format!(r#"{{"type":"outcome","id":"1","at":{NOW},"outcome":"accepted","savedMs":5}}"#));
    assert_eq!(once.experience.chance().to_bits(), twice.experience.chance().to_bits());
    // The cost of the run counts as the user's own all the same.
    let cost = |history: &History| (history.experience.session().own, history.experience.session().lost);
    assert_eq!((cost(&once), cost(&twice)), ((0.0, 1_000.0), (1_000.0, 0.0)));
    assert_eq!(
        Outcome::ALL.map(|outcome| serde_json::to_value(outcome).unwrap()),
        Outcome::ALL.map(Outcome::name)
    );
}

#[test]
fn a_step_on_top_of_others_waits_until_most_suggestions_are_taken() {
    let taken = || History::new().repeated(20, |history| history.with_run(10, "accepted", 15_000));
    let cases = [(History::new(), 1, "unlikely"), (taken(), 1, "run"), (taken(), 2, "run")];
    for (history, below, expected) in cases {
        let run = |mode| {
            let history = history.clone().in_mode(mode);
            let answer = history.policy.allow_step(&history.experience, below, "run the tests", NOW);
            answer.map_or_else(|skip| skip.code(), |_| "run")
        };
        assert_eq!([Mode::Off, Mode::Auto, Mode::Always].map(run), ["off", expected, "run"], "{below}");
    }
    let free = Tariff::new("m", Prices::default()).with_free(["m".to_owned()]);
    let free = History::with(free, Policy::default());
    assert!(free.policy.allow_step(&free.experience, 1, "run the tests", NOW).is_ok());
}

#[test]
fn habits_are_kept_as_numbers_and_damaged_ones_are_told() {
    let habits = *History::new()
        .with_turn(1_000)
        .with_run(9_000, "accepted", 7_000)
        .with_run(9_000, "ignored", 0)
        .experience
        .habits();
    let text = serde_json::to_string(&habits).unwrap();
    insta::assert_snapshot!(text);
    assert_eq!(serde_json::from_str::<Habits>(&text).unwrap(), habits);
    assert!(habits.is_valid());
    for wrong in [r#"{"drawn":-1}"#, r#"{"taken":{"yes":-1}}"#, r#"{"savedMs":{"weight":-0.5}}"#] {
        assert!(!serde_json::from_str::<Habits>(wrong).unwrap().is_valid(), "{wrong}");
    }
    assert!(serde_json::from_str::<Habits>(r#"{"row":-1}"#).is_err());
    assert!(serde_json::from_str::<Habits>(r#"{"rows":1}"#).is_err());
}
