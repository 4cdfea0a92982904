//! What was cut from a buffer, and its states before each edit.

/// The most bytes of older states that are kept.
const MAX_BYTES: usize = 1 << 20;

/// The states for undo, and the text for yank.
#[derive(Debug, Clone, Default)]
pub(super) struct Revisions {
    /// The text and the cursor before each edit, the oldest first.
    states: Vec<(String, usize)>,
    /// Whether the last edit was a letter, so that another letter belongs to the same edit.
    is_typing: bool,
    cut: String,
    /// Whether the last edit cut text, so that another cut adds to the same piece.
    is_cutting: bool,
}

impl Revisions {
    /// Remembers the state before an edit. Letters that are typed in a row are one edit.
    pub(super) fn remember(&mut self, text: &str, cursor: usize, is_letter: bool) {
        if !std::mem::replace(&mut self.is_typing, is_letter) || !is_letter {
            self.states.push((text.to_owned(), cursor));
            let mut bytes: usize = self.states.iter().map(|(text, _)| text.len() + 16).sum();
            while MAX_BYTES < bytes && 1 < self.states.len() {
                bytes -= self.states.remove(0).0.len() + 16;
            }
        }
        self.is_cutting = false;
    }

    /// Forgets the last state, because the edit changed nothing.
    pub(super) fn forget_last(&mut self) {
        self.states.pop();
    }

    /// The state before the last edit.
    pub(super) fn back(&mut self) -> Option<(String, usize)> {
        self.is_typing = false;
        self.states.pop()
    }

    /// Keeps cut text. `is_before` says that it was before the cursor, and `goes_on` adds it to the previous piece.
    pub(super) fn cut(&mut self, piece: &str, is_before: bool, goes_on: bool) {
        match (goes_on, is_before) {
            (false, _) => piece.clone_into(&mut self.cut),
            (true, true) => self.cut.insert_str(0, piece),
            (true, false) => self.cut.push_str(piece),
        }
        self.is_cutting = true;
    }

    pub(super) fn is_cutting(&self) -> bool {
        self.is_cutting
    }

    /// Ends the current edit, because the cursor was moved. What is typed or cut next is another edit.
    pub(super) fn part(&mut self) {
        (self.is_typing, self.is_cutting) = (false, false);
    }

    pub(super) fn last_cut(&self) -> &str {
        &self.cut
    }

    /// Forgets all states, because the text has left the buffer.
    pub(super) fn clear(&mut self) {
        self.states.clear();
        self.part();
    }
}
