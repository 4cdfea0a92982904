use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use super::caps::Spent;
use super::estimate::{Mean, Seen};
use super::{Beta, Hold, Scope, Tariff};
use crate::ledger::{Day, Decision, Entry, Kind, Outcome, Source, Speculated, Suggested, Work};

/// Before anything is known: a third of the suggestions are taken, believed as firmly as two observations.
const PRIOR: (f64, f64) = (0.35, 2.0);
/// A kind is believed to be as the whole project, as firmly as three observations.
const KIND_WEIGHT: f64 = 3.0;
/// The user's own turns of so many days are what background work is measured by.
const WINDOW_DAYS: u64 = 7;
/// So many suggestions ignored in a row are the user's right; after that fewer are made.
const IGNORED_FREELY: u32 = 3;
/// At most so many turns pass without a suggestion.
const LONGEST_PAUSE: u32 = 16;
/// A run needs room for at least this part of what one usually costs.
const LEAST_PART: f64 = 0.25;
/// A query reads the conversation from the cache and writes a line. Before one is measured, this part of a turn.
const QUERY_PART: f64 = 0.15;
/// Before it is known what a run saves: this part of the time that a turn takes, for the user reads less long.
const SAVED_PART: f64 = 0.7;

/// What a project's ledger tells about doing things ahead in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Experience {
    tariff: Tariff,
    project: Seen,
    kinds: BTreeMap<Kind, Seen>,
    ignored: u32,
    passed: u32,
    own_cost: Mean,
    own_ms: Mean,
    query_cost: Mean,
    query_tokens: Mean,
    run_cost: Mean,
    saved_ms: Mean,
    days: BTreeMap<Day, OfDay>,
    turn: Spent,
    session: Spent,
    /// What is known of suggestions by their id, until a later line takes their place.
    open: HashMap<String, Open>,
}

/// What one day cost, in input tokens of the conversation's model.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct OfDay {
    own: f64,
    extra: f64,
    spent: Spent,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Open {
    kind: Kind,
    /// What it cost to run it, and when.
    ran: Option<(f64, Day)>,
    decided: Option<Outcome>,
}

impl Experience {
    /// What the entries of a ledger tell; a session begins.
    pub fn of(tariff: Tariff, entries: &[Entry]) -> Self {
        let mut experience = Self {
            tariff,
            project: Seen::default(),
            kinds: BTreeMap::new(),
            ignored: 0,
            passed: 0,
            own_cost: Mean::default(),
            own_ms: Mean::default(),
            query_cost: Mean::default(),
            query_tokens: Mean::default(),
            run_cost: Mean::default(),
            saved_ms: Mean::default(),
            days: BTreeMap::new(),
            turn: Spent::default(),
            session: Spent::default(),
            open: HashMap::new(),
        };
        for entry in entries {
            experience.observe(entry);
        }
        experience.turn = Spent::default();
        experience.session = Spent::default();
        experience
    }

    /// Takes in one more entry.
    pub fn observe(&mut self, entry: &Entry) {
        match entry {
            Entry::Turn(work) => self.observe_turn(work),
            Entry::Suggestion(suggested) => self.observe_suggestion(suggested),
            Entry::Speculation(speculated) => self.observe_run(speculated),
            Entry::Outcome(decision) => self.observe_outcome(decision),
        }
    }

    /// What is known of the chance that the user takes a suggestion of this kind.
    pub fn chance(&self, kind: Kind) -> Beta {
        let project = self.project.after(PRIOR.0, PRIOR.1);
        let seen = self.kinds.get(&kind).copied().unwrap_or_default();
        seen.after(project.mean(), KIND_WEIGHT)
    }

    /// What background work cost in a span of time.
    pub fn spent(&self, scope: Scope, now_ms: u64) -> Spent {
        match scope {
            Scope::Turn => self.turn,
            Scope::Session => self.session,
            Scope::Day => self.days.get(&Day::of(now_ms)).map(|day| day.spent).unwrap_or_default(),
        }
    }

    /// What the user's own turns of the last seven days cost, and what background work cost for nothing: in input tokens of
    /// the conversation's model. A run that was taken is a turn of the user.
    pub fn lately(&self, now_ms: u64) -> (f64, f64) {
        let today = Day::of(now_ms);
        let days = self.days.range(today.back(WINDOW_DAYS - 1)..=today);
        days.fold((0.0, 0.0), |(own, extra), (_, day)| (own + day.own, extra + day.extra))
    }

    /// How many suggestions in a row were ignored, and how many turns are to pass before the next; `None` for none.
    pub fn backing_off(&self) -> Option<(u32, u32)> {
        let over = self.ignored.checked_sub(IGNORED_FREELY)?;
        let pause = 1_u32.checked_shl(over).unwrap_or(LONGEST_PAUSE).min(LONGEST_PAUSE);
        let left = pause.saturating_sub(self.passed);
        (left != 0).then_some((self.ignored, left))
    }

    /// How costs are compared.
    pub fn tariff(&self) -> &Tariff {
        &self.tariff
    }

