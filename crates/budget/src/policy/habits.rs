use serde::{Deserialize, Serialize};

use super::estimate::{ChanceEstimate, Mean};
use crate::ledger::Day;

/// The chance that a suggestion is taken before anything is known, and how many observations that counts for.
const CHANCE: (f64, f64) = (0.35, 2.0);
/// The highest chance; a chance of 1 would let a run cost any amount.
const MAX_CHANCE: f64 = 0.9;
/// How many milliseconds a run saves before anything is known, and how many observations that counts for.
const SAVED_MS: (f64, f64) = (10_000.0, 2.0);
/// The least number of seconds that a run counts as saving, because shorter waits are not distinguished.
const MIN_SECONDS: f64 = 5.0;
/// The most turns that pass between two questions.
const MAX_PAUSE: u32 = 16;

/// What is known of a user in all projects, so that a new project does not begin without knowledge. A host keeps it; it
/// has only numbers.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Habits {
    /// How many suggestions in a row were seen and not taken.
    pub row: u32,
    /// How many turns without a question followed the last of them.
    pub passed: u32,
    /// How many suggestions were seen and decided on, in all.
    pub decided: u32,
    /// How many of the last twenty or so were taken.
    taken: ChanceEstimate,
    /// What runs that were taken saved, in milliseconds.
    saved_ms: Mean,
    /// The day of `drawn`, counted from the Unix epoch.
    day: u64,
    /// How much of their starts the sessions of that day have used, in starts.
    drawn: f64,
}

/// What an entry of the ledger says about a user.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct HabitUpdate {
    pub(super) decision: Option<ObservedDecision>,
    /// Whether a turn passed without a question.
    pub(super) passed: bool,
    /// How much more of its start the session uses, and on which day.
    pub(super) drawn: Option<(Day, f64)>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ObservedDecision {
    pub(super) taken: bool,
    pub(super) seen: bool,
    /// What the run saved, if the suggestion had run.
    pub(super) saved_ms: Option<f64>,
}

impl HabitUpdate {
    /// Whether there is nothing to learn.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Habits {
    /// Takes in a lesson.
    pub fn apply(&mut self, update: &HabitUpdate) {
        if update.passed {
            self.passed = self.passed.saturating_add(1);
            self.taken.note_turn_passed();
        }
        if let Some(decision) = update.decision {
            self.note_decision(decision);
        }
        if let Some((day, starts)) = update.drawn {
            let before = self.starts_used_on(day);
            (self.day, self.drawn) = (self.day.max(day.number()), (before + starts).max(0.0));
        }
    }

    /// Whether these are numbers that learning can result in; other numbers come from a damaged file.
    pub fn is_valid(&self) -> bool {
        let Self { taken, saved_ms, drawn, .. } = self;
        taken.is_valid() && saved_ms.is_valid() && drawn.is_finite() && 0.0 <= *drawn
    }

    /// How much of their starts the sessions of a day have used, in starts.
    pub fn starts_used_on(&self, day: Day) -> f64 {
        // If the clock was set back, no new day begins.
        if self.day < day.number() { 0.0 } else { self.drawn }
    }

    /// The chance that the user takes a suggestion.
    pub fn chance(&self) -> f64 {
        self.taken.estimate(CHANCE.0, CHANCE.1).min(MAX_CHANCE)
    }

    /// How many seconds of waiting a run saves if it is taken.
    pub fn saves_seconds(&self) -> f64 {
        (self.saved_ms.estimate(SAVED_MS.0, SAVED_MS.1) / 1_000.0).max(MIN_SECONDS)
    }

    /// How many turns have to pass before the next question; `questions_rare_from` is the number of suggestions in a
    /// row from which on questions are rare.
    pub(super) fn turns_to_wait(&self, questions_rare_from: u32) -> Option<u32> {
        let over = self.row.checked_sub(questions_rare_from)?;
        let pause = 1_u32.checked_shl(over).unwrap_or(MAX_PAUSE).min(MAX_PAUSE);
        let left = pause.saturating_sub(self.passed);
        (left != 0).then_some(left)
    }

    fn note_decision(&mut self, decision: ObservedDecision) {
        self.taken.observe(decision.taken);
        if let Some(saved_ms) = decision.saved_ms {
            self.saved_ms.observe(saved_ms);
        }
        if !decision.seen {
            return;
        }
        self.decided = self.decided.saturating_add(1);
        (self.row, self.passed) = if decision.taken { (0, 0) } else { (self.row.saturating_add(1), 0) };
    }
}
