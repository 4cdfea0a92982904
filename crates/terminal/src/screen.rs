use std::io::{self, Write};
use std::time::{Duration, Instant};

use crossterm::cursor::{MoveTo, MoveToColumn, MoveUp};
use crossterm::queue;
use crossterm::style::{Attribute, Print, SetAttribute, SetForegroundColor};
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, DisableLineWrap, EnableLineWrap, EndSynchronizedUpdate,
};

use super::diff::Diff;
use super::frame::Frame;
use super::layout::broken;
use super::link;
use super::markdown::{AnswerRenderer, Markdown, RenderOptions};
use super::palette::Palette;
use super::printed::{PrintedTurn, diff_rows, last_rows, line_rows};
use super::row::{CodePart, Position, Row, Style};
use super::size::Size;

/// The least time between two redraws because an answer has grown. A fast model sends many more pieces than a person
/// sees, and each redraw costs the terminal some work.
const REDRAW_INTERVAL: Duration = Duration::from_millis(1_000 / 30);

/// A terminal whose bottom rows are redrawn in place while other output scrolls by above them.
///
/// All text is sanitized here, whoever wrote it. The terminal is expected to be in raw mode. When the screen is
/// dropped, it removes its frame and leaves what was printed above.
#[derive(Debug)]
pub struct Screen<W: Write> {
    out: W,
    size: Size,
    palette: Palette,
    frame: Frame,
    markdown: Markdown,
    /// The part of an answer that has no end yet.
    answer: AnswerRenderer,
    /// Rows of the answer that stay, and that the next redraw prints.
    waiting: Vec<Row>,
    /// Whether the answer has grown since the last redraw.
    is_behind: bool,
    /// When the rows were last redrawn; `None` if the next draw has to redraw them whatever is in them.
    drawn_at: Option<Instant>,
    /// What was printed for the last prompt.
    turn: PrintedTurn,
    /// The widths of the rows that are drawn now, which are the open part of an answer and the frame.
    drawn: Vec<usize>,
    /// The cursor's position in these rows.
    cursor: Position,
}

impl<W: Write> Screen<W> {
    /// A screen that begins below what is on the terminal. The cursor must be in the first column.
    pub fn new(out: W, size: Size, palette: Palette, markdown: Markdown) -> Self {
        Self {
            out,
            size,
            palette,
            frame: Frame::default(),
            markdown,
            answer: AnswerRenderer::default(),
            waiting: Vec::new(),
            is_behind: false,
            drawn_at: None,
            turn: PrintedTurn::default(),
            drawn: Vec::new(),
            cursor: Position::default(),
        }
    }

    pub fn size(&self) -> Size {
        self.size
    }

    /// Sets the size of the terminal. The next [`draw`](Self::draw) uses it.
    pub fn resize(&mut self, size: Size) {
        if self.size != size {
            (self.size, self.drawn_at) = (size, None);
        }
    }

    /// Changes the styles of the next frame, and of what is printed from now on.
    pub fn set_palette(&mut self, palette: Palette) {
        (self.palette, self.drawn_at) = (palette, None);
    }

    /// Sends the terminal a code that changes nothing on the screen.
    pub fn send(&mut self, code: &str) -> io::Result<()> {
        self.out.write_all(code.as_bytes())?;
        self.out.flush()
    }

    /// Removes the frame until the next one is drawn. The open part of an answer is removed too and drawn again with
    /// it.
    pub fn clear(&mut self) -> io::Result<()> {
        let mut codes = Vec::new();
        self.erase(&mut codes)?;
        (self.drawn, self.cursor, self.drawn_at) = (Vec::new(), Position::default(), None);
        self.out.write_all(&codes)?;
        self.out.flush()
    }

    /// Forgets what was printed for the last prompt, because another one follows.
    pub fn begin_turn(&mut self) {
        self.turn = PrintedTurn::default();
    }

    /// Scrolls away everything on the screen, also the output of other programs, and prints again what was printed for
    /// the last prompt, as far as the screen has room. `hint` says how to see the lines that are left out.
    pub fn scroll_away(&mut self, hint: &str) -> io::Result<()> {
        if self.is_behind {
            self.paint(&[])?;
        }
        self.clear()?;
        let feeds = "\r\n".repeat(usize::from(self.size.rows));
        self.out.write_all(feeds.as_bytes())?;
        let up = self.size.rows.saturating_sub(1);
        if 0 < up {
            queue!(self.out, MoveUp(up))?;
        }
        let (rows, answer) = self.turn.rows(self.options());
        self.answer = answer;
        let below = self.open_rows().len() + self.frame.rows.len();
        let room = usize::from(self.size.rows).saturating_sub(below);
        self.paint(&last_rows(rows, self.size.columns, room, hint))
    }

