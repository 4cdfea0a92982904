//! Renders a model's answer, which is Markdown, into rows for a terminal while it arrives.
//!
//! [`Blocks`] splits whole lines into blocks. A block whose end is certain is rendered by itself and goes above the
//! frame, where nothing changes any more; a block without an end is shown in the frame. Only whole lines count, so the
//! result does not depend on the pieces in which an answer arrives.

mod blocks;
mod render;
mod table;
#[cfg(test)]
mod tests;

use blocks::{Block, Blocks};

use super::highlight::Highlighter;
use super::layout::{fold, text_row};
use super::palette::Palette;
use super::row::{Row, Style};
use super::sanitize::sanitize;

/// The most columns of prose, because longer rows are hard to read.
const MAX_PROSE_COLUMNS: u16 = 100;
/// The most bytes of an open block that are rendered for the frame, which only has room for its end.
const MAX_OPEN_BYTES: usize = 8 * 1024;

/// Whether Markdown is rendered or shown as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Markdown {
    #[default]
    Rendered,
    Raw,
    /// Rendered for a screen reader: a table becomes names and values.
    ReadAloud,
}

impl Markdown {
    /// Reads a value from its name in a configuration.
    pub fn parse(name: &str) -> Result<Self, String> {
        Ok(match name {
            "rendered" => Self::Rendered,
            "raw" => Self::Raw,
            _ => return Err(format!("{name:?} is none of rendered and raw")),
        })
    }
}

/// What the rows are rendered for.
#[derive(Debug, Clone, Copy)]
pub(super) struct RenderOptions {
    pub(super) columns: u16,
    pub(super) palette: Palette,
    pub(super) markdown: Markdown,
    /// Whether code has colours.
    pub(super) highlights: bool,
}

/// The part of an answer that has arrived and is not above the frame yet.
#[derive(Debug, Clone, Default)]
pub(super) struct AnswerRenderer {
    blocks: Blocks,
    /// The line that is not complete yet.
    line: String,
    /// The highlighter of an open block of code.
    code: Option<Highlighter>,
}

impl AnswerRenderer {
    /// The rows that are final with this piece. The terminal breaks a row that is wider than itself.
    pub(super) fn push(&mut self, piece: &str, options: RenderOptions) -> Vec<Row> {
        let mut rows = Vec::new();
        for part in piece.split_inclusive('\n') {
            self.line.push_str(part);
            if part.ends_with('\n') {
                let line = std::mem::take(&mut self.line);
                rows.extend(self.take_line(&line, options));
            }
        }
        rows
    }

    /// The remaining rows, after the last piece.
    pub(super) fn end(&mut self, options: RenderOptions) -> Vec<Row> {
        let line = std::mem::take(&mut self.line);
        let mut rows = if line.is_empty() { Vec::new() } else { self.take_line(&line, options) };
        let blocks = std::mem::take(&mut self.blocks).end();
        rows.extend(self.block_rows(&blocks, options));
        self.code = None;
        rows
    }

    /// The rows of the unfinished part, as if it ended now.
    pub(super) fn open_rows(&self, options: RenderOptions) -> Vec<Row> {
        if self.line.is_empty() && self.blocks.is_empty() {
            return Vec::new();
        }
        if let Some(rows) = self.blocks.table_rows() {
            let plural = if rows == 1 { "" } else { "s" };
            return vec![text_row(&format!("table, {rows} row{plural}"), Style::Dim)];
        }
        // A line of code gets its colours once it is complete, because the highlighter reads each line only once.
        let mut open = Self { blocks: self.blocks.end_within(MAX_OPEN_BYTES), ..Self::default() };
        let options = RenderOptions { highlights: false, ..options };
        let mut start = self.line.len().saturating_sub(MAX_OPEN_BYTES);
        while !self.line.is_char_boundary(start) {
            start += 1;
        }
        self.line[start..].clone_into(&mut open.line);
        open.end(options)
    }

    fn take_line(&mut self, line: &str, options: RenderOptions) -> Vec<Row> {
        let line = line.strip_suffix('\n').unwrap_or(line);
        let line = sanitize(line.strip_suffix('\r').unwrap_or(line));
        let blocks = match options.markdown {
            Markdown::Rendered | Markdown::ReadAloud => self.blocks.push(&line),
            Markdown::Raw => self.blocks.push_raw(&line),
        };
        self.block_rows(&blocks, options)
    }

    fn block_rows(&mut self, blocks: &[Block], options: RenderOptions) -> Vec<Row> {
        let mut rows = Vec::new();
        for block in blocks {
            match (block, &mut self.code) {
                (Block::Fence(_), Some(_)) => self.code = None,
                (Block::Fence(line), None) => self.code = Some(options.highlighter(line)),
                (Block::Code(line), Some(code)) => {
                    // The terminal breaks the line, so that copied code is whole.
                    let mut row = Row::default();
                    code.line(line).iter().for_each(|part| row.push_part(&part.text, part));
                    rows.push(row);
                    continue;
                }
                _ => {}
            }
            rows.extend(block_rows(block, options));
        }
        rows
    }
}

impl RenderOptions {
    /// The highlighter for a block of code, by the text behind the marks of its fence.
    fn highlighter(self, info: &str) -> Highlighter {
        if self.highlights { Highlighter::of_fence(info, self.palette) } else { Highlighter::default() }
    }
}

fn block_rows(block: &Block, options: RenderOptions) -> Vec<Row> {
    match block {
        Block::Blank => vec![Row::default()],
        Block::Fence(line) => vec![text_row(line, Style::Dim)],
        Block::Code(line) => vec![text_row(line, Style::Plain)],
        Block::Line(line) => {
            fold(line, options.columns).iter().map(|row| text_row(row, Style::Plain)).collect()
        }
        // A screen reader reads no table rows.
        Block::Prose(source) if options.markdown == Markdown::ReadAloud => {
            render::rows(source, options.columns, None, options)
        }
        Block::Prose(source) => {
            let columns = options.columns.min(MAX_PROSE_COLUMNS);
            render::rows(source, columns, Some(options.columns), options)
        }
    }
}
