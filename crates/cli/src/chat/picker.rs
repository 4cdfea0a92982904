//! The list from which the user chooses a conversation to resume.

use std::collections::BTreeSet;

use crossterm::event::{Event, KeyCode, KeyEventKind};
use headstart_agent::native::ListedSession;
use headstart_agent::{Item, Session};
use headstart_machine::error::CliError;
use headstart_machine::output::{age, shortened};
use headstart_machine::sessions::{Sessions, age_ms, title_of};
use headstart_terminal::{Action, Choice, Input, InputEvent, LineEditor, Popup, StatusLine, Style};
use headstart_toolbox::edited_file;

use super::completion::best;
use super::display::Display;

/// The columns of a row besides the title.
const OTHER_COLUMNS: usize = 40;
const MIN_TITLE: usize = 12;

/// What the user chose from the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PickerOutcome {
    /// The conversation with this id.
    Session(String),
    /// There are no conversations to choose from.
    NoneThere,
    /// The user left the list without choosing.
    Nothing,
}

/// One row of the list.
struct SessionRow {
    id: String,
    title: String,
    age: String,
    words: String,
}

/// Lets the user choose one of the conversations of a workspace. Typing narrows the list, Enter takes the marked one,
/// Esc takes none.
pub(crate) async fn pick(
    display: &mut Display,
    input: &mut Input,
    sessions: &Sessions,
) -> Result<PickerOutcome, CliError> {
    let rows: Vec<_> =
        sessions.list()?.iter().filter_map(|listed| SessionRow::of(listed, sessions)).collect();
    if rows.is_empty() {
        display.say("No conversation of this workspace is kept yet; this is a new one.", Style::Dim)?;
        return Ok(PickerOutcome::NoneThere);
    }
    let mut editor = LineEditor::default();
    loop {
        let columns = display.columns()?;
        let typed = editor.text().to_owned();
        // A mark that the user has moved stays where it is until something else is typed.
        if editor.popup().is_none() {
            editor.set_popup(Popup::new(0, choices(&rows, &typed, columns)));
        }
        let found = if editor.popup().is_none() { "Nothing fits" } else { "Resume" };
        let status = format!("{found}: type to narrow, Up and Down, Enter goes on with it, Esc leaves");
        let footer = StatusLine::default();
        display.draw(&editor, None, &[], Some(&status), &footer)?;
        let Some(event) = input.next().await.map_err(CliError::Input)? else {
            return Ok(PickerOutcome::Nothing);
        };
        let InputEvent::Terminal(event) = event else { continue };
        match &event {
            Event::Key(key) if key.code == KeyCode::Enter && key.kind != KeyEventKind::Release => {
                if let Some(popup) = editor.popup() {
                    return Ok(PickerOutcome::Session(popup.marked().text.clone()));
                }
            }
            event => match editor.handle(event) {
                Action::ClosePopup | Action::Escape | Action::Interrupt | Action::EndOfInput => {
                    return Ok(PickerOutcome::Nothing);
                }
                Action::Resized(_) | Action::Inserted | Action::Edited => editor.set_popup(None),
                _ => {}
            },
        }
    }
}

impl SessionRow {
    /// The row of a session; `None` if the session cannot be read.
    fn of(listed: &ListedSession, sessions: &Sessions) -> Option<Self> {
        let session = listed.session.as_ref().ok()?;
        let turns = session.turns();
        let files = files_of(session);
        let mut words = format!("{turns} turn{}", if turns == 1 { "" } else { "s" });
        if 0 < files {
            words = format!("{words}, {files} file{}", if files == 1 { "" } else { "s" });
        }
        if !sessions.is_free(&listed.id) {
            words.push_str(", open elsewhere");
        }
        Some(Self { id: listed.id.clone(), title: title_of(session), age: age(age_ms(listed)), words })
    }
}

/// The rows that fit what is typed, for a terminal with this many columns.
fn choices(rows: &[SessionRow], typed: &str, columns: usize) -> Vec<Choice> {
    let room = columns.saturating_sub(OTHER_COLUMNS).max(MIN_TITLE);
    let choice = |row: &SessionRow| Choice {
        label: format!("{:<6}  {}", row.age, shortened(&row.title, room)),
        words: row.words.clone(),
        text: row.id.clone(),
        is_whole: false,
    };
    best(typed, rows.iter().map(|row| (&row.title, choice(row))))
}

/// How many files the session's edits changed.
fn files_of(session: &Session) -> usize {
    let edited = session.items().iter().filter_map(|item| {
        let Item::Call(call) = item else { return None };
        edited_file(&call.call)
    });
    edited.collect::<BTreeSet<_>>().len()
}

#[cfg(test)]
mod tests;
