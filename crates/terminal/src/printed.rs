use super::diff::{Diff, DiffLayout, hanging_rows};
use super::layout::{broken, fold, one_row, text_row};
use super::markdown::{AnswerRenderer, RenderOptions};
use super::row::{Row, Style};

/// What was printed for the last prompt, as it was before it was laid out, so that it can be laid out again for another
/// width.
#[derive(Debug, Default)]
pub(super) struct PrintedTurn {
    pieces: Vec<PrintedPiece>,
}

#[derive(Debug)]
enum PrintedPiece {
    Lines(String, Style),
    Diff {
        diff: Diff,
        room: usize,
        hint: String,
    },
    /// A part of an answer. The next part continues it, even if something else was printed between them.
    Answer(String),
    AnswerEnd,
}

impl PrintedTurn {
    pub(super) fn push_lines(&mut self, text: &str, style: Style) {
        self.pieces.push(PrintedPiece::Lines(text.to_owned(), style));
    }

    pub(super) fn push_diff(&mut self, diff: &Diff, room: usize, hint: &str) {
        self.pieces.push(PrintedPiece::Diff { diff: diff.clone(), room, hint: hint.to_owned() });
    }

    pub(super) fn push_answer(&mut self, piece: &str) {
        match self.pieces.last_mut() {
            Some(PrintedPiece::Answer(text)) => text.push_str(piece),
            _ => self.pieces.push(PrintedPiece::Answer(piece.to_owned())),
        }
    }

    pub(super) fn end_answer(&mut self) {
        self.pieces.push(PrintedPiece::AnswerEnd);
    }

    /// The rows for the columns of now, and the part of an answer that has no end yet.
    pub(super) fn rows(&self, options: RenderOptions) -> (Vec<Row>, AnswerRenderer) {
        let mut answer = AnswerRenderer::default();
        let mut rows = Vec::new();
        for piece in &self.pieces {
            rows.extend(match piece {
                PrintedPiece::Lines(text, style) => line_rows(text, *style, options.columns),
                PrintedPiece::Diff { diff, room, hint } => diff_rows(diff, *room, hint, options),
                PrintedPiece::Answer(text) => answer.push(text, options),
                PrintedPiece::AnswerEnd => std::mem::take(&mut answer).end(options),
            });
        }
        (rows, answer)
    }
}

/// The rows of whole lines that are not part of an answer.
pub(super) fn line_rows(text: &str, style: Style, columns: u16) -> Vec<Row> {
    let lines = text.strip_suffix('\n').unwrap_or(text).split('\n');
    let rows = lines.flat_map(|line| {
        // The terminal breaks code, so that copied code is whole.
        if line.starts_with("    ") || line.starts_with('\t') {
            return vec![text_row(line, style)];
        }
        fold(line, columns).iter().map(|row| text_row(row, style)).collect()
    });
    rows.collect()
}

pub(super) fn diff_rows(diff: &Diff, room: usize, hint: &str, options: RenderOptions) -> Vec<Row> {
    let RenderOptions { palette, columns, .. } = options;
    let lines = diff.lines(DiffLayout { room, hint, palette, columns });
    lines.iter().flat_map(|line| hanging_rows(line, columns)).collect()
}

/// The last rows that fit on so many rows of the terminal, which breaks those that are too wide. A row says how many
/// are left out, followed by `hint`.
pub(super) fn last_rows(rows: Vec<Row>, columns: u16, room: usize, hint: &str) -> Vec<Row> {
    let height = |row: &Row| broken(row, columns).len();
    let (mut first, mut left) = (rows.len(), room);
    while 0 < first && height(&rows[first - 1]) <= left {
        first -= 1;
        left -= height(&rows[first]);
    }
    if first == 0 {
        // An empty row sets a prompt apart from what is above it, and there is nothing above the first one.
        return rows.into_iter().skip_while(|row| row.width == 0).collect();
    }
    // The row that says how many are left out takes the place of others.
    while left == 0 && first < rows.len() {
        left += height(&rows[first]);
        first += 1;
    }
    let lines = if first == 1 { "line" } else { "lines" };
    let notice = one_row(&format!("… {first} more {lines}{hint}"), columns, Style::Dim);
    std::iter::once(notice).chain(rows.into_iter().skip(first)).collect()
}
