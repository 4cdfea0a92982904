//! Users who take every second suggestion, or none, or change their mind; short turns and long ones; with a price table and
//! without, with a fast model and without: what background work costs them for nothing, and whether it is of use.

use headstart_forked_query::Usage;

use super::super::*;
use crate::Cost;
use crate::ledger::{Decision, Entry, Money, Outcome, Price, Prices, Source, Speculated, Suggested, Work};

/// A small generator of numbers that look random: the same ones in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        f64::from(u32::try_from(self.0 >> 33).unwrap()) / f64::from(1_u32 << 31)
    }

    fn between(&mut self, least: u64, most: u64) -> u64 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "small"
        )]
        let step = (self.next() * (most - least) as f64) as u64;
        least + step
    }
}

#[derive(Debug, Clone, Copy)]
struct User {
    /// The chance that they take a suggestion, at the beginning and from the middle on.
    takes: (f64, f64),
    /// Requests of one turn.
    requests: (u64, u64),
    /// Whether a model of its own does the background work, which shares no cache.
    fast_model: bool,
    priced: bool,
    turns: u64,
}

/// What came of it: costs in units of the price table, as the provider charges.
#[derive(Debug, Default)]
struct Bill {
    own: f64,
    extra: f64,
    suggested: u64,
    ran: u64,
    saved_seconds: f64,
    waited_seconds: f64,
}

impl Bill {
    fn share(&self) -> f64 {
        self.extra / self.own
    }
}

fn prices() -> Prices {
    let price = |input, cached, output| {
        let money = |units| Money::new(units).unwrap();
        Price::new(money(input), money(cached), money(output))
    };
    Prices::from_iter([
        ("main".to_owned(), price(1.0, 0.1, 4.0)),
        ("fast".to_owned(), price(0.25, 0.025, 1.0)),
    ])
}

/// Request number `index` of a turn over a conversation of `prefix` tokens.
fn request(prefix: u64, index: u64, cached: bool) -> Usage {
    let input_tokens = prefix + 600 + index * 1_200;
    // What the request before it had sent is in the cache.
    let cached_input_tokens = if index == 0 && !cached { 0 } else { input_tokens - 1_200.min(input_tokens) };
    Usage { input_tokens, cached_input_tokens, output_tokens: 250, ..Usage::default() }
}

/// A user at work, their ledger, and the provider's own book.
struct World {
    user: User,
    policy: Policy,
    random: Random,
    background: &'static str,
    /// What the ledger knows of prices.
    table: Prices,
    experience: Experience,
    bill: Bill,
    prefix: u64,
    now: u64,
    /// What waits to be taken, and what it cost.
    ready: Option<(String, f64)>,
}

impl World {
    fn new(user: User, policy: Policy, seed: u64) -> Self {
        let background = if user.fast_model { "fast" } else { "main" };
        let table = if user.priced { prices() } else { Prices::default() };
        let tariff = Tariff::new("main", table.clone()).with_background(background);
        Self {
            user,
            policy,
            random: Random(seed),
            background,
            table,
            experience: Experience::of(tariff, &[]),
            bill: Bill::default(),
            prefix: 9_000,
            now: 1_700_000_000_000,
            ready: None,
        }
    }

    /// The user takes what ran ahead, or has their own turn.
    fn turn(&mut self) {
        self.now += 240_000;
        let requests = self.random.between(self.user.requests.0, self.user.requests.1);
        let seconds = 4.0 * f64::from(u32::try_from(requests).unwrap());
        self.bill.waited_seconds += seconds;
        if let Some((id, cost)) = self.ready.take() {
            self.bill.extra -= cost;
            self.bill.own += cost;
            self.bill.saved_seconds += seconds;
            self.decide(id, Outcome::Accepted, millis(seconds));
        } else {
            let mut tokens = Usage::default();
            (0..requests).for_each(|index| tokens += request(self.prefix, index, true));
            self.bill.own += charge("main", tokens);
            let work = self.work("main", tokens, millis(seconds));
            self.experience.observe(&Entry::Turn(work));
        }
        self.prefix = if 60_000 < self.prefix { 9_000 } else { self.prefix + 1_200 * requests };
    }

    /// A suggestion after a turn, which the user takes with this chance.
    fn suggest(&mut self, id: String, chance: f64) {
        if let Err(hold) = self.policy.ask(&self.experience, self.now) {
            return self.suggested(&id, Usage::default(), Some(hold));
        }
        let query = Usage { output_tokens: 20, ..request(self.prefix, 0, !self.user.fast_model) };
        self.bill.extra += charge(self.background, query);
        self.bill.suggested += 1;
        let hidden = self.policy.show(&self.experience, "run the tests").err();
        self.suggested(&id, query, hidden);
        if hidden.is_some() {
            return;
        }
        let wanted = self.random.next() < chance;
        let allowance = self.policy.run(&self.experience, "run the tests", self.now);
        if let Ok(allowance) = allowance {
            let paid = self.run(&id, allowance, wanted);
            if wanted {
                self.ready = Some((id, paid));
                return;
            }
        }
        let outcome = if wanted { Outcome::Accepted } else { Outcome::Ignored };
        self.decide(id, outcome, 0);
    }

