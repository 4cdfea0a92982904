use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers};

use super::frame::{Frame, Style, View};
use super::layout::Wrapper;

/// A key that was on its way when the question came up is no answer to it.
const DEAF: Duration = Duration::from_millis(400);
const KEYS: &str = " [y]es / [n]o ";

/// The user's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Yes,
    No,
}

/// A question that one key answers: `run this? [y]es / [n]o`.
///
/// Only the key y says yes; n, Esc, Ctrl-C and Ctrl-D say no; Enter, pasted text and all other keys say nothing, and
/// neither do y and n before the question has been there for a moment: the user may have been typing. What the question is about (a long command, a diff) is for the
/// host to print above in full.
#[derive(Debug, Clone)]
pub(crate) struct Consent {
    question: String,
    asked: Instant,
}

impl Consent {
    /// Asks `question`, such as `run this?`, from now on.
    pub(crate) fn new(question: &str, now: Instant) -> Self {
        Self { question: question.to_owned(), asked: now }
    }

    /// The answer, if the event is one.
    pub(crate) fn handle(&self, now: Instant, event: &Event) -> Option<Answer> {
        let Event::Key(key) = event else { return None };
        if key.kind == KeyEventKind::Release {
            return None;
        }
        let too_early = now.saturating_duration_since(self.asked) < DEAF;
        match (key.code, key.modifiers.difference(KeyModifiers::SHIFT)) {
            (KeyCode::Char('y' | 'Y' | 'n' | 'N'), KeyModifiers::NONE) if too_early => None,
            (KeyCode::Char('y' | 'Y'), KeyModifiers::NONE) => Some(Answer::Yes),
            (KeyCode::Char('n' | 'N') | KeyCode::Esc, KeyModifiers::NONE)
            | (KeyCode::Char('c' | 'd'), KeyModifiers::CONTROL) => Some(Answer::No),
            _ => None,
        }
    }

    /// The question with its keys, in place of the prompt.
    pub(crate) fn render(&self, view: &View) -> Frame {
        let mut wrapper = Wrapper::new(view.size.columns, 0);
        wrapper.push(&self.question, Style::Strong);
        let cursor = wrapper.push_around(KEYS, KEYS.len(), Style::Plain);
        Frame { rows: wrapper.into_rows(), cursor }.within(view)
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyEvent;

    use super::*;

    #[test]
    fn only_a_deliberate_y_says_yes() {
        let asked = Instant::now();
        let consent = Consent::new("run this?", asked);
        let later = asked + DEAF;
        let too_early = asked + DEAF / 2;
        let cases = [
            (KeyCode::Char('y'), KeyModifiers::NONE, Some(Answer::Yes)),
            (KeyCode::Char('Y'), KeyModifiers::SHIFT, Some(Answer::Yes)),
            (KeyCode::Char('y'), KeyModifiers::CONTROL, None),
            (KeyCode::Char('y'), KeyModifiers::ALT, None),
            (KeyCode::Char('n'), KeyModifiers::NONE, Some(Answer::No)),
            (KeyCode::Esc, KeyModifiers::NONE, Some(Answer::No)),
            (KeyCode::Char('c'), KeyModifiers::CONTROL, Some(Answer::No)),
            (KeyCode::Char('d'), KeyModifiers::CONTROL, Some(Answer::No)),
            (KeyCode::Enter, KeyModifiers::NONE, None),
            (KeyCode::Tab, KeyModifiers::NONE, None),
            (KeyCode::Char(' '), KeyModifiers::NONE, None),
        ];
        for (code, modifiers, expected) in cases {
            let event = Event::Key(KeyEvent::new(code, modifiers));
            assert_eq!(consent.handle(later, &event), expected, "{event:?}");
            let letter = matches!(code, KeyCode::Char(_)) && modifiers != KeyModifiers::CONTROL;
            let early = expected.filter(|_| !letter);
            assert_eq!(consent.handle(too_early, &event), early, "early {event:?}");
        }
        assert_eq!(consent.handle(later, &Event::Paste("y".to_owned())), None);
        let mut release = KeyEvent::new(KeyCode::Char('y'), KeyModifiers::NONE);
        release.kind = KeyEventKind::Release;
        assert_eq!(consent.handle(later, &Event::Key(release)), None);
    }
}
