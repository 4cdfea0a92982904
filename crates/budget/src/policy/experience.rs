use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use super::caps::Spending;
use super::estimate::Mean;
use super::habits::ObservedDecision;
use super::{HabitUpdate, Habits, Policy, Scope, SkipReason, Tariff};
use crate::ledger::{Day, Entry, OutcomeEntry, Source, SpeculationEntry, SuggestionEntry, WorkCost};

/// The cost of a question as a part of a turn, before one is measured: a question reads the conversation from the cache
/// and writes one line.
const QUESTION_SHARE: f64 = 0.15;

/// What is known when the policy decides whether to do something ahead.
#[derive(Debug, Clone, PartialEq)]
pub struct Experience {
    tariff: Tariff,
    habits: Habits,
    session: SessionTotals,
    own_cost: Mean,
    question_cost: Mean,
    question_tokens: Mean,
    turn: Spending,
    /// What was spent since the session began.
    spent: Spending,
    days: BTreeMap<Day, Spending>,
    /// The suggestions of this session, by their ids.
    open: HashMap<String, OpenSuggestion>,
}

/// What one session has cost, in input tokens of the conversation's model, and what became of its suggestions.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SessionTotals {
    /// The user's own turns; a run that they took counts as one.
    pub own: f64,
    /// Questions for suggestions, and runs that were not taken.
    pub lost: f64,
    /// Suggestions that the user saw and decided on.
    pub decided: u32,
    /// How many of these were taken.
    pub taken: u32,
    /// Starts that the user has granted in addition.
    pub granted: u32,
    /// How much of its start the session has used, as a fraction of the start.
    pub(super) drawn: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct OpenSuggestion {
    /// What it cost to run the suggestion.
    ran: Option<f64>,
    decided: bool,
}

impl Experience {
    /// The experience from the entries of a project's ledger, for costs, and from the habits of the user, at the
    /// beginning of a session.
    pub fn of(tariff: Tariff, habits: Habits, entries: &[Entry]) -> Self {
        let mut experience = Self {
            tariff,
            habits: Habits::default(),
            session: SessionTotals::default(),
            own_cost: Mean::default(),
            question_cost: Mean::default(),
            question_tokens: Mean::default(),
            turn: Spending::default(),
            spent: Spending::default(),
            days: BTreeMap::new(),
            open: HashMap::new(),
        };
        for entry in entries {
            experience.apply(entry);
        }
        experience.open.clear();
        let (session, turn, spent) = (SessionTotals::default(), Spending::default(), Spending::default());
        Self { habits, session, turn, spent, ..experience }
    }

    /// Takes in one more entry, and returns what it says about the user. The habits in here have learned that already;
    /// a host that keeps habits for other sessions has to let those learn it too.
    pub fn observe(&mut self, policy: &Policy, entry: &Entry) -> HabitUpdate {
        let (decision, passed) = self.apply(entry);
        let update = HabitUpdate { decision, passed, drawn: self.update_drawn(policy, Day::of(entry.at())) };
        self.habits.apply(&update);
        update
    }

    /// Takes over habits that other sessions have changed.
    pub fn set_habits(&mut self, habits: Habits) {
        self.habits = habits;
    }

    /// Sets other models, which are asked from now on.
    pub fn set_tariff(&mut self, tariff: Tariff) {
        self.tariff = tariff;
    }

    /// Grants this session one more start.
    pub fn grant(&mut self) {
        self.session.granted = self.session.granted.saturating_add(1);
    }

    /// What is known of the user.
    pub fn habits(&self) -> &Habits {
        &self.habits
    }

    /// What this session has cost so far.
    pub fn session(&self) -> &SessionTotals {
        &self.session
    }

    /// How costs are compared.
    pub fn tariff(&self) -> &Tariff {
        &self.tariff
    }

    /// A whole start of this session, in input tokens of the conversation's model.
    pub fn start(&self, policy: &Policy) -> f64 {
        self.tariff.start(policy)
    }

    /// What background work cost in a span of time.
    pub fn spent(&self, scope: Scope, now_ms: u64) -> Spending {
        match scope {
            Scope::Turn => self.turn,
            Scope::Session => self.spent,
            Scope::Day => self.days.get(&Day::of(now_ms)).copied().unwrap_or_default(),
        }
    }

