/// The lines that were submitted, and which of them is shown.
#[derive(Debug, Clone, Default)]
pub(super) struct History {
    entries: Vec<String>,
    /// The entry that is shown, and what was in the buffer before the first one was.
    shown: Option<(usize, String)>,
}

impl History {
    pub(super) fn new(entries: Vec<String>) -> Self {
        Self { entries, shown: None }
    }

    /// Remembers a line, unless it repeats the last one.
    pub(super) fn push(&mut self, line: &str) {
        self.shown = None;
        if self.entries.last().is_none_or(|last| last != line) {
            self.entries.push(line.to_owned());
        }
    }

    /// The entry before the one that is shown; `current` is what is in the buffer.
    pub(super) fn previous(&mut self, current: &str) -> Option<&str> {
        let index = self.shown.as_ref().map_or(self.entries.len(), |(index, _)| *index).checked_sub(1)?;
        let draft = self.shown.take().map_or_else(|| current.to_owned(), |(_, draft)| draft);
        self.shown = Some((index, draft));
        self.entries.get(index).map(String::as_str)
    }

    /// The entry after the one that is shown; after the last one, what was in the buffer before.
    pub(super) fn next(&mut self) -> Option<String> {
        let (index, draft) = self.shown.take()?;
        let Some(entry) = self.entries.get(index + 1) else { return Some(draft) };
        self.shown = Some((index + 1, draft));
        Some(entry.clone())
    }

    /// The newest entry before `before` (of all, where there is none) that holds the words, whatever their case, and its place.
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

    /// The buffer is the user's own again.
    pub(super) fn leave(&mut self) {
        self.shown = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_draft_waits_below_the_last_entry() {
        let mut history = History::new(vec!["one".to_owned()]);
        history.push("two");
        history.push("two");
        assert_eq!(history.previous("draft"), Some("two"));
        assert_eq!(history.previous("two"), Some("one"));
        assert_eq!(history.previous("one"), None);
        assert_eq!(history.next().as_deref(), Some("two"));
        assert_eq!(history.next().as_deref(), Some("draft"));
        assert_eq!(history.next(), None);
    }

    #[test]
    fn an_empty_history_has_nothing_to_show() {
        let mut history = History::default();
        assert_eq!(history.previous("draft"), None);
        assert_eq!(history.next(), None);
    }
}
