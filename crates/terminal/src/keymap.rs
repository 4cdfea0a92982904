//! The keys of the prompt and what they do.

use std::fmt;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// What a key means to the editor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EditorCommand {
    Insert(char),
    NewLine,
    Enter,
    Tab,
    /// Takes the suggestion, but only in an empty prompt. Elsewhere the key does what it does without this binding.
    TakeEmpty,
    Escape,
    Left,
    Right,
    Up,
    Down,
    WordLeft,
    WordRight,
    Home,
    End,
    Backspace,
    Delete,
    KillToEnd,
    KillToStart,
    KillWord,
    KillWordRight,
    Yank,
    Undo,
    NextGhost,
    PreviousGhost,
    ListSuggestions,
    Search,
    Editor,
    NextMode,
    Redraw,
    Suspend,
    ReadAll,
    ReadNewest,
    Interrupt,
    EndOfInput,
}

impl EditorCommand {
    /// Whether the command moves the cursor and changes no text.
    pub(super) fn moves(self) -> bool {
        matches!(
            self,
            Self::Left
                | Self::Right
                | Self::Up
                | Self::Down
                | Self::WordLeft
                | Self::WordRight
                | Self::Home
                | Self::End
        )
    }
}

/// An action that keys can be bound to: its name, its default keys, and what it does.
pub struct KeyAction {
    pub name: &'static str,
    command: EditorCommand,
    keys: &'static [&'static str],
    pub words: &'static str,
}

const fn action(
    name: &'static str,
    command: EditorCommand,
    keys: &'static [&'static str],
    words: &'static str,
) -> KeyAction {
    KeyAction { name, command, keys, words }
}

/// Windows has no shell to give the terminal back to, and Ctrl-Z is undo there.
const SUSPEND_KEYS: &[&str] = if cfg!(windows) { &[] } else { &["ctrl-z"] };
const UNDO_KEYS: &[&str] =
    if cfg!(windows) { &["ctrl-z", "ctrl-_", "ctrl-7"] } else { &["ctrl-_", "ctrl-7"] };

