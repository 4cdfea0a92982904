//! A text on a separate screen, with the keys of `less`.

use crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers};
use unicode_width::UnicodeWidthStr;

use super::diff::{Diff, DiffLayout, hanging_rows};
use super::layout::{broken, fold, one_row, text_row};
use super::markdown::{AnswerRenderer, Markdown, RenderOptions};
use super::palette::Palette;
use super::row::{Row, Style};
use super::size::Size;

/// About how many of the last lines of answers have coloured code.
const MAX_HIGHLIGHTED_LINES: usize = 2_000;

/// A part of the text.
#[derive(Debug, Clone)]
pub enum Passage {
    /// Lines of one style.
    Text(String, Style),
    /// An answer of a model.
    Answer(String),
    /// A diff.
    Diff(Diff),
}

/// A text, and the reader's position in it.
#[derive(Debug, Clone)]
pub struct Pager {
    title: String,
    passages: Vec<Passage>,
    markdown: Markdown,
    /// The rows at the current width.
    rows: Vec<Row>,
    size: Size,
    palette: Palette,
    /// The index of the first row on the screen.
    top: usize,
    /// The words of the search, and whether they are being typed.
    search: String,
    is_typing: bool,
}

impl Pager {
    /// Begins at the end of the text, where the newest part is, or at its start.
    pub fn new(
        title: &str,
        passages: Vec<Passage>,
        markdown: Markdown,
        (size, palette): (Size, Palette),
        at_end: bool,
    ) -> Self {
        let mut reader = Self {
            title: title.to_owned(),
            passages,
            markdown,
            rows: Vec::new(),
            size,
            palette,
            top: 0,
            search: String::new(),
            is_typing: false,
        };
        reader.lay_out();
        if at_end {
            reader.top = reader.last_top();
        }
        reader
    }

    /// How many rows there are.
    pub fn height(&self) -> usize {
        self.rows.len()
    }

    /// Changes the size of the screen. The top row stays about the same.
    pub fn resize(&mut self, size: Size) {
        if size == self.size {
            return;
        }
        let share = (self.top, self.rows.len().max(1));
        self.size = size;
        self.lay_out();
        self.top = (share.0 * self.rows.len() / share.1).min(self.last_top());
    }

    /// Changes the styles, which are applied when the text is drawn.
    pub fn set_palette(&mut self, palette: Palette) {
        self.palette = palette;
    }

