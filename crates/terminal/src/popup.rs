//! The list of completions below the prompt.

use unicode_width::UnicodeWidthStr;

use super::layout::one_row;
use super::row::{Row, Style};

/// The most rows of the list.
pub(super) const MAX_ROWS: usize = 8;
/// The columns between a label and its description.
const GAP: usize = 2;

/// A completion.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Choice {
    /// The text in the list.
    pub label: String,
    /// A short description.
    pub words: String,
    /// The text that replaces what is typed.
    pub text: String,
    /// Whether Enter sends the prompt after this choice.
    pub is_whole: bool,
}

/// A list of completions, one of which is marked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Popup {
    /// The byte offset at which the text to be replaced begins. It ends at the cursor.
    from: usize,
    /// Never empty.
    choices: Vec<Choice>,
    marked: usize,
    is_moved: bool,
}

impl Popup {
    /// A list with the best choice first; `None` if there are no choices.
    pub fn new(from: usize, choices: Vec<Choice>) -> Option<Self> {
        (!choices.is_empty()).then_some(Self { from, choices, marked: 0, is_moved: false })
    }

    /// The byte offset at which the text to be replaced begins.
    pub fn from(&self) -> usize {
        self.from
    }

    /// The marked choice.
    pub fn marked(&self) -> &Choice {
        &self.choices[self.marked]
    }

    /// Whether the user moved the mark.
    pub fn is_moved(&self) -> bool {
        self.is_moved
    }

    /// Marks the next choice or the previous one. The first one follows the last.
    pub(super) fn turn(&mut self, forward: bool) {
        let last = self.choices.len() - 1;
        self.marked = match (self.marked, forward) {
            (marked, true) if marked == last => 0,
            (marked, true) => marked + 1,
            (0, false) => last,
            (marked, false) => marked - 1,
        };
        self.is_moved = true;
    }

    /// At most `most` rows of the list, with the marked choice among them.
    pub(super) fn rows(&self, columns: u16, most: usize) -> Vec<Row> {
        let most = most.min(MAX_ROWS);
        let first = (self.marked + 1).saturating_sub(most);
        let shown: Vec<_> = self.choices.iter().enumerate().skip(first).take(most).collect();
        let widths = shown.iter().filter(|(_, choice)| !choice.words.is_empty());
        let widest = widths.map(|(_, choice)| choice.label.width()).max().unwrap_or(0);
        let row = |(place, choice): &(usize, &Choice)| {
            let is_marked = *place == self.marked;
            let mut row = Row::default();
            let (mark, style) = if is_marked { ("> ", Style::Accent) } else { ("  ", Style::Plain) };
            row.push_span(mark, style);
            let left = usize::from(columns).saturating_sub(row.width);
            push(&mut row, &choice.label, left, style);
            let at = 2 + widest + GAP;
            if !choice.words.is_empty() && at + GAP < usize::from(columns) && row.width < at {
                row.push_span(&" ".repeat(at - row.width), Style::Plain);
                let left = usize::from(columns) - at;
                push(&mut row, &choice.words, left, Style::Dim);
            }
            row
        };
        shown.iter().map(row).collect()
    }
}

fn push(row: &mut Row, text: &str, columns: usize, style: Style) {
    for span in one_row(text, u16::try_from(columns).unwrap_or(u16::MAX), style).spans {
        row.push_span(&span.text, span.style);
    }
}
