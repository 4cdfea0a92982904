use std::io;

/// A terminal's size in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) columns: u16,
    pub(crate) rows: u16,
}

impl Size {
    /// The size of the terminal of this process, now. To be asked before each frame: of a change that comes together with
    /// a key, crossterm may send no event.
    pub(crate) fn of_terminal() -> io::Result<Self> {
        crossterm::terminal::size().map(|(columns, rows)| Self { columns, rows })
    }
}