    pub(super) fn saves_seconds(&self) -> f64 {
        let turn_ms = self.own_ms.known().unwrap_or(10_000.0);
        self.saved_ms.after(turn_ms * SAVED_PART, 2.0) / 1_000.0
    }

    /// What running a prompt costs, in input tokens: what a turn costs, before one ran.
    pub(super) fn run_cost(&self) -> f64 {
        self.run_cost.after(self.own_cost.known().unwrap_or_default(), 1.0)
    }

    /// What there must be room for before one is begun. A run that is cut short saves less, yet what it did is not lost; but
    /// it must come further than one request.
    pub(super) fn least_run(&self) -> f64 {
        (LEAST_PART * self.run_cost()).max(2.0 * self.query_cost())
    }

    pub(super) fn query_cost(&self) -> f64 {
        let prior = QUERY_PART * self.own_cost.known().unwrap_or_default();
        self.query_cost.known().unwrap_or(prior)
    }

    /// What one more request may spend.
    pub(super) fn query_spends(&self) -> Spent {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a mean of counts")]
        let tokens = self.query_tokens.known().unwrap_or_default() as u64;
        Spent { tokens, ..Spent::default() }
    }

    fn observe_turn(&mut self, work: &Work) {
        let cost = self.cost(work);
        self.own_cost.observe(cost);
        // A turn that the user interrupted says nothing about how long turns take.
        if work.unmeasured == 0 {
            self.own_ms.observe(float(work.work_ms));
        }
        self.days.entry(Day::of(work.at)).or_default().own += cost;
        self.turn = Spent::default();
    }

    fn observe_suggestion(&mut self, suggested: &Suggested) {
        let held = suggested.suppressed.as_deref().is_some_and(Hold::is_lesson);
        if held {
            self.passed = self.passed.saturating_add(1);
            self.project.fade();
            self.kinds.values_mut().for_each(Seen::fade);
        }
        let cost = self.cost(&suggested.work);
        if suggested.work.spent_tokens() != 0 {
            self.query_cost.observe(cost);
            self.query_tokens.observe(float(suggested.work.spent_tokens()));
        }
        // What a script asked for is no expense of background work; it tells what such work costs.
        if suggested.source == Source::Chat {
            self.spend(&suggested.work, cost);
        }
        if suggested.suppressed.is_none() {
            self.open(&suggested.id, suggested.kind);
        }
    }

    fn observe_run(&mut self, speculated: &Speculated) {
        let cost = self.cost(&speculated.work);
        self.run_cost.observe(cost);
        let asked_for = speculated.source == Source::Command;
        if !asked_for {
            self.spend(&speculated.work, cost);
        }
        let ran = (!asked_for).then_some((cost, Day::of(speculated.work.at)));
        self.open(&speculated.id, speculated.kind).ran = ran;
    }

    fn observe_outcome(&mut self, decision: &Decision) {
        let Some(open) = self.open.get_mut(&decision.id) else { return };
        if decision.outcome.is_hit() {
            // The next turn of the user begins.
            self.turn = Spent::default();
        }
        // A second try at an accept is no second suggestion.
        let first = open.decided.replace(decision.outcome).is_none();
        let Open { kind, ran, .. } = *open;
        if let Some((cost, day)) = open.ran.take_if(|_| decision.outcome.is_hit()) {
            let day = self.days.entry(day).or_default();
            day.extra -= cost;
            day.own += cost;
        }
        let Some(wanted) = decision.outcome.was_wanted().filter(|_| first) else { return };
        if wanted && ran.is_some() {
            self.saved_ms.observe(float(decision.saved_ms));
        }
        self.project.observe(wanted);
        self.kinds.entry(kind).or_default().observe(wanted);
        if decision.outcome == Outcome::Ignored {
            (self.ignored, self.passed) = (self.ignored.saturating_add(1), 0);
        } else if wanted {
            (self.ignored, self.passed) = (0, 0);
        }
    }

    fn open(&mut self, id: &str, kind: Kind) -> &mut Open {
        self.open.entry(id.to_owned()).or_insert(Open { kind, ran: None, decided: None })
    }

    fn spend(&mut self, work: &Work, cost: f64) {
        let spent = Spent {
            tokens: work.spent_tokens(),
            money: work.money.unwrap_or_default(),
            time: Duration::from_millis(work.work_ms),
        };
        self.turn = self.turn.plus(spent);
        self.session = self.session.plus(spent);
        let day = self.days.entry(Day::of(work.at)).or_default();
        day.spent = day.spent.plus(spent);
        day.extra += cost;
    }

    /// A request that was dropped half-way has read the conversation as a query does, and so has one whose cost is not told.
    fn cost(&self, work: &Work) -> f64 {
        let unknown = f64::from(work.unmeasured) + float(work.tokens.untold_requests);
        self.tariff.weigh(&work.model, work.tokens) + unknown * self.query_cost()
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
fn float(number: u64) -> f64 {
    number as f64
}
