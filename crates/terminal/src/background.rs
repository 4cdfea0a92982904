//! Finds a terminal's answer to the question for its background colour among the keys.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::palette::Theme;

/// Asks for the background colour. A terminal that does not know the code ignores it.
pub const QUESTION: &str = "\x1b]11;?\x1b\\";
/// The most characters of an answer.
const MAX_SIGNS: usize = 40;
/// The brightness, from 0 to 1, between which it is uncertain whether dark or light text is easier to read.
const DARKEST_UNCERTAIN: f64 = 0.35;
const LIGHTEST_UNCERTAIN: f64 = 0.65;

/// Removes such an answer from the typed events, whenever it comes and whichever program asked. Events that could begin
/// an answer are held back until more is known.
#[derive(Debug, Clone, Default)]
pub(super) struct ReplyFilter {
    held: Vec<Event>,
    /// The held events as the characters that the terminal sent.
    signs: String,
}

/// What an event turned out to be.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum FilteredEvent {
    /// The event could belong to an answer.
    Held,
    /// These events do not belong to an answer.
    Events(Vec<Event>),
    /// An answer, and the theme for its colour.
    Answer(Theme),
}

impl ReplyFilter {
    pub(super) fn push(&mut self, event: Event) -> FilteredEvent {
        let Some(signs) = signs(&event) else {
            // A new size or focus does not interrupt an answer.
            return match event {
                Event::Key(_) | Event::Paste(_) => self.release_with(event),
                event => FilteredEvent::Events(vec![event]),
            };
        };
        // Esc alone is passed on at once, because it is seldom separated from what follows it, and a user who presses
        // it waits for its effect.
        if self.signs.is_empty() && signs == "\x1b" {
            return FilteredEvent::Events(vec![event]);
        }
        self.signs.push_str(&signs);
        match progress(&self.signs) {
            ReplyProgress::Whole(color) => {
                (self.held, self.signs) = (Vec::new(), String::new());
                FilteredEvent::Answer(theme_on(color))
            }
            ReplyProgress::Part => {
                self.held.push(event);
                FilteredEvent::Held
            }
            ReplyProgress::Other => self.release_with(event),
        }
    }

    /// Whether events are held back.
    pub(super) fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// Returns the held events, because nothing more follows them.
    pub(super) fn release(&mut self) -> Vec<Event> {
        self.signs.clear();
        std::mem::take(&mut self.held)
    }

    /// Returns the held events, which were not an answer. The new event may begin one.
    fn release_with(&mut self, event: Event) -> FilteredEvent {
        let mut events = self.release();
        let is_next = !events.is_empty() && signs(&event).is_some();
        match if is_next { self.push(event) } else { FilteredEvent::Events(vec![event]) } {
            FilteredEvent::Events(more) => events.extend(more),
            FilteredEvent::Held => {}
            answer @ FilteredEvent::Answer(_) => return answer,
        }
        FilteredEvent::Events(events)
    }
}

enum ReplyProgress {
    Part,
    Whole([f64; 3]),
    Other,
}

/// How much of `ESC ] 11 ; rgb:RRRR/GGGG/BBBB` is complete. It ends with `ESC \` or a bell.
fn progress(signs: &str) -> ReplyProgress {
    const BEGINNINGS: [&str; 2] = ["\x1b]11;rgb:", "\x1b]11;rgba:"];
    if BEGINNINGS.iter().any(|beginning| beginning.starts_with(signs)) {
        return ReplyProgress::Part;
    }
    let Some(rest) = BEGINNINGS.iter().find_map(|beginning| signs.strip_prefix(beginning)) else {
        return ReplyProgress::Other;
    };
    let color = rest.trim_end_matches(|c: char| !c.is_ascii_hexdigit() && c != '/');
    let is_color = color.chars().all(|c| c.is_ascii_hexdigit() || c == '/');
    match &rest[color.len()..] {
        "" | "\x1b" if is_color && signs.len() < MAX_SIGNS => ReplyProgress::Part,
        "\x07" | "\x1b\\" if is_color => read(color).map_or(ReplyProgress::Other, ReplyProgress::Whole),
        _ => ReplyProgress::Other,
    }
}

/// Red, green and blue, each from 0 to 1. Each is written with one to four digits.
fn read(color: &str) -> Option<[f64; 3]> {
    let mut shares = color.split('/').map(|digits| {
        let most =
            16_u32.checked_pow(u32::try_from(digits.len()).ok()?)?.checked_sub(1).filter(|most| 0 < *most)?;
        Some(f64::from(u32::from_str_radix(digits, 16).ok()?) / f64::from(most))
    });
    Some([shares.next()??, shares.next()??, shares.next()??])
}

/// The theme for a background. If it is neither dark nor light, this is the theme that is readable on both.
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

/// The characters that the terminal sent for a key, if they can belong to an answer.
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

    /// The events that crossterm makes of what a terminal sent.
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

    fn filter(all: Vec<Event>) -> (Vec<Event>, Vec<Theme>) {
        let mut answers = ReplyFilter::default();
        let (mut passed, mut themes) = (Vec::new(), Vec::new());
        for event in all {
            match answers.push(event) {
                FilteredEvent::Held => {}
                FilteredEvent::Events(events) => passed.extend(events),
                FilteredEvent::Answer(theme) => themes.push(theme),
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
            let (passed, themes) = filter(events(&format!("before{answer}after")));
            assert_eq!((passed, themes), (events("beforeafter"), vec![theme]), "{answer:?}");
        }
        // One read may end between the two characters of the terminator.
        let mut split = events("\x1b]11;rgb:0/0/0");
        split.push(Event::Key(KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE)));
        split.extend(events("\\"));
        assert_eq!(filter(split), (Vec::new(), vec![Theme::Dark]));
        // The first character of an answer may be typed just before one.
        assert_eq!(filter(events("\x1b]\x1b]11;rgb:0/0/0\x07")), (events("\x1b]"), vec![Theme::Dark]));
        // Events that have nothing to do with an answer may come within one.
        let mut between = events("\x1b]11;rgb:0/0");
        between.push(Event::FocusGained);
        between.extend(events("/0\x07"));
        assert_eq!(filter(between), (vec![Event::FocusGained], vec![Theme::Dark]));
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
            assert_eq!(filter(events(typed)), (events(typed), Vec::new()), "{typed:?}");
        }
        let pasted = Event::Paste("0/0".to_owned());
        let all = [events("\x1b]11;rgb:0"), vec![pasted]].concat();
        assert_eq!(filter(all.clone()), (all, Vec::new()));
    }

    proptest! {
        #[test]
        fn no_key_is_lost_or_moved(typed in "(\x1b\\]|11;|rgb:|rgba:|[0f/]{1,4}|\x07|\x1b\\\\|[a-z]){0,9}") {
            let (passed, themes) = filter(events(&typed));
            if themes.is_empty() {
                prop_assert_eq!(passed, events(&typed));
            } else {
                prop_assert!(passed.len() < events(&typed).len());
            }
        }
    }
}
