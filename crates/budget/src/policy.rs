//! Whether to do something ahead of the user (ask for a suggestion, run it), and what that may cost.
//!
//! A [`Policy`] is what the user has set. An [`Experience`] is what is known: what the ledger of a project says about
//! costs, what this session has cost and lost, and the [`Habits`] of the user, which are the same in every project.
//! Both together lead to an answer with a reason: an [`Allowance`] or a [`SkipReason`]. Nothing here has a clock; the
//! host passes the time.
//!
//! In [`Mode::Auto`], a model that costs nothing is always asked, and every suggestion runs until the user has left
//! many of them untaken. If tokens cost money, a session may lose (spend on questions and on runs that are not taken) a
//! starting sum and a share of what the user's own turns cost. Work that is taken is no loss, because the user would
//! have paid for it anyway. The first runs explore; after that a run may cost what it is worth. A user who takes
//! nothing soon pays next to nothing, and after one suggestion taken everything is as at the beginning.
//!
//! ```
//! use headstart_forked_query::Prices;
//! use headstart_budget::policy::{Experience, Habits, SkipReason, Mode, Policy, Tariff};
//!
//! let experience = Experience::of(Tariff::new("m", Prices::default()), Habits::default(), &[]);
//! let policy = Policy::default();
//! assert!(policy.allow_question(&experience, 0).is_ok() && policy.allow_run(&experience, "run the tests", 0).is_ok());
//! assert_eq!(policy.allow_run(&experience, "/clear", 0), Err(SkipReason::Command));
//! assert_eq!(Policy { mode: Mode::Off, ..policy }.allow_question(&experience, 0), Err(SkipReason::Off));
//! ```
//!
//! # Limitations
//!
//! If several processes work at the same moment, each knows what the others have written down, but not what they have
//! under way. A limit ends a run between two answers, not within one, so a session may lose one request more than it is
//! allowed.

mod candidates;
mod caps;
mod estimate;
mod experience;
mod habits;
mod remaining_budget;
mod skip_reason;
mod tariff;
#[cfg(test)]
mod tests;

use std::time::Duration;

use headstart_followup_state::{FilterReason, filter};

pub use caps::{Cap, Measure, Scope, Spending};
pub use experience::{Experience, SessionTotals};
pub use habits::{HabitUpdate, Habits};
pub use remaining_budget::RemainingBudget;
pub use skip_reason::SkipReason;
pub use tariff::Tariff;

use headstart_forked_query::Money;
use headstart_speculation::CostLimit;
use headstart_speculation::Limits;

/// How many suggestions are decided on before a run is judged by what it is worth.
const EXPLORED_DECISIONS: u32 = 8;
/// While the policy explores, a run may cost this many questions, if half of what is left is less.
const MIN_EXPLORATION: f64 = 5.0;
/// A run that may not cost this many questions would not get far enough.
const MIN_RUN: f64 = 1.5;
/// The chance of a suggestion being taken from which on the step after it runs too.
const MIN_STEP_CHANCE: f64 = 0.6;

/// How much is done ahead. A more cautious mode compares as less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Mode {
    /// Nothing: no query, no suggestion, no run.
    Off,
    /// As much as the allowance covers.
    #[default]
    Auto,
    /// Everything, up to the caps.
    Always,
}

/// What the user wants done ahead, and what it may cost. Amounts of tokens are in input tokens of the conversation's
/// model that are not in its cache.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Policy {
    /// How much is done ahead.
    pub mode: Mode,
    /// What a session may lose before its own turns have cost anything.
    pub start_tokens: f64,
    /// The same limit in money: if the price is known, the smaller of the two counts.
    pub start_money: Money,
    /// How much of their starts all sessions of a day together may use, in starts.
    pub day_starts: f64,
    /// What a session may lose in addition, as a fraction of what its own turns cost.
    pub share: f64,
    /// After this many suggestions in a row that were seen and not taken, nothing runs; after half as many more,
    /// questions become rare.
    pub patience: u32,
    /// How many tokens a second of waiting is worth.
    pub second_is_worth: f64,
    /// The cap between two turns of the user.
    pub turn: Cap,
    /// The cap from start to end of a session.
    pub session: Cap,
    /// The cap on one day, in all sessions of the project.
    pub day: Cap,
}

