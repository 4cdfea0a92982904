use arrayvec::ArrayVec;
use serde::{Deserialize, Serialize};

use crate::{Suggestion, Suggestions};

/// The most suggestions that a user can choose from at a time.
pub const MAX_CANDIDATES: usize = 3;

/// Which of the candidates that match the typed text is on screen, as in "2 of 3".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CandidatePosition {
    /// Counted from 1.
    pub number: usize,
    /// How many candidates match the typed text.
    pub of: usize,
}

/// The suggestions of one answer, and which of them the user has seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidates {
    all: Suggestions,
    /// The index of the candidate to show if it matches the typed text; otherwise the best match is shown.
    preferred: usize,
    on_screen: usize,
    seen: [bool; MAX_CANDIDATES],
}

impl Default for CandidatePosition {
    fn default() -> Self {
        Self { number: 1, of: 1 }
    }
}

impl CandidatePosition {
    /// Whether there is no other candidate to go on to.
    pub fn is_only(&self) -> bool {
        self.of <= 1
    }
}

impl Candidates {
    pub(crate) fn new(all: Suggestions) -> Self {
        Self { all, preferred: 0, on_screen: 0, seen: [false; MAX_CANDIDATES] }
    }

    /// All candidates, best first.
    pub fn suggestions(&self) -> &Suggestions {
        &self.all
    }

    /// The index of the candidate that `text` is ([`Suggestion::is_same_as`]), from 0.
    pub fn position(&self, text: &str) -> Option<usize> {
        self.all.position(text)
    }

    /// The index, from 0, of the candidate that is on screen or was last; 0 before any was.
    pub fn on_screen(&self) -> usize {
        self.on_screen
    }

    /// Whether the candidate with this index (from 0) was ever on screen.
    pub fn was_seen(&self, index: usize) -> bool {
        self.seen.get(index).is_some_and(|seen| *seen)
    }

    /// Whether a candidate matches the typed text: it begins with it, or differs from it only in blanks or a full
    /// stop.
    pub fn any_matches(&self, typed: &str) -> bool {
        self.matching(typed).next().is_some()
    }

    pub(crate) fn find(&self, text: &str) -> Option<&Suggestion> {
        self.all.iter().find(|suggestion| suggestion.as_str() == text)
    }

    /// Prefers the best candidate again, as for candidates that were never shown.
    pub(crate) fn begin_anew(&mut self) {
        self.preferred = 0;
    }

    /// Notes that the candidate that matches the typed text is on screen now.
    pub(crate) fn show(&mut self, typed: &str) {
        if let Some(index) = self.current_index(typed) {
            self.on_screen = index;
            self.seen[index] = true;
        }
    }

    /// The candidate to show for the typed text.
    pub(crate) fn current(&self, typed: &str) -> Option<&Suggestion> {
        self.current_index(typed).map(|index| &self.all[index])
    }

    pub(crate) fn place(&self, typed: &str) -> CandidatePosition {
        let matching: ArrayVec<usize, MAX_CANDIDATES> = self.matching(typed).collect();
        let number = matching.iter().position(|index| Some(*index) == self.current_index(typed));
        CandidatePosition { number: number.map_or(1, |index| index + 1), of: matching.len().max(1) }
    }

    /// Prefers another candidate that matches the typed text; after the last one comes the first. `false` if there is
    /// no other.
    pub(crate) fn turn(&mut self, typed: &str, step: Direction) -> bool {
        let matching: ArrayVec<usize, MAX_CANDIDATES> = self.matching(typed).collect();
        let current = self.current_index(typed);
        let Some(at) = matching.iter().position(|index| Some(*index) == current) else { return false };
        let next = match step {
            Direction::Next => at + 1,
            Direction::Previous => at + matching.len() - 1,
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

/// The direction in which the user goes through the candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Next,
    Previous,
}
