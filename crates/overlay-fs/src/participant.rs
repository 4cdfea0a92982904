//! What is committed together with the files without being a file of the workspace itself.

use std::fmt;

use crate::{Conflict, TreeError};

/// The other side of a two-phase commit: for example the refs of a repository, which change together with the files
/// or not at all.
///
/// A workspace asks it to [`prepare`](Self::prepare) before the first file is touched, puts the files in place, notes
/// that they are, and only then has it [commit](Prepared::commit). Once that note is written, the commit has to be
/// completed, by the next process if need be; before it, the commit has to be taken back.
///
/// What it has to do is given to it as a text of its own making, which is kept in the journal. An undo gives it the
/// same text with [`Direction::Undo`].
///
/// # Guarantees expected
///
/// * After `prepare`, nobody else changes what the commit rests on until the value that it gave is committed or dropped.
/// * A dropped [`Prepared`] leaves all as it was.
/// * `finish` may be asked several times, by several processes one after the other.
pub trait Participant: fmt::Debug + Send + Sync {
    /// Makes sure that the change can be made, and locks what it relies on.
    fn prepare(&self, change: &str, direction: Direction) -> Result<Box<dyn Prepared>, NotPrepared>;

    /// The process that had prepared died, or lost its locks, when the files were in place. This completes what was
    /// noted, or finds that it cannot be done any more and sees to it that nothing of it is left.
    fn finish(&self, note: &str, direction: Direction) -> Result<Finish, TreeError>;

    /// The process that had prepared died before the files were in place, and they are as before. This releases
    /// whatever it may still have locked.
    fn release(&self, note: &str) -> Result<(), TreeError>;
}

/// A change that can be made now. Dropping it gives it up.
pub trait Prepared {
    /// What the journal keeps: the text from which [`Participant::finish`], [`Participant::release`] and, for an
    /// undo, [`Participant::prepare`] know what to do.
    fn note(&self) -> &str;

    /// Called when the note is in the journal and no file is touched yet. Takes the locks that would block others for
    /// good if the process died before anybody could know whose they are.
    fn hold(&mut self) -> Result<(), NotPrepared> {
        Ok(())
    }

    /// Makes the change. After [`Finish::Refused`] and [`Finish::Failed`] nothing of it is left. After an error it is not
    /// known how far it got.
    fn commit(self: Box<Self>) -> Result<Finish, TreeError>;
}

/// Whether a change is made or taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// It is made, as it was written down.
    Apply,
    /// It is taken back.
    Undo,
}

/// Why nothing was prepared. Nothing is locked.
#[derive(Debug)]
pub enum NotPrepared {
    /// The user changed what the change relies on.
    Conflict(Vec<Conflict>),
    /// It cannot be made.
    Error(TreeError),
}

/// How a change ended after the files were in place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finish {
    /// It is made, all of it.
    Done,
    /// Somebody changed what it relies on, so it cannot be made, and nothing of it is.
    Refused(Vec<Conflict>),
    /// The system did not let it be made, and nothing of it is.
    Failed(TreeError),
}
