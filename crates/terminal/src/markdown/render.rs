use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::super::highlight::Highlighter;
use super::super::layout::fold_spans;
use super::super::link::Link;
use super::super::row::{Row, Span, Style};
use super::super::sanitize::sanitize;
use super::RenderOptions;
use super::table::Table;

const QUOTE: &str = "│ ";
const RULE_COLUMNS: u16 = 20;

/// The rows of one block. Prose is at most `columns` wide, except for longer words, and a table at most
/// `table_columns`; without these the table becomes names and values. Code is as wide as it is.
pub(super) fn rows(
    source: &str,
    columns: u16,
    table_columns: Option<u16>,
    options: RenderOptions,
) -> Vec<Row> {
    let parser = Parser::new_ext(source, Options::ENABLE_TABLES);
    let mut page = RowBuilder {
        source,
        columns,
        table_columns,
        options,
        rows: Vec::new(),
        containers: Vec::new(),
        text: Vec::new(),
        styles: Vec::new(),
        links: Vec::new(),
        code: None,
        table: None,
        covered: 0,
    };
    for (event, range) in parser.into_offset_iter() {
        match &event {
            Event::Start(tag) => {
                if matches!(
                    tag,
                    Tag::Paragraph
                        | Tag::Heading { .. }
                        | Tag::BlockQuote(_)
                        | Tag::CodeBlock(_)
                        | Tag::HtmlBlock
                        | Tag::List(_)
                        | Tag::Item
                        | Tag::Table(_)
                ) {
                    page.definitions(range.start);
                }
                page.covered = page.covered.max(range.start);
            }
            Event::End(tag) => {
                if matches!(tag, TagEnd::BlockQuote(_) | TagEnd::Item | TagEnd::List(_)) {
                    page.definitions(range.end);
                }
                page.covered = page.covered.max(range.end);
            }
            _ => page.covered = page.covered.max(range.end),
        }
        page.take(event, &range);
    }
    page.end_text();
    page.definitions(source.len());
    page.rows
}

/// The rows so far, and the elements that are open around the next text.
struct RowBuilder<'a> {
    source: &'a str,
    columns: u16,
    table_columns: Option<u16>,
    options: RenderOptions,
    rows: Vec<Row>,
    containers: Vec<Container>,
    /// The text of the open paragraph.
    text: Vec<Span>,
    styles: Vec<Style>,
    /// The index in `text` at which each open link begins, and its address.
    links: Vec<(usize, String)>,
    /// The fence of the open block of code, which is empty if the block is indented.
    code: Option<(String, Highlighter)>,
    table: Option<Table>,
    /// How far into the source the events have come.
    covered: usize,
}

/// An element that adds something before the rows within it.
enum Container {
    Quote,
    /// The mark of an entry, until it is shown, and its width.
    Entry {
        mark: Option<String>,
        width: usize,
    },
}

