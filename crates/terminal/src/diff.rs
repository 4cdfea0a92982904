//! A patch in a readable form: one column of line numbers, `+` and `-` in every case, and the changed words marked.

use similar::ChangeTag;

use super::highlight::Highlighter;
use super::layout::LineWrapper;
use super::palette::Palette;
use super::row::{Row, Span, Style};

/// The lines that are shown of each of the first two hunks, if not everything is shown.
const HUNK_LINES: usize = 12;
const SHOWN_HUNKS: usize = 2;
/// A longer line is taken for one that a program wrote.
const READABLE_CHARS: usize = 400;
const NUMBER_COLUMNS: usize = 5;
/// How many lines of a diff have the colours of code. Each of them is laid out again when the screen is.
const MAX_HIGHLIGHTED: usize = 1_000;
/// Files that tools write and that nobody reads.
const LOCK_FILES: [&str; 9] = [
    "Cargo.lock",
    "Gemfile.lock",
    "composer.lock",
    "go.sum",
    "package-lock.json",
    "pnpm-lock.yaml",
    "poetry.lock",
    "uv.lock",
    "yarn.lock",
];

/// The form in which a diff is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DiffForm {
    /// Removed lines and added lines.
    #[default]
    Unified,
    /// A changed line is shown once, with its removed and added words.
    Words,
    /// Only the names of the files. What the user asks to see, and what they are asked about, is shown as `Unified`.
    Names,
}

impl DiffForm {
    /// Reads a form from its name.
    pub fn parse(name: &str) -> Result<Self, String> {
        Ok(match name {
            "unified" => Self::Unified,
            "words" => Self::Words,
            "names" => Self::Names,
            _ => return Err(format!("{name:?} is none of unified, words and names")),
        })
    }
}

/// A line whose rows after the first begin behind its margin.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct HangingLine {
    pub(super) margin: Vec<Span>,
    pub(super) text: Vec<Span>,
}

/// The rows of such a line, broken to fit the columns. Each has the sign of its line, for a row without one would look
/// unchanged; the number is in the first only.
pub(super) fn hanging_rows(line: &HangingLine, columns: u16) -> Vec<Row> {
    let indent = line.margin.iter().map(|span| span.text.len()).sum();
    let mut wrapper = LineWrapper::new(columns, indent);
    for span in line.margin.iter().chain(&line.text) {
        wrapper.push(&span.text, span.style);
    }
    let mut rows = wrapper.into_rows();
    let [margin] = line.margin.as_slice() else { return rows };
    let unnumbered = margin.text.replace(|sign: char| sign.is_ascii_digit(), " ");
    for row in rows.iter_mut().skip(1) {
        let blanks = row.spans.first_mut().filter(|span| span.text.starts_with(&" ".repeat(indent)));
        if let Some(span) = blanks {
            span.text.replace_range(..indent, &unnumbered);
            span.style = margin.style;
        }
    }
    rows
}

/// How a diff is laid out.
#[derive(Debug, Clone, Copy)]
pub(super) struct DiffLayout<'a> {
    /// The most lines of the files themselves that are shown.
    pub(super) room: usize,
    /// Follows the number of lines that are left out.
    pub(super) hint: &'a str,
    pub(super) palette: Palette,
    /// The width of the screen, for what is only shown on a wide one.
    pub(super) columns: u16,
}

/// Files and their changes, from a patch in git's format.
#[derive(Debug, Clone, Default)]
pub struct Diff {
    files: Vec<DiffFile>,
    is_unnamed: bool,
}

#[derive(Debug, Clone, Default)]
struct DiffFile {
    verb: &'static str,
    path: String,
    notes: Vec<String>,
    hunks: Vec<Vec<DiffLine>>,
    is_generated: bool,
    /// The definition in which the file begins to differ.
    definition: Option<String>,
}

#[derive(Debug, Clone)]
struct DiffLine {
    sign: char,
    number: usize,
    text: String,
    is_unended: bool,
    /// The kept, removed and added words of a line that replaces two.
    words: Vec<(ChangeTag, String)>,
}

/// The sign of a line that replaces two.
const CHANGED: char = '~';

