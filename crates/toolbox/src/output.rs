use headstart_overlay_fs::WorkspacePath;

use crate::{ContextItem, ToolError, ToolOutput};

/// Lines for the model, up to a number of bytes, followed by notes in brackets.
pub(crate) struct OutputText {
    text: String,
    limit: usize,
    item_spans: Vec<ItemSpan>,
    /// The offset of the notes, once there are any.
    notes: Option<usize>,
}

/// A file whose lines follow.
struct ItemSpan {
    /// The offset in the text at which they begin.
    start: usize,
    path: WorkspacePath,
    lines: Option<(u32, u32)>,
}

impl OutputText {
    pub(crate) fn new(limit: usize) -> Self {
        Self { text: String::new(), limit, item_spans: Vec::new(), notes: None }
    }

    /// As [`push_line`](Self::push_line), for a text that is at these lines of a file, or about the whole file.
    pub(crate) fn push_at(&mut self, path: &WorkspacePath, lines: Option<(u32, u32)>, text: &str) -> bool {
        let start = self.text.len();
        let fits = self.push_line(text);
        if fits {
            self.item_spans.push(ItemSpan { start, path: path.clone(), lines });
        }
        fits
    }

    /// As [`push_at`](Self::push_at) for consecutive lines: those of one file become one item.
    pub(crate) fn push_match(&mut self, path: &WorkspacePath, found: (u32, u32), text: &str) -> bool {
        match self.item_spans.last() {
            Some(place) if place.path == *path => {
                let fits = self.push_line(text);
                if let Some(ItemSpan { lines: Some((_, last)), .. }) =
                    self.item_spans.last_mut().filter(|_| fits)
                {
                    *last = found.1.max(*last);
                }
                fits
            }
            _ => self.push_at(path, Some(found), text),
        }
    }

    /// Adds a line; returns `false` and adds nothing if it does not fit any more. The first line is cut to fit.
    pub(crate) fn push_line(&mut self, line: &str) -> bool {
        if self.text.is_empty() && line.len() >= self.limit {
            self.text.push_str(truncate_str(line, self.limit));
            self.text.push('\n');
            return true;
        }
        if self.text.len() + line.len() >= self.limit {
            return false;
        }
        self.text.push_str(line);
        self.text.push('\n');
        true
    }

    /// Adds a note, regardless of the limit.
    pub(crate) fn note(&mut self, note: &str) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.notes.get_or_insert(self.text.len());
        self.text.push('[');
        self.text.push_str(note);
        self.text.push_str("]\n");
    }

    pub(crate) fn finish(mut self) -> String {
        if self.text.ends_with('\n') {
            self.text.pop();
        }
        self.text
    }

    /// The same text as items, one for each place.
    pub(crate) fn finish_items(self) -> ToolOutput {
        let (item_spans, notes) = (&self.item_spans, self.notes);
        if item_spans.is_empty() || item_spans[0].start != 0 {
            return ToolOutput::Text(self.finish());
        }
        let mut items = Vec::new();
        let whole = self.text.strip_suffix('\n').unwrap_or(&self.text);
        let places_end = notes.unwrap_or(whole.len());
        let ends = item_spans.iter().skip(1).map(|place| place.start).chain([places_end]);
        for (ItemSpan { start, path, lines }, end) in item_spans.iter().zip(ends) {
            items.push(ContextItem::of_file(path, *lines, whole[*start..end].to_owned()));
        }
        if let Some(notes) = notes {
            items.push(ContextItem::of_notes(whole[notes..].to_owned()));
        }
        ToolOutput::of(items)
    }
}

/// The longest beginning of `text` of at most `limit` bytes that ends between two characters.
pub(crate) fn truncate_str(text: &str, limit: usize) -> &str {
    let boundary = (0..=limit.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..boundary.unwrap_or(0)]
}

/// The output of a host's code with at most this many bytes, and a note if it was cut.
pub(crate) fn truncate_output(text: String, limit: usize) -> String {
    if text.len() <= limit {
        return text;
    }
    let mut output = OutputText::new(limit);
    output.push_line(&text);
    output.note(&format!("cut after {limit} of {} bytes", text.len()));
    output.finish()
}

/// Cuts an error in the same way.
pub(crate) fn truncate_error(error: ToolError, limit: usize) -> ToolError {
    match error {
        ToolError::Failed { message, source } => {
            ToolError::Failed { message: truncate_output(message, limit), source }
        }
        ToolError::InvalidArgument { tool, message } => {
            ToolError::InvalidArgument { tool, message: truncate_output(message, limit) }
        }
        error => error,
    }
}
