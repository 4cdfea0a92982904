//! The rows of a frame, and the styles of their text.

use unicode_width::UnicodeWidthStr;

use super::link::Link;

/// A position in a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Position {
    pub row: usize,
    pub column: usize,
}

/// One row of a frame. Its text contains no control character.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Row {
    pub spans: Vec<Span>,
    /// The width in columns.
    pub width: usize,
}

/// Text of one style.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    pub text: String,
    pub style: Style,
    /// The link of the text, if the terminal supports links.
    pub link: Option<Link>,
}

impl Span {
    /// Text without a link.
    pub(super) fn new(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style, link: None }
    }
}

/// The style of text, if the palette has styles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    Plain,
    Strong,
    Underlined,
    /// Less visible text: ghost text, hints, the status.
    Dim,
    /// Green.
    Added,
    /// Red.
    Removed,
    /// The changed words of such a line.
    AddedWord,
    RemovedWord,
    /// Cyan.
    Accent,
    Code(CodePart),
}

/// A part of code that has its own style.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodePart {
    Comment,
    Keyword,
    String,
    /// A number, or another constant value.
    Constant,
    Function,
    Type,
}

impl Row {
    pub(super) fn push(&mut self, text: &str, width: usize, style: Style) {
        self.push_linked(text, width, style, None);
    }

    pub(super) fn push_linked(&mut self, text: &str, width: usize, style: Style, link: Option<&Link>) {
        self.width += width;
        match self.spans.last_mut() {
            Some(span) if span.style == style && span.link.as_ref() == link => span.text.push_str(text),
            _ => self.spans.push(Span { text: text.to_owned(), style, link: link.cloned() }),
        }
    }

    /// Adds a part of a span. The text is already sanitized.
    pub(super) fn push_part(&mut self, text: &str, of: &Span) {
        if !text.is_empty() {
            self.push_linked(text, text.width(), of.style, of.link.as_ref());
        }
    }

    /// Adds text that is already sanitized.
    pub(super) fn push_span(&mut self, text: &str, style: Style) {
        if !text.is_empty() {
            self.push(text, text.width(), style);
        }
    }

    /// Removes the blanks at the end.
    pub(super) fn trim_end(&mut self) {
        while let Some(span) = self.spans.last_mut() {
            let end = span.text.trim_end_matches(' ').len();
            self.width -= span.text.len() - end;
            span.text.truncate(end);
            if 0 < end {
                return;
            }
            self.spans.pop();
        }
    }
}
