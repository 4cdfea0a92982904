//! What the editor tells its host, and what the host shows in it.

use crate::size::Size;

/// What an event means for the host.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "the host draws, submits or ends by it"]
pub enum Action {
    /// Nothing changed.
    None,
    /// Text was typed or pasted. The ghost is gone until the host sets one that fits the text.
    Inserted,
    /// The buffer or the cursor changed in another way. If the buffer changed, the ghost is gone too.
    Edited,
    /// Enter: this text, which is never blank, left the buffer and is in the history.
    Submit(String),
    /// Up in an empty buffer while prompts wait: the host should take back the last of them.
    EditQueued,
    /// The last work is to be taken back.
    TakeBack,
    /// Tab, which accepts the suggestion: the ghost, or text that is already in the buffer. Nothing changed.
    Tab,
    /// The key that accepts the ghost in an empty buffer. Nothing changed.
    TakeGhost,
    /// The host should put the ghost into the buffer. The ghost stays until the host inserts its text or removes it.
    InsertGhost,
    /// The host should show the next or the previous ghost.
    TurnGhost(GhostDirection),
    /// The host should list what it suggests, as a [numbered list](crate::Popup::numbered).
    ListSuggestions,
    /// Another choice of the numbered list is marked.
    Marked,
    /// The choice of the numbered list with this place, from 0, is taken. Nothing else changed.
    TakeListed(usize),
    /// Esc removed the ghost.
    DismissGhost,
    /// Esc closed the list of completions.
    ClosePopup,
    /// Esc, when the editor itself had nothing to end.
    Escape,
    /// The host should open the text in the user's editor.
    Editor,
    /// The host should change to the next mode.
    NextMode,
    /// The host should draw the screen again.
    Redraw,
    /// The host should suspend itself and return to the shell.
    Suspend,
    /// The host should open the whole conversation.
    ReadAll,
    /// The host should open what is new.
    ReadNewest,
    /// Ctrl-C with an empty buffer. (With text, Ctrl-C clears the buffer.)
    Interrupt,
    /// Ctrl-D with an empty buffer. (With text, Ctrl-D deletes.)
    EndOfInput,
    /// The terminal has this new size.
    Resized(Size),
}

/// The direction in which the ghost is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GhostDirection {
    /// Alt-N.
    Next,
    /// Alt-P.
    Previous,
}

/// Suggested text that can be accepted, shown behind what is typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ghost {
    /// The part that is not typed yet.
    pub rest: String,
    /// How many others the host has beside this one.
    pub others: usize,
    /// Whether Enter in an empty buffer sends it. Otherwise only Tab accepts it.
    pub by_enter: bool,
}

impl Ghost {
    /// A ghost that is the only one.
    pub fn only(rest: impl Into<String>) -> Self {
        Self { rest: rest.into(), others: 0, by_enter: false }
    }

    /// A prompt that is offered at the beginning. Enter sends it.
    pub fn by_enter(rest: impl Into<String>) -> Self {
        Self { by_enter: true, ..Self::only(rest) }
    }
}
