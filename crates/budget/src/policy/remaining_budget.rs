use super::{Experience, Policy, SkipReason};
use crate::ledger::Day;

/// The smallest fraction of its start that a session still has if its user takes nothing.
const MIN_START: f64 = 1.0 / 16.0;

/// What a session may still lose, in input tokens of the conversation's model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RemainingBudget {
    /// What is left now.
    pub left: f64,
    /// A whole start of this session.
    pub start: f64,
    /// How many of today's starts are not used.
    pub day_starts_left: f64,
    /// Whether the session would have more left if others had used less of today's starts.
    pub day_limits: bool,
}

impl RemainingBudget {
    /// The reason for not doing something that costs more than is left.
    pub(super) fn skip_reason(&self, costs: f64) -> SkipReason {
        SkipReason::Allowance { left: self.left, costs, day_limits: self.day_limits }
    }
}

impl Policy {
    /// What the session may still lose.
    pub fn remaining_budget(&self, experience: &Experience, now_ms: u64) -> RemainingBudget {
        let start = experience.start(self);
        let session = experience.session();
        let used_today = experience.habits().starts_used_on(Day::of(now_ms));
        let day_starts_left = (self.day_starts - used_today).max(0.0);
        let own_start = self.start_fraction(experience);
        let open = session.drawn + day_starts_left;
        let starts = own_start.min(open) + f64::from(session.granted);
        let left = (starts * start + self.share * session.own - session.lost).max(0.0);
        RemainingBudget { left, start, day_starts_left, day_limits: open < own_start }
    }

    /// How much of its start the session has used now, as a fraction of the start. Only what was lost beyond the share
    /// counts. Granted starts are used after that.
    pub(super) fn drawn_fraction(&self, experience: &Experience) -> f64 {
        let session = experience.session();
        let beyond_share = (session.lost - self.share * session.own).max(0.0);
        let start = experience.start(self);
        if start <= 0.0 { 0.0 } else { (beyond_share / start).min(1.0) }
    }

    /// How many suggestions in a row have to be not taken before questions become rare.
    pub(super) fn questions_rare_from(&self) -> u32 {
        self.patience.saturating_add(self.patience / 2)
    }

    /// The fraction of a start with which a session begins. A user who takes nothing gets less: half when questions
    /// become rare, and half again after each further half of the patience.
    fn start_fraction(&self, experience: &Experience) -> f64 {
        let Some(over) = experience.habits().row.checked_sub(self.questions_rare_from()) else { return 1.0 };
        let halvings = 1 + over / (self.patience / 2).max(1);
        0.5_f64.powi(i32::try_from(halvings).unwrap_or(i32::MAX)).max(MIN_START)
    }
}
