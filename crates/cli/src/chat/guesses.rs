//! The list of all guesses of the next prompt, with what ran ahead for each.

use headstart_agent::{GuessView, Phase, View};
use headstart_machine::output::{one_line, shortened};
use headstart_terminal::{Choice, Popup};

use super::{Chat, card};

/// The columns of a row besides the guess and what ran: the mark, the number, the gaps.
const OTHER_COLUMNS: usize = 10;
const LEAST_GUESS: usize = 12;

/// The rows of the list, in a terminal with this many columns.
fn choices(guesses: &[GuessView], columns: usize) -> Vec<Choice> {
    let room = columns.saturating_sub(OTHER_COLUMNS);
    let has_work = guesses.iter().any(|guess| guess.ahead.is_some());
    let of_guess = if has_work { room / 2 } else { room }.max(LEAST_GUESS);
    let choice = |guess: &GuessView| {
        let ran =
            guess.ahead.as_ref().map(|ahead| card::row(ahead, room.saturating_sub(of_guess), None, None));
        Choice {
            label: shortened(&one_line(&guess.text), of_guess),
            words: ran
                .as_deref()
                .map(|row| row.strip_prefix("ahead ").unwrap_or(row))
                .unwrap_or_default()
                .to_owned(),
            text: guess.text.clone(),
            is_whole: true,
        }
    };
    guesses.iter().map(choice).collect()
}

impl Chat {
    /// Whether the list is open.
    pub(super) fn lists_guesses(&self) -> bool {
        self.editor.popup().is_some_and(Popup::is_numbered)
    }

    /// Opens the list, with the guess that is shown as the marked one.
    pub(super) fn list_guesses(&mut self) {
        let (view, columns) = (self.agent.view(), self.display.columns().unwrap_or_default());
        if view.phase != Phase::Idle || self.editor.searches_for().is_some() {
            return;
        }
        let shown = view.suggestion.as_ref().map(|shown| &shown.text);
        let marked = view.guesses.iter().position(|guess| Some(&guess.text) == shown).unwrap_or(0);
        self.close_popup();
        self.editor.set_popup(Popup::numbered(choices(&view.guesses, columns), marked));
        self.mark_guess();
    }

    /// Tells the conversation which guess of the list is marked.
    pub(super) fn mark_guess(&self) {
        if let Some(list) = self.editor.popup().filter(|list| list.is_numbered()) {
            self.agent.mark(&list.marked().text);
        }
    }

    /// Shows in the open list what has happened, or closes it because its guesses are not those that can be taken now.
    pub(super) fn update_guess_list(&mut self, view: &View, columns: usize) {
        let Some(list) = self.editor.popup().filter(|list| list.is_numbered()) else { return };
        let is_same =
            list.choices().iter().map(|choice| &choice.text).eq(view.guesses.iter().map(|guess| &guess.text));
        let marked = list.marked_place();
        let updated = Popup::numbered(choices(&view.guesses, columns), marked);
        self.editor.set_popup(updated.filter(|_| is_same && view.phase == Phase::Idle));
    }

    /// Takes the guess of the list at this place. What was typed instead can be called back.
    pub(super) fn take_listed(&mut self, place: usize) {
        let Some(guess) = self.editor.popup().and_then(|list| list.choices().get(place)) else { return };
        let guess = guess.text.clone();
        if self.agent.take_guess(&guess).is_ok() {
            // Both go into the history, and the prompt is empty.
            self.editor.send();
            self.editor.replace(&guess);
            self.editor.send();
        }
    }
}
