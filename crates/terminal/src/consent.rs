use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers};
use unicode_width::UnicodeWidthStr;

use super::frame::{Frame, View};
use super::layout::LineWrapper;
use super::row::Style;

/// How long keys are ignored after a question appears, because they may have been pressed before it.
const KEYS_IGNORED_FOR: Duration = Duration::from_millis(400);
/// How long lines are ignored, which take longer to type.
const LINES_IGNORED_FOR: Duration = Duration::from_secs(1);

/// In a terminal with at most this many columns each answer has a row of its own.
const NARROW: usize = 40;

/// The user's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConsentAnswer {
    Yes,
    No,
    /// Yes, and to what is not kept otherwise.
    Keep,
    /// Yes, and for the rest of the session also to calls like this one.
    Always,
    /// No, followed by the user's reason.
    Why,
    /// Show everything that the question is about; the question stays open.
    Diff,
    /// Keep the user's text, here or for everything that is left to ask about.
    Mine,
    AllMine,
    /// Use the work's text, here or for everything that is left to ask about.
    Theirs,
    AllTheirs,
    /// Keep both texts, with markers where they overlap.
    Both,
    /// Use nothing of the work; the model is asked again.
    Again,
}

/// A question that one key answers: `run this? [y]es / [n]o / [w]hy not`.
///
/// An answer is given by its letter only; n, Esc, Ctrl-C and Ctrl-D mean no; Enter, pasted text and all other keys mean
/// nothing. A letter only counts after the keyboard was quiet for a moment since the question appeared, because the
/// user may have been typing or may hold a key. The host prints what the question is about (a long command, a diff)
/// above it in full.
#[derive(Debug, Clone)]
pub struct Consent {
    question: String,
    /// What may run for the rest of the session, if that is offered.
    always: Option<String>,
    answers: &'static [ConsentAnswer],
    /// When the last letter came.
    quiet_from: Instant,
}

impl ConsentAnswer {
    fn label(self) -> &'static str {
        match self {
            Self::Yes => "[y]es",
            Self::No => "[n]o",
            Self::Always => "[a]lways",
            Self::Keep => "[k]eep all",
            Self::Why => "[w]hy not",
            Self::Diff => "[d]iff",
            Self::Mine => "[m]ine",
            Self::Theirs => "[t]heirs",
            Self::Both => "[b]oth with markers",
            Self::Again => "[a]sk again",
            Self::AllMine | Self::AllTheirs => "",
        }
    }

    /// The label without its brackets.
    fn word(self) -> String {
        self.label().replace(['[', ']'], "")
    }

    /// What is left of the word when its letter has been typed.
    pub fn rest_of_word(self) -> String {
        self.word().chars().skip(1).collect()
    }

    fn letter(self) -> char {
        match self {
            Self::Yes => 'y',
            Self::No => 'n',
            Self::Keep => 'k',
            Self::Why => 'w',
            Self::Diff => 'd',
            Self::Mine => 'm',
            Self::AllMine => 'M',
            Self::Theirs => 't',
            Self::AllTheirs => 'T',
            Self::Both => 'b',
            // No question offers both of these.
            Self::Always | Self::Again => 'a',
        }
    }
}

impl Consent {
    /// Asks `question` about a call of a turn, such as `run this?`. If `always` is set, it says what the user can allow
    /// for the rest of the session. `has_diff` says whether there are changes to be shown.
    pub fn about_call(question: &str, always: Option<String>, has_diff: bool, now: Instant) -> Self {
        use ConsentAnswer::{Always, Diff, No, Why, Yes};
        let answers: &[ConsentAnswer] = match (&always, has_diff) {
            (Some(_), true) => &[Yes, Always, No, Why, Diff],
            (Some(_), false) => &[Yes, Always, No, Why],
            (None, true) => &[Yes, No, Why, Diff],
            (None, false) => &[Yes, No, Why],
        };
        Self { always, ..Self::with_answers(question, answers, now) }
    }

