use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::AcceptMethod;

/// Where an accepted text came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Source {
    /// The suggestion that was on screen.
    Live,
    /// The fallback text that came with the accept.
    Fallback,
}

/// What became of one suggestion. It holds lengths and times, never the text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Outcome {
    /// The user took the text.
    Accepted {
        /// With which key.
        accept_method: AcceptMethod,
        /// From where.
        source: Source,
        /// Milliseconds from show to accept; 0 for a text that was never shown.
        time_to_accept_ms: u64,
        /// Milliseconds from show to the first key. Absent for a fallback, and when no key was pressed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        time_to_first_keystroke_ms: Option<u64>,
        /// Characters (Unicode scalar values) of the text.
        suggestion_length: usize,
    },
    /// The suggestion was on screen and the user dismissed it or typed something else.
    Ignored {
        /// Milliseconds from show to dismissal.
        time_to_ignore_ms: u64,
        /// Milliseconds from show to the first key. Absent when no key was pressed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        time_to_first_keystroke_ms: Option<u64>,
        /// Characters (Unicode scalar values) of the text.
        suggestion_length: usize,
    },
    /// A guard or the filter refused, and nothing was shown.
    Suppressed {
        /// The code of the guard or of the filter's rule.
        reason: String,
    },
}

/// Counts outcomes. Plain numbers: the host decides whether and where to keep them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct OutcomeLedger {
    /// How many were accepted, fallbacks included.
    pub accepted: u64,
    /// How many were on screen and ignored.
    pub ignored: u64,
    /// How many were suppressed, by reason code.
    pub suppressed: BTreeMap<String, u64>,
}

impl OutcomeLedger {
    /// Counts one outcome.
    pub fn record(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Accepted { .. } => raise(&mut self.accepted),
            Outcome::Ignored { .. } => raise(&mut self.ignored),
            Outcome::Suppressed { reason } => raise(self.suppressed.entry(reason.clone()).or_default()),
        }
    }

    /// The accepted share of all that were accepted or ignored, from 0 to 1; `None` if there were none.
    pub fn acceptance_rate(&self) -> Option<f64> {
        let judged = self.accepted.saturating_add(self.ignored);
        if judged == 0 {
            return None;
        }
        #[expect(clippy::cast_precision_loss, reason = "a ratio of counts far below 2^52")]
        let rate = self.accepted as f64 / judged as f64;
        Some(rate)
    }

    /// How many suggestions were suppressed, whatever the reason.
    pub fn suppressed_total(&self) -> u64 {
        self.suppressed.values().fold(0, |sum, count| sum.saturating_add(*count))
    }
}

fn raise(count: &mut u64) {
    *count = count.saturating_add(1);
}
