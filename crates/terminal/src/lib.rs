//! A line editor with ghost text, for `headstart chat`.
//!
//! [`LineEditor`] is sans-IO: it takes crossterm's events and returns what they mean as an [`Action`]. [`render`] is a
//! pure function from the editor to a frame. [`Screen`] draws frames in place on a terminal, while
//! other output scrolls by above them, with models' answers as rendered [`Markdown`]. [`Input`] gives the events of a
//! terminal, or the lines of a pipe. [`TerminalGuard`] changes the terminal's mode and restores it.
//!
//! All text reaches the terminal through [`sanitize()`]: neither frames nor [`Screen::print_above`] pass on an escape
//! sequence, whoever wrote the text. Ghost text is never in the buffer, so what is submitted is what was typed, pasted,
//! or inserted by the host after an accept.
//!
//! # Limitations
//!
//! Printed text is not laid out again when the terminal's width changes. Of an open block that is higher than half of
//! the terminal, only the end is shown until the block ends. Text is laid out from left to right with the widths of
//! Unicode; a terminal that draws a joined emoji wider shows the cursor a few columns off. A terminal without bracketed
//! paste submits at each pasted line feed.

#![expect(missing_docs, reason = "made for the binary; its own documentation says what a type is for")]

mod background;
mod buffer;
mod consent;
mod diff;
mod editor;
#[cfg(any(windows, test))]
mod fast_keys;
mod features;
mod frame;
mod guard;
mod highlight;
mod history;
mod input;
mod keymap;
mod layout;
mod link;
mod markdown;
mod pager;
mod palette;
mod pastes;
mod popup;
mod printed;
mod revisions;
mod row;
mod sanitize;
mod screen;
mod size;
mod spoken;
mod status_line;
#[cfg(test)]
mod tests;
mod vi;

pub use background::QUESTION as ASKS_BACKGROUND;
pub use consent::{Consent, ConsentAnswer};
pub use diff::{ChangedLine, Diff, DiffForm};
pub use editor::{Action, Ghost, GhostDirection, LineEditor};
pub use features::TerminalFeatures;
pub use frame::{LiveKind, LiveRow, View, render};
pub use guard::TerminalGuard;
pub use input::{Input, InputEvent};
pub use keymap::{Key, KeyMap};
pub use markdown::Markdown;
pub use pager::{Pager, Passage};
pub use palette::{Palette, Theme, ThemeChoice};
pub use popup::{Choice, Popup};
pub use row::Style;
pub use sanitize::sanitize;
pub use screen::Screen;
pub use size::Size;
pub use spoken::SpokenAnswer;
pub use status_line::{StatusItem, StatusLine};
