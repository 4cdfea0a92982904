use crate::WorkspacePath;

/// What became of one staging folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Swept {
    /// The folder: an absolute path, or its name in the workspace.
    pub name: String,
    /// What was done with it.
    pub outcome: SweepOutcome,
    /// What did not go back because somebody had changed it since, as far as this call found it.
    pub stayed: Vec<Stayed>,
}

/// A file that stayed as it is when the rest of a commit or an undo was taken back, for somebody had changed it since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stayed {
    /// Where it is.
    pub path: WorkspacePath,
    /// Where its former content is: a path like [`Swept::name`]. `None` for a file that was not there before.
    pub former: Option<String>,
}

/// What a sweep did with a staging folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SweepOutcome {
    /// It held nothing that was needed, and was removed.
    Removed,
    /// Its process lives, so it was left alone.
    Alive,
    /// Its process died in the middle of a commit. The workspace is as it was before, except for [what was
    /// changed since](Swept::stayed), and the folder was removed.
    RolledBack,
    /// Its process died when the files were in place and the participant had not finished. It has finished now.
    Completed,
    /// Its process died in the middle of an undo. The commit is in force, and can be undone again.
    UndoRolledBack,
    /// It holds what an accept replaced, for an undo.
    Undoable,
    /// It holds what was prepared for an accept by any process.
    Waiting,
    /// It holds what a rollback could not put back, or what was written to after it was replaced. It was left.
    Kept,
    /// Its process died in the middle of a commit, and its journal is damaged. Nothing is guessed, so everything was
    /// left.
    Damaged,
    /// Its workspace does not exist any more, and it was not used for long. It was removed.
    Orphan,
    /// Its workspace does not exist any more. It was used not long ago, and was left.
    RecentOrphan,
    /// It is not private to this user, or was not made by this crate. It was left alone.
    Foreign,
}
