use serde::{Deserialize, Serialize};

use super::estimate::{Mean, Seen};
use crate::ledger::Day;

/// Before anything is known: a third of the suggestions are taken, believed as firmly as two observations.
const CHANCE: (f64, f64) = (0.35, 2.0);
/// Nothing is so certain that a run could cost anything.
const MOST_CHANCE: f64 = 0.9;
/// Before it is known what a run saves: so many milliseconds, believed as firmly as two observations.
const SAVED_MS: (f64, f64) = (10_000.0, 2.0);
/// What the user waits for less is not told apart.
const LEAST_SECONDS: f64 = 5.0;
/// At most so many turns pass between two questions.
const LONGEST_PAUSE: u32 = 16;

/// What is known of a user in all projects: a new project is no first meeting. A host keeps it; it holds numbers only.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Habits {
    /// Suggestions that were seen and not taken, one after the other.
    pub row: u32,
    /// Turns without a question since the last of them.
    pub passed: u32,
    /// Suggestions that were seen and decided, in all.
    pub decided: u32,
    /// Of the last twenty or so, how many were taken.
    taken: Seen,
    /// What runs that were taken saved, in milliseconds.
    saved_ms: Mean,
    /// The day of `drawn`, counted from the Unix epoch.
    day: u64,
    /// What the sessions of that day used of their starts, in starts.
    drawn: f64,
}

/// What an entry of the ledger tells of a user.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Lesson {
    pub(super) decision: Option<OfDecision>,
    /// A turn passed without a question.
    pub(super) passed: bool,
    /// What the session uses more of its start, on a day.
    pub(super) draws: Option<(Day, f64)>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct OfDecision {
    pub(super) taken: bool,
    pub(super) seen: bool,
    /// Where it had run.
    pub(super) saved_ms: Option<f64>,
}

impl Lesson {
    /// Whether there is nothing to learn.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Habits {
    /// Takes a lesson in.
    pub fn learn(&mut self, lesson: &Lesson) {
        if lesson.passed {
            self.passed = self.passed.saturating_add(1);
            self.taken.pass();
        }
        if let Some(decision) = lesson.decision {
            self.decide(decision);
        }
        if let Some((day, starts)) = lesson.draws {
            let before = self.drawn_on(day);
            (self.day, self.drawn) = (self.day.max(day.number()), (before + starts).max(0.0));
        }
    }

    /// Whether these are numbers that learning gives; others come from a damaged file.
    pub fn is_sound(&self) -> bool {
        let Self { taken, saved_ms, drawn, .. } = self;
        taken.is_sound() && saved_ms.is_sound() && drawn.is_finite() && 0.0 <= *drawn
    }

    /// What the sessions of a day have used of their starts, in starts.
    pub fn drawn_on(&self, day: Day) -> f64 {
        // A clock that was set back opens no new day.
        if self.day < day.number() { 0.0 } else { self.drawn }
    }

    /// The chance that the user takes a suggestion.
    pub fn chance(&self) -> f64 {
        self.taken.after(CHANCE.0, CHANCE.1).min(MOST_CHANCE)
    }

    /// Seconds of waiting that a run saves which is taken.
    pub fn saves_seconds(&self) -> f64 {
        (self.saved_ms.after(SAVED_MS.0, SAVED_MS.1) / 1_000.0).max(LEAST_SECONDS)
    }

    /// How many turns are to pass before the next question, where so many suggestions in a row make questions rare.
    pub(super) fn pause(&self, rare_from: u32) -> Option<u32> {
        let over = self.row.checked_sub(rare_from)?;
        let pause = 1_u32.checked_shl(over).unwrap_or(LONGEST_PAUSE).min(LONGEST_PAUSE);
        let left = pause.saturating_sub(self.passed);
        (left != 0).then_some(left)
    }

    fn decide(&mut self, decision: OfDecision) {
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
