use textwrap::wrap_algorithms::wrap_first_fit;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::link::Link;
use super::row::{Position, Row, Span, Style};
use super::sanitize::sanitize;

/// The least width of rows. Narrower terminals get rows of this width too.
const MIN_COLUMNS: u16 = 8;
const TAB: &str = "    ";

/// Breaks a line of prose between its words. A word that is wider than a row is broken. Rows after the first are
/// indented to the first word of a list's entry. Every row but the last stays the same whatever follows the line.
pub(super) fn fold(line: &str, columns: u16) -> Vec<String> {
    let columns = usize::from(columns.max(MIN_COLUMNS));
    let line = sanitize(line).replace('\t', TAB);
    let indent = " ".repeat(Some(hanging(&line)).filter(|indent| *indent <= columns / 2).unwrap_or(0));
    let options = Options::new(columns)
        .subsequent_indent(&indent)
        .wrap_algorithm(WrapAlgorithm::FirstFit)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation);
    textwrap::wrap(&line, options).into_iter().map(std::borrow::Cow::into_owned).collect()
}

/// Breaks a line of styled text between its words. A word that is wider than a row gets a row that is too wide: the
/// terminal breaks it, so that a copied address is whole.
pub(super) fn fold_spans(line: &[Span], columns: u16) -> Vec<Row> {
    let text: String = line.iter().map(|span| span.text.as_str()).collect();
    let words: Vec<_> = WordSeparator::AsciiSpace.find_words(&text).collect();
    let mut spans = line.iter().map(|span| (span.text.as_str(), span));
    let mut rest: Option<(&str, &Span)> = None;
    let rows = wrap_first_fit(&words, &[f64::from(columns.max(MIN_COLUMNS))]).into_iter().map(|words| {
        let mut length: usize = words.iter().map(|word| word.len() + word.whitespace.len()).sum();
        let mut row = Row::default();
        while 0 < length {
            let Some((part, span)) = rest.take().or_else(|| spans.next()) else { break };
            let (part, left) = part.split_at(length.min(part.len()));
            rest = Some((left, span)).filter(|_| !left.is_empty());
            length -= part.len();
            row.push_part(part, span);
        }
        row.trim_end();
        row
    });
    rows.collect()
}

/// Breaks a row as a terminal would.
pub(super) fn broken(row: &Row, columns: u16) -> Vec<Row> {
    let mut wrapper = LineWrapper::new(columns, 0);
    for span in &row.spans {
        wrapper.link.clone_from(&span.link);
        wrapper.push(&span.text, span.style);
    }
    wrapper.into_rows()
}

/// A line as one row of any width.
pub(super) fn text_row(line: &str, style: Style) -> Row {
    let mut row = Row::default();
    row.push_span(&sanitize(line), style);
    row
}

/// The first row of a text; `…` says that there is more.
pub(super) fn one_row(text: &str, columns: u16, style: Style) -> Row {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let rows = |columns| {
        let mut wrapper = LineWrapper::new(columns, 0);
        wrapper.push(&text, style);
        wrapper.into_rows()
    };
    let whole = rows(columns);
    if whole.len() == 1 {
        return whole.into_iter().next().unwrap_or_default();
    }
    let mut row = rows(columns.saturating_sub(1)).into_iter().next().unwrap_or_default();
    row.push("…", 1, style);
    row
}

/// The column of the first word, behind blanks and the mark of a list's entry.
fn hanging(line: &str) -> usize {
    let text = line.trim_start();
    let blanks = line.len() - text.len();
    let digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let number = text.len() - digits.len();
    let mark = match number {
        0 => ["- ", "* ", "• ", "✓ ", "✗ ", "– "].iter().find(|mark| text.starts_with(**mark)).map(|_| 2),
        1..=3 => [". ", ") "].iter().any(|mark| digits.starts_with(mark)).then_some(number + 2),
        _ => None,
    };
    blanks + mark.unwrap_or(0)
}

/// Breaks text into rows of limited width, between grapheme clusters. All text is sanitized.
#[derive(Debug, Clone)]
pub(super) struct LineWrapper {
    columns: usize,
    /// The blanks before each row except the first.
    indent: usize,
    rows: Vec<Row>,
    /// The link of the text that is pushed next.
    link: Option<Link>,
}

impl LineWrapper {
    pub(super) fn new(columns: u16, indent: usize) -> Self {
        let columns = usize::from(columns.max(MIN_COLUMNS));
        Self { columns, indent: indent.min(columns - 2), rows: vec![Row::default()], link: None }
    }

    pub(super) fn push(&mut self, text: &str, style: Style) {
        for cluster in text.graphemes(true) {
            self.push_cluster(cluster, style);
        }
    }

    /// Adds text up to `cursor`, notes the cursor's position on the screen, adds the rest, and returns the position.
    pub(super) fn push_around(&mut self, text: &str, cursor: usize, style: Style) -> Position {
        let (before, after) = text.split_at(cursor);
        self.push(before, style);
        let next = after.graphemes(true).next().filter(|cluster| *cluster != "\n");
        let position = self.position(next.map_or(1, |cluster| pieces(cluster, self.room())[0].1));
        self.push(after, style);
        position
    }

    /// The free columns of the last row.
    pub(super) fn left(&self) -> usize {
        self.columns.saturating_sub(self.rows.last().map_or(0, |row| row.width))
    }

    /// The number of rows so far.
    pub(super) fn height(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn into_rows(self) -> Vec<Row> {
        self.rows
    }

    fn push_cluster(&mut self, cluster: &str, style: Style) {
        if matches!(cluster, "\n" | "\r\n") {
            return self.break_row();
        }
        for (piece, width) in pieces(cluster, self.room()) {
            self.position(width);
            let link = self.link.clone();
            self.row().push_linked(&piece, width, style, link.as_ref());
        }
    }

    /// The position for something of this width. It is on a new row if it does not fit on this one.
    fn position(&mut self, width: usize) -> Position {
        if self.columns < self.row().width + width.max(1) && self.indent < self.row().width {
            // Marks of no width stay with the character that they belong to.
            if width == 0 {
                return Position { row: self.rows.len() - 1, column: self.columns - 1 };
            }
            self.break_row();
        }
        Position { row: self.rows.len() - 1, column: self.row().width }
    }

    fn break_row(&mut self) {
        let mut row = Row::default();
        if 0 < self.indent {
            row.push(&" ".repeat(self.indent), self.indent, Style::Plain);
        }
        self.rows.push(row);
    }

    fn room(&self) -> usize {
        self.columns - self.indent
    }

    fn row(&mut self) -> &mut Row {
        self.rows.last_mut().expect("works because there is a first row and none is taken away")
    }
}

/// A grapheme cluster as it is shown, with widths: whole if it fits into `room` columns, otherwise character by
/// character.
fn pieces(cluster: &str, room: usize) -> Vec<(String, usize)> {
    if cluster == "\t" {
        return vec![(TAB.to_owned(), TAB.len())];
    }
    let shown = sanitize(cluster).into_owned();
    let width = shown.width();
    if width <= room {
        return vec![(shown, width)];
    }
    shown.chars().map(|c| (c.to_string(), c.width().unwrap_or(0))).collect()
}
