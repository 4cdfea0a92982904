use super::Scope;
use super::caps::Measure;

/// Why something is not done ahead. Its text is for the user; its code is in the ledger and in JSON.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Hold {
    /// Background work is off.
    #[error("background work is off")]
    Off,
    /// A slash command is for the host.
    #[error("a slash command is never run ahead")]
    Command,
    /// A text that destroys.
    #[error("a destructive text is never run ahead")]
    Destructive,
    /// The user ignored the last ones.
    #[error("the last {ignored} suggestions were ignored; {left} more turns pass before the next try")]
    BackingOff {
        /// How many in a row.
        ignored: u32,
        /// How many turns to pass.
        left: u32,
    },
    /// The user takes too few of this kind.
    #[error("the chance that it is taken is {:.0} %, and {:.0} % are asked for", chance * 100.0, from * 100.0)]
    Unlikely {
        /// From 0 to 1.
        chance: f64,
        /// What the user asks for.
        from: f64,
    },
    /// It costs more than it saves.
    #[error("the time it would save is worth {saving:.0} tokens, and it may cost {loss:.0} for nothing")]
    NotWorthIt {
        /// In input tokens, times the chance.
        saving: f64,
        /// In input tokens, times the chance of the opposite.
        loss: f64,
    },
    /// Too much was spent for nothing lately, measured by the user's own turns.
    #[error("background work may cost {left:.0} tokens more for nothing now, and this takes {costs:.0}")]
    Share {
        /// In input tokens.
        left: f64,
        /// In input tokens.
        costs: f64,
    },
    /// Better candidates run already.
    #[error("{most} better candidates run ahead already, and no more are to run at the same time")]
    Enough {
        /// How many are to run at the same time.
        most: usize,
    },
    /// A hard cap.
    #[error("the cap of {measure} for {scope} is reached")]
    Cap {
        /// Which one.
        scope: Scope,
        /// Of what.
        measure: Measure,
    },
}

impl Hold {
    /// The code, as in the ledger.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Command => "command",
            Self::Destructive => "destructive",
            Self::BackingOff { .. } => "backing_off",
            Self::Unlikely { .. } => "unlikely",
            Self::NotWorthIt { .. } => "not_worth_it",
            Self::Share { .. } => "share",
            Self::Enough { .. } => "enough",
            Self::Cap { .. } => "cap",
        }
    }

    /// Whether a code in a ledger says that the policy gave way to what it had learned: what it has learned fades by it, so
    /// that it tries again.
    pub(crate) fn is_lesson(code: &str) -> bool {
        matches!(code, "backing_off" | "unlikely")
    }
}
