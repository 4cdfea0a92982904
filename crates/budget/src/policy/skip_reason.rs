use super::Scope;
use super::caps::Measure;

/// Why something is not done ahead. The text is for the user; the code is for the ledger and for JSON.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SkipReason {
    /// Background work is off.
    #[error("background work is off")]
    Off,
    /// A slash command is for the host.
    #[error("a slash command is never run ahead")]
    Command,
    /// The text is destructive.
    #[error("a destructive text is never run ahead")]
    Destructive,
    /// The user took none of the last suggestions, so questions are rare.
    #[error("the last {row} suggestions were not taken; turns that pass before the next try: {left}")]
    BackingOff {
        /// How many suggestions in a row were not taken.
        row: u32,
        /// How many turns have to pass.
        left: u32,
    },
    /// The user took none of the last suggestions, so nothing runs.
    #[error("the last {row} suggestions were not taken; nothing runs ahead until one is")]
    Row {
        /// How many suggestions in a row were not taken.
        row: u32,
    },
    /// What the session may lose is used up.
    #[error("{left:.0} tokens are left for work that nobody takes, and this may cost {costs:.0}")]
    Allowance {
        /// How much is left, in input tokens.
        left: f64,
        /// How much this may cost, in input tokens.
        costs: f64,
        /// Whether more would be left if the day's other sessions had used less.
        day_limits: bool,
    },
    /// The work would cost more than it saves.
    #[error("the time that it may save is worth {worth:.0} tokens, and it takes at least {costs:.0}")]
    NotWorthIt {
        /// What the saved time is worth, in input tokens.
        worth: f64,
        /// What the work costs at least, in input tokens.
        costs: f64,
    },
    /// The user takes too few suggestions for a step on top of others.
    #[error("the chance that it is taken is {:.0} %, and a further step waits for {:.0} %", chance * 100.0, from * 100.0)]
    Unlikely {
        /// The chance that the step is taken, from 0 to 1.
        chance: f64,
        /// The chance that is needed.
        from: f64,
    },
    /// Better candidates run already.
    #[error("{most} better candidates run ahead already, and no more are to run at the same time")]
    Enough {
        /// How many may run at the same time.
        most: usize,
    },
    /// A hard cap is reached.
    #[error("the cap of {measure} for {scope} is reached")]
    Cap {
        /// The span of time of the cap.
        scope: Scope,
        /// What the cap counts.
        measure: Measure,
    },
    /// The machine that the model runs on is on battery; a host finds that out.
    #[error("the model runs on this machine, which is on battery power")]
    Battery,
    /// The machine that the model runs on is busy; a host finds that out.
    #[error("the model runs on this machine, which is busy")]
    Load,
}

impl SkipReason {
    /// The code, as in the ledger.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Command => "command",
            Self::Destructive => "destructive",
            Self::BackingOff { .. } => "backing_off",
            Self::Row { .. } => "row",
            Self::Allowance { day_limits: false, .. } => "allowance",
            Self::Allowance { day_limits: true, .. } => "day_starts",
            Self::NotWorthIt { .. } => "not_worth_it",
            Self::Unlikely { .. } => "unlikely",
            Self::Enough { .. } => "enough",
            Self::Cap { .. } => "cap",
            Self::Battery => "battery",
            Self::Load => "load",
        }
    }

    /// Whether a code in a ledger says that no question was asked; earlier versions also used `unlikely` and `share`
    /// for that.
    pub(crate) fn suppresses_question(code: &str) -> bool {
        const CODES: [&str; 8] =
            ["backing_off", "allowance", "day_starts", "cap", "battery", "load", "unlikely", "share"];
        CODES.contains(&code)
    }
}
