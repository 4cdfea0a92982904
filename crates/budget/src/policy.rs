//! Whether to do something ahead of the user (ask for a suggestion, run it), and what that may cost.
//!
//! A [`Policy`] is what the user has set. An [`Experience`] is what is known: what the ledger of a project says about
//! costs and times, what this session has cost and lost, and the [`Habits`] of the user, which are the same in every
//! project. Both together lead to an answer with a reason: an [`Allowance`] or a [`SkipReason`]. Nothing here has a
//! clock; the host passes the time.
//!
//! A model says of each guess how sure it is. The habits turn that into the chance that guesses like it came true for
//! this user. In [`Mode::Auto`] a guess runs where that chance, times what the saved time is worth, is more than the
//! chance that nobody takes it, times what such work costs:
//!
//! ```text
//! chance × saved seconds × worth of a second  >  (1 − chance) × cost of such work
//! ```
//!
//! Work that nobody took, and questions, may together cost an amount a day. Work that is taken does not count, because
//! the user would have paid for it anyway. A model that costs nothing runs every guess from a chance of 25 % on.
//!
//! ```
//! use headstart_forked_query::Prices;
//! use headstart_budget::policy::{Beside, Experience, Guess, Habits, Mode, Policy, SkipReason, Tariff};
//!
//! let experience = Experience::of(Tariff::new("m", Prices::default()), Habits::default(), &[]);
//! let policy = Policy::default();
//! let guess = Guess { text: "run the tests", said: Some(70) };
//! assert!(policy.allow_question(&experience, 0).is_ok() && policy.allow_run(&experience, guess, Beside::default(), 0).is_ok());
//! let command = Guess { text: "/clear", said: Some(70) };
//! assert_eq!(policy.allow_run(&experience, command, Beside::default(), 0), Err(SkipReason::Command));
//! assert_eq!(Policy { mode: Mode::Off, ..policy }.allow_question(&experience, 0), Err(SkipReason::Off));
//! ```
//!
//! # Limitations
//!
//! If several processes work at the same moment, each knows what the others have written down, but not what they have
//! under way. A limit ends a run between two answers, not within one, so a session may lose one request more than it is
//! allowed.

mod calibration;
mod estimate;
mod experience;
mod habits;
mod recent;
mod skip_reason;
mod tariff;
#[cfg(test)]
mod tests;

use headstart_followup_state::{FilterReason, Suggestion, filter};
use headstart_forked_query::Money;
use headstart_speculation::{CostLimit, Limits};

pub use calibration::Band;
pub use experience::{Experience, SessionTotals};
pub use habits::{HabitUpdate, Habits};
pub use skip_reason::SkipReason;
pub use tariff::Tariff;

use crate::ledger::{Day, Kind};

/// From which chance on a guess runs if the model costs nothing.
const FREE_FROM: f64 = 0.25;
/// A run that may not cost this many questions would not get far enough.
const LEAST_RUN: f64 = 1.5;

/// How much is done ahead. A more cautious mode compares as less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Mode {
    /// Nothing: no query, no suggestion, no run.
    Off,
    /// What is worth its cost.
    #[default]
    Auto,
    /// Everything, up to the limit of a day.
    Always,
}

/// What the user wants done ahead, and what it may cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Policy {
    /// How much is done ahead.
    pub mode: Mode,
    /// What questions, and work ahead that nobody takes, may cost on one day in all projects together.
    pub limit: Money,
    /// What an hour of waiting is worth.
    pub hour_is_worth: Money,
    /// From which chance on a guess is shown, from 0 to 1.
    pub show_from: f64,
}

/// A guess, as far as the policy needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guess<'a> {
    /// Its text.
    pub text: &'a str,
    /// How likely the model called it, in percent, if it said so.
    pub said: Option<u8>,
}

impl<'a> From<&'a Suggestion> for Guess<'a> {
    fn from(suggestion: &'a Suggestion) -> Self {
        Self { text: suggestion.as_str(), said: suggestion.chance() }
    }
}

/// The other guesses of the same answer, which share what is left of the day.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Beside {
    /// What those may spend that run, in money.
    pub promised: f64,
    /// Whether some do not run yet: half of what is left is kept for them.
    pub has_others: bool,
}

/// What one run may spend.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Allowance {
    /// What its tokens may cost; `None` if they cost nothing.
    pub cost: Option<CostLimit>,
}

impl Default for Policy {
    /// Auto; a dollar a day; an hour of waiting is worth thirty; guesses are shown from 20 % on.
    fn default() -> Self {
        let money = |units| Money::new(units).expect("works because it is a small amount");
        Self { mode: Mode::Auto, limit: money(1.0), hour_is_worth: money(30.0), show_from: 0.2 }
    }
}

