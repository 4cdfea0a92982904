//! What Tab does: it takes the suggestion and the work behind it.

use std::time::{Duration, Instant};

use headstart_agent::{EditKind, Phase};

use super::Chat;
use crate::config::TabKey;

/// A Tab so soon after the one that put the suggestion into the prompt may be the same key, held down.
const SECOND_TAB: Duration = Duration::from_millis(400);
/// Whoever has waited this long for work that still runs is offered not to.
const LONG: Duration = Duration::from_secs(3);

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

impl Chat {
    /// Takes the suggestion and its work. If the user prefers that, the first Tab only puts it into the prompt. Behind work
    /// that was taken and takes long, it gives that up and runs the prompt here.
    pub(super) fn on_tab(&mut self) {
        if self.joined.is_long(Instant::now()) {
            // It may have ended by itself, and then there is nothing to give up.
            let _ = self.agent.run_here();
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
