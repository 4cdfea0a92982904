//! The rows of a frame, and how their text looks.

use unicode_width::UnicodeWidthStr;

use super::link::Link;

/// A place in a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Position {
    pub(crate) row: usize,
    pub(crate) column: usize,
}

/// One row of a frame; its text holds no control character.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Row {
    pub(crate) spans: Vec<Span>,
    /// In columns.
    pub(crate) width: usize,
}

/// Text of one style.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) text: String,
    pub(crate) style: Style,
    /// Where it leads, where the terminal is told.
    pub(crate) link: Option<Link>,
}

impl Span {
    /// Text that leads nowhere.
    pub(super) fn new(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style, link: None }
    }
}

/// How text looks, where the palette has styles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Strong,
    Underlined,
    /// Of less weight: ghost text, hints, the status.
    Dim,
    /// Green.
    Added,
    /// Red.
    Removed,
    /// What changed in such a line.
    AddedWord,
    RemovedWord,
    /// Cyan.
    Accent,
    #[cfg_attr(not(feature = "highlight"), expect(dead_code, reason = "no syntax is known"))]
    Code(CodePart),
}

/// A part of code that has a style of its own.
#[cfg_attr(not(feature = "highlight"), expect(dead_code, reason = "no syntax is known"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CodePart {
    Comment,
    Keyword,
    String,
    /// A number, or another name of a value.
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

    /// Takes a part of a span whose text is harmless already.
    pub(super) fn push_part(&mut self, text: &str, of: &Span) {
        if !text.is_empty() {
            self.push_linked(text, text.width(), of.style, of.link.as_ref());
        }
    }

    /// Takes text that is harmless already.
    pub(super) fn push_span(&mut self, text: &str, style: Style) {
        if !text.is_empty() {
            self.push(text, text.width(), style);
        }
    }

    /// Leaves out the blanks that it ends with.
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
