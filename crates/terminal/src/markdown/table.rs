use pulldown_cmark::Alignment;
use unicode_width::UnicodeWidthStr;

use super::super::layout::fold_spans;
use super::super::row::{Row, Span, Style};

/// The blanks before the first column, and between columns.
const GAP: usize = 2;

type Cell = Vec<Span>;

/// A table whose rows are added one by one. The first one is the head.
pub(super) struct Table {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<Cell>>,
    row: Vec<Cell>,
}

impl Table {
    pub(super) fn new(alignments: Vec<Alignment>) -> Self {
        Self { alignments, rows: Vec::new(), row: Vec::new() }
    }

    pub(super) fn push(&mut self, cell: Cell) {
        self.row.push(cell);
    }

    pub(super) fn end_row(&mut self) {
        self.rows.push(std::mem::take(&mut self.row));
    }

    /// The rows of the table, or names and values below each other if the table is too wide.
    pub(super) fn rows(&self, columns: u16) -> Vec<Row> {
        let widths: Vec<usize> = (0..self.alignments.len())
            .map(|column| {
                self.rows.iter().filter_map(|row| row.get(column)).map(|cell| width(cell)).max().unwrap_or(0)
            })
            .collect();
        let whole = widths.iter().map(|width| width + GAP).sum::<usize>();
        if whole <= usize::from(columns) { self.grid(&widths) } else { self.records(columns) }
    }

    fn grid(&self, widths: &[usize]) -> Vec<Row> {
        let mut rows: Vec<Row> = self.rows.iter().map(|cells| self.grid_row(cells, widths)).collect();
        let mut rule = Row::default();
        for width in widths {
            rule.push_span(&" ".repeat(GAP), Style::Plain);
            rule.push_span(&"─".repeat(*width), Style::Dim);
        }
        rows.insert(1.min(rows.len()), rule);
        rows
    }

    fn grid_row(&self, cells: &[Cell], widths: &[usize]) -> Row {
        let mut row = Row::default();
        for ((cell, wide), alignment) in cells.iter().zip(widths).zip(&self.alignments) {
            let blanks = wide - width(cell);
            let before = match alignment {
                Alignment::Right => blanks,
                Alignment::Center => blanks / 2,
                Alignment::Left | Alignment::None => 0,
            };
            row.push_span(&" ".repeat(GAP + before), Style::Plain);
            for span in cell {
                row.push_part(&span.text, span);
            }
            row.push_span(&" ".repeat(blanks - before), Style::Plain);
        }
        row.trim_end();
        row
    }

    /// Names and values below each other.
    pub(super) fn records(&self, columns: u16) -> Vec<Row> {
        let Some((head, records)) = self.rows.split_first() else { return Vec::new() };
        // A table without rows only shows its head.
        let records = if records.is_empty() { std::slice::from_ref(&self.rows[0]) } else { records };
        let mut rows = Vec::new();
        for (index, record) in records.iter().enumerate() {
            if 0 < index {
                rows.push(Row::default());
            }
            for (name, value) in head.iter().zip(record) {
                let colon = Span::new(": ", Style::Plain);
                let line = if std::ptr::eq(name, value) {
                    name.clone()
                } else {
                    [name.as_slice(), &[colon], value.as_slice()].concat()
                };
                rows.extend(fold_spans(&line, columns));
            }
        }
        rows
    }
}

fn width(cell: &[Span]) -> usize {
    cell.iter().map(|span| span.text.width()).sum()
}