/// All actions.
pub(crate) const ACTIONS: [KeyAction; 33] = [
    action(
        "send",
        EditorCommand::Enter,
        &["enter"],
        "send the prompt; while a turn runs, it waits for its end",
    ),
    action("newline", EditorCommand::NewLine, &["alt-enter", "ctrl-j", "shift-enter"], "begin a new line"),
    action("take", EditorCommand::Tab, &["tab"], "take the marked one of a list, else the suggestion"),
    action(
        "take_empty",
        EditorCommand::TakeEmpty,
        &[],
        "take the suggestion in an empty prompt; elsewhere the key does what else it does",
    ),
    action(
        "escape",
        EditorCommand::Escape,
        &["esc"],
        "close the list, dismiss the suggestion, interrupt the turn: the first of these",
    ),
    action("interrupt", EditorCommand::Interrupt, &["ctrl-c"], "interrupt the turn, else empty the prompt"),
    action("leave", EditorCommand::EndOfInput, &["ctrl-d"], "delete a character; in an empty prompt, leave"),
    action("next_suggestion", EditorCommand::NextGhost, &["alt-n"], "show the next of several suggestions"),
    action("previous_suggestion", EditorCommand::PreviousGhost, &["alt-p"], "show the one before"),
    action(
        "list_suggestions",
        EditorCommand::ListSuggestions,
        &["alt-down"],
        "list all suggestions, with what ran ahead for each",
    ),
    action("next_mode", EditorCommand::NextMode, &["shift-tab"], "change the mode: default, auto-edit, plan"),
    action("search", EditorCommand::Search, &["ctrl-r"], "search what was sent"),
    action("editor", EditorCommand::Editor, &["ctrl-g"], "edit the prompt in $VISUAL or $EDITOR"),
    action("read_all", EditorCommand::ReadAll, &["ctrl-t"], "read the whole conversation"),
    action(
        "read_newest",
        EditorCommand::ReadNewest,
        &["ctrl-o"],
        "read what the work ahead would change, else the last output",
    ),
    action(
        "redraw",
        EditorCommand::Redraw,
        &["ctrl-l"],
        "scroll the screen away and print the last turn again",
    ),
    action("suspend", EditorCommand::Suspend, SUSPEND_KEYS, "give the terminal back to the shell until fg"),
    action("left", EditorCommand::Left, &["left", "ctrl-b"], "a character to the left"),
    action(
        "right",
        EditorCommand::Right,
        &["right", "ctrl-f"],
        "a character to the right; at the end, the suggestion into the prompt",
    ),
    action("up", EditorCommand::Up, &["up", "ctrl-p"], "a line up, then what was sent before"),
    action(
        "down",
        EditorCommand::Down,
        &["down", "ctrl-n"],
        "a line down, then what was sent after; then the list of suggestions",
    ),
    action("word_left", EditorCommand::WordLeft, &["alt-b", "alt-left", "ctrl-left"], "a word to the left"),
    action(
        "word_right",
        EditorCommand::WordRight,
        &["alt-f", "alt-right", "ctrl-right"],
        "a word to the right; at the end, a word of the suggestion",
    ),
    action("home", EditorCommand::Home, &["home", "ctrl-a"], "to the start of the line"),
    action("end", EditorCommand::End, &["end", "ctrl-e"], "to the end of the line"),
    action("backspace", EditorCommand::Backspace, &["backspace", "ctrl-h"], "delete the character before"),
    action("delete", EditorCommand::Delete, &["delete"], "delete the character behind"),
    action("kill_to_end", EditorCommand::KillToEnd, &["ctrl-k"], "cut to the end of the line"),
    action("kill_to_start", EditorCommand::KillToStart, &["ctrl-u"], "cut to the start of the line"),
    action(
        "kill_word",
        EditorCommand::KillWord,
        &["ctrl-w", "alt-backspace", "ctrl-backspace"],
        "cut the word before",
    ),
    action("kill_word_right", EditorCommand::KillWordRight, &["alt-d"], "cut the word behind"),
    action("yank", EditorCommand::Yank, &["ctrl-y"], "put back what was cut last"),
    action("undo", EditorCommand::Undo, UNDO_KEYS, "take back the last edit of the prompt"),
];

/// A key with its modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    code: KeyCode,
    modifiers: KeyModifiers,
}

/// The bindings of keys to actions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyMap {
    /// The index of an action in [`ACTIONS`], and one of its keys.
    bindings: Vec<(usize, Key)>,
}

impl Default for KeyMap {
    fn default() -> Self {
        let keys = |action: &KeyAction| action.keys.iter().map(|key| key.parse()).collect::<Vec<_>>();
        let all = ACTIONS.iter().enumerate().flat_map(|(place, action)| {
            keys(action).into_iter().filter_map(move |key| Some((place, key.ok()?)))
        });
        Self { bindings: all.collect() }
    }
}

impl KeyMap {
    /// The map with other keys for some actions. The error contains the name of the wrong action, and what is wrong.
    pub fn with(mut self, changed: &[(&str, Vec<Key>)]) -> Result<Self, (String, String)> {
        let mut places = Vec::new();
        for (name, _) in changed {
            let Some(place) = ACTIONS.iter().position(|action| action.name == *name) else {
                let known: Vec<_> = ACTIONS.iter().map(|action| action.name).collect();
                return Err((
                    (*name).to_owned(),
                    format!("there is no such action; there are {}", known.join(", ")),
                ));
            };
            places.push(place);
        }
        self.bindings.retain(|(place, _)| !places.contains(place));
        for (place, (name, keys)) in places.into_iter().zip(changed) {
            for key in keys {
                let is_taken = |(other, bound): &&(usize, Key)| {
                    bound == key && is_for_empty(*other) == is_for_empty(place)
                };
                if let Some((other, _)) = self.bindings.iter().find(is_taken) {
                    let problem = format!(
                        "{key} does {:?} already; bind that to another key, or to none with []",
                        ACTIONS[*other].name
                    );
                    return Err(((*name).to_owned(), problem));
                }
                self.bindings.push((place, *key));
            }
        }
        Ok(self)
    }

