mod action;

use std::borrow::Cow;

use crossterm::event::{Event, KeyEvent};

pub use self::action::{Action, Ghost, GhostDirection};
use super::buffer::Buffer;
use super::history::History;
use super::keymap::{EditorCommand, KeyMap};
use super::pastes::{PastedTexts, without_signs};
use super::popup::Popup;
use super::revisions::Revisions;
use super::size::Size;
use super::vi::{Motion, Vi, ViStep};

/// An editor for one or several lines, with a history of earlier lines and ghost text that can be accepted.
#[derive(Debug, Clone, Default)]
pub struct LineEditor {
    buffer: Buffer,
    history: History,
    /// The ghost belongs to the text in the buffer, and is removed when that changes.
    ghost: Option<Ghost>,
    search: Option<HistorySearch>,
    /// The completions for the word at the cursor, which are removed when the text or the cursor changes.
    popup: Option<Popup>,
    revisions: Revisions,
    keys: KeyMap,
    vi: Vi,
    pastes: PastedTexts,
    /// Whether sent prompts wait for their turn.
    has_queue: bool,
    /// Whether work can be taken back that was taken for the last prompt.
    can_take_back: bool,
}

/// A search through the history.
#[derive(Debug, Clone, Default)]
struct HistorySearch {
    words: String,
    /// The entry that is shown.
    found: Option<usize>,
    /// The text of the buffer before the search.
    draft: String,
}

impl LineEditor {
    /// An empty editor with a history, the oldest line first.
    pub fn new(history: Vec<String>) -> Self {
        Self { history: History::new(history), ..Self::default() }
    }

    /// The editor with these keys.
    #[must_use]
    pub fn with_keys(self, keys: KeyMap) -> Self {
        Self { keys, ..self }
    }

    /// The editor with the modes of vi.
    #[must_use]
    pub fn with_vi(self) -> Self {
        Self { vi: Vi::Insert, ..self }
    }