    /// Draws rows from the top of the alternate screen. What is drawn there is not tracked.
    pub fn draw_page(&mut self, rows: &[Row]) -> io::Result<()> {
        let mut codes = Vec::new();
        queue!(codes, BeginSynchronizedUpdate, DisableLineWrap, MoveTo(0, 0))?;
        for (place, row) in rows.iter().enumerate() {
            if 0 < place {
                codes.extend_from_slice(b"\r\n");
            }
            // Behind a row as wide as the screen this would clear its last column.
            queue!(codes, Clear(ClearType::UntilNewLine))?;
            write_row(&mut codes, row, self.palette)?;
        }
        queue!(codes, EnableLineWrap, EndSynchronizedUpdate)?;
        self.out.write_all(&codes)?;
        self.out.flush()
    }

    /// Draws a frame in place of the last one. A frame that differs is drawn at once, because it may answer a key. If
    /// only the answer has grown, this waits until [`next_redraw`](Self::next_redraw).
    pub fn draw(&mut self, frame: Frame, now: Instant) -> io::Result<()> {
        let is_same = self.frame == frame;
        self.frame = frame;
        if is_same && !self.may_redraw(now) {
            return Ok(());
        }
        self.drawn_at = Some(now);
        self.paint(&[])
    }

    /// When the next draw shows what the answer has grown by; `None` if everything is shown.
    pub fn next_redraw(&self) -> Option<Instant> {
        self.drawn_at.filter(|_| self.is_behind).map(|at| at + REDRAW_INTERVAL)
    }

    fn may_redraw(&self, now: Instant) -> bool {
        self.drawn_at.is_none_or(|at| REDRAW_INTERVAL <= now.saturating_duration_since(at))
    }

    /// Prints whole lines above the frame, where they stay. An open answer continues below them.
    pub fn print_above(&mut self, text: &str, style: Style) -> io::Result<()> {
        self.turn.push_lines(text, style);
        self.paint(&line_rows(text, style, self.size.columns))
    }

    /// Prints a diff above the frame with at most `room` of its lines. `hint` says how to see the lines that are left
    /// out.
    pub fn print_diff_above(&mut self, diff: &Diff, room: usize, hint: &str) -> io::Result<()> {
        self.turn.push_diff(diff, room, hint);
        self.paint(&diff_rows(diff, room, hint, self.options()))
    }

    /// Adds a piece of an answer, which the next redraw prints above the frame. The unfinished part is open, and the
    /// next piece continues it.
    pub fn stream_above(&mut self, piece: &str) {
        let options = self.options();
        self.turn.push_answer(piece);
        self.waiting.extend(self.answer.push(piece, options));
        self.is_behind = true;
    }

    /// Ends the open answer.
    pub fn end_answer(&mut self) -> io::Result<()> {
        let options = self.options();
        self.turn.end_answer();
        let rows = std::mem::take(&mut self.answer).end(options);
        if rows.is_empty() && !self.is_behind { Ok(()) } else { self.paint(&rows) }
    }

    fn options(&self) -> RenderOptions {
        RenderOptions {
            columns: self.size.columns,
            palette: self.palette,
            markdown: self.markdown,
            highlights: true,
        }
    }

