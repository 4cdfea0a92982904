//! What a terminal answers when it is asked for the colour of its background, among the keys.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::palette::Theme;

/// Asks for it. A terminal that does not know the code ignores it.
pub(crate) const QUESTION: &str = "\x1b]11;?\x1b\\";
/// An answer is no longer.
const MOST_SIGNS: usize = 40;
/// Between these nobody can say whether dark or light text is read better, of 1.
const DARKEST_UNCERTAIN: f64 = 0.35;
const LIGHTEST_UNCERTAIN: f64 = 0.65;

/// Takes such an answer out of what is typed, whenever it comes and whoever asked. What could be its beginning is held back until more is known.
#[derive(Debug, Clone, Default)]
pub(super) struct Answers {
    held: Vec<Event>,
    /// What is held, as the terminal sent it.
    signs: String,
}

/// What came of an event.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Sifted {
    /// It could belong to the answer.
    Held,
    /// None of it is an answer.
    Events(Vec<Event>),
    /// The answer, and for which theme it speaks.
    Answer(Theme),
}

impl Answers {
    pub(super) fn push(&mut self, event: Event) -> Sifted {
        let Some(signs) = signs(&event) else {
            // A new size or focus is no part of anything.
            return match event {
                Event::Key(_) | Event::Paste(_) => self.release_with(event),
                event => Sifted::Events(vec![event]),
            };
        };
        // Esc is seldom split from what follows it, and its user waits for it.
        if self.signs.is_empty() && signs == "\x1b" {
            return Sifted::Events(vec![event]);
        }
        self.signs.push_str(&signs);
        match progress(&self.signs) {
            Progress::Whole(color) => {
                (self.held, self.signs) = (Vec::new(), String::new());
                Sifted::Answer(theme_on(color))
            }
            Progress::Part => {
                self.held.push(event);
                Sifted::Held
            }
            Progress::Other => self.release_with(event),
        }
    }

    /// Whether events are held.
    pub(super) fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// No more comes of what is held.
    pub(super) fn release(&mut self) -> Vec<Event> {
        self.signs.clear();
        std::mem::take(&mut self.held)
    }

    /// What is held was none. The event may begin another.
    fn release_with(&mut self, event: Event) -> Sifted {
        let mut events = self.release();
        let is_next = !events.is_empty() && signs(&event).is_some();
        match if is_next { self.push(event) } else { Sifted::Events(vec![event]) } {
            Sifted::Events(more) => events.extend(more),
            Sifted::Held => {}
            answer @ Sifted::Answer(_) => return answer,
        }
        Sifted::Events(events)
    }
}

enum Progress {
    Part,
    Whole([f64; 3]),
    Other,
}

/// How far `ESC ] 11 ; rgb:RRRR/GGGG/BBBB` has come, which ends with `ESC \` or a bell.
fn progress(signs: &str) -> Progress {
    const BEGINNINGS: [&str; 2] = ["\x1b]11;rgb:", "\x1b]11;rgba:"];
    if BEGINNINGS.iter().any(|beginning| beginning.starts_with(signs)) {
        return Progress::Part;
    }
    let Some(rest) = BEGINNINGS.iter().find_map(|beginning| signs.strip_prefix(beginning)) else {
        return Progress::Other;
    };
    let color = rest.trim_end_matches(|c: char| !c.is_ascii_hexdigit() && c != '/');
    let is_color = color.chars().all(|c| c.is_ascii_hexdigit() || c == '/');
    match &rest[color.len()..] {
        "" | "\x1b" if is_color && signs.len() < MOST_SIGNS => Progress::Part,
        "\x07" | "\x1b\\" if is_color => read(color).map_or(Progress::Other, Progress::Whole),
        _ => Progress::Other,
    }
}

/// Red, green and blue, each of 1; from one to four digits each.
fn read(color: &str) -> Option<[f64; 3]> {
    let mut shares = color.split('/').map(|digits| {
        let most =
            16_u32.checked_pow(u32::try_from(digits.len()).ok()?)?.checked_sub(1).filter(|most| 0 < *most)?;
        Some(f64::from(u32::from_str_radix(digits, 16).ok()?) / f64::from(most))
    });
    Some([shares.next()??, shares.next()??, shares.next()??])
}

/// The theme for a background; where it is neither dark nor light, the one that is right on each.
fn theme_on([red, green, blue]: [f64; 3]) -> Theme {
    let light = 0.299 * red + 0.587 * green + 0.114 * blue;
    if light < DARKEST_UNCERTAIN {
        Theme::Dark
    } else if light <= LIGHTEST_UNCERTAIN {
        Theme::Terminal
    } else {
        Theme::Light
    }
}

