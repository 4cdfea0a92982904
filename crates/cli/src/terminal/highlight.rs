//! Which parts of code have which style, line by line.

use super::palette::Palette;
use super::row::{Span, Style};

#[cfg(feature = "highlight")]
mod syntaxes;
#[cfg(not(feature = "highlight"))]
#[path = "highlight/none.rs"]
mod syntaxes;
#[cfg(all(test, feature = "highlight"))]
mod tests;

use syntaxes::State;

/// A longer line is one that a program wrote.
const MOST_LINE_BYTES: usize = 1_000;
/// What is longer is data rather than code, and takes its time.
const MOST_BYTES: usize = 512 * 1024;
const MOST_LINES: usize = 10_000;

/// Gives the lines of one piece of code their styles, each line once and in order. Where the language is not known, the terminal has no
/// styles, or the code is too long, all is plain.
#[derive(Debug, Clone, Default)]
pub(super) struct Highlighter {
    state: Option<Box<State>>,
    lines: usize,
    bytes: usize,
}

impl Highlighter {
    /// For a block of code by what stands behind the marks of its fence.
    pub(super) fn of_fence(info: &str, palette: Palette) -> Self {
        let name = info.trim_start_matches(|c: char| "`~{. \t".contains(c));
        let name = name.split(|c: char| c.is_whitespace() || ",:;{}".contains(c)).next().unwrap_or_default();
        Self::new(palette, || State::of_language(name))
    }

    /// For a file by its name.
    pub(super) fn of_path(path: &str, palette: Palette) -> Self {
        Self::new(palette, || State::of_file(path.rsplit('/').next().unwrap_or_default()))
    }

    fn new(palette: Palette, state: impl FnOnce() -> Option<State>) -> Self {
        let state = if palette.is_plain() { None } else { state() };
        Self { state: state.map(Box::new), ..Self::default() }
    }

    /// The parts of the next line, which has no line feed; all of it, in order.
    pub(super) fn line(&mut self, line: &str) -> Vec<Span> {
        self.lines += 1;
        self.bytes += line.len();
        if MOST_LINES < self.lines || MOST_BYTES < self.bytes {
            self.state = None;
        }
        let is_short = line.len() <= MOST_LINE_BYTES;
        let parts = self.state.as_mut().filter(|_| is_short).map(|state| state.parts(line));
        match parts {
            Some(Some(parts)) => parts,
            // What cannot be read is not read on.
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
