use std::fmt::Write as _;

use headstart_code_index::{Budget, Hit, MemoryIndex, Query, View, Weights, passage, search};
use headstart_overlay_fs::{ContentHash, Tree as _, WorkspacePath};

use super::call_view::CallView;
use super::port::IndexCoverage;
use super::unindexed::LineMatch;
use crate::location::locate_path;
use crate::output::OutputText;
use crate::{ToolContext, ToolOutput};

/// A place with the current content of its file.
pub(super) struct Snippet {
    pub(super) hit: Hit,
    bytes: Vec<u8>,
    is_secret: bool,
}

impl Snippet {
    /// The text of the place for a model that ranks.
    pub(super) fn passage(&self) -> String {
        if self.is_secret {
            return String::new();
        }
        passage(&self.hit.path, &String::from_utf8_lossy(&self.bytes), self.hit.lines)
    }
}

/// The places that a query found, with their current content.
pub(super) struct ResultList<'a> {
    context: ToolContext<'a>,
    call_view: &'a CallView,
    output: OutputText,
    shown: usize,
    text: usize,
    /// The definitions that were shown, of which no line is shown twice.
    definitions: Vec<Option<(WorkspacePath, u32)>>,
    /// The number of lines that were found without the index.
    lines: usize,
    notes: Vec<String>,
}

impl<'a> ResultList<'a> {
    pub(super) fn new(context: ToolContext<'a>, call_view: &'a CallView) -> Self {
        let output = OutputText::new(context.limits.output_bytes);
        Self {
            context,
            call_view,
            output,
            shown: 0,
            text: 0,
            definitions: Vec::new(),
            lines: 0,
            notes: Vec::new(),
        }
    }

    /// Reads a place without noting the read; `None` if it is closed, or nothing of it is left.
    pub(super) async fn read(&self, hit: &Hit, query: &Query) -> Option<Snippet> {
        // It may be closed under another name, because a folder above it may have become a link.
        let unnoted = ToolContext { view: &self.call_view.tree, ..self.context };
        let is_open = !self.context.closes(&hit.path)
            && locate_path(&hit.path, unnoted).await.is_ok_and(|path| path == hit.path);
        if !is_open {
            return None;
        }
        let bytes = self.call_view.tree.read(&hit.path).await.ok()?;
        // A consent to this call opens the file for the conversation's model only, not for one that ranks.
        let is_secret = self.context.gate.deny.closes(&hit.path, false);
        Some(Snippet { hit: relocated(hit, &bytes, query)?, bytes, is_secret })
    }

    /// Shows a place.
    pub(super) async fn show(&mut self, Snippet { hit, bytes, .. }: &Snippet, query: &Query) {
        let definition = hit.symbol.as_ref().map(|symbol| (hit.path.clone(), symbol.first));
        if definition.is_some() && self.definitions.contains(&definition) {
            return;
        }
        let text = String::from_utf8_lossy(bytes);
        let room = hit.room(self.text);
        let with_text = 0 < room;
        // What the model gets to read counts as read by its work.
        if with_text && self.context.view.read(&hit.path).await.is_ok_and(|read| read != *bytes) {
            return;
        }
        let entry = format_entry(hit, with_text.then(|| hit.excerpt(&text, query, room)));
        let lines = Some(hit.lines).filter(|lines| *lines != (0, 0));
        if self.output.push_at(&hit.path, lines, &entry) {
            self.shown += 1;
            self.text += entry.len();
            self.definitions.push(definition);
        }
    }

    /// Shows lines that were found in files that the index does not know yet.
    pub(super) async fn show_unindexed(&mut self, found: (Vec<LineMatch>, String)) {
        let (lines, note) = found;
        let mut before: Option<WorkspacePath> = None;
        for line in lines {
            if before.as_ref() != Some(&line.path) && self.context.view.read(&line.path).await.is_err() {
                continue;
            }
            let number = u32::try_from(line.number).unwrap_or(u32::MAX);
            let text = format!("{}:{}:{}", line.path, line.number, line.text);
            if self.output.push_match(&line.path, (number, number), &text) {
                self.lines += 1;
            }
            before = Some(line.path);
        }
        self.notes.extend(Some(note).filter(|note| !note.is_empty()));
    }

    pub(super) fn finish(mut self, coverage: &IndexCoverage) -> ToolOutput {
        if self.shown + self.lines == 0 {
            self.output.note("nothing fits; grep finds what is spelled in another way");
        }
        for note in coverage.notes().into_iter().chain(self.notes) {
            self.output.note(&note);
        }
        if 0 < self.call_view.delta.left_out {
            let count = self.call_view.delta.left_out;
            self.output
                .note(&format!("changed files that are too many to be searched here: {count}; use grep"));
        }
        self.output.finish_items()
    }
}

/// Where the place is in this content. If the content differs from the indexed one, this is the place that matches
/// best now.
fn relocated(hit: &Hit, bytes: &[u8], query: &Query) -> Option<Hit> {
    if hit.digest == ContentHash::of(bytes) || hit.lines == (0, 0) {
        return Some(hit.clone());
    }
    let index = MemoryIndex::of([(&hit.path, bytes)]);
    let view = View::new(&index, []);
    search(&view, query, Budget { hits: 1, least: 0.0 }, &[], &Weights::default()).ok()?.into_iter().next()
}

/// `src/auth.rs:10-32 login`, and its lines, each with its number, so that no text looks like another place.
fn format_entry(hit: &Hit, excerpt: Option<String>) -> String {
    let mut entry = hit.path.to_string();
    // A name must not be able to look like a line of another place.
    if entry.contains(char::is_control) {
        entry = format!("{entry:?}");
    }
    if hit.lines != (0, 0) {
        let _ = write!(entry, ":{}-{}", hit.lines.0, hit.lines.1);
    }
    if let Some(symbol) = &hit.symbol {
        let _ = write!(entry, " {}", symbol.name);
    }
    if let Some(excerpt) = excerpt.filter(|excerpt| !excerpt.is_empty()) {
        let _ = write!(entry, "\n{}", excerpt.trim_end_matches('\n'));
    }
    entry
}
