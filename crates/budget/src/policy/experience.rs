use std::collections::HashMap;

use super::calibration::Band;
use super::estimate::Mean;
use super::habits::ObservedDecision;
use super::recent::Recent;
use super::{HabitUpdate, Habits, SkipReason, Tariff};
use headstart_followup_state::FilterReason;
use headstart_speculation::Status;

use crate::ledger::{Day, Entry, Kind, OutcomeEntry, Source, SpeculationEntry, SuggestionEntry, WorkCost};

/// The cost of a question as a part of a turn, before one is measured: a question reads the conversation from the cache
/// and writes one line.
const QUESTION_SHARE: f64 = 0.15;
/// The median time that was measured of a turn, in seconds.
const TURN: u32 = 68;
/// How long it takes to type a short prompt, in seconds.
const TYPING: f64 = 5.0;

/// What is known when the policy decides whether to do something ahead.
#[derive(Debug, Clone, PartialEq)]
pub struct Experience {
    tariff: Tariff,
    habits: Habits,
    session: SessionTotals,
    own_cost: Mean,
    question_cost: Mean,
    /// What work ahead cost, and by kind.
    run_cost: Mean,
    run_cost_by_kind: HashMap<Kind, Mean>,
    /// How long work ahead took.
    run_time: Recent,
    /// When the last turn of this session ended, in milliseconds since the Unix epoch.
    turn_ended: Option<u64>,
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
    /// How many times the limit of a day the user has granted in addition.
    pub granted: u32,
    /// What of `lost` the habits know.
    told_lost: f64,
}

