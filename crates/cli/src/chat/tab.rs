//! What Tab does: it takes the suggestion and the work behind it.

use std::time::{Duration, Instant};

use headstart_agent::{EditKind, Phase};
use headstart_machine::config::TabKey;
use headstart_machine::output::{one_line, shortened};

use super::Chat;

/// A Tab so soon after the one that put the suggestion into the prompt may be the same key, held down.
const SECOND_TAB: Duration = Duration::from_millis(400);
/// Whoever has waited this long for work that still runs is offered not to.
const LONG: Duration = Duration::from_secs(3);

/// A prompt that asks for the work of a guess and for more, as the row says.
pub(super) struct OfferedExtension {
    prompt: String,
    guess: String,
    is_ready: bool,
}

/// Work ahead that the user has taken while it still runs.
#[derive(Default)]
pub(super) struct JoinedWork {
    since: Option<Instant>,
    /// Whether the row has offered not to wait.
    is_offered: bool,
}

impl JoinedWork {
    /// Takes in what goes on now.
    pub(super) fn update(&mut self, phase: Phase, now: Instant) {
        self.since = (phase == Phase::Accepting).then(|| self.since.unwrap_or(now));
        self.is_offered = self.is_long(now);
    }

    /// Whether the user has waited long enough to be offered something else.
    fn is_long(&self, now: Instant) -> bool {
        self.since.is_some_and(|since| LONG <= now.saturating_duration_since(since))
    }

    /// Ends when that is so. Never ends if the user does not wait, or is offered it already.
    pub(super) async fn until_long(&self) {
        match self.since.filter(|_| !self.is_offered) {
            Some(since) => tokio::time::sleep_until((since + LONG).into()).await,
            None => std::future::pending().await,
        }
    }

    /// The row about it.
    pub(super) fn row(&self, now: Instant) -> &'static str {
        if self.is_long(now) {
            "finishing what runs already (Tab runs it here instead, Ctrl-C interrupts)"
        } else {
            "finishing what runs already (Ctrl-C interrupts)"
        }
    }
}

/// The row that says for which guess the work was that the prompt took.
pub(super) fn matched_row(guess: &str, key: Option<&str>, columns: usize) -> String {
    let back = key.map(|key| format!(" · {key} takes it back")).unwrap_or_default();
    format!("✓ that ran ahead (“{}”){back}", fitting(guess, 21 + back.chars().count(), columns))
}

/// The row that offers the work of a guess to which the prompt adds something.
fn extension_row(guess: &str, is_ready: bool, columns: usize) -> String {
    let runs = if is_ready { "ran" } else { "runs" };
    let offers = format!("{runs} ahead · Tab takes it and sends the rest");
    format!("“{}” {offers}", fitting(guess, 3 + offers.chars().count(), columns))
}

/// The text on one line, shortened so that it fits into a row beside `others` characters.
fn fitting(text: &str, others: usize, columns: usize) -> String {
    const LEAST: usize = 12;
    shortened(&one_line(text), columns.saturating_sub(others + 2).max(LEAST))
}

impl Chat {
    /// Offers the work of a guess to which the prompt adds something, once: the prompt stays in the line. Returns
    /// whether it does.
    pub(super) fn offers_extension(&mut self, text: &str) -> bool {
        let is_offered = self.extended.take().is_some_and(|offered| offered.prompt == text);
        let Some(extension) = self.agent.extension(text).filter(|_| !is_offered && self.display.has_keys())
        else {
            return false;
        };
        self.editor.replace(text);
        self.extended = Some(OfferedExtension {
            prompt: text.to_owned(),
            guess: extension.guess,
            is_ready: extension.is_ready,
        });
        true
    }

    /// The row about the offered extension, if the prompt is still the one that extends.
    pub(super) fn extension_row(&self, columns: usize) -> Option<String> {
        let offered = self.extended.as_ref().filter(|offered| offered.prompt == self.editor.whole_text())?;
        Some(extension_row(&offered.guess, offered.is_ready, columns))
    }