impl RowBuilder<'_> {
    /// Shows definitions of links. They are between blocks and have no event; everything else between blocks is marks
    /// of quotes and of lists' entries.
    fn definitions(&mut self, until: usize) {
        let between = self.source.get(self.covered..until).unwrap_or_default();
        let Some(begin) = between.find('[') else { return };
        self.end_text();
        for line in between[begin..].lines() {
            self.push_text(line.trim_matches(|c: char| c == '>' || c.is_whitespace()), Style::Plain);
            self.end_text();
        }
    }

    fn take(&mut self, event: Event<'_>, range: &Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.code.is_some() => {
                for line in text.lines() {
                    let line = sanitize(line);
                    let parts = self.code.iter_mut().flat_map(|(_, code)| code.line(&line)).collect();
                    self.push_code(parts);
                }
            }
            Event::Text(text) => self.push_text(&text, self.style()),
            // Without styles the marks from the source are shown.
            Event::Code(_) if self.options.palette.is_plain() => {
                self.push_text(&self.source[range.clone()].replace('\n', " "), Style::Plain);
            }
            Event::Code(text) => self.push_text(&text, Style::Accent),
            Event::Html(text) | Event::InlineHtml(text) => self.push_lines(&text),
            Event::SoftBreak | Event::HardBreak => self.push_span("\n", Style::Plain),
            Event::Rule => {
                self.separate(range);
                self.push_text(&"─".repeat(usize::from(self.columns.min(RULE_COLUMNS))), Style::Dim);
                self.end_text();
            }
            // These extensions are not enabled.
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.push_text(&text, Style::Plain);
            }
            Event::TaskListMarker(_) => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>, range: &Range<usize>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.separate(range),
            Tag::Heading { level, .. } => {
                self.separate(range);
                self.styles.push(Style::Strong);
                if self.options.palette.is_plain() {
                    self.push_text(&format!("{} ", "#".repeat(level as usize)), Style::Plain);
                }
            }
            Tag::BlockQuote(_) => {
                self.separate(range);
                self.containers.push(Container::Quote);
            }
            // In a list without blank lines, the words of an entry are not in a paragraph.
            Tag::List(_) => self.end_text(),
            Tag::Item => {
                self.separate(range);
                let text = &self.source[range.clone()];
                let mark = text.split_whitespace().next().unwrap_or("-");
                // An entry that is rendered by itself keeps its indentation in the list.
                let outer = self.containers.is_empty();
                let indent = if outer { blanks_before(self.source, range.start) } else { 0 };
                let mark = format!("{}{mark} ", " ".repeat(indent));
                self.containers.push(Container::Entry { width: mark.len(), mark: Some(mark) });
            }
            Tag::CodeBlock(kind) => {
                self.separate(range);
                let text = &self.source[range.clone()];
                let mark = text.chars().next().unwrap_or('`');
                let fence = match kind {
                    CodeBlockKind::Fenced(_) => text.chars().take_while(|c| *c == mark).collect(),
                    CodeBlockKind::Indented => String::new(),
                };
                let mut code = Highlighter::default();
                if let CodeBlockKind::Fenced(info) = kind {
                    self.push_fence(&format!("{fence}{info}"));
                    code = self.options.highlighter(&info);
                }
                self.code = Some((fence, code));
            }
            Tag::Table(alignments) => {
                self.separate(range);
                self.table = Some(Table::new(alignments));
            }
            Tag::TableHead => self.styles.push(Style::Strong),
            Tag::Emphasis => self.start_style(Style::Underlined, "*"),
            Tag::Strong => self.start_style(Style::Strong, "**"),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push((self.text.len(), dest_url.into_string()));
                // The text of the link begins a span of its own.
                self.text.push(Span::new("", self.style()));
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.end_text(),
            TagEnd::Heading(_) => {
                self.styles.pop();
                self.end_text();
            }
            TagEnd::BlockQuote(_) => {
                self.end_text();
                self.containers.pop();
            }
            TagEnd::Item => {
                // An entry without words shows its mark too.
                if !self.text.is_empty()
                    || matches!(self.containers.last(), Some(Container::Entry { mark: Some(_), .. }))
                {
                    self.end_text_of(true);
                }
                self.containers.pop();
            }
            TagEnd::CodeBlock => {
                if let Some((fence, _)) = self.code.take().filter(|(fence, _)| !fence.is_empty()) {
                    self.push_fence(&fence);
                }
            }
            TagEnd::Table => {
                let Some(table) = self.table.take() else { return };
                let prefix = self.prefix_width();
                let rows = match self.table_columns {
                    Some(columns) => table.rows(columns.saturating_sub(prefix)),
                    None => table.records(self.columns.saturating_sub(prefix)),
                };
                for row in rows {
                    self.push_row(row);
                }
            }
            TagEnd::TableHead => {
                self.styles.pop();
                self.table.iter_mut().for_each(Table::end_row);
            }
            TagEnd::TableRow => self.table.iter_mut().for_each(Table::end_row),
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.text);
                self.table.iter_mut().for_each(|table| table.push(cell.clone()));
            }
            TagEnd::Emphasis => self.end_style("*"),
            TagEnd::Strong => self.end_style("**"),
            TagEnd::Link | TagEnd::Image => self.end_link(),
            _ => {}
        }
    }

    fn start_style(&mut self, style: Style, mark: &str) {
        self.styles.push(style);
        if self.options.palette.is_plain() {
            self.push_text(mark, Style::Plain);
        }
    }

    fn end_style(&mut self, mark: &str) {
        self.styles.pop();
        if self.options.palette.is_plain() {
            self.push_text(mark, Style::Plain);
        }
    }

    /// Ends a link. The address is added to the text unless the text already shows it, because users must read an
    /// address before they follow it.
    fn end_link(&mut self) {
        let Some((start, address)) = self.links.pop() else { return };
        let start = start.min(self.text.len());
        let text: String = self.text[start..].iter().map(|span| span.text.as_str()).collect();
        let link = if self.options.palette.links { Link::of(&address) } else { None };
        let is_said = match &link {
            Some(link) => link.is_named_in(&text),
            None => text == *sanitize(&address) || address.strip_prefix("mailto:") == Some(text.as_str()),
        };
        let address = link.as_ref().map_or(address.as_str(), Link::address);
        if !is_said && !address.is_empty() {
            self.push_text(&format!(" ({address})"), Style::Dim);
        }
        for span in &mut self.text[start..] {
            span.link.clone_from(&link);
        }
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or(Style::Plain)
    }

    /// Adds text within one line. Entities may stand for a line feed, which becomes a blank.
    fn push_text(&mut self, text: &str, style: Style) {
        let text = text.replace(['\n', '\t'], " ");
        self.push_span(&sanitize(&text), style);
    }

    fn push_lines(&mut self, text: &str) {
        for line in text.split_inclusive('\n') {
            self.push_text(line.trim_end_matches('\n'), self.style());
            if line.ends_with('\n') {
                self.push_span("\n", Style::Plain);
            }
        }
    }

    fn push_span(&mut self, text: &str, style: Style) {
        self.text.push(Span::new(text, style));
    }

    /// Keeps the blank line before a block in the source.
    fn separate(&mut self, range: &Range<usize>) {
        self.end_text();
        let line_start = self.source[..range.start].rfind('\n');
        let line_before = line_start.map(|end| self.source[..end].rsplit('\n').next().unwrap_or_default());
        let is_after_blank = line_before.is_some_and(|line| line.trim_matches([' ', '\t', '>']).is_empty());
        if is_after_blank && !self.has_mark() && !self.rows.is_empty() {
            self.push_row(Row::default());
        }
    }

    fn end_text(&mut self) {
        if !self.text.is_empty() {
            self.end_text_of(false);
        }
    }

    /// Folds the open text into rows.
    fn end_text_of(&mut self, even_if_empty: bool) {
        let mut text = std::mem::take(&mut self.text);
        // A block of HTML ends with a line feed.
        while text.last().is_some_and(|span| span.text == "\n") {
            text.pop();
        }
        if text.is_empty() && !even_if_empty {
            return;
        }
        let columns = self.columns.saturating_sub(self.prefix_width());
        for line in text.split(|span| span.text == "\n") {
            for row in fold_spans(line, columns) {
                self.push_row(row);
            }
        }
    }

    fn push_fence(&mut self, line: &str) {
        self.push_code(vec![Span::new(sanitize(line), Style::Dim)]);
    }

    /// Adds a line of code or a fence. It begins in the first column, or behind the mark of a quote.
    fn push_code(&mut self, parts: Vec<Span>) {
        if self.has_mark() {
            self.push_row(Row::default());
        }
        let mut row = Row::default();
        for _ in self.containers.iter().filter(|container| matches!(container, Container::Quote)) {
            row.push_span(QUOTE, Style::Dim);
        }
        for part in parts {
            row.push_part(&part.text, &part);
        }
        self.rows.push(row);
    }

    fn push_row(&mut self, row: Row) {
        let mut shown = Row::default();
        for container in &mut self.containers {
            match container {
                Container::Quote => shown.push_span(QUOTE, Style::Dim),
                Container::Entry { mark, width } => {
                    let mark = mark.take().unwrap_or_else(|| " ".repeat(*width));
                    shown.push_span(&mark, Style::Plain);
                }
            }
        }
        for span in row.spans {
            shown.push_part(&span.text, &span);
        }
        shown.trim_end();
        self.rows.push(shown);
    }

    /// Whether an entry's mark has not been shown yet.
    fn has_mark(&self) -> bool {
        self.containers.iter().any(|container| matches!(container, Container::Entry { mark: Some(_), .. }))
    }

    fn prefix_width(&self) -> u16 {
        let width = self.containers.iter().map(|container| match container {
            Container::Quote => 2,
            Container::Entry { width, .. } => *width,
        });
        u16::try_from(width.sum::<usize>()).unwrap_or(u16::MAX)
    }
}

/// How many blanks are before a place in its line.
fn blanks_before(source: &str, place: usize) -> usize {
    let line = source[..place].rsplit('\n').next().unwrap_or_default();
    line.chars().filter(|c| *c == ' ').count()
}
