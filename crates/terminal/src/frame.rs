use unicode_width::UnicodeWidthStr;

use super::editor::{Ghost, LineEditor};
use super::layout::{LineWrapper, one_row};
use super::palette::Palette;
use super::row::{Position, Row, Style};
use super::size::Size;
use super::status_line::StatusLine;

const PROMPT: &str = "> ";
const MAX_GHOST_ROWS: usize = 3;

/// What is drawn at the bottom of the terminal and redrawn in place.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frame {
    /// The rows from top to bottom.
    pub rows: Vec<Row>,
    /// The position of the cursor, counted from the first row and column of the frame.
    pub cursor: Position,
}

/// What a frame depends on besides the editor.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    pub size: Size,
    pub palette: Palette,
    /// What is running, one row each, above everything else, with the queued prompts last.
    pub live: &'a [LiveRow],
    /// A line above the prompt about background work. It is cut to one row.
    pub status: Option<&'a str>,
    /// The last row, if there is room for it.
    pub footer: Option<&'a StatusLine>,
}

/// A terminal with fewer rows only shows the prompt.
const MIN_ROWS: usize = 6;

/// A row for something that is running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveRow {
    /// The text, which is cut if it is too long.
    pub text: String,
    /// Follows the text, dim, and is never cut.
    pub end: String,
    pub style: Style,
    pub kind: LiveKind,
}

/// What a row for something that is running shows. If there is no room for all rows, this decides which are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiveKind {
    Call,
    /// A line that a command printed.
    Output,
    /// A prompt that waits for its turn.
    Queued,
}

/// Draws the prompt with the typed text and the ghost. If the text has more rows than the terminal, the part around the
/// cursor is shown.
pub fn render(editor: &LineEditor, view: &View) -> Frame {
    let mut wrapper = LineWrapper::new(view.size.columns, PROMPT.len());
    wrapper.push(PROMPT, Style::Strong);
    let (text, cursor) = editor.shown_text();
    let cursor = wrapper.push_around(&text, cursor, Style::Plain);
    if let Some(ghost) = editor.ghost() {
        let key = editor.key_of_ghost(ghost);
        wrapper = with_ghost(&wrapper, ghost, key.as_deref(), view.palette.is_plain());
    }
    let frame = Frame { rows: wrapper.into_rows(), cursor };
    frame.within(view, |room| {
        editor.popup().map(|popup| popup.rows(view.size.columns, room)).unwrap_or_default()
    })
}

/// Adds the ghost text behind what is typed, and the key that takes it. It gets only a few rows; `…` says that there is
/// more.
fn with_ghost(typed: &LineWrapper, ghost: &Ghost, key: Option<&str>, is_plain: bool) -> LineWrapper {
    let gap = if ghost.rest.starts_with(char::is_whitespace) { " " } else { "" };
    let others = if 0 < ghost.others { format!(" · {} more", ghost.others) } else { String::new() };
    let key = key.map(|key| format!("  [{key}]")).unwrap_or_default();
    let words: Vec<&str> = ghost.rest.split_whitespace().collect();
    let mut count = words.len();
    loop {
        let more = if count < words.len() { "…" } else { "" };
        let rest = words[..count].join(" ");
        let mut wrapper = typed.clone();
        if is_plain {
            wrapper.push(&format!("{gap}[{rest}{more}]{key}{others}"), Style::Plain);
        } else {
            wrapper.push(&format!("{gap}{rest}{more}{key}{others}"), Style::Dim);
        }
        if count <= 1 || wrapper.height() < typed.height() + MAX_GHOST_ROWS {
            return wrapper;
        }
        count -= 1;
    }
}

impl Frame {
    /// Adds the status above and, below, the rows that `below` returns for a given number of rows. What does not fit on
    /// the terminal is left out.
    pub(super) fn within(mut self, view: &View, below: impl FnOnce(usize) -> Vec<Row>) -> Self {
        let most = usize::from(view.size.rows).saturating_sub(1).max(1);
        let is_roomy = MIN_ROWS <= usize::from(view.size.rows);
        let status = view.status.filter(|_| is_roomy);
        let most = most - usize::from(status.is_some());
        let below = if is_roomy { below(most / 2) } else { Vec::new() };
        let height = most - below.len();
        let first = (self.cursor.row + 1).saturating_sub(height);
        self.rows.drain(..first);
        self.rows.truncate(height);
        self.cursor.row -= first;
        if let Some(status) = status {
            self.rows.insert(0, one_row(status, view.size.columns, Style::Dim));
            self.cursor.row += 1;
        }
        self.rows.extend(below);
        let room = usize::from(view.size.rows / 2).saturating_sub(self.rows.len());
        let live = fitting_rows(view.live, room);
        self.cursor.row += live.len();
        self.rows.splice(0..0, live.iter().map(|row| row.shown(view.size.columns)));
        // The footer is the first part that is left out.
        let footer = view.footer.filter(|footer| is_roomy && !footer.items.is_empty());
        if let Some(footer) = footer.filter(|_| self.rows.len() < usize::from(view.size.rows / 2)) {
            self.rows.push(footer.row(view.size.columns));
        }
        self
    }
}

/// At most `room` of the rows. Output is left out first, from its beginning on; then all queued prompts become one row
/// with their number; then the first rows are left out.
fn fitting_rows(live: &[LiveRow], room: usize) -> Vec<LiveRow> {
    let mut rows = live.to_vec();
    let mut excess = rows.len().saturating_sub(room);
    rows.retain(|row| {
        let is_left_out = 0 < excess && row.kind == LiveKind::Output;
        excess -= usize::from(is_left_out);
        !is_left_out
    });
    let queued = rows.iter().filter(|row| row.kind == LiveKind::Queued).count();
    if room < rows.len() && 1 < queued {
        rows.retain(|row| row.kind != LiveKind::Queued);
        rows.push(LiveRow::new(LiveKind::Queued, format!("next: {queued} prompts"), Style::Dim));
    }
    rows.split_off(rows.len().saturating_sub(room))
}

impl LiveRow {
    /// A row with nothing behind its text.
    pub fn new(kind: LiveKind, text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), end: String::new(), style, kind }
    }

    fn shown(&self, columns: u16) -> Row {
        let end = u16::try_from(self.end.width()).unwrap_or(u16::MAX);
        // Blanks at the beginning are kept, because they set a command's output apart.
        let blanks = self.text.len() - self.text.trim_start().len();
        let left = columns.saturating_sub(end).saturating_sub(u16::try_from(blanks).unwrap_or(0));
        let mut row = Row::default();
        row.push_span(&self.text[..blanks], Style::Plain);
        for span in one_row(&self.text, left, self.style).spans {
            row.push_span(&span.text, span.style);
        }
        row.push_span(&self.end, Style::Dim);
        row
    }
}