    /// All actions with their keys, in order.
    pub fn list(&self) -> impl Iterator<Item = (&'static KeyAction, Vec<Key>)> + '_ {
        ACTIONS.iter().enumerate().map(|(place, action)| {
            (action, self.bindings.iter().filter(|(bound, _)| *bound == place).map(|(_, key)| *key).collect())
        })
    }

    /// The first key of an action as it is written in a hint, such as `Ctrl-T`; `None` if it has no key.
    pub fn hint(&self, action: &str) -> Option<String> {
        let (_, keys) = self.list().find(|(known, _)| known.name == action)?;
        let part = |part: &str| match part.char_indices().nth(1) {
            Some((second, _)) => part[..second].to_uppercase() + &part[second..],
            None => part.to_uppercase(),
        };
        let key = keys.first()?.to_string();
        Some(key.split('-').map(part).collect::<Vec<_>>().join("-"))
    }

    /// Whether the key takes a suggestion in an empty prompt, whatever else it does.
    pub(super) fn takes_empty(&self, event: KeyEvent) -> bool {
        let key = Key::of(event);
        event.kind != KeyEventKind::Release
            && self.bindings.iter().any(|(place, bound)| *bound == key && is_for_empty(*place))
    }

    pub(super) fn command(&self, event: KeyEvent) -> Option<EditorCommand> {
        if event.kind == KeyEventKind::Release {
            return None;
        }
        let key = Key::of(event);
        let find = |key: Key| {
            let bound = self.bindings.iter().find(|(place, bound)| *bound == key && !is_for_empty(*place));
            bound.map(|(place, _)| ACTIONS[*place].command)
        };
        let unshifted = Key { modifiers: key.modifiers.difference(KeyModifiers::SHIFT), ..key };
        find(key).or_else(|| find(unshifted)).or_else(|| find(key.in_one_byte()?)).or_else(|| key.typed())
    }
}

/// Whether the action only works in an empty prompt, so that its key may have a second action.
fn is_for_empty(place: usize) -> bool {
    ACTIONS[place].command == EditorCommand::TakeEmpty
}

impl Key {
    fn of(event: KeyEvent) -> Self {
        match event.code {
            // A capital letter already says that Shift is held.
            KeyCode::Char(_) => {
                Self { code: event.code, modifiers: event.modifiers.difference(KeyModifiers::SHIFT) }
            }
            KeyCode::BackTab => Self { code: KeyCode::Tab, modifiers: event.modifiers | KeyModifiers::SHIFT },
            code => Self { code, modifiers: event.modifiers },
        }
    }

    /// The other key that has the same byte in a terminal, if there is one.
    fn in_one_byte(self) -> Option<Self> {
        let (code, modifiers) = match self.code {
            _ if self.modifiers != KeyModifiers::CONTROL => return None,
            KeyCode::Char('[') => (KeyCode::Esc, KeyModifiers::NONE),
            KeyCode::Char('i') => (KeyCode::Tab, KeyModifiers::NONE),
            KeyCode::Char('m') => (KeyCode::Enter, KeyModifiers::NONE),
            KeyCode::Char('/' | '-' | '_') => (KeyCode::Char('7'), KeyModifiers::CONTROL),
            _ => return None,
        };
        Some(Self { code, modifiers })
    }

