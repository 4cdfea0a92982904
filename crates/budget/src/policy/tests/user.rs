//! A numeric model of a user at work: turns, questions and runs that cost what a provider charges, reported to the
//! policy as the chat reports them.

use headstart_forked_query::Usage;

use super::*;
use crate::ledger::{OutcomeEntry, Source, SpeculationEntry, SuggestionEntry, WorkCost};
use headstart_speculation::Cost;

/// A small generator of numbers that look random, and are the same in every run.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        f64::from(u32::try_from(self.0 >> 33).unwrap()) / f64::from(1_u32 << 31)
    }

    pub(super) fn between(&mut self, least: u64, most: u64) -> u64 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "small"
        )]
        let step = (self.next() * (most + 1 - least) as f64) as u64;
        least + step
    }
}

/// The size of one kind of work.
#[derive(Debug, Clone, Copy)]
pub(super) struct Workday {
    /// Tokens that the first request of a session reads.
    pub(super) prefix: u64,
    /// The least and the most requests of one turn.
    pub(super) requests: (u64, u64),
    /// Milliseconds of a turn.
    pub(super) turn_ms: u64,
}

pub(super) const SHORT: Workday = Workday { prefix: 6_000, requests: (1, 4), turn_ms: 3 };
pub(super) const MIXED: Workday = Workday { prefix: 20_000, requests: (1, 12), turn_ms: 20_000 };
pub(super) const AGENT: Workday = Workday { prefix: 20_000, requests: (10, 40), turn_ms: 300_000 };

/// The totals, in input tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Totals {
    pub(super) own: f64,
    pub(super) lost: f64,
    /// Questions after a turn, and those after a run that was not taken.
    pub(super) asked: u32,
    pub(super) ran: u32,
    /// What the most expensive request cost.
    pub(super) dearest: f64,
}

/// A user at work, in one session after another.
pub(super) struct SimulatedUser {
    pub(super) work: Workday,
    pub(super) policy: Policy,
    pub(super) experience: Experience,
    pub(super) random: Random,
    pub(super) now: u64,
    /// The totals of this session.
    pub(super) sums: Totals,
    tariff: Tariff,
    entries: Vec<Entry>,
    prefix: u64,
    id: u64,
    /// Work that the user is about to take, and what it cost.
    ready: Option<(String, f64)>,
}

/// What happened after a turn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TurnResult {
    pub(super) asked: Result<(), SkipReason>,
    pub(super) ran: Option<Result<Allowance, SkipReason>>,
}

impl SimulatedUser {
    pub(super) fn new(work: Workday, tariff: Tariff, policy: Policy, seed: u64) -> Self {
        let experience = Experience::of(tariff.clone(), Habits::default(), &[]);
        Self {
            work,
            policy,
            experience,
            random: Random(seed),
            now: NOW,
            sums: Totals::default(),
            tariff,
            entries: Vec::new(),
            prefix: work.prefix,
            id: 0,
            ready: None,
        }
    }

    /// Begins another session. In another project it does not know what things cost in the former one.
    pub(super) fn begin_session(&mut self, other_project: bool) {
        if other_project {
            self.entries.clear();
        }
        let habits = self.experience.habits().clone();
        self.experience = Experience::of(self.tariff.clone(), habits, &self.entries);
        (self.sums, self.prefix, self.ready) = (Totals::default(), self.work.prefix, None);
    }

    /// Runs this many turns.
    pub(super) fn turns(&mut self, number: u32, chance: f64) {
        for _ in 0..number {
            self.turn(chance);
        }
    }

    /// Runs a turn, and what follows it; the user takes a suggestion with this chance.
    pub(super) fn turn(&mut self, chance: f64) -> TurnResult {
        self.now += 60_000;
        let requests = self.random.between(self.work.requests.0, self.work.requests.1);
        if let Some((id, cost)) = self.ready.take() {
            self.sums.lost -= cost;
            self.sums.own += cost;
            self.decide(&id, Outcome::Accepted, self.work.turn_ms);
        } else {
            let tokens = self.spend(0..requests);
            self.sums.own += self.weigh(tokens);
            let work = self.work(tokens, self.work.turn_ms);
            self.note(Entry::Turn(work));
        }
        // A conversation is compacted at some point.
        self.prefix = (self.prefix + 900 * requests).min(100_000);
        self.suggest(chance)
    }