    /// Asks about changes, all of which the user can have shown. `can_keep` says whether there is more that they can have.
    pub fn about_changes(question: &str, can_keep: bool, now: Instant) -> Self {
        use ConsentAnswer::{Diff, Keep, No, Yes};
        let answers: &[ConsentAnswer] = if can_keep { &[Yes, Keep, Diff, No] } else { &[Yes, Diff, No] };
        Self::with_answers(question, answers, now)
    }

    /// Asks about a file that the user has changed as well. `markers` says whether both texts can be kept in it.
    /// `runs_anew` says whether the prompt can run again instead.
    pub fn about_conflict(question: &str, markers: bool, runs_anew: bool, now: Instant) -> Self {
        use ConsentAnswer::{Again, AllMine, AllTheirs, Both, Diff, Mine, Theirs};
        let answers: &[ConsentAnswer] = match (markers, runs_anew) {
            (true, true) => &[Mine, Theirs, Both, Again, Diff, AllMine, AllTheirs],
            (true, false) => &[Mine, Theirs, Both, Diff, AllMine, AllTheirs],
            (false, true) => &[Mine, Theirs, Again, Diff, AllMine, AllTheirs],
            (false, false) => &[Mine, Theirs, Diff, AllMine, AllTheirs],
        };
        Self::with_answers(question, answers, now)
    }

    /// Asks about commits that can be kept beside the user's own.
    pub fn about_commits(question: &str, now: Instant) -> Self {
        Self::with_answers(question, &[ConsentAnswer::Yes, ConsentAnswer::Again, ConsentAnswer::No], now)
    }

    /// Asks about work that read something which has changed since. The only choice is whether the model does it again.
    pub fn about_stale(question: &str, now: Instant) -> Self {
        Self::with_answers(question, &[ConsentAnswer::Again, ConsentAnswer::No], now)
    }

    fn with_answers(question: &str, answers: &'static [ConsentAnswer], now: Instant) -> Self {
        Self { question: question.to_owned(), always: None, answers, quiet_from: now }
    }

    /// Starts the quiet time again after the user was elsewhere, because a letter that comes now was meant for
    /// something else.
    pub fn restart_quiet_time(&mut self, now: Instant) {
        self.quiet_from = now;
    }

    /// The answer that the event gives, if it gives one.
    pub fn handle(&mut self, now: Instant, event: &Event) -> Option<ConsentAnswer> {
        let Event::Key(key) = event else { return None };
        if key.kind == KeyEventKind::Release {
            return None;
        }
        match (key.code, key.modifiers.difference(KeyModifiers::SHIFT)) {
            (KeyCode::Esc, KeyModifiers::NONE) | (KeyCode::Char('c' | 'd'), KeyModifiers::CONTROL) => {
                Some(ConsentAnswer::No)
            }
            (code, modifiers) => {
                let was_quiet = KEYS_IGNORED_FOR <= now.saturating_duration_since(self.quiet_from);
                self.quiet_from = now;
                let KeyCode::Char(letter) = code else { return None };
                let answers = modifiers == KeyModifiers::NONE && was_quiet;
                // A capital letter is a separate answer if there is one, otherwise it means the same as the small
                // letter.
                let meant = |letter: char| self.answers.iter().find(|answer| answer.letter() == letter);
                meant(letter).or_else(|| meant(letter.to_ascii_lowercase())).copied().filter(|_| answers)
            }
        }
    }

    /// The answer that a line gives by its word or its letter, if it gives one.
    pub fn answer_in(&self, now: Instant, line: &str) -> Option<ConsentAnswer> {
        if now.saturating_duration_since(self.quiet_from) < LINES_IGNORED_FOR {
            return None;
        }
        let line = line.trim().to_ascii_lowercase();
        let words = |answer: &&ConsentAnswer| line == answer.word() || line == answer.letter().to_string();
        self.answers.iter().filter(|answer| !answer.label().is_empty()).find(words).copied()
    }