    /// Runs it; gives what the provider charges.
    fn run(&mut self, id: &str, allowance: Allowance, wanted: bool) -> f64 {
        self.bill.ran += 1;
        let limits = allowance.under(Limits::default());
        let (mut tokens, mut paid, mut unmeasured) = (Usage::default(), 0.0, 0);
        let planned = self.random.between(self.user.requests.0, self.user.requests.1);
        for index in 0..planned {
            let one = request(self.prefix, index, !self.user.fast_model);
            paid += charge(self.background, one);
            // Who ignores it often does so while it runs: the provider charges for what nobody reads.
            if !wanted && index == planned / 2 && self.random.next() < 0.5 {
                unmeasured = 1;
                break;
            }
            tokens += one;
            if limits.spent(&Cost { tokens, ..Cost::default() }).is_some() {
                break;
            }
        }
        self.bill.extra += paid;
        let line = serde_json::json!({"id": id, "kind": "verify", "sharesCache": !self.user.fast_model});
        let line: Speculated = serde_json::from_value(line).unwrap();
        let work = Work { unmeasured, ..self.work(self.background, tokens, 9_000) };
        self.experience.observe(&Entry::Speculation(Speculated { work, ..line }));
        paid
    }

    fn suggested(&mut self, id: &str, tokens: Usage, hold: Option<Hold>) {
        let entry = Suggested {
            id: id.to_owned(),
            source: Source::Chat,
            kind: Kind::of("run the tests"),
            beside: None,
            suppressed: hold.map(|hold| hold.code().to_owned()),
            shares_cache: !self.user.fast_model,
            work: self.work(self.background, tokens, 900),
            prompt: None,
        };
        self.experience.observe(&Entry::Suggestion(entry));
    }

    fn decide(&mut self, id: String, outcome: Outcome, saved_ms: u64) {
        self.experience.observe(&Entry::Outcome(Decision {
            id,
            at: self.now,
            outcome,
            saved_ms,
            changes: None,
        }));
    }

    fn work(&self, model: &str, tokens: Usage, work_ms: u64) -> Work {
        let money = self.table.of(model, tokens);
        Work { at: self.now, model: model.to_owned(), tokens, money, unmeasured: 0, work_ms }
    }
}

fn live(user: User, policy: Policy, seed: u64) -> Bill {
    let mut world = World::new(user, policy, seed);
    for turn in 0..user.turns {
        let chance = if turn < user.turns / 2 { user.takes.0 } else { user.takes.1 };
        world.turn();
        world.suggest(turn.to_string(), chance);
    }
    world.bill
}

fn charge(model: &str, tokens: Usage) -> f64 {
    prices().of(model, tokens).unwrap().units()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds of a turn")]
fn millis(seconds: f64) -> u64 {
    (seconds * 1_000.0) as u64
}

fn users() -> Vec<User> {
    let mut users = Vec::new();
    for takes in [(0.0, 0.0), (0.2, 0.2), (0.5, 0.5), (0.9, 0.9), (0.9, 0.0), (0.0, 0.9)] {
        for requests in [(1, 2), (2, 8), (8, 30)] {
            for (fast_model, priced) in [(false, false), (false, true), (true, true), (true, false)] {
                users.push(User { takes, requests, fast_model, priced, turns: 120 });
            }
        }
    }
    users
}

#[test]
fn by_default_background_work_costs_less_than_a_tenth_of_the_users_own_turns() {
    for user in users() {
        for seed in 1..=4 {
            let bill = live(user, Policy::default(), seed);
            assert!(bill.share() < 0.1, "{user:?} {seed}: {:.3} {bill:?}", bill.share());
        }
    }
}

#[test]
fn without_the_policy_it_would_cost_far_more() {
    let endless = Cap { tokens: u64::MAX, money: None, time: Duration::MAX };
    let always =
        Policy { mode: Mode::Always, turn: endless, session: endless, day: endless, ..Policy::default() };
    let user = User { takes: (0.2, 0.2), requests: (2, 8), fast_model: false, priced: true, turns: 150 };
    let bill = live(user, always, 1);
    assert!(0.4 < bill.share(), "{:.3}", bill.share());
}

#[test]
fn who_takes_most_suggestions_waits_less_and_who_takes_none_pays_little() {
    let user = User { takes: (0.9, 0.9), requests: (2, 8), fast_model: false, priced: true, turns: 150 };
    let taken = live(user, Policy::default(), 1);
    assert!(0.2 < taken.saved_seconds / taken.waited_seconds, "{taken:?}");
    let ignored = live(User { takes: (0.0, 0.0), ..user }, Policy::default(), 1);
    assert!(ignored.ran < 15 && ignored.suggested < 40, "{ignored:?}");
    assert_eq!(live(user, Policy { mode: Mode::Off, ..Policy::default() }, 1).suggested, 0);
}

#[test]
fn a_user_who_changes_their_mind_is_noticed() {
    let user = User { takes: (0.0, 0.9), requests: (8, 30), fast_model: false, priced: true, turns: 300 };
    let late = live(user, Policy::default(), 1);
    assert!(20 < late.ran, "{late:?}");
}
