//! The highlighter of a build without syntaxes.

use super::super::row::Span;

#[derive(Debug, Clone)]
pub(super) enum HighlightState {}

impl HighlightState {
    pub(super) fn of_language(_: &str) -> Option<Self> {
        None
    }

    pub(super) fn of_file(_: &str) -> Option<Self> {
        None
    }

    pub(super) fn parts(&mut self, _: &str) -> Option<Vec<Span>> {
        match *self {}
    }
}
