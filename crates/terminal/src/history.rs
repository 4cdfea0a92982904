/// The submitted lines, and which of them is shown.
#[derive(Debug, Clone, Default)]
pub(super) struct History {
    entries: Vec<String>,
    /// The index of the shown entry, and what was in the buffer before the first one was shown.
    shown: Option<(usize, String)>,
}

impl History {
    pub(super) fn new(mut entries: Vec<String>) -> Self {
        entries.retain(|entry| is_remembered(entry));
        Self { entries, shown: None }
    }

    /// Remembers a line, unless it repeats the last one.
    pub(super) fn push(&mut self, line: &str) {
        self.shown = None;
        if is_remembered(line) && self.entries.last().is_none_or(|last| last != line) {
            self.entries.push(line.to_owned());
        }
    }

    /// The entry before the shown one that begins with what was typed. `current` is the text in the buffer.
    pub(super) fn previous(&mut self, current: &str) -> Option<&str> {
        let (before, draft) = match &self.shown {
            Some((index, draft)) => (*index, draft.as_str()),
            None => (self.entries.len(), current),
        };
        let index = self.entries[..before].iter().rposition(|entry| entry.starts_with(draft))?;
        let draft = draft.to_owned();
        self.shown = Some((index, draft));
        self.entries.get(index).map(String::as_str)
    }

    /// The entry after the shown one that begins with what was typed; after the last entry, what was in the buffer
    /// before.
    pub(super) fn next(&mut self) -> Option<String> {
        let (index, draft) = self.shown.take()?;
        let after = self.entries.iter().enumerate().skip(index + 1);
        let Some((index, entry)) = after.into_iter().find(|(_, entry)| entry.starts_with(&draft)) else {
            return Some(draft);
        };
        self.shown = Some((index, draft));
        Some(entry.clone())
    }

    /// The newest entry before `before`, or of all entries, that contains the words in any case of letters, with its
    /// index.
    pub(super) fn find(&self, words: &str, before: Option<usize>) -> Option<(usize, &str)> {
        let words = words.to_lowercase();
        let known = &self.entries[..before.unwrap_or(self.entries.len()).min(self.entries.len())];
        let place = known.iter().rposition(|entry| entry.to_lowercase().contains(&words))?;
        Some((place, &known[place]))
    }

    /// Whether an entry is shown.
    pub(super) fn is_recalled(&self) -> bool {
        self.shown.is_some()
    }

    /// Leaves the history, because the buffer was changed.
    pub(super) fn leave(&mut self) {
        self.shown = None;
    }
}

/// A line that begins with a blank is not remembered, as in a shell.
fn is_remembered(line: &str) -> bool {
    !line.starts_with(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_draft_waits_below_the_last_entry() {
        let mut history = History::new(vec!["one".to_owned()]);
        history.push("two");
        history.push("two");
        assert_eq!(history.previous(""), Some("two"));
        assert_eq!(history.previous("two"), Some("one"));
        assert_eq!(history.previous("one"), None);
        assert_eq!(history.next().as_deref(), Some("two"));
        assert_eq!(history.next().as_deref(), Some(""));
        assert_eq!(history.next(), None);
    }

    #[test]
    fn what_is_typed_says_which_entries_are_meant() {
        let entries = ["fix the parser", "run the tests", "fix the lexer", "fi"];
        let mut history = History::new(entries.map(str::to_owned).to_vec());
        assert_eq!(history.previous("fix"), Some("fix the lexer"));
        assert_eq!(history.previous("fix the lexer"), Some("fix the parser"));
        assert_eq!(history.previous("fix the parser"), None);
        assert_eq!(history.next().as_deref(), Some("fix the lexer"));
        assert_eq!(history.next().as_deref(), Some("fix"));
        assert_eq!(history.previous("nothing"), None);
        assert_eq!(history.next(), None, "nothing was shown");
    }

    #[test]
    fn an_empty_history_has_nothing_to_show() {
        let mut history = History::default();
        assert_eq!(history.previous("draft"), None);
        assert_eq!(history.next(), None);
    }
}