    /// The letter that the key types, if it types one. Ctrl and Alt together are `AltGr` on Windows.
    fn typed(self) -> Option<EditorCommand> {
        let is_typed =
            self.modifiers.is_empty() || self.modifiers == KeyModifiers::CONTROL | KeyModifiers::ALT;
        match self.code {
            KeyCode::Char(letter) if is_typed => Some(EditorCommand::Insert(letter)),
            _ => None,
        }
    }
}

const NAMES: [(&str, KeyCode); 16] = [
    ("enter", KeyCode::Enter),
    ("tab", KeyCode::Tab),
    ("esc", KeyCode::Esc),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pageup", KeyCode::PageUp),
    ("pagedown", KeyCode::PageDown),
    ("insert", KeyCode::Insert),
    ("delete", KeyCode::Delete),
    ("backspace", KeyCode::Backspace),
    ("space", KeyCode::Char(' ')),
    ("minus", KeyCode::Char('-')),
];

impl std::str::FromStr for Key {
    type Err = String;

    /// Reads `ctrl-j`, `alt-enter`, `shift-tab` or `f5`. A letter without modifiers types itself and cannot be bound.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut modifiers = KeyModifiers::NONE;
        let mut rest = text;
        for (prefix, modifier) in
            [("ctrl-", KeyModifiers::CONTROL), ("alt-", KeyModifiers::ALT), ("shift-", KeyModifiers::SHIFT)]
        {
            if let Some(behind) = rest.strip_prefix(prefix) {
                (rest, modifiers) = (behind, modifiers | modifier);
            }
        }
        let refused = || {
            format!("{text:?} is no key; keys are written as ctrl-j, alt-enter, shift-tab, ctrl-alt-k or f5")
        };
        let mut letters = rest.chars();
        let code = match (NAMES.iter().find(|(name, _)| *name == rest), letters.next(), letters.as_str()) {
            (Some((_, code)), ..) => *code,
            (
                None,
                Some('f'),
                number @ ("1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9" | "10" | "11" | "12"),
            ) => KeyCode::F(number.parse().map_err(|_| refused())?),
            (None, Some(letter), "") => KeyCode::Char(letter.to_ascii_lowercase()),
            _ => return Err(refused()),
        };
        let is_letter = matches!(code, KeyCode::Char(_));
        if is_letter && !modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) {
            return Err(format!("{text:?} types itself; hold ctrl or alt beside it"));
        }
        if is_letter {
            modifiers.remove(KeyModifiers::SHIFT);
        }
        Ok(Self { code, modifiers })
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (modifier, prefix) in
            [(KeyModifiers::CONTROL, "ctrl-"), (KeyModifiers::ALT, "alt-"), (KeyModifiers::SHIFT, "shift-")]
        {
            if self.modifiers.contains(modifier) {
                f.write_str(prefix)?;
            }
        }
        match (NAMES.iter().find(|(_, code)| *code == self.code), self.code) {
            (Some((name, _)), _) => f.write_str(name),
            (None, KeyCode::Char(letter)) => write!(f, "{letter}"),
            (None, KeyCode::F(number)) => write!(f, "f{number}"),
            (None, code) => write!(f, "{code:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_the_defaults_is_read_and_does_one_thing() {
        let keys: Vec<_> = ACTIONS.iter().flat_map(|action| action.keys).collect();
        let map = KeyMap::default();
        assert_eq!(map.bindings.len(), keys.len());
        for (place, (_, key)) in map.bindings.iter().enumerate() {
            assert_eq!(key.to_string(), *keys[place]);
            assert_eq!(map.bindings.iter().filter(|(_, other)| other == key).count(), 1, "{key}");
        }
    }

    #[test]
    fn a_key_does_what_its_user_says() {
        let keys = |names: &[&str]| names.iter().map(|name| name.parse().unwrap()).collect::<Vec<Key>>();
        let event = |code, modifiers| KeyEvent::new(code, modifiers);
        let map =
            KeyMap::default().with(&[("suspend", keys(&[])), ("newline", keys(&["ctrl-z", "f5"]))]).unwrap();
        assert_eq!(
            map.command(event(KeyCode::Char('z'), KeyModifiers::CONTROL)),
            Some(EditorCommand::NewLine)
        );
        assert_eq!(map.command(event(KeyCode::F(5), KeyModifiers::NONE)), Some(EditorCommand::NewLine));
        assert_eq!(map.command(event(KeyCode::Char('j'), KeyModifiers::CONTROL)), None);
        assert_eq!(map.command(event(KeyCode::BackTab, KeyModifiers::SHIFT)), Some(EditorCommand::NextMode));
        assert_eq!(map.command(event(KeyCode::Left, KeyModifiers::SHIFT)), Some(EditorCommand::Left));
        assert_eq!(
            map.command(event(KeyCode::Char('Z'), KeyModifiers::SHIFT)),
            Some(EditorCommand::Insert('Z'))
        );
        let wrong = |changed: &[(&str, Vec<Key>)]| KeyMap::default().with(changed).unwrap_err();
        let (action, problem) = wrong(&[("yank", keys(&["ctrl-k"]))]);
        assert!(action == "yank" && problem.contains("ctrl-k does \"kill_to_end\" already"), "{problem}");
        let (_, problem) = wrong(&[("yank", keys(&["f2"])), ("undo", keys(&["f2"]))]);
        assert!(problem.contains("f2 does \"yank\" already"), "{problem}");
        // In an empty prompt a key may have another action, which replaces its usual one there.
        let map = KeyMap::default().with(&[("take_empty", keys(&["enter", "f2"]))]).unwrap();
        let enter = event(KeyCode::Enter, KeyModifiers::NONE);
        assert_eq!((map.command(enter), map.takes_empty(enter)), (Some(EditorCommand::Enter), true));
        assert_eq!(map.command(event(KeyCode::F(2), KeyModifiers::NONE)), None);
        assert!(!map.takes_empty(event(KeyCode::Tab, KeyModifiers::NONE)));
        assert!(!KeyMap::default().takes_empty(enter));
        let (_, problem) = wrong(&[("take_empty", keys(&["f2", "f2"]))]);
        assert!(problem.contains("f2 does \"take_empty\" already"), "{problem}");
        assert!(wrong(&[("fly", keys(&["f2"]))]).1.contains("there are send, newline, take"));
    }

    #[test]
    fn a_key_that_a_terminal_tells_apart_does_what_its_byte_does_unless_it_is_bound() {
        let event = |letter| KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL);
        let map = KeyMap::default();
        for (letter, expected) in [
            ('[', Some(EditorCommand::Escape)),
            ('i', Some(EditorCommand::Tab)),
            ('m', Some(EditorCommand::Enter)),
            ('-', Some(EditorCommand::Undo)),
            ('/', Some(EditorCommand::Undo)),
            ('j', Some(EditorCommand::NewLine)),
            ('h', Some(EditorCommand::Backspace)),
            ('5', None),
        ] {
            assert_eq!(map.command(event(letter)), expected, "{letter}");
        }
        let map = map.with(&[("newline", vec!["ctrl-m".parse().unwrap()])]).unwrap();
        assert_eq!(map.command(event('m')), Some(EditorCommand::NewLine));
        let shift_enter = KeyEvent::new(KeyCode::Enter, KeyModifiers::SHIFT);
        assert_eq!(KeyMap::default().command(shift_enter), Some(EditorCommand::NewLine));
    }

    #[test]
    fn what_is_no_key_says_how_keys_are_written() {
        for wrong in ["", "j", "ctrl-", "hyper-j", "ctrl-enter-x", "f99", "J", "shift-j"] {
            assert!(wrong.parse::<Key>().is_err(), "{wrong}");
        }
        assert_eq!("ctrl-J".parse::<Key>(), "ctrl-j".parse());
    }
}
