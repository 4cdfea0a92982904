//! Whether to do something ahead of the user: ask for a suggestion, show it, run it.
//!
//! A [`Policy`] is what the user set. An [`Experience`] is what the ledger of a project tells: how often suggestions of a kind
//! are taken, what running one costs and saves, what has been spent lately. From both come answers, with reasons: an
//! [`Allowance`] or a [`Hold`]. Nothing here has a clock; the host says what time it is.
//!
//! In [`Mode::Auto`] a prompt runs when what it saves, times the chance that the user takes it, is worth more than what it
//! costs, times the chance that they do not: work that is taken is work they would have paid for anyway. What background
//! work cost for nothing stays below a share ([`Policy::share`]) of what the user's own turns cost.
//!
//! ```
//! use headstart_speculation::ledger::{self, Prices};
//! use headstart_speculation::policy::{Experience, Hold, Mode, Policy, Tariff};
//!
//! let book = ledger::read(b"");
//! let experience = Experience::of(Tariff::new("m", Prices::default()), &book.entries);
//! let policy = Policy::default();
//! assert!(policy.run(&experience, "run the tests", 0).is_ok(), "nothing is known to cost anything");
//! assert_eq!(policy.run(&experience, "/clear", 0), Err(Hold::Command));
//! assert_eq!(Policy { mode: Mode::Off, ..policy }.ask(&experience, 0), Err(Hold::Off));
//! ```
//!
//! # Limitations
//!
//! Several processes on one project each know their own spending and what the ledger held when they began. A cap ends a
//! run between two answers, not within one; so an allowance leaves room for one more request of the usual size.

mod caps;
mod estimate;
mod experience;
mod hold;
mod several;
mod tariff;
#[cfg(test)]
mod tests;

use std::time::Duration;

use headstart_followup_state::{FilterReason, filter};

pub use caps::{Cap, Measure, Scope, Spent};
pub use estimate::Beta;
pub use experience::Experience;
pub use hold::Hold;
pub use tariff::Tariff;

use crate::Limits;
use crate::ledger::Kind;
use crate::limits::CostLimit;

/// How much is done ahead; more cautious is less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Mode {
    /// Nothing: no query, no suggestion, no run.
    Off,
    /// What is likely to pay off.
    #[default]
    Auto,
    /// Everything, up to the caps.
    Always,
}

/// What the user wants done ahead, and what it may cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Policy {
    /// How much.
    pub mode: Mode,
    /// The dial: how many of the model's input tokens a second of waiting is worth.
    pub second_is_worth: f64,
    /// A suggestion shows from this chance on that the user takes it.
    pub show_from: f64,
    /// It runs from this chance on.
    pub run_from: f64,
    /// What background work may cost for nothing, as a part of what the user's own turns of the last seven days cost.
    pub share: f64,
    /// Between two turns of the user.
    pub turn: Cap,
    /// From start to end of a session.
    pub session: Cap,
    /// On one day, in all sessions of the project.
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

/// What is expected of running a prompt of some kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forecast {
    /// What is known of the chance that the user takes it.
    pub chance: Beta,
    /// Seconds of waiting that it saves if they do.
    pub saves_seconds: f64,
    /// What it costs, in input tokens of the conversation's model.
    pub costs: f64,
}

impl Default for Policy {
    /// Auto, a second worth 5,000 tokens, shown from 10 %, run from 30 %, at most 8 % of what the user's turns cost.
    fn default() -> Self {
        let cap = |tokens, minutes: u64| Cap { tokens, money: None, time: Duration::from_secs(60 * minutes) };
        Self {
            mode: Mode::Auto,
            second_is_worth: 5_000.0,
            show_from: 0.1,
            run_from: 0.3,
            share: 0.08,
            turn: cap(2_000_000, 10),
            session: cap(20_000_000, 240),
            day: cap(50_000_000, 480),
        }
    }
}

impl Policy {
    /// Whether to ask for a suggestion.
    pub fn ask(&self, experience: &Experience, now_ms: u64) -> Result<(), Hold> {
        self.within_caps(experience, 1, now_ms)?;
        if self.mode == Mode::Always {
            return Ok(());
        }
        if let Some((ignored, left)) = experience.backing_off() {
            return Err(Hold::BackingOff { ignored, left });
        }
        let best = Kind::ALL.map(|kind| experience.chance(kind).mean()).into_iter().fold(0.0, f64::max);
        if best < self.show_from {
            return Err(Hold::Unlikely { chance: best, from: self.show_from });
        }
        let left = self.left_of_share(experience, now_ms);
        let query = experience.query_cost();
        // Where running pays off, a suggestion that could not run would only use up what the next run needs.
        let worth_running = Kind::ALL.into_iter().any(|kind| self.worth_it(experience, kind, 1.0).is_ok());
        let costs = if worth_running { query + experience.least_run() } else { query };
        if left < costs { Err(Hold::Share { left, costs }) } else { Ok(()) }
    }

    /// Whether to show a suggestion.
    pub fn show(&self, experience: &Experience, text: &str) -> Result<(), Hold> {
        let chance = experience.chance(Kind::of(text)).mean();
        match self.mode {
            Mode::Off => Err(Hold::Off),
            Mode::Auto if chance < self.show_from => Err(Hold::Unlikely { chance, from: self.show_from }),
            Mode::Auto | Mode::Always => Ok(()),
        }
    }