impl Diff {
    /// Reads a patch as [`ChangeSet::diff`](headstart_overlay_fs::ChangeSet::diff) writes it.
    pub fn parse(patch: &str) -> Self {
        let mut files: Vec<DiffFile> = Vec::new();
        let (mut old, mut new) = (LineRange::default(), LineRange::default());
        for line in patch.split_terminator('\n') {
            let Some(file) = files.last_mut().filter(|_| !line.starts_with("diff --git ")) else {
                if let Some(names) = line.strip_prefix("diff --git ") {
                    files.push(DiffFile { verb: "edit", path: path_of(names), ..DiffFile::default() });
                }
                continue;
            };
            if line.starts_with('\\') {
                if let Some(line) = file.hunks.last_mut().and_then(|hunk| hunk.last_mut()) {
                    line.is_unended = true;
                }
            } else if 0 < old.left + new.left {
                let hunk = file.hunks.last_mut().expect("works because its head was read");
                hunk.push(read_line(line, &mut old, &mut new));
            } else if let Some(head) = line.strip_prefix("@@ -") {
                let (before, after) = head.trim_end_matches(" @@").split_once(" +").unwrap_or((head, ""));
                (old, new) = (LineRange::read(before), LineRange::read(after));
                file.hunks.push(Vec::new());
            } else {
                file.read_head(line);
            }
        }
        for file in &mut files {
            file.note_line_ends();
        }
        Self { files, is_unnamed: false }
    }

    /// About how many bytes the diff takes.
    pub fn bytes(&self) -> usize {
        self.files.iter().flat_map(|file| &file.hunks).flatten().map(|line| line.text.len() + 1).sum()
    }

    /// The diff without the names of the files, for places where these are shown above it.
    #[must_use]
    pub fn unnamed(self) -> Self {
        Self { is_unnamed: true, ..self }
    }

    /// The diff with those files folded that a program generated according to the project.
    #[must_use]
    pub fn with_generated(mut self, mut is_generated: impl FnMut(&str) -> bool) -> Self {
        for file in &mut self.files {
            file.is_generated = is_generated(&file.path);
        }
        self
    }

    /// The lines as text for a screen reader.
    pub fn spoken(&self, room: usize, hint: &str) -> Vec<String> {
        let text = |line: &HangingLine| {
            line.margin.iter().chain(&line.text).map(|span| span.text.as_str()).collect::<String>()
        };
        // A palette without colours, because they cannot be heard.
        let palette = Palette { theme: None, utf8: true, links: false };
        self.lines(DiffLayout { room, hint, palette, columns: 0 }).iter().map(text).collect()
    }

    /// The diff in the form that the user has chosen.
    #[must_use]
    pub fn shown_as(mut self, form: DiffForm) -> Self {
        if form == DiffForm::Words {
            for hunk in self.files.iter_mut().flat_map(|file| &mut file.hunks) {
                *hunk = words::merged(std::mem::take(hunk));
            }
        }
        self
    }

    /// The lines of the diff. If some are left out, their number is shown.
    pub(super) fn lines(&self, layout: DiffLayout<'_>) -> Vec<HangingLine> {
        let DiffLayout { room, hint, palette, columns } = layout;
        let mut lines = Vec::new();
        let mut left = room;
        for (index, file) in self.files.iter().enumerate() {
            if left == 0 {
                let rest = &self.files[index..];
                let hidden: usize = rest.iter().map(DiffFile::length).sum();
                let text = format!(
                    "… {} in {}{hint}",
                    counted(hidden, "more line"),
                    counted(rest.len(), "more file")
                );
                lines.push(plain(&text, Style::Dim));
                break;
            }
            if !self.is_unnamed {
                lines.push(file.header(columns));
            } else if !file.notes.is_empty() {
                lines.push(plain(&format!("  {}", file.notes.join(" · ")), Style::Dim));
            }
            let palette =
                if lines.len() < MAX_HIGHLIGHTED { palette } else { Palette { theme: None, ..palette } };
            left -= file.push_lines(left, room != usize::MAX, (hint, palette), &mut lines).min(left);
        }
        lines
    }
}