    /// What a question for a suggestion costs, in input tokens of the conversation's model.
    pub fn question_cost(&self) -> f64 {
        let prior = QUESTION_SHARE * self.own_cost.known().unwrap_or_default();
        self.question_cost.known().unwrap_or(prior)
    }

    pub(super) fn chance(&self) -> f64 {
        self.habits.chance()
    }

    pub(super) fn saves_seconds(&self) -> f64 {
        self.habits.saves_seconds()
    }

    /// What one more request may spend.
    pub(super) fn question_spending(&self) -> Spending {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a mean of counts")]
        let tokens = self.question_tokens.known().unwrap_or_default() as u64;
        Spending { tokens, ..Spending::default() }
    }

    fn apply(&mut self, entry: &Entry) -> (Option<ObservedDecision>, bool) {
        match entry {
            Entry::Turn(work) => self.apply_turn(work),
            Entry::Suggestion(suggested) => {
                self.apply_suggestion(suggested);
                return (None, suggested.suppressed.as_deref().is_some_and(SkipReason::suppresses_question));
            }
            Entry::Speculation(speculated) => self.apply_run(speculated),
            Entry::Outcome(decision) => return (self.apply_outcome(decision), false),
            Entry::Summary(work) => {
                let cost = self.cost(work);
                self.spend(work, cost);
            }
            Entry::LeftOut(_) => {}
        }
        (None, false)
    }

    fn apply_turn(&mut self, work: &WorkCost) {
        let cost = self.cost(work);
        self.own_cost.observe(cost);
        self.session.own += cost;
        self.turn = Spending::default();
    }

    fn apply_suggestion(&mut self, suggested: &SuggestionEntry) {
        let cost = self.cost(&suggested.work);
        if suggested.work.spent_tokens() != 0 {
            self.question_cost.observe(cost);
            self.question_tokens.observe(float(suggested.work.spent_tokens()));
        }
        // A question that a script asked is no expense of background work, but it tells what such work costs.
        if suggested.source == Source::Chat {
            self.spend(&suggested.work, cost);
        }
        if suggested.suppressed.is_none() {
            self.open.entry(suggested.id.clone()).or_default();
        }
    }

    fn apply_run(&mut self, speculated: &SpeculationEntry) {
        if speculated.source == Source::Command {
            return;
        }
        let cost = self.cost(&speculated.work);
        self.spend(&speculated.work, cost);
        self.open.entry(speculated.id.clone()).or_default().ran = Some(cost);
    }

    fn apply_outcome(&mut self, decision: &OutcomeEntry) -> Option<ObservedDecision> {
        let open = self.open.get_mut(&decision.id)?;
        // A second try at an accept does not count as a second suggestion.
        let first = !std::mem::replace(&mut open.decided, true);
        let ran = open.ran;
        if decision.outcome.is_hit() {
            // The next turn of the user begins, and the cost of the run is the cost of that turn.
            let cost = open.ran.take().unwrap_or_default();
            self.turn = Spending::default();
            self.session.own += cost;
            self.session.lost -= cost;
        }
        let taken = decision.outcome.was_wanted().filter(|_| first)?;
        let seen = decision.outcome.was_seen();
        self.session.decided += u32::from(seen);
        self.session.taken += u32::from(taken);
        let saved_ms = ran.filter(|_| taken).map(|_| float(decision.saved_ms));
        Some(ObservedDecision { taken, seen, saved_ms })
    }

    /// How much of its start the session has used since the last call.
    fn update_drawn(&mut self, policy: &Policy, day: Day) -> Option<(Day, f64)> {
        let drawn = policy.drawn_fraction(self);
        let more = drawn - std::mem::replace(&mut self.session.drawn, drawn);
        (more != 0.0).then_some((day, more))
    }

    fn spend(&mut self, work: &WorkCost, cost: f64) {
        let spent = Spending {
            tokens: work.spent_tokens(),
            money: work.money.unwrap_or_default(),
            time: Duration::from_millis(work.work_ms),
        };
        self.turn = self.turn.plus(spent);
        self.spent = self.spent.plus(spent);
        let day = self.days.entry(Day::of(work.at)).or_default();
        *day = day.plus(spent);
        self.session.lost += cost;
    }

    fn cost(&self, work: &WorkCost) -> f64 {
        self.tariff.cost(work, self.question_cost())
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
fn float(number: u64) -> f64 {
    number as f64
}
