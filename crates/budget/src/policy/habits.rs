use serde::{Deserialize, Serialize};

use super::calibration::{Band, Calibration};
use super::recent::Recent;
use crate::ledger::Day;

/// The median pause that was measured between the end of a turn and the next prompt, in seconds.
const PAUSE: u32 = 113;
/// A longer pause, in seconds, is none: the user was away.
const LONGEST_PAUSE: u32 = 4 * 60 * 60;
/// After so many guesses in a row that were seen and not taken, questions become rare.
pub(super) const QUESTIONS_RARE_FROM: u32 = 20;
/// After so many answers in a row that could not be used, a model is asked no more.
const UNFIT_FROM: u32 = 20;
/// How many turns pass between two questions then.
const RARE: u32 = 16;

/// What is known of a user in all projects, so that a new project does not begin without knowledge. A host keeps it; it
/// has only numbers, and the names of models.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Habits {
    /// How many suggestions in a row were seen and not taken.
    pub row: u32,
    /// How many turns without a question followed the last of them.
    pub passed: u32,
    /// How many suggestions were seen and decided on, in all.
    pub decided: u32,
    /// What came of the guesses.
    calibration: Calibration,
    /// How long the user paused between two turns, in seconds.
    pauses: Recent,
    /// The day of `lost`, counted from the Unix epoch.
    day: u64,
    /// What work ahead that nobody took has cost on that day, in money.
    lost: f64,
}

/// What an entry of the ledger says about a user.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HabitUpdate {
    pub(super) decision: Option<ObservedDecision>,
    /// The model of background work, if a turn passed without a guess on the screen; and whether it was not asked.
    pub(super) passed: Option<(String, bool)>,
    /// A model that answered, and whether its answer could be used.
    pub(super) fit: Option<(String, bool)>,
    /// How long the user paused, in seconds.
    pub(super) pause: Option<u32>,
    /// How much more was lost, in money, and on which day. It is less than nothing if work is taken.
    pub(super) lost: Option<(Day, f64)>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct ObservedDecision {
    pub(super) model: String,
    pub(super) band: Band,
    pub(super) taken: bool,
    pub(super) seen: bool,
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
        if let Some((model, unasked)) = &update.passed {
            self.passed = self.passed.saturating_add(u32::from(*unasked));
            self.calibration.fade(model);
        }
        if let Some((model, is_fit)) = &update.fit {
            self.calibration.note_fit(model, *is_fit);
        }
        if let Some(decision) = &update.decision {
            self.note_decision(decision);
        }
        if let Some(pause) = update.pause.filter(|pause| *pause <= LONGEST_PAUSE) {
            self.pauses.observe(pause);
        }
        if let Some((day, money)) = update.lost {
            let before = self.lost_on(day);
            (self.day, self.lost) = (self.day.max(day.number()), (before + money).max(0.0));
        }
    }

    /// Whether these are numbers that learning can result in; other numbers come from a damaged file.
    pub fn is_valid(&self) -> bool {
        self.calibration.is_valid() && self.lost.is_finite() && 0.0 <= self.lost
    }

    /// What work ahead that nobody took has cost on a day, in money.
    pub fn lost_on(&self, day: Day) -> f64 {
        // If the clock was set back, no new day begins.
        if self.day < day.number() { 0.0 } else { self.lost }
    }

    /// The chance that a guess comes true of which this model said that much.
    pub fn chance(&self, model: &str, band: Band) -> f64 {
        self.calibration.chance(model, band)
    }

    /// How many answers of this model in a row could not be used, if they are so many that it is asked no more.
    pub(super) fn unfit(&self, model: &str) -> Option<u32> {
        Some(self.calibration.unfit(model)).filter(|unfit| UNFIT_FROM <= *unfit)
    }

    /// How long the user pauses between two turns, in seconds.
    pub fn pause_seconds(&self) -> f64 {
        self.pauses.median(PAUSE)
    }

    /// Whether any pause of this user was seen.
    pub fn has_pauses(&self) -> bool {
        self.pauses != Recent::default()
    }

    /// How many turns have to pass before the next question, if none of the last guesses was taken.
    pub(super) fn turns_to_wait(&self) -> Option<u32> {
        let left = RARE.saturating_sub(self.passed);
        (QUESTIONS_RARE_FROM <= self.row && left != 0).then_some(left)
    }

    fn note_decision(&mut self, decision: &ObservedDecision) {
        let ObservedDecision { model, band, taken, seen } = decision;
        self.calibration.observe(model, *band, *taken);
        if !seen {
            return;
        }
        self.decided = self.decided.saturating_add(1);
        (self.row, self.passed) = if *taken { (0, 0) } else { (self.row.saturating_add(1), 0) };
    }
}
