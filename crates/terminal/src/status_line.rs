//! The last drawn row, with the state and the cost of the conversation.

use unicode_width::UnicodeWidthStr;

use super::row::{Row, Style};
use super::sanitize::sanitize;

/// The separator of items.
const BETWEEN: &str = " · ";
/// The columns between the items and the hint at the right end.
const GAP: usize = 2;

/// The content of the row.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StatusLine {
    /// The items, the most important first. The last ones are left out if there is no room.
    pub items: Vec<StatusItem>,
    /// Hints for the right end, of which the first one that has room is shown.
    pub hints: Vec<String>,
}

/// An item of the row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusItem {
    pub text: String,
    /// Whether the item is highlighted.
    pub is_marked: bool,
}

impl StatusLine {
    pub(super) fn row(&self, columns: u16) -> Row {
        // A row that ends before the last column is not broken when the terminal becomes narrower.
        let columns = usize::from(columns).saturating_sub(1);
        let mut row = Row::default();
        for item in &self.items {
            let text = sanitize(&item.text);
            let between = if row.width == 0 { "" } else { BETWEEN };
            if columns < row.width + between.width() + text.width() {
                return row;
            }
            row.push_span(between, Style::Dim);
            row.push_span(&text, if item.is_marked { Style::Accent } else { Style::Dim });
        }
        let left = columns.saturating_sub(row.width + GAP);
        if let Some(hint) = self.hints.iter().find(|hint| 0 < row.width && hint.width() <= left) {
            row.push_span(&" ".repeat(columns - row.width - hint.width()), Style::Plain);
            row.push_span(hint, Style::Dim);
        }
        row
    }
}
