use std::io::{self, Write};

use crossterm::cursor::{MoveToColumn, MoveUp};
use crossterm::queue;
use crossterm::style::{Attribute, Color, Print, SetAttribute, SetForegroundColor};
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, DisableLineWrap, EnableLineWrap, EndSynchronizedUpdate,
};

use super::frame::{Frame, Palette, Position, Row, Size, Style};
use super::layout::{Wrapper, fold};
use super::sanitize::sanitize;

/// A terminal whose bottom rows are redrawn in place, while other output scrolls by above them.
///
/// Text is made harmless here, whoever wrote it. The terminal is expected to be in raw mode. Dropped, the screen takes its
/// frame away and leaves what was printed above.
#[derive(Debug)]
pub(crate) struct Screen<W: Write> {
    out: W,
    size: Size,
    palette: Palette,
    frame: Frame,
    /// A line that was begun above the frame and has no end yet.
    open_line: String,
    open_style: Style,
    /// What the open line is, if it is the rest of one whose beginning is printed already.
    rest_of: Option<Text>,
    /// Whether the line that comes stands in a block of code.
    in_code: bool,
    /// The widths of the rows that are on the terminal now, of the open line and of the frame.
    drawn: Vec<usize>,
    /// Where the cursor is in them.
    cursor: Position,
}

impl<W: Write> Screen<W> {
    /// Begins below what is on the terminal; the cursor must be in the first column.
    pub(crate) fn new(out: W, size: Size, palette: Palette) -> Self {
        Self {
            out,
            size,
            palette,
            frame: Frame::default(),
            open_line: String::new(),
            open_style: Style::Plain,
            rest_of: None,
            in_code: false,
            drawn: Vec::new(),
            cursor: Position::default(),
        }
    }

    pub(crate) fn size(&self) -> Size {
        self.size
    }

    /// The terminal has another size; the next [`draw`](Self::draw) uses it.
    pub(crate) fn resize(&mut self, size: Size) {
        self.size = size;
    }

    /// Shows a frame in place of the last one.
    pub(crate) fn draw(&mut self, frame: Frame) -> io::Result<()> {
        self.frame = frame;
        self.paint(&[])
    }

    /// Prints whole lines above the frame; they stay. A line that was open ends first.
    pub(crate) fn print_above(&mut self, text: &str, style: Style) -> io::Result<()> {
        let mut lines = self.take_open_line();
        lines
            .extend(text.strip_suffix('\n').unwrap_or(text).split('\n').map(|line| (line.to_owned(), style)));
        self.paint(&lines)
    }

    /// Prints a piece of text above the frame: an answer as it comes. What follows the last line feed is open, the next
    /// piece goes on there.
    pub(crate) fn stream_above(&mut self, piece: &str, style: Style) -> io::Result<()> {
        let mut lines = if self.open_style == style { Vec::new() } else { self.take_open_line() };
        self.open_style = style;
        self.open_line.push_str(piece);
        while let Some(feed) = self.open_line.find('\n') {
            let rest = self.open_line.split_off(feed + 1);
            let line = std::mem::replace(&mut self.open_line, rest);
            lines.push((line.trim_end_matches(['\n', '\r']).to_owned(), style));
        }
        self.paint(&lines)
    }

    /// Ends an open line, as after the last piece of an answer.
    pub(crate) fn end_line(&mut self) -> io::Result<()> {
        let lines = self.take_open_line();
        if lines.is_empty() { Ok(()) } else { self.paint(&lines) }
    }

    fn take_open_line(&mut self) -> Vec<(String, Style)> {
        if self.open_line.is_empty() {
            return Vec::new();
        }
        vec![(std::mem::take(&mut self.open_line), self.open_style)]
    }

    /// Takes away what is drawn, prints lines, and draws the open line and the frame below them, in one write.
    fn paint(&mut self, lines: &[(String, Style)]) -> io::Result<()> {
        let mut codes = Vec::new();
        queue!(codes, BeginSynchronizedUpdate)?;
        self.erase(&mut codes)?;
        for (line, style) in lines {
            // An open line that has its end now is the first of them.
            let text = self.rest_of.take().unwrap_or_else(|| self.reads_as(line));
            let rows = match text {
                Text::Prose => fold(line, self.size.columns),
                // The terminal breaks it, so that whoever copies it gets it whole.
                Text::Code => vec![sanitize(line).into_owned()],
            };
            for row in rows {
                write_styled(&mut codes, &row, *style, self.palette)?;
                codes.extend_from_slice(b"\r\n");
            }
            self.in_code ^= is_fence(line);
        }
        let mut rows = self.open_rows(&mut codes)?;
        let cursor = Position { row: rows.len() + self.frame.cursor.row, column: self.frame.cursor.column };
        rows.extend(self.frame.rows.iter().cloned());

        // A row that the terminal takes for wider than we do is cut there and does not push the others down.
        queue!(codes, DisableLineWrap)?;
        for (index, row) in rows.iter().enumerate() {
            if 0 < index {
                codes.extend_from_slice(b"\r\n");
            }
            for span in &row.spans {
                write_styled(&mut codes, &span.text, span.style, self.palette)?;
            }
        }
        queue!(codes, EnableLineWrap)?;
        move_up(&mut codes, rows.len().saturating_sub(1 + cursor.row))?;
        queue!(codes, MoveToColumn(column(cursor.column)), EndSynchronizedUpdate)?;

        self.drawn = rows.iter().map(|row| row.width).collect();
        self.cursor = cursor;
        self.out.write_all(&codes)?;
        self.out.flush()
    }