    fn suggest(&mut self, chance: f64) -> TurnResult {
        self.id += 1;
        let id = self.id.to_string();
        let asked = self.policy.allow_question(&self.experience, self.now);
        if let Err(skip) = asked {
            self.suggested(&id, Usage::default(), Some(skip.code()));
            return TurnResult { asked, ran: None };
        }
        self.ask(&id, None);
        let taken = self.random.next() < chance;
        let ran =
            self.policy.allow_run(&self.experience, guess("run the tests", 60), Beside::default(), self.now);
        if let Ok(allowance) = ran {
            let (cost, is_whole) = self.run(&id, allowance);
            if taken {
                self.ready = Some((id, cost));
                return TurnResult { asked, ran: Some(ran) };
            }
            if is_whole {
                // The question for what comes after the run is lost too; if the run is taken, it is the next suggestion
                // instead.
                self.ask("", Some("dropped"));
            }
        }
        self.decide(&id, if taken { Outcome::Accepted } else { Outcome::Ignored }, 0);
        TurnResult { asked, ran: Some(ran) }
    }

    /// A question for a suggestion.
    fn ask(&mut self, id: &str, suppressed: Option<&str>) {
        let request = self.request(0);
        let cached_input_tokens = request.input_tokens - 280;
        let tokens = Usage { cached_input_tokens, output_tokens: 12, ..request };
        let cost = self.weigh(tokens);
        self.sums.lost += cost;
        self.sums.dearest = self.sums.dearest.max(cost);
        self.sums.asked += 1;
        self.suggested(id, tokens, suppressed);
    }

    /// Runs a suggestion; returns what that costs, and whether it was completed.
    fn run(&mut self, id: &str, allowance: Allowance) -> (f64, bool) {
        self.sums.ran += 1;
        let limits = allowance.under(Limits::default());
        let planned = self.random.between(self.work.requests.0, self.work.requests.1);
        let mut tokens = Usage::default();
        let mut whole = true;
        for index in 0..planned {
            tokens += self.spend(index..index + 1);
            if limits.spent(&Cost { tokens, ..Cost::default() }).is_some() {
                whole = false;
                break;
            }
        }
        let cost = self.weigh(tokens);
        self.sums.lost += cost;
        let line: SpeculationEntry = serde_json::from_value(serde_json::json!({ "id": id })).unwrap();
        let work = self.work(tokens, self.work.turn_ms);
        self.note(Entry::Speculation(SpeculationEntry { work, ..line }));
        (cost, whole)
    }

    /// The tokens that these requests of a turn read and write.
    fn spend(&mut self, requests: std::ops::Range<u64>) -> Usage {
        let mut sum = Usage::default();
        for index in requests {
            let request = self.request(index);
            self.sums.dearest = self.sums.dearest.max(self.weigh(request));
            sum += request;
        }
        sum
    }

    /// The cache has everything that the request before this one sent.
    fn request(&self, index: u64) -> Usage {
        let input_tokens = self.prefix + 600 + index * 900;
        Usage {
            input_tokens,
            cached_input_tokens: input_tokens - 600,
            output_tokens: 250,
            ..Usage::default()
        }
    }

    fn suggested(&mut self, id: &str, tokens: Usage, suppressed: Option<&str>) {
        let line: SuggestionEntry = serde_json::from_value(serde_json::json!({ "id": id })).unwrap();
        assert_eq!(line.source, Source::Chat);
        let work = self.work(tokens, 900);
        let suppressed = suppressed.map(str::to_owned);
        self.note(Entry::Suggestion(SuggestionEntry { suppressed, work, chance: Some(60), ..line }));
    }

    fn decide(&mut self, id: &str, outcome: Outcome, saved_ms: u64) {
        let (id, at) = (id.to_owned(), self.now);
        self.note(Entry::Outcome(OutcomeEntry {
            id,
            at,
            outcome,
            saved_ms,
            skip_code: None,
            taken_by: None,
            changes: None,
        }));
    }

    fn note(&mut self, entry: Entry) {
        self.experience.observe(&entry);
        self.entries.push(entry);
    }

    fn work(&self, tokens: Usage, work_ms: u64) -> WorkCost {
        WorkCost { at: self.now, model: "m".to_owned(), tokens, money: None, unmeasured: 0, work_ms }
    }

    fn weigh(&self, tokens: Usage) -> f64 {
        self.tariff.weigh("m", tokens)
    }
}
