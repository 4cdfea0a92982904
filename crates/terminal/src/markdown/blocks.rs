/// A part of an answer whose end is certain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Block {
    /// Blank lines between two blocks.
    Blank,
    /// The first or the last line of a block of code.
    Fence(String),
    /// A line of code.
    Code(String),
    /// A line that is shown as it is written.
    Line(String),
    /// A paragraph, a heading, a quote, a table or one entry of a list.
    Prose(String),
}

/// Splits whole lines into blocks, by the rules of `CommonMark` for where a block of the outermost level ends. What is
/// within a block is left to the parser.
#[derive(Debug, Clone, Default)]
pub(super) struct Blocks {
    open: OpenBlock,
    /// Whether blank lines followed the last block.
    is_after_blank: bool,
    /// Whether there was a block before.
    has_begun: bool,
}

#[derive(Debug, Clone, Default)]
enum OpenBlock {
    #[default]
    Nothing,
    /// A paragraph, a table or a quote.
    Paragraph { lines: Vec<String>, is_quote: bool },
    /// An entry of a list. Lines that are indented to `text_column` belong to it.
    Entry { lines: Vec<String>, text_column: usize },
    /// A block of code, by its first line.
    Code(Fence),
}

#[derive(Debug, Clone, Copy)]
struct Fence {
    mark: char,
    length: usize,
    indent: usize,
}

impl Blocks {
    /// The blocks that end with this line or before it.
    pub(super) fn push(&mut self, line: &str) -> Vec<Block> {
        let mut ended = Vec::new();
        if !self.continues(line, &mut ended) {
            self.close(&mut ended);
            self.begin(line, &mut ended);
        }
        ended
    }

    /// As [`push`](Self::push), for an answer that is shown as it is written. Each line is a block.
    pub(super) fn push_raw(&mut self, line: &str) -> Vec<Block> {
        if matches!(self.open, OpenBlock::Code(_)) {
            let mut ended = Vec::new();
            self.continues(line, &mut ended);
            return ended
                .into_iter()
                .map(|block| match block {
                    Block::Fence(_) | Block::Code(_) => Block::Code(line.to_owned()),
                    other => other,
                })
                .collect();
        }
        if let Some(fence) = Fence::begins(line) {
            self.open = OpenBlock::Code(fence);
            return vec![Block::Code(line.to_owned())];
        }
        let is_code = line.starts_with("    ") || line.starts_with('\t');
        vec![if is_code { Block::Code(line.to_owned()) } else { Block::Line(line.to_owned()) }]
    }

    /// The remaining blocks at the end of an answer.
    pub(super) fn end(mut self) -> Vec<Block> {
        let mut ended = Vec::new();
        self.close(&mut ended);
        ended
    }

    /// Whether no block is open.
    pub(super) fn is_empty(&self) -> bool {
        matches!(self.open, OpenBlock::Nothing | OpenBlock::Code(_))
    }

    /// The number of rows so far of a table that is open.
    pub(super) fn table_rows(&self) -> Option<usize> {
        let OpenBlock::Paragraph { lines, is_quote: false } = &self.open else { return None };
        let rule = lines.get(1)?;
        let is_rule =
            rule.contains('|') && rule.contains('-') && rule.trim().chars().all(|c| "|-: ".contains(c));
        (is_rule && lines[0].contains('|')).then(|| lines.len() - 2)
    }

    /// The open block, reduced to its last lines of about this many bytes.
    pub(super) fn end_within(&self, most_bytes: usize) -> Self {
        let shortened = |lines: &[String]| {
            let mut room = most_bytes;
            let fits = lines.iter().rev().take_while(|line| {
                let fits = line.len() <= room;
                room = room.saturating_sub(line.len());
                fits
            });
            lines[lines.len() - fits.count()..].to_vec()
        };
        let open = match &self.open {
            OpenBlock::Paragraph { lines, is_quote } => {
                OpenBlock::Paragraph { lines: shortened(lines), is_quote: *is_quote }
            }
            OpenBlock::Entry { lines, text_column } => {
                OpenBlock::Entry { lines: shortened(lines), text_column: *text_column }
            }
            OpenBlock::Code(fence) => OpenBlock::Code(*fence),
            OpenBlock::Nothing => OpenBlock::Nothing,
        };
        Self { open, ..*self }
    }

