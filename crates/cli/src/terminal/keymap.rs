use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// What a key means to the editor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Command {
    Insert(char),
    NewLine,
    Enter,
    Tab,
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
    NextGhost,
    PreviousGhost,
    /// Ctrl-R.
    Search,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D.
    EndOfInput,
}

/// The keys of a shell's line editor, Alt-Enter and Ctrl-J for a new line, Alt-N and Alt-P for another ghost.
pub(super) fn command(key: KeyEvent) -> Option<Command> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    let modifiers = key.modifiers.difference(KeyModifiers::SHIFT);
    match modifiers {
        KeyModifiers::NONE => unmodified(key),
        KeyModifiers::CONTROL => with_control(key.code),
        KeyModifiers::ALT => with_alt(key.code),
        // AltGr on Windows.
        _ if modifiers == KeyModifiers::CONTROL | KeyModifiers::ALT => match key.code {
            KeyCode::Char(c) => Some(Command::Insert(c)),
            _ => None,
        },
        _ => None,
    }
}

fn unmodified(key: KeyEvent) -> Option<Command> {
    Some(match key.code {
        KeyCode::Char(c) => Command::Insert(c),
        KeyCode::Enter if key.modifiers.contains(KeyModifiers::SHIFT) => Command::NewLine,
        KeyCode::Enter => Command::Enter,
        KeyCode::Tab => Command::Tab,
        KeyCode::Esc => Command::Escape,
        KeyCode::Left => Command::Left,
        KeyCode::Right => Command::Right,
        KeyCode::Up => Command::Up,
        KeyCode::Down => Command::Down,
        KeyCode::Home => Command::Home,
        KeyCode::End => Command::End,
        KeyCode::Backspace => Command::Backspace,
        KeyCode::Delete => Command::Delete,
        _ => return None,
    })
}

fn with_control(code: KeyCode) -> Option<Command> {
    Some(match code {
        KeyCode::Char('a') => Command::Home,
        KeyCode::Char('b') => Command::Left,
        KeyCode::Char('c') => Command::Interrupt,
        KeyCode::Char('d') => Command::EndOfInput,
        KeyCode::Char('e') => Command::End,
        KeyCode::Char('f') => Command::Right,
        KeyCode::Char('h') => Command::Backspace,
        KeyCode::Char('j') => Command::NewLine,
        KeyCode::Char('k') => Command::KillToEnd,
        KeyCode::Char('n') => Command::Down,
        KeyCode::Char('p') => Command::Up,
        KeyCode::Char('r') => Command::Search,
        KeyCode::Char('u') => Command::KillToStart,
        KeyCode::Char('w') | KeyCode::Backspace => Command::KillWord,
        KeyCode::Left => Command::WordLeft,
        KeyCode::Right => Command::WordRight,
        _ => return None,
    })
}

fn with_alt(code: KeyCode) -> Option<Command> {
    Some(match code {
        KeyCode::Enter => Command::NewLine,
        KeyCode::Backspace => Command::KillWord,
        KeyCode::Char('b') | KeyCode::Left => Command::WordLeft,
        KeyCode::Char('f') | KeyCode::Right => Command::WordRight,
        KeyCode::Char('n') => Command::NextGhost,
        KeyCode::Char('p') => Command::PreviousGhost,
        _ => return None,
    })
}