    /// Removes what is drawn, prints the rows of the answer that wait and then other rows that stay, and draws the open
    /// part of the answer and the frame below them, all in one write.
    fn paint(&mut self, lasting: &[Row]) -> io::Result<()> {
        let mut codes = Vec::new();
        queue!(codes, BeginSynchronizedUpdate)?;
        self.erase(&mut codes)?;
        self.is_behind = false;
        for row in std::mem::take(&mut self.waiting).iter().chain(lasting) {
            write_row(&mut codes, row, self.palette)?;
            codes.extend_from_slice(b"\r\n");
        }
        let mut rows = self.open_rows();
        let cursor = Position { row: rows.len() + self.frame.cursor.row, column: self.frame.cursor.column };
        rows.extend(self.frame.rows.iter().cloned());

        // If the terminal draws a row wider than expected, it cuts the row, so that the rows below keep their places.
        queue!(codes, DisableLineWrap)?;
        for (index, row) in rows.iter().enumerate() {
            if 0 < index {
                codes.extend_from_slice(b"\r\n");
            }
            write_row(&mut codes, row, self.palette)?;
        }
        queue!(codes, EnableLineWrap)?;
        move_up(&mut codes, rows.len().saturating_sub(1 + cursor.row))?;
        queue!(codes, MoveToColumn(column(cursor.column)), EndSynchronizedUpdate)?;

        self.drawn = rows.iter().map(|row| row.width).collect();
        self.cursor = cursor;
        self.out.write_all(&codes)?;
        self.out.flush()
    }

    /// Moves to the first drawn row and clears everything from there. If the terminal has become narrower, it has
    /// broken the rows, and the additional rows are counted.
    fn erase(&self, codes: &mut Vec<u8>) -> io::Result<()> {
        let columns = usize::from(self.size.columns).max(1);
        let above = self.drawn.iter().take(self.cursor.row);
        let broken_rows: usize = above.map(|width| width.div_ceil(columns).max(1)).sum();
        move_up(codes, broken_rows + self.cursor.column / columns)?;
        queue!(codes, MoveToColumn(0), Clear(ClearType::FromCursorDown))
    }

    /// The rows of the open part of an answer, only the last ones if there is no room for more.
    fn open_rows(&self) -> Vec<Row> {
        let columns = self.size.columns;
        let mut rows: Vec<Row> =
            self.answer.open_rows(self.options()).iter().flat_map(|row| broken(row, columns)).collect();
        let room = usize::from(self.size.rows / 2).saturating_sub(self.frame.rows.len()).max(1);
        rows.split_off(rows.len().saturating_sub(room))
    }
}

impl<W: Write> Drop for Screen<W> {
    /// Errors are ignored, because nothing can be reported to a terminal that is gone.
    fn drop(&mut self) {
        // The message of a panic is in the place of the frame, so nothing is erased.
        if std::thread::panicking() {
            return;
        }
        self.frame = Frame::default();
        let options = self.options();
        let rows = std::mem::take(&mut self.answer).end(options);
        let _ = self.paint(&rows);
    }
}

fn write_row(codes: &mut Vec<u8>, row: &Row, palette: Palette) -> io::Result<()> {
    for span in &row.spans {
        match span.link.as_ref().filter(|_| palette.links) {
            Some(link) => {
                codes.extend_from_slice(link.code().as_bytes());
                write_styled(codes, &span.text, span.style, palette)?;
                codes.extend_from_slice(link::END.as_bytes());
            }
            None => write_styled(codes, &span.text, span.style, palette)?,
        }
    }
    Ok(())
}

fn write_styled(codes: &mut Vec<u8>, text: &str, style: Style, palette: Palette) -> io::Result<()> {
    let text = palette.signs(text);
    let Some(theme) = palette.theme.filter(|_| style != Style::Plain && !text.is_empty()) else {
        return queue!(codes, Print(text));
    };
    if let Some(color) = theme.color(style) {
        queue!(codes, SetForegroundColor(color))?;
    }
    match style {
        Style::Strong => queue!(codes, SetAttribute(Attribute::Bold))?,
        Style::Underlined => queue!(codes, SetAttribute(Attribute::Underlined))?,
        Style::Dim | Style::Code(CodePart::Comment) => queue!(codes, SetAttribute(Attribute::Dim))?,
        Style::AddedWord | Style::RemovedWord => {
            queue!(codes, SetAttribute(Attribute::Bold), SetAttribute(Attribute::Underlined))?;
        }
        Style::Plain | Style::Added | Style::Removed | Style::Accent | Style::Code(_) => {}
    }
    queue!(codes, Print(text), SetAttribute(Attribute::Reset))
}

/// Moves the cursor up. No code is sent for zero rows, because the terminal would read 0 as 1.
fn move_up(codes: &mut Vec<u8>, rows: usize) -> io::Result<()> {
    match u16::try_from(rows).unwrap_or(u16::MAX) {
        0 => Ok(()),
        rows => queue!(codes, MoveUp(rows)),
    }
}

fn column(column: usize) -> u16 {
    u16::try_from(column).unwrap_or(u16::MAX)
}
