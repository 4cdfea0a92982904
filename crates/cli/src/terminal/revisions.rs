//! What was cut from a buffer, and how it was before each edit.

/// So much text of older states is kept at most, in bytes.
const MOST_BYTES: usize = 1 << 20;

/// What an undo leads back to, and what a yank puts back.
#[derive(Debug, Clone, Default)]
pub(super) struct Revisions {
    /// Text and cursor before each edit, oldest first.
    states: Vec<(String, usize)>,
    /// Whether the last edit was a letter, and the next one goes with it.
    is_typing: bool,
    cut: String,
    /// Whether the last edit cut something, and the next cut goes with it.
    is_cutting: bool,
}

impl Revisions {
    /// The buffer is about to be changed; letters that are typed in a row are one edit.
    pub(super) fn remember(&mut self, text: &str, cursor: usize, is_letter: bool) {
        if !std::mem::replace(&mut self.is_typing, is_letter) || !is_letter {
            self.states.push((text.to_owned(), cursor));
            let mut bytes: usize = self.states.iter().map(|(text, _)| text.len() + 16).sum();
            while MOST_BYTES < bytes && 1 < self.states.len() {
                bytes -= self.states.remove(0).0.len() + 16;
            }
        }
        self.is_cutting = false;
    }

    /// Nothing came of what was about to be changed.
    pub(super) fn forget_last(&mut self) {
        self.states.pop();
    }

    /// How it was before the last edit.
    pub(super) fn back(&mut self) -> Option<(String, usize)> {
        self.is_typing = false;
        self.states.pop()
    }

    /// This was cut; `is_before`: from before the cursor. What is cut in a row is one piece.
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

    /// The cursor was moved: what is typed or cut next is an edit of its own.
    pub(super) fn part(&mut self) {
        (self.is_typing, self.is_cutting) = (false, false);
    }

    pub(super) fn last_cut(&self) -> &str {
        &self.cut
    }

    /// The text has gone.
    pub(super) fn clear(&mut self) {
        self.states.clear();
        self.part();
    }
}
