mod editing;
mod frames;
mod palettes;
mod screen;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};

use super::{Action, LineEditor};

/// The events of a script, which is a list of keys separated by blanks: `^A` is Ctrl-A, `M-Enter` is Alt-Enter, names
/// such as `Tab` are keys, `paste:…` is a paste, and everything else is typed. In typed and pasted text `_` is a blank,
/// `|` a line feed and `→` a tab.
fn events(script: &str) -> Vec<Event> {
    script.split_whitespace().flat_map(word_events).collect()
}

fn word_events(word: &str) -> Vec<Event> {
    let text = |text: &str| text.replace('_', " ").replace('|', "\n").replace('→', "\t");
    if let Some(pasted) = word.strip_prefix("paste:") {
        return vec![Event::Paste(text(pasted))];
    }
    let (word, modifiers) = match (word.strip_prefix('^'), word.strip_prefix("M-")) {
        (Some(word), _) => (word, KeyModifiers::CONTROL),
        (_, Some(word)) => (word, KeyModifiers::ALT),
        _ => (word, KeyModifiers::NONE),
    };
    let key = |code| vec![Event::Key(KeyEvent::new(code, modifiers))];
    match word {
        "Enter" => key(KeyCode::Enter),
        "Tab" => key(KeyCode::Tab),
        "Esc" => key(KeyCode::Esc),
        "Left" => key(KeyCode::Left),
        "Right" => key(KeyCode::Right),
        "Up" => key(KeyCode::Up),
        "Down" => key(KeyCode::Down),
        "Home" => key(KeyCode::Home),
        "End" => key(KeyCode::End),
        "Backspace" => key(KeyCode::Backspace),
        "Delete" => key(KeyCode::Delete),
        typed if modifiers == KeyModifiers::NONE => {
            text(typed).chars().flat_map(|c| key(KeyCode::Char(c))).collect()
        }
        chord => chord.to_lowercase().chars().flat_map(|c| key(KeyCode::Char(c))).collect(),
    }
}

/// The last action of a script.
fn play(editor: &mut LineEditor, script: &str) -> Action {
    events(script).iter().fold(Action::None, |_, event| editor.handle(event))
}

/// The text with `‸` at the cursor.
fn shown(editor: &LineEditor) -> String {
    let (before, after) = editor.text().split_at(editor.cursor());
    format!("{before}‸{after}")
}