    /// Adds the line to the open block if it belongs to it, and returns whether it does.
    fn continues(&mut self, line: &str, ended: &mut Vec<Block>) -> bool {
        match &mut self.open {
            OpenBlock::Nothing => false,
            OpenBlock::Code(fence) => {
                if fence.ends(line) {
                    ended.push(Block::Fence(line.trim().to_owned()));
                    self.open = OpenBlock::Nothing;
                } else {
                    ended.push(Block::Code(without_indent(line, fence.indent).to_owned()));
                }
                true
            }
            OpenBlock::Paragraph { lines, is_quote } => {
                let is_underline = !*is_quote && is_underline(line);
                if line.trim().is_empty() || (!is_underline && interrupts(line, *is_quote)) {
                    return false;
                }
                // A line without the mark only continues a quote if the quote ends in a paragraph.
                if *is_quote && !is_quoted(line) && !ends_in_paragraph(lines) {
                    return false;
                }
                lines.push(line.to_owned());
                if is_underline {
                    self.close(ended);
                }
                true
            }
            OpenBlock::Entry { lines, text_column } => {
                let is_after_blank = lines.last().is_none_or(|last| last.trim().is_empty());
                let is_inside = line.trim().is_empty() || *text_column <= indent(line);
                let goes_on = !is_after_blank && ListMarker::of(line).is_none() && !interrupts(line, false);
                if is_inside || (goes_on && ends_in_paragraph(lines)) {
                    lines.push(line.to_owned());
                    return true;
                }
                false
            }
        }
    }

    /// Begins a block. Some blocks end with their first line.
    fn begin(&mut self, line: &str, ended: &mut Vec<Block>) {
        if line.trim().is_empty() {
            self.is_after_blank = true;
            return;
        }
        if let Some(fence) = Fence::begins(line) {
            self.emit(Block::Fence(line.trim().to_owned()), ended);
            self.open = OpenBlock::Code(fence);
        } else if 4 <= indent(line) {
            self.emit(Block::Code(line.to_owned()), ended);
        } else if is_heading(line) || is_rule(line) || is_definition(line) {
            self.emit(Block::Prose(line.to_owned()), ended);
        } else if let Some(marker) = ListMarker::of(line) {
            self.open = OpenBlock::Entry { lines: vec![line.to_owned()], text_column: marker.text_column };
        } else {
            let is_quote = is_quoted(line);
            self.open = OpenBlock::Paragraph { lines: vec![line.to_owned()], is_quote };
        }
    }

    /// Ends the open block. A block of code without an end is shown as far as it came.
    fn close(&mut self, ended: &mut Vec<Block>) {
        let (OpenBlock::Paragraph { mut lines, .. } | OpenBlock::Entry { mut lines, .. }) =
            std::mem::take(&mut self.open)
        else {
            return;
        };
        let text = lines.iter().rposition(|line| !line.trim().is_empty()).map_or(0, |last| last + 1);
        let ends_blank = text < lines.len();
        lines.truncate(text);
        self.emit(Block::Prose(lines.join("\n")), ended);
        self.is_after_blank = ends_blank;
    }

    fn emit(&mut self, block: Block, ended: &mut Vec<Block>) {
        if std::mem::take(&mut self.is_after_blank) && self.has_begun {
            ended.push(Block::Blank);
        }
        self.has_begun = true;
        ended.push(block);
    }
}

impl Fence {
    fn begins(line: &str) -> Option<Self> {
        let indent = indent(line);
        let text = line.trim_start();
        let mark = text.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let length = text.chars().take_while(|c| *c == mark).count();
        // A line with further backticks is code within a line, not a fence.
        let is_fence = indent < 4 && 3 <= length && (mark == '~' || !text[length..].contains('`'));
        is_fence.then_some(Self { mark, length, indent })
    }

    fn ends(self, line: &str) -> bool {
        let text = line.trim();
        indent(line) < 4 && self.length <= text.len() && text.chars().all(|c| c == self.mark)
    }
}

