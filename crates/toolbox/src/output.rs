use crate::ToolError;
use crate::content::cut;

/// Lines for the model, up to a number of bytes, and then notes in brackets.
pub(crate) struct Output {
    text: String,
    limit: usize,
}

impl Output {
    pub(crate) fn new(limit: usize) -> Self {
        Self { text: String::new(), limit }
    }

    /// Adds a line; `false`, and nothing added, where it does not fit any more. The first line is cut to fit.
    pub(crate) fn push_line(&mut self, line: &str) -> bool {
        if self.text.is_empty() && line.len() >= self.limit {
            self.text.push_str(cut(line, self.limit));
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

    /// Adds a note, whatever the limit.
    pub(crate) fn note(&mut self, note: &str) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
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
}

/// What code of the host's returned, with no more text than the limit and a note where it was cut.
pub(crate) fn within(text: String, limit: usize) -> String {
    if text.len() <= limit {
        return text;
    }
    let mut output = Output::new(limit);
    output.push_line(&text);
    output.note(&format!("cut after {limit} of {} bytes", text.len()));
    output.finish()
}

/// The same for an error.
pub(crate) fn error_within(error: ToolError, limit: usize) -> ToolError {
    match error {
        ToolError::Failed { message } => ToolError::Failed { message: within(message, limit) },
        ToolError::InvalidArgument { tool, message } => {
            ToolError::InvalidArgument { tool, message: within(message, limit) }
        }
        error => error,
    }
}
