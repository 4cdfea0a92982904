use std::fmt;
use std::time::Duration;

use headstart_forked_query::Money;

/// The most that may be spent in a span of time. Nothing goes beyond it, in any mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cap {
    /// Tokens read and written, cached ones included.
    pub tokens: u64,
    /// Money, as far as prices are known; `None` for no cap.
    pub money: Option<Money>,
    /// Wall time of background work.
    pub time: Duration,
}

/// What was spent in a span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spending {
    /// Tokens read and written, cached ones included.
    pub tokens: u64,
    /// Money, as far as prices are known.
    pub money: Money,
    /// Wall time of background work.
    pub time: Duration,
}

/// The span of time of a cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Since the user's last turn.
    Turn,
    /// Since the session began.
    Session,
    /// Since midnight, universal time.
    Day,
}

/// What a cap counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Tokens.
    Tokens,
    /// Money.
    Money,
    /// Time.
    Time,
}

impl Cap {
    /// What the cap has no room for, if `next` is added to what was spent.
    pub(super) fn reached(&self, spent: Spending, next: Spending) -> Option<Measure> {
        let then = spent.plus(next);
        if self.tokens <= spent.tokens || self.tokens < then.tokens {
            return Some(Measure::Tokens);
        }
        if self.money.is_some_and(|money| money <= spent.money || money < then.money) {
            return Some(Measure::Money);
        }
        (self.time <= spent.time).then_some(Measure::Time)
    }

    /// What is left of the cap.
    pub(super) fn less(&self, spent: Spending) -> Self {
        Self {
            tokens: self.tokens.saturating_sub(spent.tokens),
            money: self.money.map(|money| money.less(spent.money)),
            time: self.time.saturating_sub(spent.time),
        }
    }

    /// What each of this many runs may use of the cap.
    pub(super) fn part(self, many: u32) -> Self {
        let money = self.money.map(|money| money.part(many));
        Self { tokens: self.tokens / u64::from(many.max(1)), money, time: self.time / many.max(1) }
    }

    /// The smaller of both caps in each measure.
    pub(super) fn and(self, other: Self) -> Self {
        let money = match (self.money, other.money) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        };
        Self { tokens: self.tokens.min(other.tokens), money, time: self.time.min(other.time) }
    }
}

impl Spending {
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            money: self.money.plus(other.money),
            time: self.time.saturating_add(other.time),
        }
    }

    pub(super) fn times(self, many: u32) -> Self {
        Self {
            tokens: self.tokens.saturating_mul(u64::from(many)),
            money: self.money.times(many),
            time: self.time.saturating_mul(many),
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Turn => "this turn",
            Self::Session => "this session",
            Self::Day => "today",
        })
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tokens => "tokens",
            Self::Money => "money",
            Self::Time => "time",
        })
    }
}