/// What one run may spend.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Allowance {
    /// Tokens read and written.
    pub tokens: u64,
    /// Wall time.
    pub time: Duration,
    /// What these tokens may cost.
    pub cost: Option<CostLimit>,
}

impl Default for Policy {
    /// Auto; a start of 150,000 tokens or 0.75 in money, three starts a day; a share of 15 % of the own turns; a
    /// patience of eight suggestions; a second is worth 3,750 tokens.
    fn default() -> Self {
        let cap = |tokens, minutes: u64| Cap { tokens, money: None, time: Duration::from_secs(60 * minutes) };
        Self {
            mode: Mode::Auto,
            start_tokens: 150_000.0,
            start_money: Money::new(0.75).expect("works because it is a small amount"),
            day_starts: 3.0,
            share: 0.15,
            patience: 8,
            second_is_worth: 3_750.0,
            turn: cap(2_000_000, 10),
            session: cap(20_000_000, 240),
            day: cap(50_000_000, 480),
        }
    }
}

impl Policy {
    /// Whether to ask for a suggestion.
    pub fn allow_question(&self, experience: &Experience, now_ms: u64) -> Result<(), SkipReason> {
        self.within_caps(experience, 1, now_ms)?;
        if !self.considers_cost(experience) {
            return Ok(());
        }
        if let Some(left) = experience.habits().turns_to_wait(self.questions_rare_from()) {
            return Err(SkipReason::BackingOff { row: experience.habits().row, left });
        }
        let remaining_budget = self.remaining_budget(experience, now_ms);
        let costs = experience.question_cost();
        if remaining_budget.left < costs { Err(remaining_budget.skip_reason(costs)) } else { Ok(()) }
    }

    /// Whether to run a suggestion ahead, and what it may spend.
    pub fn allow_run(
        &self,
        experience: &Experience,
        text: &str,
        now_ms: u64,
    ) -> Result<Allowance, SkipReason> {
        self.check_text(text)?;
        self.allowance_for(experience, experience.chance(), 1, now_ms)
    }

    /// As [`allow_run`](Self::allow_run), for a step on top of `below` others that the user has not taken yet: it is
    /// taken only if they all are.
    pub fn allow_step(
        &self,
        experience: &Experience,
        below: usize,
        text: &str,
        now_ms: u64,
    ) -> Result<Allowance, SkipReason> {
        self.check_text(text)?;
        let chance = experience.chance();
        if self.considers_cost(experience) && chance < MIN_STEP_CHANCE {
            return Err(SkipReason::Unlikely { chance, from: MIN_STEP_CHANCE });
        }
        let reached: f64 = std::iter::repeat_n(chance, below).product();
        self.allowance_for(experience, reached * chance, 1, now_ms)
    }

    fn check_text(&self, text: &str) -> Result<(), SkipReason> {
        if self.mode == Mode::Off {
            return Err(SkipReason::Off);
        }
        if text.trim_start().starts_with('/') {
            return Err(SkipReason::Command);
        }
        if filter(text.trim()) == Err(FilterReason::Destructive) {
            return Err(SkipReason::Destructive);
        }
        Ok(())
    }

    /// What a suggestion that is taken with this chance may spend as one of `many` that run at the same time.
    fn allowance_for(
        &self,
        experience: &Experience,
        chance: f64,
        many: u32,
        now_ms: u64,
    ) -> Result<Allowance, SkipReason> {
        self.within_caps(experience, many, now_ms)?;
        if self.mode == Mode::Auto {
            self.within_patience(experience)?;
        }
        let most = self
            .considers_cost(experience)
            .then(|| self.run_limit(experience, chance, many, now_ms))
            .transpose()?;
        let caps = self.remaining_caps(experience, many, now_ms);
        let cost = experience.tariff().limit(most, caps.money);
        Ok(Allowance { tokens: caps.tokens, time: caps.time, cost })
    }

