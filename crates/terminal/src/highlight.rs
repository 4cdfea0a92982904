//! Splits code into parts with styles, line by line.

use super::palette::Palette;
use super::row::{Span, Style};

#[cfg(feature = "highlight")]
mod syntaxes;
#[cfg(not(feature = "highlight"))]
#[path = "highlight/none.rs"]
mod syntaxes;
#[cfg(all(test, feature = "highlight"))]
mod tests;

use syntaxes::HighlightState;

/// A longer line is taken for one that a program wrote, and is plain.
const MAX_LINE_BYTES: usize = 1_000;
/// Larger text is data rather than code, and would take long.
const MAX_BYTES: usize = 512 * 1024;
const MAX_LINES: usize = 10_000;

/// Gives the lines of one piece of code their styles, each line once and in order. Everything is plain if the language
/// is unknown, if the terminal has no styles, or if the code is too long.
#[derive(Debug, Clone, Default)]
pub(super) struct Highlighter {
    state: Option<Box<HighlightState>>,
    lines: usize,
    bytes: usize,
}

impl Highlighter {
    /// A highlighter for a block of code, by the text behind the marks of its fence.
    pub(super) fn of_fence(info: &str, palette: Palette) -> Self {
        let name = info.trim_start_matches(|c: char| "`~{. \t".contains(c));
        let name = name.split(|c: char| c.is_whitespace() || ",:;{}".contains(c)).next().unwrap_or_default();
        Self::new(palette, || HighlightState::of_language(name))
    }

    /// A highlighter for a file, by its name.
    pub(super) fn of_path(path: &str, palette: Palette) -> Self {
        Self::new(palette, || HighlightState::of_file(path.rsplit('/').next().unwrap_or_default()))
    }

    fn new(palette: Palette, state: impl FnOnce() -> Option<HighlightState>) -> Self {
        let state = if palette.is_plain() { None } else { state() };
        Self { state: state.map(Box::new), ..Self::default() }
    }

    /// The parts of the next line, in order and covering all of it. The line has no line feed.
    pub(super) fn line(&mut self, line: &str) -> Vec<Span> {
        self.lines += 1;
        self.bytes += line.len();
        if MAX_LINES < self.lines || MAX_BYTES < self.bytes {
            self.state = None;
        }
        let is_short = line.len() <= MAX_LINE_BYTES;
        let parts = self.state.as_mut().filter(|_| is_short).map(|state| state.parts(line));
        match parts {
            Some(Some(parts)) => parts,
            // After a line that the syntax cannot read, the rest is plain.
            Some(None) => {
                self.state = None;
                plain(line)
            }
            None => plain(line),
        }
    }
}

fn plain(line: &str) -> Vec<Span> {
    vec![Span::new(line, Style::Plain)]
}
