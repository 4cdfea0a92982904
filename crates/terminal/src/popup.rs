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
    /// Whether each choice has a number, which is its key.
    is_numbered: bool,
}

impl Popup {
    /// A list with the best choice first; `None` if there are no choices.
    pub fn new(from: usize, choices: Vec<Choice>) -> Option<Self> {
        let list = Self { from, choices, marked: 0, is_moved: false, is_numbered: false };
        (!list.choices.is_empty()).then_some(list)
    }

    /// A list of at most nine choices, each of which has its number as a key and takes the place of the whole text. One of
    /// them is marked.
    pub fn numbered(choices: Vec<Choice>, marked: usize) -> Option<Self> {
        let list = Self { from: 0, choices, marked, is_moved: true, is_numbered: true };
        (marked < list.choices.len()).then_some(list)
    }

    /// Whether the choices have numbers.
    pub fn is_numbered(&self) -> bool {
        self.is_numbered
    }

    /// All choices, in order.
    pub fn choices(&self) -> &[Choice] {
        &self.choices
    }

    /// The place of the marked choice, from 0.
    pub fn marked_place(&self) -> usize {
        self.marked
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
            if self.is_numbered {
                row.push_span(&format!("{}  ", place + 1), style);
            }
            let begins = row.width;
            let left = usize::from(columns).saturating_sub(row.width);
            push(&mut row, &choice.label, left, style);
            let at = begins + widest + GAP;
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