    /// Handles one event. Returns whether the reader wants to leave.
    pub fn handle(&mut self, event: &Event) -> bool {
        let Event::Key(key) = event else { return false };
        if key.kind == KeyEventKind::Release {
            return false;
        }
        if self.is_typing {
            self.type_in(key.code);
            return false;
        }
        let page = self.page();
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c' | 't' | 'o') if is_control => return true,
            KeyCode::Char('q') | KeyCode::Esc => return true,
            KeyCode::Char('d') => self.go(self.top + page / 2),
            KeyCode::Char('u') => self.go(self.top.saturating_sub(page / 2)),
            KeyCode::Char('f' | ' ') | KeyCode::PageDown => self.go(self.top + page),
            KeyCode::Char('b') | KeyCode::PageUp => self.go(self.top.saturating_sub(page)),
            KeyCode::Char('j' | 'e') | KeyCode::Down | KeyCode::Enter => self.go(self.top + 1),
            KeyCode::Char('k' | 'y') | KeyCode::Up => self.go(self.top.saturating_sub(1)),
            KeyCode::Char('g') | KeyCode::Home => self.top = 0,
            KeyCode::Char('G') | KeyCode::End => self.top = self.last_top(),
            KeyCode::Char('/') => (self.is_typing, self.search) = (true, String::new()),
            KeyCode::Char('n') => self.find(true),
            KeyCode::Char('N') => self.find(false),
            _ => {}
        }
        false
    }

    /// All rows of the screen. The last one shows the reader's position.
    pub fn screen(&self) -> Vec<Row> {
        let mut rows: Vec<Row> = self.rows.iter().skip(self.top).take(self.page()).cloned().collect();
        rows.resize(self.page(), Row::default());
        if self.size.rows < 2 {
            return rows;
        }
        let shown = (self.top + self.page()).min(self.rows.len());
        let words = if self.is_typing {
            format!("/{}", self.search)
        } else {
            self.position(shown, usize::from(self.size.columns.saturating_sub(1)))
        };
        rows.push(one_row(&words, self.size.columns.saturating_sub(1), Style::Dim));
        rows
    }

    /// What is read, how far, and as many of the keys as there is room for, the first of which leaves.
    fn position(&self, shown: usize, columns: usize) -> String {
        let part = format!("{shown}/{}", self.rows.len());
        let keys = ["q leaves", "space and b turn", "/ searches", "n next"];
        let with_keys = |keys: &[&str]| format!("{} · {part} · {}", self.title, keys.join(", "));
        let fits = |words: &String| words.width() <= columns;
        let words = (1..=keys.len()).rev().map(|most| with_keys(&keys[..most])).find(fits);
        words.unwrap_or_else(|| format!("{part} · {}", keys[0]))
    }

    fn type_in(&mut self, code: KeyCode) {
        match code {
            KeyCode::Char(letter) => self.search.push(letter),
            KeyCode::Backspace => {
                self.search.pop();
            }
            KeyCode::Enter => {
                self.is_typing = false;
                self.find(true);
            }
            KeyCode::Esc => self.is_typing = false,
            _ => {}
        }
    }

    /// Goes to the next row below or above that contains the words, and continues at the other end.
    fn find(&mut self, forward: bool) {
        let words = self.search.to_lowercase();
        let count = self.rows.len();
        let holds = |place: &usize| {
            let text: String = self.rows[*place].spans.iter().map(|span| span.text.as_str()).collect();
            text.to_lowercase().contains(&words)
        };
        if words.is_empty() || count == 0 {
            return;
        }
        let steps = 1..=count;
        let found = if forward {
            steps.map(|step| (self.top + step) % count).find(holds)
        } else {
            steps.map(|step| (self.top + count - step % count) % count).find(holds)
        };
        // Near the end of the text, the found row is not the top one.
        if let Some(place) = found {
            self.go(place);
        }
    }

    fn go(&mut self, top: usize) {
        self.top = top.min(self.last_top());
    }

    fn page(&self) -> usize {
        usize::from(self.size.rows).saturating_sub(1).max(1)
    }

    fn last_top(&self) -> usize {
        self.rows.len().saturating_sub(self.page())
    }

    /// The first passage whose code has colours. Earlier ones have none, because all coloured code of a long
    /// conversation would have to be read again for each width.
    fn first_highlighted(&self) -> usize {
        let mut lines = 0;
        let lengths = self.passages.iter().map(|passage| match passage {
            Passage::Answer(text) => text.lines().count(),
            Passage::Text(..) | Passage::Diff(_) => 0,
        });
        let fits = lengths.rev().take_while(|length| {
            lines += length;
            lines <= MAX_HIGHLIGHTED_LINES
        });
        self.passages.len() - fits.count()
    }

    fn lay_out(&mut self) {
        let columns = self.size.columns;
        let first = self.first_highlighted();
        let rows = self.passages.iter().enumerate().flat_map(|(place, passage)| match passage {
            Passage::Text(text, style) => {
                let lines = text.strip_suffix('\n').unwrap_or(text).split('\n');
                lines
                    .flat_map(|line| fold(line, columns))
                    .map(|row| text_row(&row, *style))
                    .collect::<Vec<_>>()
            }
            Passage::Answer(text) => {
                let highlights = first <= place;
                let options =
                    RenderOptions { columns, palette: self.palette, markdown: self.markdown, highlights };
                let mut answer = AnswerRenderer::default();
                let mut rows = answer.push(text, options);
                rows.extend(answer.end(options));
                rows
            }
            Passage::Diff(diff) => {
                let (palette, columns) = (self.palette, self.size.columns);
                let lines = diff.lines(DiffLayout { room: usize::MAX, hint: "", palette, columns });
                lines.iter().flat_map(|line| hanging_rows(line, columns)).collect()
            }
        });
        // A row that is wider than the screen is broken here. The terminal need not break it, because addresses are not
        // copied from a screen that disappears.
        let rows: Vec<Row> = rows.collect();
        self.rows = rows
            .into_iter()
            .flat_map(|row| {
                let is_wide = usize::from(columns) < row.spans.iter().map(|span| span.text.width()).sum();
                if is_wide { broken(&row, columns) } else { vec![row] }
            })
            .collect();
    }
}