    /// Takes the work that the prompt extends, and sends the rest. Returns whether it was offered.
    fn take_extended(&mut self) -> bool {
        let text = self.editor.whole_text().into_owned();
        let is_offered = self.extended.take().is_some_and(|offered| offered.prompt == text);
        let is_taken = is_offered && self.agent.take_extended(&text).is_ok();
        if is_taken {
            self.editor.replace("");
        }
        is_taken
    }

    /// Takes the suggestion and its work. If the user prefers that, the first Tab only puts it into the prompt. Behind work
    /// that was taken and takes long, it gives that up and runs the prompt here.
    pub(super) fn on_tab(&mut self) {
        if self.joined.is_long(Instant::now()) {
            // It may have ended by itself, and then there is nothing to give up.
            let _ = self.agent.run_here();
            return;
        }
        if self.take_extended() {
            return;
        }
        let Some(suggestion) = self.agent.view().suggestion.clone() else { return self.insert_first() };
        if self.settings.tab == TabKey::Insert {
            if suggestion.rest.is_some() && self.editor.whole_text() != suggestion.text {
                self.insert_suggestion();
                return;
            }
            // A key that is held down does not count as a second press.
            if self.inserted_at.is_some_and(|at| at.elapsed() < SECOND_TAB) {
                return;
            }
        }
        self.take_suggestion();
    }

    /// Takes the suggestion and the work that ran ahead for it.
    pub(super) fn take_suggestion(&mut self) {
        let Some(suggestion) = self.agent.view().suggestion.clone() else { return };
        if self.agent.take(&suggestion.text).is_ok() {
            self.editor.replace(&suggestion.text);
            // This empties the prompt and adds the suggestion to the history.
            self.editor.send();
        }
    }

    /// Takes the suggestion if a line that was sent is it, unchanged. Whatever it says, it is a prompt: a model's text is
    /// no command of the chat and no line for a shell because it was put into the prompt first.
    pub(super) fn takes_inserted(&self, line: &str) -> bool {
        let suggestion = self.agent.view().suggestion.clone();
        suggestion.is_some_and(|suggestion| suggestion.text == line && self.agent.take(line).is_ok())
    }

    /// Puts the suggestion into the prompt, as if the user had typed it.
    pub(super) fn insert_suggestion(&mut self) {
        let Some(suggestion) = self.agent.view().suggestion.clone() else { return self.insert_first() };
        self.editor.replace(&suggestion.text);
        self.inserted_at = Some(Instant::now());
        self.agent.edited(&suggestion.text, EditKind::Changed);
    }

    /// Puts the offered first prompt into the empty line, so that it can be edited.
    fn insert_first(&mut self) {
        if let Some(first) = self.initial_prompt.as_ref().filter(|_| self.editor.text().is_empty()) {
            self.editor.replace(first);
            self.on_edited(EditKind::Changed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_about_a_guess_fit_at_eighty_and_at_a_hundred_and_twenty_columns() {
        let guess = "option 2, keep the cache of the parser and drop the one of the lexer";
        for columns in [80, 120] {
            let rows = [matched_row(guess, Some("Ctrl-_"), columns), extension_row(guess, true, columns)];
            for row in rows {
                assert!(row.chars().count() < columns && row.contains("option 2"), "{row}");
            }
        }
        assert_eq!(
            matched_row("option 2, keep the cache", Some("Ctrl-_"), 80),
            "✓ that ran ahead (“option 2, keep the cache”) · Ctrl-_ takes it back"
        );
    }

    #[test]
    fn who_has_waited_for_three_seconds_is_offered_to_run_it_here() {
        let begun = Instant::now();
        let after = |millis| begun + Duration::from_millis(millis);
        let mut joined = JoinedWork::default();
        joined.update(Phase::Turn, begun);
        assert!(!joined.is_long(after(60_000)), "nobody waits");
        joined.update(Phase::Accepting, begun);
        joined.update(Phase::Accepting, after(2_000));
        assert!(!joined.row(after(2_999)).contains("Tab"));
        assert!(joined.row(after(3_000)).contains("Tab runs it here instead"));
        joined.update(Phase::Turn, after(3_001));
        joined.update(Phase::Accepting, after(4_000));
        assert!(!joined.is_long(after(6_000)), "that is other work");
    }
}
