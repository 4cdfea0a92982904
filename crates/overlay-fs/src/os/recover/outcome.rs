/// What became of one staging folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Swept {
    /// The folder: an absolute path, or its name in the workspace.
    pub name: String,
    /// What was done with it.
    pub outcome: SweepOutcome,
}

/// What a sweep does with a staging folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SweepOutcome {
    /// Nothing in it was needed: it is gone.
    Removed,
    /// Its process lives: left alone.
    Alive,
    /// Its process died in the middle of a commit: the workspace is as it was before, and the folder is gone.
    RolledBack,
    /// Its process died when the files were in place, and what is committed with them was missing: that is done now, or had
    /// been.
    Completed,
    /// Its process died in the middle of an undo: the commit stands, and can be undone again.
    UndoRolledBack,
    /// It holds what an accept replaced, to undo it.
    Undoable,
    /// It holds what was prepared for an accept by any process.
    Waiting,
    /// It holds what a rollback could not put back, or what was written to after it was replaced; it is left.
    Kept,
    /// Its process died in the middle of a commit, and its journal is damaged: nothing is guessed, all is left.
    Damaged,
    /// Its workspace is gone, and it was not used for long: it is gone, too.
    Orphan,
    /// Its workspace is gone; it was used not long ago, and is left.
    YoungOrphan,
    /// It is not private to this user, or not made by this crate: left alone.
    Foreign,
}
