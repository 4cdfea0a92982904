use headstart_forked_query::Money;

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
    /// The last answers of the model could not be used.
    #[error("the last {answers} guesses were of no use")]
    Unfit {
        /// How many they were.
        answers: u32,
    },
    /// What work ahead that nobody takes may cost today is used up.
    #[error("work ahead that nobody took may cost ${limit} a day, and too little of that is left")]
    Limit {
        /// What it may cost.
        limit: Money,
    },
    /// The work would cost more than it saves.
    #[error("for the chance that you want it, such work may cost ${worth:.3}, and it costs ${costs:.3}")]
    NotWorthIt {
        /// What it may cost, in money.
        worth: f64,
        /// What such work costs, in money.
        costs: f64,
    },
    /// The guess is too uncertain.
    #[error("of guesses like this one {:.0} % come true, and it runs from {:.0} %", chance * 100.0, from * 100.0)]
    Unlikely {
        /// The chance that it comes true, from 0 to 1.
        chance: f64,
        /// The chance that is needed.
        from: f64,
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
            Self::Unfit { .. } => "unfit",
            Self::Limit { .. } => "limit",
            Self::NotWorthIt { .. } => "not_worth_it",
            Self::Unlikely { .. } => "unlikely",
            Self::Battery => "battery",
            Self::Load => "load",
        }
    }

    /// Whether a code in a ledger says that no question was asked.
    pub(crate) fn suppresses_question(code: &str) -> bool {
        ["backing_off", "unfit", "limit", "not_worth_it", "battery", "load"].contains(&code)
    }

    /// Whether a code in a ledger says that the policy prevented a question, or that its answer was shown.
    pub(crate) fn is_code(code: &str) -> bool {
        code == "unlikely" || Self::suppresses_question(code)
    }
}