impl Policy {
    /// Whether to ask for a suggestion.
    pub fn allow_question(&self, experience: &Experience, now_ms: u64) -> Result<(), SkipReason> {
        if self.mode == Mode::Off {
            return Err(SkipReason::Off);
        }
        if self.mode == Mode::Auto
            && let Some(left) = experience.habits().turns_to_wait()
        {
            return Err(SkipReason::BackingOff { row: experience.habits().row, left });
        }
        if self.mode == Mode::Auto
            && let Some(answers) = experience.habits().unfit(experience.tariff().background())
        {
            return Err(SkipReason::Unfit { answers });
        }
        self.within_limit(experience, experience.question_cost(), now_ms)?;
        // Where even the surest guess would not run, an answer is worth no more than typing it.
        let surest =
            Band::ALL.map(|band| experience.chance(Some(band.bounds().0))).into_iter().fold(0.0, f64::max);
        let (worth, costs) =
            (self.worth(experience, surest), experience.tariff().estimate(experience.any_run_cost()));
        if self.mode == Mode::Auto && !experience.tariff().is_free() && worth <= costs {
            return Err(SkipReason::NotWorthIt { worth, costs });
        }
        Ok(())
    }

    /// Whether to show a guess of which the model said that it is this sure.
    pub fn allow_shown(&self, experience: &Experience, said: Option<u8>) -> Result<(), SkipReason> {
        let chance = experience.chance(said);
        let is_likely = self.mode == Mode::Always || self.show_from <= chance;
        if is_likely { Ok(()) } else { Err(SkipReason::Unlikely { chance, from: self.show_from }) }
    }

    /// Whether to run a guess ahead, and what it may spend beside others of its answer.
    pub fn allow_run(
        &self,
        experience: &Experience,
        guess: Guess<'_>,
        beside: Beside,
        now_ms: u64,
    ) -> Result<Allowance, SkipReason> {
        self.check_text(guess.text)?;
        let chance = experience.chance(guess.said);
        let Some(left) = self.left_today(experience, now_ms) else {
            let is_likely = self.mode == Mode::Always || FREE_FROM <= chance;
            let unlikely = SkipReason::Unlikely { chance, from: FREE_FROM };
            return if is_likely { Ok(Allowance::default()) } else { Err(unlikely) };
        };
        let question = experience.tariff().estimate(experience.question_cost());
        let kept = if beside.has_others { 2.0 } else { 1.0 };
        let left = (left - beside.promised) / kept - question;
        if left <= LEAST_RUN * question {
            return Err(SkipReason::Limit { limit: self.limit });
        }
        if self.mode == Mode::Always {
            return Ok(Allowance { cost: Some(experience.tariff().limit(left)) });
        }
        let worth = self.worth(experience, chance);
        let such_work = experience.tariff().estimate(experience.run_cost(Kind::of(guess.text)));
        let costs = such_work.max(LEAST_RUN * question);
        if worth <= costs {
            return Err(SkipReason::NotWorthIt { worth, costs });
        }
        Ok(Allowance { cost: Some(experience.tariff().limit(worth.min(left))) })
    }

    /// What is left of what questions and work that nobody takes may cost today, in money; `None` if the model costs
    /// nothing.
    pub fn left_today(&self, experience: &Experience, now_ms: u64) -> Option<f64> {
        if experience.tariff().is_free() {
            return None;
        }
        let limit = self.limit.units() * (1.0 + f64::from(experience.session().granted));
        Some((limit - experience.habits().lost_on(Day::of(now_ms))).max(0.0))
    }

    /// What work may cost that is taken with this chance, in money.
    fn worth(&self, experience: &Experience, chance: f64) -> f64 {
        let second = self.hour_is_worth.units() / 3_600.0;
        chance / (1.0 - chance) * experience.saves_seconds() * second
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

    /// Whether today's limit has room for something that costs this many input tokens.
    fn within_limit(&self, experience: &Experience, tokens: f64, now_ms: u64) -> Result<(), SkipReason> {
        let costs = experience.tariff().estimate(tokens);
        match self.left_today(experience, now_ms) {
            Some(left) if left <= costs => Err(SkipReason::Limit { limit: self.limit }),
            _ => Ok(()),
        }
    }
}

impl Allowance {
    /// The most that the run may cost, in money.
    pub fn money(&self) -> f64 {
        self.cost.map_or(0.0, |limit| limit.most.units())
    }

    /// The limits of a run under this allowance.
    #[must_use]
    pub fn under(&self, limits: Limits) -> Limits {
        Limits { cost: self.cost.or(limits.cost), ..limits }
    }
}
