use headstart_speculation::ledger::Outcome;

use super::Chat;

/// The suggestion of this moment, on screen, about to be, or in the prompt.
pub(super) struct Offer {
    /// Its id in the ledger.
    pub(super) id: String,
    pub(super) text: String,
    /// Whether it stands in the prompt, put there by the user's key.
    pub(super) inserted: bool,
}

impl Offer {
    /// Whether a submitted text is this suggestion, but for blanks around it and a full stop at its end.
    pub(super) fn is_for(&self, text: &str) -> bool {
        without_full_stop(text) == without_full_stop(&self.text)
    }
}

impl Chat {
    /// The suggestion is gone, and the work behind it with it.
    pub(super) fn settle(&mut self, outcome: Outcome) {
        let offer = self.offer.take();
        match (self.ahead.take(), offer) {
            (Some(mut ahead), _) => {
                self.books.closed(&mut ahead.account, &ahead.speculation, outcome, 0);
                ahead.speculation.abort();
            }
            (None, Some(offer)) => self.books.decided(&offer.id, outcome),
            (None, None) => {}
        }
    }
}

fn without_full_stop(text: &str) -> &str {
    let text = text.trim();
    text.strip_suffix(['.', '。']).unwrap_or(text).trim_end()
}
