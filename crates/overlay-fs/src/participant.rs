//! What is committed together with the files, and is no file of the workspace itself.

use std::fmt;

use crate::{Conflict, TreeError};

/// The other side of a two-phase commit: the refs of a repository, say, that move together with the files or not at all.
///
/// A workspace asks it to [`prepare`](Self::prepare) before the first file is touched, puts the files in place, notes that they
/// are, and only then has it [commit](Prepared::commit). From that note on the commit is to be completed, also by the next
/// process; before it, it is to be taken back.
///
/// What it is to do reaches it as a text of its own making, which is kept in the journal. An undo gives it the same text with
/// [`Direction::Back`].
///
/// # Guarantees expected
///
/// * After `prepare`, nobody else changes what the commit rests on until the value that it gave is committed or dropped.
/// * A dropped [`Prepared`] leaves all as it was.
/// * `finish` may be asked several times, by several processes one after the other.
pub trait Participant: fmt::Debug + Send + Sync {
    /// Makes sure that the change can be made, and holds what it rests on.
    fn prepare(&self, change: &str, direction: Direction) -> Result<Box<dyn Prepared>, NotPrepared>;

    /// The process that had prepared died, or lost its grip, when the files were in place: completes what it noted, or
    /// finds that this cannot be done any more and sees to it that nothing of it is left.
    fn finish(&self, note: &str, direction: Direction) -> Result<Finish, TreeError>;

    /// The process that had prepared died before the files were in place, and they are as before: gives back what
    /// it may still hold.
    fn release(&self, note: &str) -> Result<(), TreeError>;
}

/// A change that can be made now. Dropping it gives it up.
pub trait Prepared {
    /// What the journal keeps: the text from which [`Participant::finish`], [`Participant::release`], and for an undo
    /// [`Participant::prepare`], know what there is to do.
    fn note(&self) -> &str;

    /// The note is in the journal, and no file is touched: takes what would be in others' way for good if the process died before anybody
    /// could know whose it is.
    fn hold(&mut self) -> Result<(), NotPrepared> {
        Ok(())
    }

    /// Makes the change. On [`Finish::Refused`] nothing of it is left.
    fn commit(self: Box<Self>) -> Result<Finish, TreeError>;
}

/// Which way a change goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// As it was written down.
    Forth,
    /// It is taken back.
    Back,
}

/// Why nothing was prepared. Nothing is held.
#[derive(Debug)]
pub enum NotPrepared {
    /// Its user changed what the change rests on.
    Conflict(Vec<Conflict>),
    /// It cannot be made.
    Error(TreeError),
}

/// How a change ended after the files were in place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finish {
    /// It is made, all of it.
    Done,
    /// Somebody changed what it rests on, so it cannot be made, and nothing of it is.
    Refused(Vec<Conflict>),
}
