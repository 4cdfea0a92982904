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

/// The suggestions of one moment, and what the user has seen of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidates {
    all: Suggestions,
    /// The one to show where it matches what is typed; else the best that does.
    preferred: usize,
    on_screen: usize,
    seen: [bool; MAX_CANDIDATES],
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

impl Candidates {
    pub(crate) fn new(all: Suggestions) -> Self {
        Self { all, preferred: 0, on_screen: 0, seen: [false; MAX_CANDIDATES] }
    }

    /// All of them, best first.
    pub fn suggestions(&self) -> &Suggestions {
        &self.all
    }

    /// Which one a text is ([`Suggestion::is_same_as`]), from 0.
    pub fn position(&self, text: &str) -> Option<usize> {
        self.all.position(text)
    }

    /// Which one is on screen or was last, from 0; before that, the best.
    pub fn on_screen(&self) -> usize {
        self.on_screen
    }

    /// Whether this one, counted from 0, was on screen.
    pub fn was_seen(&self, index: usize) -> bool {
        self.seen.get(index).is_some_and(|seen| *seen)
    }

    /// Whether one of them goes with a text: it begins with it, or is the same but for blanks or a full stop.
    pub fn go_with(&self, typed: &str) -> bool {
        self.matching(typed).next().is_some()
    }

    pub(crate) fn find(&self, text: &str) -> Option<&Suggestion> {
        self.all.iter().find(|suggestion| suggestion.as_str() == text)
    }

    /// They come on screen anew, the best of them first.
    pub(crate) fn begin_anew(&mut self) {
        self.preferred = 0;
    }

    /// The one that matches what is typed is on screen now.
    pub(crate) fn show(&mut self, typed: &str) {
        if let Some(index) = self.current_index(typed) {
            self.on_screen = index;
            self.seen[index] = true;
        }
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
