use arrayvec::ArrayVec;
use serde::{Deserialize, Serialize};

use crate::{Suggestion, Suggestions};

/// At most so many suggestions are on offer at a time.
pub const MAX_CANDIDATES: usize = 3;

/// Which of the candidates that match what is typed is on screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Place {
    /// From 1.
    pub number: usize,
    /// How many there are.
    pub of: usize,
}

/// The suggestions of one moment, and the one that the user turned to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Choice {
    all: Suggestions,
    /// The one to show where it matches what is typed; else the best that does.
    preferred: usize,
}

impl Default for Place {
    fn default() -> Self {
        Self { number: 1, of: 1 }
    }
}

impl Place {
    /// Whether there is nothing to choose from.
    pub fn is_only(&self) -> bool {
        self.of <= 1
    }
}

impl Choice {
    pub(crate) fn new(all: Suggestions) -> Self {
        Self { all, preferred: 0 }
    }

    pub(crate) fn suggestions(&self) -> &Suggestions {
        &self.all
    }

    /// Whether both offer the same, in the same order.
    pub(crate) fn offers_the_same_as(&self, other: &Self) -> bool {
        self.all == other.all
    }

    pub(crate) fn find(&self, text: &str) -> Option<&Suggestion> {
        self.all.iter().find(|suggestion| suggestion.as_str() == text)
    }

    /// The candidate to show behind what is typed.
    pub(crate) fn current(&self, typed: &str) -> Option<&Suggestion> {
        self.current_index(typed).map(|index| &self.all[index])
    }

    pub(crate) fn place(&self, typed: &str) -> Place {
        let matching: ArrayVec<usize, MAX_CANDIDATES> = self.matching(typed).collect();
        let number = matching.iter().position(|index| Some(*index) == self.current_index(typed));
        Place { number: number.map_or(1, |index| index + 1), of: matching.len().max(1) }
    }

    /// Goes on to another candidate that matches what is typed, round and round; `false` where there is no other.
    pub(crate) fn turn(&mut self, typed: &str, step: Step) -> bool {
        let matching: ArrayVec<usize, MAX_CANDIDATES> = self.matching(typed).collect();
        let current = self.current_index(typed);
        let Some(at) = matching.iter().position(|index| Some(*index) == current) else { return false };
        let next = match step {
            Step::Next => at + 1,
            Step::Previous => at + matching.len() - 1,
        };
        self.preferred = matching[next % matching.len()];
        1 < matching.len()
    }

    fn current_index(&self, typed: &str) -> Option<usize> {
        let mut matching = self.matching(typed);
        let first = matching.next()?;
        Some(if matching.any(|index| index == self.preferred) { self.preferred } else { first })
    }

    fn matching(&self, typed: &str) -> impl Iterator<Item = usize> {
        (0..self.all.len()).filter(move |index| {
            let suggestion = &self.all[*index];
            suggestion.rest_after(typed).is_some() || suggestion.is_same_as(typed)
        })
    }
}

/// In which direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Next,
    Previous,
}
