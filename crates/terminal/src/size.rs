use std::io;

/// A terminal's size in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub columns: u16,
    pub rows: u16,
}

impl Size {
    /// The current size of this process's terminal. A host asks before each frame, because crossterm may send no event
    /// for a change that comes together with a key.
    pub fn of_terminal() -> io::Result<Self> {
        crossterm::terminal::size().map(|(columns, rows)| Self { columns, rows })
    }
}
