//! Pastes in a console that does not mark them: the keys of a paste come faster than anybody types.

#[cfg(windows)]
use std::time::Duration;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// Keys that come within this time after each other belong to one paste.
#[cfg(windows)]
pub(super) const APART: Duration = Duration::from_millis(8);
/// The least letters of a paste. Two keys of a fast typist can come together.
const LEAST: usize = 3;

/// The letter that a key types; `None` for any other event.
pub(super) fn letter(event: &Event) -> Option<char> {
    let Event::Key(KeyEvent { code, modifiers, kind: KeyEventKind::Press | KeyEventKind::Repeat, .. }) =
        event
    else {
        return None;
    };
    // Both at once are AltGr.
    let alt_gr = KeyModifiers::CONTROL | KeyModifiers::ALT;
    let is_plain = !modifiers.intersects(alt_gr) || modifiers.contains(alt_gr);
    match code {
        KeyCode::Char(letter) if is_plain => Some(*letter),
        KeyCode::Enter if modifiers.is_empty() => Some('\n'),
        KeyCode::Tab if modifiers.is_empty() => Some('\t'),
        _ => None,
    }
}

/// Whether an event says that a key is let go, which is part of no text.
pub(super) fn is_release(event: &Event) -> bool {
    matches!(event, Event::Key(KeyEvent { kind: KeyEventKind::Release, .. }))
}

/// The events of keys that came together, as a paste if they are one.
pub(super) fn together(keys: Vec<Event>) -> Vec<Event> {
    let text: String = keys.iter().filter_map(letter).collect();
    if text.chars().count() < LEAST { keys } else { vec![Event::Paste(text)] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(code: KeyCode, modifiers: KeyModifiers) -> Event {
        Event::Key(KeyEvent::new(code, modifiers))
    }

    #[test]
    fn what_is_typed_stays_keys_and_what_comes_at_once_is_a_paste() {
        let plain = |code| key(code, KeyModifiers::NONE);
        let two = vec![plain(KeyCode::Char('a')), plain(KeyCode::Enter)];
        assert_eq!(together(two.clone()), two);
        let text = [KeyCode::Char('a'), KeyCode::Enter, KeyCode::Tab, KeyCode::Char('b')].map(plain);
        assert_eq!(together(text.to_vec()), [Event::Paste("a\n\tb".to_owned())]);
    }

    #[test]
    fn keys_that_are_commands_are_no_letters() {
        let alt_gr = KeyModifiers::CONTROL | KeyModifiers::ALT;
        assert_eq!(letter(&key(KeyCode::Char('@'), alt_gr)), Some('@'));
        assert_eq!(letter(&key(KeyCode::Char('A'), KeyModifiers::SHIFT)), Some('A'));
        for event in [
            key(KeyCode::Char('c'), KeyModifiers::CONTROL),
            key(KeyCode::Char('b'), KeyModifiers::ALT),
            key(KeyCode::Enter, KeyModifiers::ALT),
            key(KeyCode::Tab, KeyModifiers::SHIFT),
            key(KeyCode::Left, KeyModifiers::NONE),
            Event::FocusGained,
        ] {
            assert_eq!(letter(&event), None, "{event:?}");
        }
        let mut released = KeyEvent::new(KeyCode::Char('a'), KeyModifiers::NONE);
        released.kind = KeyEventKind::Release;
        assert!(is_release(&Event::Key(released)) && letter(&Event::Key(released)).is_none());
    }
}
