use std::ops::Deref;

use arrayvec::ArrayVec;
use serde::{Deserialize, Serialize};

use crate::{CandidatePosition, Millis, Outcome, Suggestion, Suggestions};

/// What the host is asked to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Effect {
    /// Put this suggestion on screen. No other is there when this comes.
    Show {
        /// What to show, and what an accept would insert.
        suggestion: Suggestion,
        /// The part of the suggestion to show behind the typed text; absent if nothing is typed, empty if all of it
        /// is typed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rest: Option<String>,
        /// Which of the candidates it is; absent if it is the only one.
        #[serde(default, skip_serializing_if = "CandidatePosition::is_only")]
        place: CandidatePosition,
    },
    /// Take the suggestion off the screen. Harmless when none is there.
    Hide,
    /// Put this text into the input line, in place of what is typed there. The line is not sent.
    Insert {
        /// The text.
        text: String,
    },
    /// Send [`Event::Wake`](crate::Event::Wake) at this time. A later request replaces this one; additional wakes do
    /// no harm.
    WakeAt {
        /// Absolute, on the clock of `now`.
        at: Millis,
    },
    /// Keep this, for example in an [`OutcomeLedger`](crate::OutcomeLedger).
    Record {
        /// What became of a suggestion.
        outcome: Outcome,
    },
    /// Begin to run the best suggestion speculatively, and as many of the others as the host wants.
    StartSpeculation {
        /// What to run. In JSON the best one is `suggestion`, the rest are `others`.
        #[serde(
            flatten,
            serialize_with = "crate::suggestions::fields::serialize_some",
            deserialize_with = "crate::suggestions::fields::deserialize_some"
        )]
        suggestions: Suggestions,
    },
    /// Drop the work of the last [`StartSpeculation`](Self::StartSpeculation), except what was accepted.
    AbandonSpeculation,
    /// This candidate is accepted: drop the work of the others.
    AbandonOthers {
        /// What was accepted.
        suggestion: Suggestion,
    },
}

/// The effects of one event, in the order in which to carry them out: at most [`Effects::CAPACITY`], kept inline.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(into = "Vec<Effect>")]
pub struct Effects(ArrayVec<Effect, { Effects::CAPACITY }>);

impl Effects {
    /// No event asks for more effects than this.
    pub const CAPACITY: usize = 4;

    pub(crate) fn push(&mut self, effect: Effect) {
        self.0.push(effect);
    }
}

impl Deref for Effects {
    type Target = [Effect];

    fn deref(&self) -> &[Effect] {
        &self.0
    }
}

impl IntoIterator for Effects {
    type Item = Effect;
    type IntoIter = arrayvec::IntoIter<Effect, { Effects::CAPACITY }>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Effects {
    type Item = &'a Effect;
    type IntoIter = std::slice::Iter<'a, Effect>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl From<Effects> for Vec<Effect> {
    fn from(effects: Effects) -> Self {
        effects.into_iter().collect()
    }
}
