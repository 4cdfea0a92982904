//! The last row of what is drawn: what the conversation is and has cost.

use unicode_width::UnicodeWidthStr;

use super::row::{Row, Style};
use super::sanitize::sanitize;

/// Stands between items.
const BETWEEN: &str = " · ";
/// Between the items and what stands at the right end.
const GAP: usize = 2;

/// What the row says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct StatusLine {
    /// The most important first: the last ones fall off where there is no room.
    pub(crate) items: Vec<StatusItem>,
    /// At the right end, where there is room.
    pub(crate) hint: &'static str,
}

/// One of its items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StatusItem {
    pub(crate) text: String,
    /// Whether it is one that its reader should see.
    pub(crate) is_marked: bool,
}

impl StatusLine {
    pub(super) fn row(&self, columns: u16) -> Row {
        // A terminal that gets narrower breaks no row that ends before its edge.
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
        let hint = self.hint.width();
        if 0 < row.width && row.width + GAP + hint <= columns {
            row.push_span(&" ".repeat(columns - row.width - hint), Style::Plain);
            row.push_span(self.hint, Style::Dim);
        }
        row
    }
}