    /// The question with the words of its answers, for a screen reader.
    pub fn spoken(&self) -> String {
        let labels = self.answers.iter().filter(|answer| !answer.label().is_empty());
        let words: Vec<_> = labels
            .map(|answer| match (&self.always, answer) {
                (Some(always), ConsentAnswer::Always) => format!("always, for {always} this session"),
                _ => answer.word(),
            })
            .collect();
        format!("{} Answer with a word and Enter: {}.", self.question, words.join("; "))
    }

    /// The question with its keys, which is drawn in place of the prompt.
    pub fn render(&self, view: &View) -> Frame {
        let mut wrapper = LineWrapper::new(view.size.columns, 0);
        wrapper.push(&self.question, Style::Strong);
        let labels = self.answers.iter().filter(|answer| !answer.label().is_empty());
        let labels: Vec<_> = labels
            .map(|answer| match (&self.always, answer) {
                (Some(always), ConsentAnswer::Always) => format!("{} {always} this session", answer.label()),
                _ => answer.label().to_owned(),
            })
            .collect();
        let keys = labels.join(" / ");
        // If the keys do not fit behind the question, they are below it, in one row if possible. A key's label is only
        // broken if it is wider than a row.
        let room = usize::from(view.size.columns);
        let are_listed = room <= NARROW && wrapper.height() + labels.len() < usize::from(view.size.rows);
        let keys = match keys.width() + 1 {
            // In a narrow terminal each key has a row, so that none is missed in the middle of a broken line.
            _ if are_listed => format!("\n{} ", labels.join("\n")),
            width if width < wrapper.left() => format!(" {keys} "),
            width if width <= room => format!("\n{keys} "),
            _ => {
                let mut rows: Vec<String> = Vec::new();
                for label in labels {
                    match rows.last_mut() {
                        // A row that is followed by another one ends with a slash.
                        Some(row) if row.width() + label.width() + 5 <= room => {
                            row.push_str(" / ");
                            row.push_str(&label);
                        }
                        _ => rows.push(label),
                    }
                }
                format!("\n{} ", rows.join(" /\n"))
            }
        };
        let cursor = wrapper.push_around(&keys, keys.len(), Style::Plain);
        Frame { rows: wrapper.into_rows(), cursor }.within(view, |_| Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyEvent;

    use super::*;

    #[test]
    fn only_a_deliberate_y_says_yes() {
        let shown_at = Instant::now();
        let consent = Consent::about_call("run this?", None, false, shown_at);
        let handle = |now, event: &Event| consent.clone().handle(now, event);
        let later = shown_at + KEYS_IGNORED_FOR;
        let too_early = shown_at + KEYS_IGNORED_FOR / 2;
        let cases = [
            (KeyCode::Char('y'), KeyModifiers::NONE, Some(ConsentAnswer::Yes)),
            (KeyCode::Char('Y'), KeyModifiers::SHIFT, Some(ConsentAnswer::Yes)),
            (KeyCode::Char('y'), KeyModifiers::CONTROL, None),
            (KeyCode::Char('y'), KeyModifiers::ALT, None),
            (KeyCode::Char('n'), KeyModifiers::NONE, Some(ConsentAnswer::No)),
            (KeyCode::Char('d'), KeyModifiers::NONE, None),
            (KeyCode::Esc, KeyModifiers::NONE, Some(ConsentAnswer::No)),
            (KeyCode::Char('c'), KeyModifiers::CONTROL, Some(ConsentAnswer::No)),
            (KeyCode::Char('d'), KeyModifiers::CONTROL, Some(ConsentAnswer::No)),
            (KeyCode::Enter, KeyModifiers::NONE, None),
            (KeyCode::Tab, KeyModifiers::NONE, None),
            (KeyCode::Char(' '), KeyModifiers::NONE, None),
        ];
        for (code, modifiers, expected) in cases {
            let event = Event::Key(KeyEvent::new(code, modifiers));
            assert_eq!(handle(later, &event), expected, "{event:?}");
            let letter = matches!(code, KeyCode::Char(_)) && modifiers != KeyModifiers::CONTROL;
            let early = expected.filter(|_| !letter);
            assert_eq!(handle(too_early, &event), early, "early {event:?}");
        }
        assert_eq!(handle(later, &Event::Paste("y".to_owned())), None);
        let mut release = KeyEvent::new(KeyCode::Char('y'), KeyModifiers::NONE);
        release.kind = KeyEventKind::Release;
        assert_eq!(handle(later, &Event::Key(release)), None);
    }

    #[test]
    fn a_conflict_takes_the_letters_that_it_shows_and_capitals_for_the_rest() {
        let shown_at = Instant::now();
        let answer = |consent: Consent, letter| {
            let modifiers = if char::is_uppercase(letter) { KeyModifiers::SHIFT } else { KeyModifiers::NONE };
            consent.clone().handle(
                shown_at + KEYS_IGNORED_FOR,
                &Event::Key(KeyEvent::new(KeyCode::Char(letter), modifiers)),
            )
        };
        let text = || Consent::about_conflict("a:", true, true, shown_at);
        let binary = || Consent::about_conflict("a:", false, true, shown_at);
        for (letter, of_text, of_binary) in [
            ('m', Some(ConsentAnswer::Mine), Some(ConsentAnswer::Mine)),
            ('M', Some(ConsentAnswer::AllMine), Some(ConsentAnswer::AllMine)),
            ('t', Some(ConsentAnswer::Theirs), Some(ConsentAnswer::Theirs)),
            ('T', Some(ConsentAnswer::AllTheirs), Some(ConsentAnswer::AllTheirs)),
            ('b', Some(ConsentAnswer::Both), None),
            ('A', Some(ConsentAnswer::Again), Some(ConsentAnswer::Again)),
            ('y', None, None),
        ] {
            assert_eq!((answer(text(), letter), answer(binary(), letter)), (of_text, of_binary), "{letter}");
        }
        let stale = || Consent::about_stale("a:", shown_at);
        assert_eq!((answer(stale(), 'm'), answer(stale(), 'a')), (None, Some(ConsentAnswer::Again)));
    }

    #[test]
    fn a_line_answers_by_a_word_or_a_letter_unless_it_came_with_the_question() {
        let shown_at = Instant::now();
        let consent = Consent::about_call("run this?", Some("`cargo test *`".to_owned()), false, shown_at);
        assert_eq!(
            consent.spoken(),
            "run this? Answer with a word and Enter: yes; always, for `cargo test *` this session; no; why not."
        );
        let later = shown_at + LINES_IGNORED_FOR;
        for (line, expected) in [
            ("yes", Some(ConsentAnswer::Yes)),
            (" Y ", Some(ConsentAnswer::Yes)),
            ("always", Some(ConsentAnswer::Always)),
            ("why not", Some(ConsentAnswer::Why)),
            ("yes please", None),
            ("diff", None),
            ("", None),
        ] {
            assert_eq!(consent.answer_in(later, line), expected, "{line}");
            assert_eq!(consent.answer_in(shown_at, line), None, "early {line}");
        }
    }

    /// Simulates a held key and a word that is typed on: for each key the previous one was too recent.
    #[test]
    fn no_letter_answers_before_the_keyboard_was_quiet() {
        let shown_at = Instant::now();
        let mut consent = Consent::about_changes("take it?", false, shown_at);
        let key = |letter| Event::Key(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE));
        for repeat in 1..40_u32 {
            assert_eq!(consent.handle(shown_at + Duration::from_millis(30) * repeat, &key('y')), None);
        }
        let typed = shown_at + Duration::from_secs(9);
        assert_eq!(consent.handle(typed, &key('b')), None);
        assert_eq!(consent.handle(typed + Duration::from_millis(90), &key('y')), None);
        assert_eq!(
            consent.handle(typed + Duration::from_millis(90) + KEYS_IGNORED_FOR, &key('d')),
            Some(ConsentAnswer::Diff)
        );
        assert_eq!(consent.handle(typed + Duration::from_secs(1), &key('y')), Some(ConsentAnswer::Yes));
    }
}