    /// Whether the patience with suggestions that are not taken lets this one run. If the work costs nothing, every
    /// second suggestion still runs.
    fn within_patience(&self, experience: &Experience) -> Result<(), SkipReason> {
        let row = experience.habits().row;
        let Some(over) = row.checked_sub(self.patience) else { return Ok(()) };
        if experience.tariff().is_free() && over % 2 == 1 { Ok(()) } else { Err(SkipReason::Row { row }) }
    }

    /// What a run may cost, in tokens. The question for what comes after it is not included, because it is asked in
    /// addition.
    fn run_limit(
        &self,
        experience: &Experience,
        chance: f64,
        many: u32,
        now_ms: u64,
    ) -> Result<f64, SkipReason> {
        let question = experience.question_cost();
        let remaining_budget = self.remaining_budget(experience, now_ms);
        let left = remaining_budget.left / f64::from(many);
        let wanted = if experience.habits().decided < EXPLORED_DECISIONS {
            (left / 2.0).max(MIN_EXPLORATION * question)
        } else {
            let worth = chance * experience.saves_seconds() * self.second_is_worth / (1.0 - chance);
            if worth < MIN_RUN * question {
                return Err(SkipReason::NotWorthIt { worth, costs: MIN_RUN * question });
            }
            worth
        };
        let most = wanted.min(left - question).max(0.0);
        if most < MIN_RUN * question {
            Err(remaining_budget.skip_reason((MIN_RUN + 1.0) * question))
        } else {
            Ok(most)
        }
    }

    /// Whether the cost of the work decides: not for a model that costs nothing, and not if the user wants everything.
    fn considers_cost(&self, experience: &Experience) -> bool {
        self.mode == Mode::Auto && !experience.tariff().is_free()
    }

    /// Whether the caps leave room for the next request of `many` runs at the same time.
    fn within_caps(&self, experience: &Experience, many: u32, now_ms: u64) -> Result<(), SkipReason> {
        if self.mode == Mode::Off {
            return Err(SkipReason::Off);
        }
        let next_request = experience.question_spending().times(many);
        for (scope, cap) in self.caps(experience) {
            if let Some(measure) = cap.reached(experience.spent(scope, now_ms), next_request) {
                return Err(SkipReason::Cap { scope, measure });
            }
        }
        Ok(())
    }

    /// The least that any cap leaves to each of `many` runs, minus room for one more request.
    fn remaining_caps(&self, experience: &Experience, many: u32, now_ms: u64) -> Cap {
        let next_request = experience.question_spending().times(many);
        let left = self
            .caps(experience)
            .map(|(scope, cap)| cap.less(experience.spent(scope, now_ms).plus(next_request)));
        left[0].and(left[1]).and(left[2]).part(many)
    }

    /// The caps. A model that costs nothing is limited only by the time that it works.
    fn caps(&self, experience: &Experience) -> [(Scope, Cap); 3] {
        let is_free = experience.tariff().is_free();
        let of = |cap: Cap| if is_free { Cap { tokens: u64::MAX, money: None, ..cap } } else { cap };
        [(Scope::Turn, of(self.turn)), (Scope::Session, of(self.session)), (Scope::Day, of(self.day))]
    }
}

impl Allowance {
    /// The limits of a run under this allowance.
    #[must_use]
    pub fn under(&self, limits: Limits) -> Limits {
        Limits {
            tokens: limits.tokens.min(self.tokens),
            time: limits.time.min(self.time),
            cost: self.cost.or(limits.cost),
            ..limits
        }
    }
}