impl DiffFile {
    /// Reads a line before the first hunk.
    fn read_head(&mut self, line: &str) {
        let mode = |mode: &str| mode.trim_start_matches("100").to_owned();
        if line.starts_with("new file mode ") {
            self.verb = "create";
        } else if line.starts_with("deleted file mode ") {
            self.verb = "delete";
        } else if let Some(from) = line.strip_prefix("rename from ") {
            self.verb = "rename";
            self.notes.push(format!("from {from}"));
        } else if let Some(to) = line.strip_prefix("rename to ") {
            to.clone_into(&mut self.path);
        } else if let Some(old) = line.strip_prefix("old mode ") {
            self.notes.push(format!("mode {}", mode(old)));
        } else if let (Some(new), Some(note)) = (line.strip_prefix("new mode "), self.notes.last_mut()) {
            *note = format!("{note}→{}", mode(new));
        } else if line.starts_with("Binary files ") {
            self.notes.push("binary".to_owned());
        }
    }

    /// Notes changes of line ends in words, because they cannot be seen.
    fn note_line_ends(&mut self) {
        let has_crlf = |sign| {
            let mut lines = self.hunks.iter().flatten().filter(|line| line.sign == sign).peekable();
            lines.peek().is_some().then(|| lines.any(|line| line.text.ends_with('\r')))
        };
        let note = match (has_crlf('-'), has_crlf('+')) {
            (Some(true), Some(false)) => "line ends CRLF→LF",
            (Some(false), Some(true)) => "line ends LF→CRLF",
            _ => "",
        };
        for line in self.hunks.iter_mut().flatten() {
            line.text.truncate(line.text.trim_end_matches('\r').len());
        }
        if !note.is_empty() {
            self.notes.push(note.to_owned());
        }
    }

    fn length(&self) -> usize {
        self.hunks.iter().map(Vec::len).sum()
    }

    fn header(&self, columns: u16) -> HangingLine {
        let is_of = |line: &&DiffLine, sign| line.sign == sign || line.sign == CHANGED;
        let count = |sign| self.hunks.iter().flatten().filter(|line| is_of(line, sign)).count();
        let counts = [('+', count('+')), ('-', count('-'))].into_iter().filter(|(_, count)| 0 < *count);
        let counts: Vec<_> = counts.map(|(sign, count)| format!("{sign}{count}")).collect();
        let counts = if counts.is_empty() { String::new() } else { format!("  {}", counts.join(" ")) };
        let mut line = plain(&format!("{} {}{counts}", self.verb, self.path), Style::Strong);
        if !self.notes.is_empty() {
            let text = format!("  {}", self.notes.join(" · "));
            line.text.push(Span::new(text, Style::Dim));
        }
        if let Some(place) = self.place(columns) {
            line.text.push(Span::new(format!("   {place}"), Style::Dim));
        }
        line
    }

    /// Adds lines, and returns how many lines of the file were among them.
    fn push_lines(
        &self,
        room: usize,
        may_hide: bool,
        (hint, palette): (&str, Palette),
        lines: &mut Vec<HangingLine>,
    ) -> usize {
        let columns = self.hunks.iter().flatten().map(|line| line.number.to_string().len()).max();
        let columns = columns.unwrap_or(0).max(NUMBER_COLUMNS);
        let unreadable = self.unreadable().filter(|_| may_hide);
        let is_whole = self.length() <= room && unreadable.is_none();
        let most_hunks = match (is_whole, unreadable) {
            (true, _) => usize::MAX,
            (false, Some(_)) => 0,
            (false, None) => SHOWN_HUNKS,
        };
        let (mut shown, mut hidden_hunks) = (0, 0);
        for (index, hunk) in self.hunks.iter().enumerate() {
            let most = if is_whole { usize::MAX } else { HUNK_LINES.min(room - shown) };
            let taken = if index < most_hunks { hunk.len().min(most) } else { 0 };
            hidden_hunks += usize::from(taken < hunk.len());
            if 0 < taken && 0 < index {
                lines.push(plain(&format!("{:>columns$}", "…"), Style::Dim));
            }
            let marks = words::changed(hunk);
            // The code before a hunk is unknown, so each hunk is highlighted by itself, as it is after the change.
            let mut code = Highlighter::of_path(&self.path, palette);
            for (place, (line, words)) in hunk[..taken].iter().zip(marks).enumerate() {
                let is_read = line.sign != '-' && place < MAX_HIGHLIGHTED;
                let parts = if is_read { code.line(&line.text) } else { Vec::new() };
                lines.push(line.shown(columns, words, parts));
                if line.is_unended {
                    let blank = " ".repeat(columns + 3);
                    lines.push(plain(&format!("{blank}(no newline at the end)"), Style::Dim));
                }
            }
            shown += taken;
        }
        if shown < self.length() {
            let hidden = self.length() - shown;
            let what = match unreadable {
                Some(why) => format!("{} {why}", counted(hidden, "line")),
                None => format!("{} in {}", counted(hidden, "more line"), counted(hidden_hunks, "hunk")),
            };
            lines.push(plain(&format!("… {what}{hint}"), Style::Dim));
        }
        shown
    }