#[derive(Debug, Clone, PartialEq, Default)]
struct OpenSuggestion {
    /// The model that gave it, and how sure it said it was.
    said: Option<(String, Band)>,
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
            run_cost: Mean::default(),
            run_cost_by_kind: HashMap::new(),
            run_time: Recent::default(),
            turn_ended: None,
            open: HashMap::new(),
        };
        for entry in entries {
            experience.apply(entry);
        }
        experience.open.clear();
        Self { habits, session: SessionTotals::default(), turn_ended: None, ..experience }
    }

    /// Takes in one more entry, and returns what it says about the user. The habits in here have learned that already;
    /// a host that keeps habits for other sessions has to let those learn it too.
    pub fn observe(&mut self, entry: &Entry) -> HabitUpdate {
        let pause = self.pause_before(entry);
        let (decision, passed) = self.apply(entry);
        let (lost, fit) = (self.newly_lost(Day::of(entry.at())), fit_of(entry));
        let update = HabitUpdate { decision, passed, fit, pause, lost };
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

    /// Grants this session the limit of a day once more.
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

    /// What a question for a suggestion costs, in input tokens of the conversation's model.
    pub fn question_cost(&self) -> f64 {
        let prior = QUESTION_SHARE * self.own_cost.known().unwrap_or_default();
        self.question_cost.known().unwrap_or(prior)
    }

    /// What work ahead of this kind costs, in input tokens of the conversation's model: as earlier work did, or as the
    /// user's own turns do.
    pub(super) fn run_cost(&self, kind: Kind) -> f64 {
        self.run_cost_by_kind.get(&kind).and_then(Mean::known).unwrap_or_else(|| self.any_run_cost())
    }

    /// As [`run_cost`](Self::run_cost), of work of any kind.
    pub(super) fn any_run_cost(&self) -> f64 {
        self.run_cost.known().or(self.own_cost.known()).unwrap_or_default()
    }

    /// The chance that a guess of the background model comes true of which it said this much.
    pub fn chance(&self, said: Option<u8>) -> f64 {
        self.habits.chance(self.tariff.background(), Band::of(said))
    }

    /// How many seconds work ahead saves: as long as it takes, and at most as long as the user pauses. Even the quickest
    /// saves typing.
    pub fn saves_seconds(&self) -> f64 {
        self.run_time.median(TURN).min(self.habits.pause_seconds()).max(TYPING)
    }

    fn apply(&mut self, entry: &Entry) -> (Option<ObservedDecision>, Option<(String, bool)>) {
        match entry {
            Entry::Turn(work) => self.apply_turn(work),
            Entry::Suggestion(suggested) => {
                self.apply_suggestion(suggested);
                let code = suggested.suppressed.as_deref().unwrap_or_default();
                let is_unasked = SkipReason::suppresses_question(code);
                return (
                    None,
                    SkipReason::is_code(code).then(|| (self.tariff.background().to_owned(), is_unasked)),
                );
            }
            Entry::Speculation(speculated) => self.apply_run(speculated),
            Entry::Outcome(decision) => return (self.apply_outcome(decision), None),
            Entry::Summary(work) => {
                self.session.lost += self.cost(work);
            }
            Entry::LeftOut(_) => {}
        }
        (None, None)
    }

    fn apply_turn(&mut self, work: &WorkCost) {
        let cost = self.cost(work);
        self.own_cost.observe(cost);
        self.session.own += cost;
        self.turn_ended = Some(work.at);
    }

    fn apply_suggestion(&mut self, suggested: &SuggestionEntry) {
        let cost = self.cost(&suggested.work);
        if suggested.work.spent_tokens() != 0 {
            self.question_cost.observe(cost);
        }
        // A question that a script asked is no expense of background work, but it tells what such work costs.
        if suggested.source == Source::Chat {
            self.session.lost += cost;
        }
        if suggested.suppressed.is_none() {
            let said = (suggested.work.model.clone(), Band::of(suggested.chance));
            self.open.entry(suggested.id.clone()).or_default().said = Some(said);
        }
    }

    fn apply_run(&mut self, speculated: &SpeculationEntry) {
        if speculated.source == Source::Command {
            return;
        }
        let cost = self.cost(&speculated.work);
        self.session.lost += cost;
        self.run_cost.observe(cost);
        self.run_cost_by_kind.entry(speculated.kind).or_default().observe(cost);
        if speculated.status == Status::Completed {
            let seconds = speculated.work.work_ms.div_ceil(1_000);
            self.run_time.observe(u32::try_from(seconds).unwrap_or(u32::MAX));
        }
        self.open.entry(speculated.id.clone()).or_default().ran = Some(cost);
    }

    fn apply_outcome(&mut self, decision: &OutcomeEntry) -> Option<ObservedDecision> {
        let open = self.open.get_mut(&decision.id)?;
        // A second try at an accept does not count as a second suggestion.
        let first = !std::mem::replace(&mut open.decided, true);
        let said = open.said.clone();
        if decision.outcome.is_hit() {
            // The cost of the run is the cost of the user's next turn.
            let cost = open.ran.take().unwrap_or_default();
            self.turn_ended = Some(decision.at);
            self.session.own += cost;
            self.session.lost -= cost;
        }
        let taken = decision.outcome.was_wanted().filter(|_| first)?;
        let seen = decision.outcome.was_seen();
        self.session.decided += u32::from(seen);
        self.session.taken += u32::from(taken);
        let (model, band) = said.unwrap_or_else(|| (self.tariff.background().to_owned(), Band::Low));
        Some(ObservedDecision { model, band, taken, seen })
    }

    /// How long the user paused before what this entry tells began, in seconds.
    fn pause_before(&self, entry: &Entry) -> Option<u32> {
        let began = match entry {
            Entry::Turn(work) => work.at.saturating_sub(work.work_ms),
            Entry::Outcome(decision) if decision.outcome.is_hit() => decision.at,
            _ => return None,
        };
        let paused = began.checked_sub(self.turn_ended?)? / 1_000;
        u32::try_from(paused).ok()
    }

    /// How much more is lost since the last call, in money.
    fn newly_lost(&mut self, day: Day) -> Option<(Day, f64)> {
        let lost = self.session.lost;
        let more = lost - std::mem::replace(&mut self.session.told_lost, lost);
        (more != 0.0).then(|| (day, self.tariff.estimate(more)))
    }

    fn cost(&self, work: &WorkCost) -> f64 {
        self.tariff.cost(work, self.question_cost())
    }
}

/// The model that gave this answer, and whether the answer could be used. Where the model made no guess, or was not
/// reached, that says nothing about it.
fn fit_of(entry: &Entry) -> Option<(String, bool)> {
    const UNFIT: [&str; 3] = ["echo", "unreadable", "too_slow"];
    let Entry::Suggestion(suggested) = entry else { return None };
    // An empty answer is a model that has nothing to guess from.
    let by_filter = |code| {
        FilterReason::ALL.iter().any(|reason| reason.as_str() == code && *reason != FilterReason::Empty)
    };
    let is_fit = match suggested.suppressed.as_deref() {
        None => true,
        Some(code) if UNFIT.contains(&code) || by_filter(code) => false,
        Some(_) => return None,
    };
    Some((suggested.work.model.clone(), is_fit))
}