    /// Goes to the first drawn row and clears from there on. After the terminal got narrower, it has broken our rows:
    /// that is counted in.
    fn erase(&self, codes: &mut Vec<u8>) -> io::Result<()> {
        let columns = usize::from(self.size.columns).max(1);
        let above = self.drawn.iter().take(self.cursor.row);
        let broken_rows: usize = above.map(|width| width.div_ceil(columns).max(1)).sum();
        move_up(codes, broken_rows + self.cursor.column / columns)?;
        queue!(codes, MoveToColumn(0), Clear(ClearType::FromCursorDown))
    }

    /// What a line that comes now is: code is fenced or indented.
    fn reads_as(&self, line: &str) -> Text {
        let is_code = self.in_code || is_fence(line) || line.starts_with("    ") || line.starts_with('\t');
        if is_code { Text::Code } else { Text::Prose }
    }

    /// The rows of the open line. Of one that has no room above the frame only the last row stays open.
    fn open_rows(&mut self, codes: &mut Vec<u8>) -> io::Result<Vec<Row>> {
        let line = self.open_line.trim_end_matches('\r');
        if line.is_empty() {
            return Ok(Vec::new());
        }
        let mut wrapper = Wrapper::new(self.size.columns, 0);
        let text = self.rest_of.unwrap_or_else(|| self.reads_as(line));
        match text {
            Text::Prose => wrapper.push(&fold(line, self.size.columns).join("\n"), self.open_style),
            Text::Code => wrapper.push(line, self.open_style),
        }
        let mut rows = wrapper.into_rows();
        let room = usize::from(self.size.rows).saturating_sub(self.frame.rows.len()).max(1);
        if rows.len() <= room {
            return Ok(rows);
        }
        self.rest_of = Some(text);
        let last = rows.split_off(rows.len() - 1);
        for row in rows {
            for span in row.spans {
                write_styled(codes, &span.text, span.style, self.palette)?;
            }
            codes.extend_from_slice(b"\r\n");
        }
        // What prose ends with is in no row of it.
        let left_out: &[char] = if matches!(text, Text::Prose) { &[' ', '\r'] } else { &['\r'] };
        let end = self.open_line.split_off(self.open_line.trim_end_matches(left_out).len());
        self.open_line = last.iter().flat_map(|row| &row.spans).map(|span| span.text.as_str()).collect();
        self.open_line.push_str(&end);
        Ok(last)
    }
}

#[derive(Debug, Clone, Copy)]
enum Text {
    Prose,
    Code,
}

/// The beginning or the end of a block of code.
fn is_fence(line: &str) -> bool {
    line.trim_start().starts_with("```")
}

impl<W: Write> Drop for Screen<W> {
    /// Does its best: there is nobody left to be told of a terminal that is gone.
    fn drop(&mut self) {
        // The message of the panic stands where the frame was.
        if std::thread::panicking() {
            return;
        }
        self.frame = Frame::default();
        let lines = self.take_open_line();
        let _ = self.paint(&lines);
    }
}

fn write_styled(codes: &mut Vec<u8>, text: &str, style: Style, palette: Palette) -> io::Result<()> {
    if palette == Palette::Plain || style == Style::Plain || text.is_empty() {
        return queue!(codes, Print(text));
    }
    match style {
        Style::Plain => {}
        Style::Strong => queue!(codes, SetAttribute(Attribute::Bold))?,
        Style::Dim => queue!(codes, SetAttribute(Attribute::Dim))?,
        Style::Added => queue!(codes, SetForegroundColor(Color::DarkGreen))?,
        Style::Removed => queue!(codes, SetForegroundColor(Color::DarkRed))?,
        Style::Accent => queue!(codes, SetForegroundColor(Color::DarkCyan))?,
    }
    queue!(codes, Print(text), SetAttribute(Attribute::Reset))
}

/// No rows up must be no code: the terminal would take 0 for 1.
fn move_up(codes: &mut Vec<u8>, rows: usize) -> io::Result<()> {
    match u16::try_from(rows).unwrap_or(u16::MAX) {
        0 => Ok(()),
        rows => queue!(codes, MoveUp(rows)),
    }
}

fn column(column: usize) -> u16 {
    u16::try_from(column).unwrap_or(u16::MAX)
}