/// The mark of a list's entry.
struct ListMarker {
    /// The column at which the text begins.
    text_column: usize,
    /// The bytes of the mark itself.
    width: usize,
    /// Whether such an entry ends a paragraph. A number other than 1 does not, because a line may begin with a year.
    interrupts: bool,
}

impl ListMarker {
    fn of(line: &str) -> Option<Self> {
        let text = line.trim_start();
        let digits = text.chars().take_while(char::is_ascii_digit).count();
        let width = match digits {
            0 if text.starts_with(['-', '*', '+']) => 1,
            1..=9 if text[digits..].starts_with(['.', ')']) => digits + 1,
            _ => return None,
        };
        let rest = &text[width..];
        if is_rule(line) || !(rest.is_empty() || rest.starts_with([' ', '\t'])) {
            return None;
        }
        let blanks = indent(rest);
        let gap = if rest.trim().is_empty() || 4 < blanks { 1 } else { blanks };
        let may_interrupt = !rest.trim().is_empty() && (digits == 0 || text[..digits].parse() == Ok(1));
        Some(Self { text_column: indent(line) + width + gap, width, interrupts: may_interrupt })
    }
}

/// Whether a line ends the paragraph before it.
fn interrupts(line: &str, is_quote: bool) -> bool {
    indent(line) < 4
        && (Fence::begins(line).is_some()
            || is_heading(line)
            || is_rule(line)
            || (is_quoted(line) && !is_quote)
            || ListMarker::of(line).is_some_and(|marker| marker.interrupts))
}

fn is_quoted(line: &str) -> bool {
    line.trim_start().starts_with('>')
}

/// Whether the last line of a quote or an entry belongs to a paragraph, which can continue without a mark.
fn ends_in_paragraph(lines: &[String]) -> bool {
    let mut last = lines.last().map_or("", |line| line.trim_start_matches([' ', '\t', '>']));
    while let Some(marker) = ListMarker::of(last) {
        last = last[marker.width..].trim_start_matches([' ', '\t', '>']);
    }
    let is_other = last.is_empty() || Fence::begins(last).is_some() || is_heading(last) || is_rule(last);
    !is_other && !has_open_fence(lines)
}

fn is_heading(line: &str) -> bool {
    let text = line.trim_start();
    let level = text.chars().take_while(|c| *c == '#').count();
    let rest = &text[level..];
    indent(line) < 4 && (1..=6).contains(&level) && (rest.is_empty() || rest.starts_with([' ', '\t']))
}

fn is_rule(line: &str) -> bool {
    let marks: Vec<char> = line.chars().filter(|c| !matches!(c, ' ' | '\t')).collect();
    let is_same =
        marks.first().is_some_and(|first| "-*_".contains(*first) && marks.iter().all(|c| c == first));
    indent(line) < 4 && 3 <= marks.len() && is_same
}

/// Whether a line turns the paragraph above it into a heading.
fn is_underline(line: &str) -> bool {
    let text = line.trim();
    let is_line_of = |mark| !text.is_empty() && text.chars().all(|c| c == mark);
    indent(line) < 4 && (is_line_of('=') || is_line_of('-'))
}

/// Whether a line may define a link. Each definition is a block of its own, because later ones are not known yet.
fn is_definition(line: &str) -> bool {
    line.trim_start().starts_with('[') && line.contains("]:")
}

/// Whether a block of code within an entry or a quote is not closed yet.
fn has_open_fence(lines: &[String]) -> bool {
    let mut open: Option<Fence> = None;
    for line in lines {
        let line = line.trim_start_matches([' ', '\t', '>']);
        open = match open {
            Some(fence) if fence.ends(line) => None,
            Some(fence) => Some(fence),
            None => Fence::begins(line),
        };
    }
    open.is_some()
}

/// The columns of blanks at the beginning, with tab stops at every fourth.
fn indent(line: &str) -> usize {
    line.chars()
        .map_while(|c| match c {
            ' ' => Some(1),
            '\t' => Some(4),
            _ => None,
        })
        .sum()
}

fn without_indent(line: &str, most: usize) -> &str {
    let blanks = line.bytes().take(most).take_while(|byte| *byte == b' ').count();
    &line[blanks..]
}