    /// The current mode of vi, if the modes are used.
    pub fn vi_mode(&self) -> Option<&'static str> {
        self.vi.name()
    }

    /// Whether this is the key that interrupts.
    pub fn is_interrupt(&self, event: &Event) -> bool {
        matches!(event, Event::Key(key) if self.keys.command(*key) == Some(EditorCommand::Interrupt))
    }

    /// Whether this is the key that opens the whole conversation.
    pub fn is_read_all(&self, event: &Event) -> bool {
        matches!(event, Event::Key(key) if self.keys.command(*key) == Some(EditorCommand::ReadAll))
    }

    /// Whether this is the key that draws the screen anew.
    pub fn is_redraw(&self, event: &Event) -> bool {
        matches!(event, Event::Key(key) if self.keys.command(*key) == Some(EditorCommand::Redraw))
    }

    /// The text so far, with one private character for each long pasted text.
    pub fn text(&self) -> &str {
        self.buffer.text()
    }

    /// The text so far, with pasted texts in full.
    pub fn whole_text(&self) -> Cow<'_, str> {
        self.pastes.whole(self.buffer.text())
    }

    /// The text as it is shown, and the cursor's offset in it.
    pub(super) fn shown_text(&self) -> (Cow<'_, str>, usize) {
        self.pastes.shown(self.buffer.text(), self.buffer.cursor())
    }

    /// The cursor's offset in bytes, which is always between two grapheme clusters.
    pub fn cursor(&self) -> usize {
        self.buffer.cursor()
    }

    /// The ghost text that is shown.
    pub fn ghost(&self) -> Option<&Ghost> {
        self.ghost.as_ref()
    }

    /// The key that accepts the ghost, if it has one.
    pub(super) fn key_of_ghost(&self, ghost: &Ghost) -> Option<String> {
        self.keys.hint(if ghost.by_enter { "send" } else { "take" })
    }

    /// Shows ghost text behind the buffer, or removes it. Returns `false`, and shows nothing, if the ghost contains no
    /// word, or if its first character would join the last one of the buffer.
    pub fn set_ghost(&mut self, ghost: Option<Ghost>) -> bool {
        self.ghost =
            ghost.filter(|ghost| !ghost.rest.trim().is_empty() && self.buffer.ends_before(&ghost.rest));
        self.ghost.is_some()
    }

    /// The list of completions below the prompt.
    pub fn popup(&self) -> Option<&Popup> {
        self.popup.as_ref()
    }

    /// Shows completions for the text before the cursor, or removes them.
    pub fn set_popup(&mut self, popup: Option<Popup>) {
        self.popup = popup;
    }

    /// Says whether work can be taken back that was taken for the last prompt. In an empty prompt the key for an edit
    /// does that then.
    pub fn set_take_back(&mut self, can_take_back: bool) {
        self.can_take_back = can_take_back;
    }

    /// Sets whether sent prompts wait for their turn, so that Up takes the last of them back.
    pub fn set_queue(&mut self, has_queue: bool) {
        self.has_queue = has_queue;
    }

    /// The words of a search through the history, while there is one.
    pub fn searches_for(&self) -> Option<&str> {
        self.search.as_ref().map(|search| search.words.as_str())
    }

    /// Replaces the text in the buffer, as after an accept. A line feed in it does not submit.
    pub fn replace(&mut self, text: &str) {
        self.buffer.take();
        self.buffer.insert(&without_signs(text));
        self.own_text();
    }

    /// Whether the buffer contains an unchanged entry of the history.
    pub fn is_recalled(&self) -> bool {
        self.history.is_recalled()
    }

    /// Takes the text out of the buffer as Enter does, if there is any.
    pub fn send(&mut self) -> Option<String> {
        match self.submit() {
            Action::Submit(text) => Some(text),
            _ => None,
        }
    }

    /// Handles one event. Never panics, whichever events come in whichever order.
    pub fn handle(&mut self, event: &Event) -> Action {
        match event {
            Event::Key(key) => {
                if self.takes_empty(*key) {
                    return Action::TakeGhost;
                }
                let Some(command) = self.keys.command(*key) else { return Action::None };
                if let Some(action) = self.on_numbered(command) {
                    return action;
                }
                match (self.search.take(), self.vi) {
                    (Some(search), _) => self.go_on_searching(search, command),
                    (None, Vi::Off) => self.apply(command),
                    (None, _) => self.apply_in_vi(command),
                }
            }
            Event::Paste(text) => {
                let text = self.pastes.take(text);
                self.type_in(&text)
            }
            Event::Resize(columns, rows) => Action::Resized(Size { columns: *columns, rows: *rows }),
            Event::FocusGained | Event::FocusLost | Event::Mouse(_) => Action::None,
        }
    }

    fn takes_empty(&self, key: KeyEvent) -> bool {
        let has_ghost = self.ghost.as_ref().is_some_and(|ghost| !ghost.by_enter);
        let is_bare = self.text().is_empty() && self.search.is_none() && self.popup.is_none();
        has_ghost && is_bare && self.keys.takes_empty(key)
    }

    /// Continues a search. Letters narrow it, Ctrl-R goes to an older entry, Esc and Ctrl-C cancel it; Enter and every
    /// other key leave the found entry in the buffer.
    fn go_on_searching(&mut self, mut search: HistorySearch, command: EditorCommand) -> Action {
        let before = match command {
            EditorCommand::Insert(c) => {
                search.words.push(c);
                search.found.map(|found| found + 1)
            }
            EditorCommand::Backspace => {
                search.words.pop();
                None
            }
            EditorCommand::Search => search.found,
            EditorCommand::Escape | EditorCommand::Interrupt => {
                self.buffer.set(search.draft);
                self.own_text();
                return Action::Edited;
            }
            EditorCommand::Enter => return Action::Edited,
            command => return self.apply(command),
        };
        if let Some((place, entry)) =
            self.history.find(&search.words, before).filter(|_| !search.words.is_empty())
        {
            search.found = Some(place);
            let entry = entry.to_owned();
            self.buffer.set(entry);
            self.own_text();
        }
        self.search = Some(search);
        Action::Edited
    }

    /// Handles a key for the numbered list. A key that does not concern it closes it, and does what else it does: then the
    /// result is `None`.
    fn on_numbered(&mut self, command: EditorCommand) -> Option<Action> {
        let popup = self.popup.as_mut().filter(|popup| popup.is_numbered())?;
        match command {
            EditorCommand::Up | EditorCommand::PreviousGhost => popup.turn(false),
            EditorCommand::Down | EditorCommand::NextGhost => popup.turn(true),
            EditorCommand::Tab | EditorCommand::Enter => {
                return Some(Action::TakeListed(popup.marked_place()));
            }
            EditorCommand::Insert(number @ '1'..='9') => {
                let place = usize::from(number as u8 - b'1');
                if place < popup.choices().len() {
                    return Some(Action::TakeListed(place));
                }
                self.popup = None;
                return None;
            }
            EditorCommand::Escape | EditorCommand::ListSuggestions => {
                self.popup = None;
                return Some(Action::ClosePopup);
            }
            _ => {
                self.popup = None;
                return None;
            }
        }
        Some(Action::Marked)
    }

    /// Handles a key for the list below the prompt; `None` if the key does not concern the list.
    fn on_popup(&mut self, command: EditorCommand) -> Option<Action> {
        let popup = self.popup.as_mut()?;
        match command {
            EditorCommand::Up | EditorCommand::Down => {
                popup.turn(command == EditorCommand::Down);
                Some(Action::None)
            }
            EditorCommand::Escape => {
                self.popup = None;
                Some(Action::ClosePopup)
            }
            EditorCommand::Enter if !popup.is_moved() => None,
            EditorCommand::Tab | EditorCommand::Enter => {
                let (from, choice) = (popup.from(), popup.marked().clone());
                self.revisions.remember(self.buffer.text(), self.buffer.cursor(), false);
                let is_changed = self.buffer.replace_from(from, &choice.text);
                self.own_text();
                let is_sent = choice.is_whole && command == EditorCommand::Enter;
                Some(match (is_sent, is_changed) {
                    (true, _) => self.submit(),
                    (false, true) => Action::Inserted,
                    (false, false) => Action::None,
                })
            }
            _ => None,
        }
    }

    /// Handles a key with the modes of vi. Esc changes to normal mode, in which letters are commands; all other keys
    /// work as without modes.
    fn apply_in_vi(&mut self, command: EditorCommand) -> Action {
        let action = match (self.vi, command) {
            (Vi::Insert, EditorCommand::Escape) => {
                self.vi = Vi::Normal { operator: None };
                self.buffer.go(Motion::Left);
                self.revisions.part();
                let had_popup = self.popup.take().is_some();
                return if had_popup { Action::ClosePopup } else { Action::None };
            }
            (Vi::Normal { .. }, EditorCommand::Insert(letter)) => self.steps_of(letter),
            // Esc cancels the first of two letters, and does not interrupt anything.
            (Vi::Normal { operator: Some(_) }, EditorCommand::Escape) => {
                self.vi = Vi::Normal { operator: None };
                Action::None
            }
            (_, command) => self.apply(command),
        };
        match (&action, self.vi) {
            (Action::Submit(_), _) => self.vi = Vi::Insert,
            (_, Vi::Normal { .. }) => self.buffer.stay_in_line(),
            _ => {}
        }
        action
    }

    fn steps_of(&mut self, letter: char) -> Action {
        let mut last = Action::None;
        for step in self.vi.steps(letter) {
            let changed = match step {
                ViStep::Move(motion) => {
                    self.revisions.part();
                    self.buffer.go(motion)
                }
                ViStep::Cut(motion) => self.kill_text(|buffer| buffer.cut(motion)),
                ViStep::CutLine => self.kill_text(Buffer::cut_line),
                ViStep::Do(command) => {
                    let action = self.apply(command);
                    last = if action == Action::None { last } else { action };
                    false
                }
                ViStep::Insert => {
                    self.vi = Vi::Insert;
                    false
                }
            };
            if changed {
                self.popup = None;
                last = Action::Edited;
            }
        }
        last
    }

    fn apply(&mut self, command: EditorCommand) -> Action {
        if let Some(action) = self.on_popup(command) {
            return action;
        }
        let empty = self.text().is_empty();
        match command {
            EditorCommand::Insert(c) => return self.type_in(&without_signs(c.encode_utf8(&mut [0; 4]))),
            EditorCommand::NewLine => return self.type_in("\n"),
            EditorCommand::Enter => {
                if let Some(ghost) = self.ghost.take_if(|ghost| empty && ghost.by_enter) {
                    self.buffer.set(ghost.rest);
                }
                return if self.breaks_line() { self.type_in("\n") } else { self.submit() };
            }
            EditorCommand::Tab => return Action::Tab,
            EditorCommand::Search => {
                self.search =
                    Some(HistorySearch { draft: self.text().to_owned(), ..HistorySearch::default() });
                return Action::Edited;
            }
            EditorCommand::Right if self.ghost.is_some() && self.cursor() == self.text().len() => {
                return Action::InsertGhost;
            }
            EditorCommand::NextGhost | EditorCommand::PreviousGhost if self.ghost.is_none() => {
                return Action::None;
            }
            EditorCommand::ListSuggestions => return Action::ListSuggestions,
            EditorCommand::NextGhost => return Action::TurnGhost(GhostDirection::Next),
            EditorCommand::PreviousGhost => return Action::TurnGhost(GhostDirection::Previous),
            EditorCommand::Escape if self.ghost.take().is_some() => return Action::DismissGhost,
            EditorCommand::Escape => return Action::Escape,
            EditorCommand::Editor => return Action::Editor,
            EditorCommand::NextMode => return Action::NextMode,
            EditorCommand::Redraw => return Action::Redraw,
            EditorCommand::Suspend => return Action::Suspend,
            EditorCommand::ReadAll => return Action::ReadAll,
            EditorCommand::ReadNewest => return Action::ReadNewest,
            EditorCommand::WordRight if self.cursor() == self.text().len() && self.ghost.is_some() => {
                let word = self.ghost.as_ref().map(|ghost| first_word(&ghost.rest).to_owned());
                return self.type_in(&word.unwrap_or_default());
            }
            EditorCommand::Undo if empty && self.can_take_back => return Action::TakeBack,
            EditorCommand::Undo => return self.undo_edit(),
            EditorCommand::Yank => {
                let cut = self.revisions.last_cut().to_owned();
                return self.type_in(&cut);
            }
            EditorCommand::Up if empty && self.has_queue => return Action::EditQueued,
            EditorCommand::Interrupt if empty => return Action::Interrupt,
            EditorCommand::EndOfInput if empty => return Action::EndOfInput,
            _ => {}
        }
        let changed = match command {
            EditorCommand::Left => self.buffer.left(),
            EditorCommand::Right => self.buffer.right(),
            EditorCommand::WordLeft => self.buffer.word_left(),
            EditorCommand::WordRight => self.buffer.word_right(),
            EditorCommand::Home => self.buffer.home(),
            EditorCommand::End => self.buffer.end(),
            EditorCommand::Up => self.buffer.up() || self.recall_previous(),
            EditorCommand::Down => {
                let moved = self.buffer.down() || self.recall_next();
                if !moved && self.ghost.as_ref().is_some_and(|ghost| 0 < ghost.others) {
                    return Action::ListSuggestions;
                }
                moved
            }
            EditorCommand::Backspace => self.edited(Buffer::backspace),
            EditorCommand::Delete | EditorCommand::EndOfInput => self.edited(Buffer::delete),
            EditorCommand::KillToEnd => self.kill_text(Buffer::kill_to_end),
            EditorCommand::KillToStart => self.kill_text(Buffer::kill_to_start),
            EditorCommand::KillWord => self.kill_text(Buffer::kill_word),
            EditorCommand::KillWordRight => self.kill_text(Buffer::kill_word_right),
            EditorCommand::Interrupt => self.edited(|buffer| !buffer.take().is_empty()),
            EditorCommand::Insert(_)
            | EditorCommand::NewLine
            | EditorCommand::Enter
            | EditorCommand::Tab
            | EditorCommand::TakeEmpty
            | EditorCommand::Escape
            | EditorCommand::NextGhost
            | EditorCommand::PreviousGhost
            | EditorCommand::ListSuggestions
            | EditorCommand::Search
            | EditorCommand::Editor
            | EditorCommand::NextMode
            | EditorCommand::Redraw
            | EditorCommand::Suspend
            | EditorCommand::ReadAll
            | EditorCommand::ReadNewest
            | EditorCommand::Undo
            | EditorCommand::Yank => false,
        };
        if changed {
            self.popup = None;
        }
        if command.moves() {
            self.revisions.part();
        }
        if changed { Action::Edited } else { Action::None }
    }

    /// Breaks the line if it ends with a backslash, as in a shell, and removes the backslash. Returns whether it did.
    fn breaks_line(&mut self) -> bool {
        let at_end = self.cursor() == self.text().len();
        at_end && self.text().ends_with('\\') && self.edited(Buffer::backspace)
    }

    fn type_in(&mut self, text: &str) -> Action {
        let is_letter = text.chars().count() == 1 && !text.contains(char::is_whitespace);
        self.revisions.remember(self.buffer.text(), self.buffer.cursor(), is_letter);
        if !self.buffer.insert(text) {
            return Action::None;
        }
        self.own_text();
        Action::Inserted
    }

    /// Submits the buffer. A blank buffer is not submitted and does not accept anything.
    fn submit(&mut self) -> Action {
        if self.text().trim().is_empty() {
            return Action::None;
        }
        let text = self.buffer.take();
        let text = self.pastes.whole(&text).into_owned();
        self.pastes.clear();
        (self.ghost, self.popup) = (None, None);
        self.revisions.clear();
        self.history.push(&text);
        Action::Submit(text)
    }

    fn edited(&mut self, edit: impl FnOnce(&mut Buffer) -> bool) -> bool {
        self.revisions.remember(self.buffer.text(), self.buffer.cursor(), false);
        let changed = edit(&mut self.buffer);
        if changed {
            self.own_text();
        } else {
            self.revisions.forget_last();
        }
        changed
    }

    /// Makes an edit that cuts text, which a yank can put back.
    fn kill_text(&mut self, kill: impl FnOnce(&mut Buffer) -> bool) -> bool {
        let (before, from) = (self.buffer.text().to_owned(), self.buffer.cursor());
        let goes_on = self.revisions.is_cutting();
        let changed = self.edited(kill);
        if changed {
            let at = self.buffer.cursor();
            let cut = before.get(at..at + before.len() - self.buffer.text().len()).unwrap_or_default();
            self.revisions.cut(cut, at < from, goes_on);
        }
        changed
    }

    fn undo_edit(&mut self) -> Action {
        let Some((text, cursor)) = self.revisions.back() else { return Action::None };
        self.buffer.restore(text, cursor);
        self.own_text();
        Action::Edited
    }

    /// Notes that the buffer was changed, so that it has no ghost and is no longer an entry of the history.
    fn own_text(&mut self) {
        (self.ghost, self.popup) = (None, None);
        self.history.leave();
    }

    fn recall_previous(&mut self) -> bool {
        let Some(entry) = self.history.previous(self.buffer.text()) else { return false };
        self.buffer.set(entry.to_owned());
        self.ghost = None;
        true
    }

    fn recall_next(&mut self) -> bool {
        let Some(entry) = self.history.next() else { return false };
        self.buffer.set(entry);
        self.ghost = None;
        true
    }
}

/// The first word of a text, with the blanks before it.
fn first_word(rest: &str) -> &str {
    let word = rest.len() - rest.trim_start().len();
    let end = rest[word..].find(char::is_whitespace).map_or(rest.len(), |length| word + length);
    &rest[..end]
}