/// What the terminal sent for a key, as far as it can be of an answer.
fn signs(event: &Event) -> Option<String> {
    let Event::Key(KeyEvent { code, modifiers, kind: KeyEventKind::Press, .. }) = event else { return None };
    match (code, modifiers.difference(KeyModifiers::SHIFT)) {
        (KeyCode::Char(letter), KeyModifiers::NONE) => Some(letter.to_string()),
        (KeyCode::Char(letter @ (']' | '\\')), KeyModifiers::ALT) => Some(format!("\x1b{letter}")),
        (KeyCode::Char('g'), KeyModifiers::CONTROL) => Some("\x07".to_owned()),
        (KeyCode::Esc, KeyModifiers::NONE) => Some("\x1b".to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What a terminal sent, as the events that are made of it.
    fn events(signs: &str) -> Vec<Event> {
        let mut events = Vec::new();
        let mut signs = signs.chars();
        while let Some(sign) = signs.next() {
            let (code, modifiers) = match sign {
                '\x1b' => match signs.next() {
                    Some(letter) => (KeyCode::Char(letter), KeyModifiers::ALT),
                    None => (KeyCode::Esc, KeyModifiers::NONE),
                },
                '\x07' => (KeyCode::Char('g'), KeyModifiers::CONTROL),
                letter => (KeyCode::Char(letter), KeyModifiers::NONE),
            };
            events.push(Event::Key(KeyEvent::new(code, modifiers)));
        }
        events
    }

    fn sift(all: Vec<Event>) -> (Vec<Event>, Vec<Theme>) {
        let mut answers = Answers::default();
        let (mut passed, mut themes) = (Vec::new(), Vec::new());
        for event in all {
            match answers.push(event) {
                Sifted::Held => {}
                Sifted::Events(events) => passed.extend(events),
                Sifted::Answer(theme) => themes.push(theme),
            }
        }
        passed.extend(answers.release());
        (passed, themes)
    }

    #[test]
    fn an_answer_says_which_theme_and_is_not_typed() {
        for (answer, theme) in [
            ("\x1b]11;rgb:0000/0000/0000\x1b\\", Theme::Dark),
            ("\x1b]11;rgb:ffff/ffff/ffff\x07", Theme::Light),
            ("\x1b]11;rgb:fd/f6/e3\x1b\\", Theme::Light),
            ("\x1b]11;rgb:0000/2b2b/3636\x1b\\", Theme::Dark),
            ("\x1b]11;rgba:1111/1111/1111/ffff\x07", Theme::Dark),
            ("\x1b]11;rgb:8080/8080/8080\x07", Theme::Terminal),
        ] {
            let (passed, themes) = sift(events(&format!("before{answer}after")));
            assert_eq!((passed, themes), (events("beforeafter"), vec![theme]), "{answer:?}");
        }
        // The terminal's read may end between the two signs of the end.
        let mut split = events("\x1b]11;rgb:0/0/0");
        split.push(Event::Key(KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE)));
        split.extend(events("\\"));
        assert_eq!(sift(split), (Vec::new(), vec![Theme::Dark]));
        // Somebody types its first sign just before it.
        assert_eq!(sift(events("\x1b]\x1b]11;rgb:0/0/0\x07")), (events("\x1b]"), vec![Theme::Dark]));
        // What has nothing to do with it may come between.
        let mut between = events("\x1b]11;rgb:0/0");
        between.push(Event::FocusGained);
        between.extend(events("/0\x07"));
        assert_eq!(sift(between), (vec![Event::FocusGained], vec![Theme::Dark]));
    }

    #[test]
    fn what_is_no_answer_is_typed() {
        for typed in [
            "",
            "11;rgb:0/0/0",
            "\x1b]",
            "\x1b]12;x",
            "\x1b]11;rgb:0000/0000",
            "\x1b]11;rgb:0000/0000\x07",
            "\x1b]11;rgb:x",
            "\x1b]11;rgb:/0/0\x07",
            "\x1b]11;rgb:0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0",
            "\x1b",
        ] {
            assert_eq!(sift(events(typed)), (events(typed), Vec::new()), "{typed:?}");
        }
        let pasted = Event::Paste("0/0".to_owned());
        let all = [events("\x1b]11;rgb:0"), vec![pasted]].concat();
        assert_eq!(sift(all.clone()), (all, Vec::new()));
    }

    proptest! {
        #[test]
        fn no_key_is_lost_or_moved(typed in "(\x1b\\]|11;|rgb:|rgba:|[0f/]{1,4}|\x07|\x1b\\\\|[a-z]){0,9}") {
            let (passed, themes) = sift(events(&typed));
            if themes.is_empty() {
                prop_assert_eq!(passed, events(&typed));
            } else {
                prop_assert!(passed.len() < events(&typed).len());
            }
        }
    }
}