    /// Why the file is not shown, if a program wrote it.
    fn unreadable(&self) -> Option<&'static str> {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        let is_long = |line: &DiffLine| READABLE_CHARS < line.text.chars().count();
        match () {
            () if LOCK_FILES.contains(&name) => Some("of a lock file"),
            () if self.is_generated => Some("of a generated file"),
            () if self.hunks.iter().flatten().any(is_long) => Some("with very long ones among them"),
            () => None,
        }
    }
}

impl DiffLine {
    /// The line as it is shown, with its changed words, or with the parts of its code, which only unchanged lines show.
    fn shown(&self, columns: usize, words: Option<Vec<(bool, String)>>, code: Vec<Span>) -> HangingLine {
        let (style, changed) = match self.sign {
            '+' => (Style::Added, Style::AddedWord),
            '-' => (Style::Removed, Style::RemovedWord),
            _ => (Style::Plain, Style::Plain),
        };
        let margin = Span::new(format!("{:>columns$} {} ", self.number, self.sign), style);
        if self.sign == CHANGED {
            return HangingLine { margin: vec![margin], text: words::spans(&self.words) };
        }
        if self.sign == ' ' && !code.is_empty() {
            return HangingLine { margin: vec![margin], text: code };
        }
        let end =
            if self.sign == '+' { self.text.trim_end_matches([' ', '\t']).len() } else { self.text.len() };
        let mut text = Vec::new();
        let mut left = end;
        for (is_changed, word) in words.unwrap_or_else(|| vec![(false, self.text.clone())]) {
            let taken = word.len().min(left);
            left -= taken;
            let style = if is_changed { changed } else { style };
            text.push(Span::new(&word[..taken], style));
        }
        // Blanks at the end of an added line would be invisible otherwise.
        text.push(Span::new("·".repeat(self.text[end..].chars().count()), Style::Dim));
        text.retain(|span| !span.text.is_empty());
        HangingLine { margin: vec![margin], text }
    }
}

/// The remaining lines of one side of a hunk.
#[derive(Debug, Default)]
struct LineRange {
    next: usize,
    left: usize,
}

impl LineRange {
    /// Reads `12,3` or `12`.
    fn read(span: &str) -> Self {
        let (start, length) = span.split_once(',').unwrap_or((span, "1"));
        Self { next: start.parse().unwrap_or(1), left: length.parse().unwrap_or(0) }
    }

    fn step(&mut self) -> usize {
        self.left = self.left.saturating_sub(1);
        self.next += 1;
        self.next - 1
    }
}

fn read_line(line: &str, old: &mut LineRange, new: &mut LineRange) -> DiffLine {
    let sign = line.chars().next().filter(|sign| "+-".contains(*sign)).unwrap_or(' ');
    let number = match sign {
        '-' => old.step(),
        '+' => new.step(),
        _ => {
            old.step();
            new.step()
        }
    };
    DiffLine {
        sign,
        number,
        text: line.get(1..).unwrap_or_default().to_owned(),
        is_unended: false,
        words: Vec::new(),
    }
}

/// The path in `a/PATH b/PATH`, with or without quotes. Both halves have the same length.
fn path_of(names: &str) -> String {
    let half = names.get(..names.len() / 2).unwrap_or(names);
    match half.strip_prefix("\"a/") {
        Some(quoted) => quoted.strip_suffix('"').unwrap_or(quoted).to_owned(),
        None => half.strip_prefix("a/").unwrap_or(half).to_owned(),
    }
}

fn plain(text: &str, style: Style) -> HangingLine {
    HangingLine { margin: Vec::new(), text: vec![Span::new(text, style)] }
}

fn counted(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

mod place;
#[cfg(test)]
mod tests;
mod words;

pub use place::ChangedLine;