    /// Whether to run a suggestion ahead, and what it may spend.
    pub fn run(&self, experience: &Experience, text: &str, now_ms: u64) -> Result<Allowance, Hold> {
        self.may_run_at_all(text)?;
        self.run_kind(experience, Kind::of(text), now_ms)
    }

    /// As [`run`](Self::run), for a step on top of others that the user has not taken yet: it is taken only where they all
    /// are.
    pub fn run_above<'a>(
        &self,
        experience: &Experience,
        below: impl IntoIterator<Item = &'a str>,
        text: &str,
        now_ms: u64,
    ) -> Result<Allowance, Hold> {
        self.may_run_at_all(text)?;
        let reached = below.into_iter().map(|step| experience.chance(Kind::of(step)).mean()).product();
        let chance = reached * experience.chance(Kind::of(text)).mean();
        if self.mode == Mode::Auto && chance < self.run_from {
            return Err(Hold::Unlikely { chance, from: self.run_from });
        }
        self.one_more(experience, Kind::of(text), reached, 1, now_ms)?;
        Ok(self.allowance(experience, 1, now_ms))
    }

    /// As [`run`](Self::run), for any suggestion of a kind.
    pub fn run_kind(&self, experience: &Experience, kind: Kind, now_ms: u64) -> Result<Allowance, Hold> {
        self.one_more(experience, kind, 1.0, 1, now_ms)?;
        Ok(self.allowance(experience, 1, now_ms))
    }

    fn may_run_at_all(&self, text: &str) -> Result<(), Hold> {
        if self.mode == Mode::Off {
            return Err(Hold::Off);
        }
        if text.trim_start().starts_with('/') {
            return Err(Hold::Command);
        }
        if filter(text.trim()) == Err(FilterReason::Destructive) {
            return Err(Hold::Destructive);
        }
        Ok(())
    }

    /// Whether a suggestion of this kind may run as one of so `many` at the same time, where the user comes as far as to be
    /// asked with the chance `reached`: takes the steps below it, and none of the better candidates.
    fn one_more(
        &self,
        experience: &Experience,
        kind: Kind,
        reached: f64,
        many: u32,
        now_ms: u64,
    ) -> Result<(), Hold> {
        self.within_caps(experience, many, now_ms)?;
        if self.mode != Mode::Auto {
            return Ok(());
        }
        self.worth_it(experience, kind, reached)?;
        let costs = f64::from(many) * experience.least_run();
        let left = self.left_of_share(experience, now_ms);
        if left < costs { Err(Hold::Share { left, costs }) } else { Ok(()) }
    }

    /// What each of so `many` that run at the same time may spend.
    fn allowance(&self, experience: &Experience, many: u32, now_ms: u64) -> Allowance {
        let caps = self.left_of_caps(experience, many, now_ms);
        let share = self.left_of_share(experience, now_ms) / f64::from(many) - experience.query_cost();
        let share = (self.mode == Mode::Auto).then_some(share.max(0.0));
        let most = experience.tariff().limit(share, caps.money);
        Allowance { tokens: caps.tokens, time: caps.time, cost: most }
    }

    /// What is expected of running a suggestion of this kind.
    pub fn forecast(&self, experience: &Experience, kind: Kind) -> Forecast {
        Forecast {
            chance: experience.chance(kind),
            saves_seconds: experience.saves_seconds(),
            costs: experience.run_cost(),
        }
    }

    /// What background work may still cost for nothing, in input tokens of the conversation's model.
    pub fn left_of_share(&self, experience: &Experience, now_ms: u64) -> f64 {
        let (own, extra) = experience.lately(now_ms);
        (self.share * own - extra).max(0.0)
    }

    /// `reached` is the chance that the user comes as far as to be asked.
    fn worth_it(&self, experience: &Experience, kind: Kind, reached: f64) -> Result<(), Hold> {
        let forecast = self.forecast(experience, kind);
        let chance = forecast.chance.mean();
        if chance < self.run_from {
            return Err(Hold::Unlikely { chance, from: self.run_from });
        }
        let chance = chance * reached;
        let saving = chance * forecast.saves_seconds * self.second_is_worth;
        let loss = (1.0 - chance) * forecast.costs;
        if saving < loss {
            return Err(Hold::NotWorthIt { saving, loss });
        }
        Ok(())
    }

    /// Whether the caps leave room for the next request of so `many` that are at work at the same time.
    fn within_caps(&self, experience: &Experience, many: u32, now_ms: u64) -> Result<(), Hold> {
        if self.mode == Mode::Off {
            return Err(Hold::Off);
        }
        let room = experience.query_spends().times(many);
        for (scope, cap) in self.caps() {
            if let Some(measure) = cap.reached(experience.spent(scope, now_ms), room) {
                return Err(Hold::Cap { scope, measure });
            }
        }
        Ok(())
    }

    /// The least that any cap leaves to each of so `many`, without room for one more request.
    fn left_of_caps(&self, experience: &Experience, many: u32, now_ms: u64) -> Cap {
        let room = experience.query_spends().times(many);
        let left = self.caps().map(|(scope, cap)| cap.less(experience.spent(scope, now_ms).plus(room)));
        left[0].and(left[1]).and(left[2]).part(many)
    }

    fn caps(&self) -> [(Scope, Cap); 3] {
        [(Scope::Turn, self.turn), (Scope::Session, self.session), (Scope::Day, self.day)]
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
