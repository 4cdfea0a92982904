use super::{Experience, Policy, SkipReason};
use crate::ledger::Day;

/// The smallest part of its start that a session of somebody who takes nothing still has.
const LEAST_START: f64 = 1.0 / 16.0;

/// What a session may still lose, in input tokens of the conversation's model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Room {
    /// Now.
    pub left: f64,
    /// A whole start of this session.
    pub start: f64,
    /// How many starts of today nobody has used.
    pub day_starts_left: f64,
    /// Whether the session had more left if others had used less of today's starts.
    pub day_limits: bool,
}

impl Room {
    /// The reason why something is not done that costs more than is left.
    pub(super) fn hold(&self, costs: f64) -> SkipReason {
        SkipReason::Allowance { left: self.left, costs, day_limits: self.day_limits }
    }
}

impl Policy {
    /// What the session may still lose.
    pub fn room(&self, experience: &Experience, now_ms: u64) -> Room {
        let start = experience.start(self);
        let session = experience.session();
        let used_today = experience.habits().drawn_on(Day::of(now_ms));
        let day_starts_left = (self.day_starts - used_today).max(0.0);
        let own_start = self.part_of_start(experience);
        let open = session.drawn + day_starts_left;
        let starts = own_start.min(open) + f64::from(session.granted);
        let left = (starts * start + self.share * session.own - session.lost).max(0.0);
        Room { left, start, day_starts_left, day_limits: open < own_start }
    }

    /// What the session uses of its start now, as a part of it: what it lost beyond the share. What it was granted comes after
    /// that.
    pub(super) fn draws(&self, experience: &Experience) -> f64 {
        let session = experience.session();
        let beyond_share = (session.lost - self.share * session.own).max(0.0);
        let start = experience.start(self);
        if start <= 0.0 { 0.0 } else { (beyond_share / start).min(1.0) }
    }

    /// The suggestion not taken from which on questions get rare.
    pub(super) fn rare_from(&self) -> u32 {
        self.patience.saturating_add(self.patience / 2)
    }

    /// Who takes nothing begins with less: half of it when questions get rare, and half again after each further half of the
    /// patience.
    fn part_of_start(&self, experience: &Experience) -> f64 {
        let Some(over) = experience.habits().row.checked_sub(self.rare_from()) else { return 1.0 };
        let halvings = 1 + over / (self.patience / 2).max(1);
        0.5_f64.powi(i32::try_from(halvings).unwrap_or(i32::MAX)).max(LEAST_START)
    }
}
