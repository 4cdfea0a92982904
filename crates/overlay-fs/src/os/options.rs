use std::path::PathBuf;

/// A host's choices for a workspace on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OsOptions {
    /// A folder of the host, outside the workspace and private to the user, for what is staged and what is kept for
    /// an undo. It is made when it is needed. Without it, or if it is on another file system than the workspace, a
    /// hidden folder in the workspace is used. If it lies inside the workspace (because the workspace is the home
    /// folder, say), no view shows it and nothing in it can be staged.
    pub state: Option<PathBuf>,
    /// What a commit survives.
    pub durability: Durability,
    /// How many commits can be undone.
    pub undo: UndoLimit,
    /// Whether [`Workspace::prepare`](crate::Workspace::prepare) writes to the disk, and for whom. It only writes to
    /// the state folder.
    pub prepare: Preparing,
}

/// Who may use what was prepared for a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Preparing {
    /// Nothing is prepared.
    Never,
    /// Only this tree: what is prepared is removed with it.
    #[default]
    ForThisTree,
    /// Any process. What is prepared stays until it is committed, [forgotten](crate::Workspace::forget) or
    /// [swept](crate::OsTree::sweep_unwanted), always by its change set.
    ForAnyProcess,
}

/// What a commit survives without being left half done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The death of its process.
    Fast,
    /// A loss of power too, as far as the medium keeps what it was told to: data, journal and folders are synced.
    #[default]
    Full,
}

/// How much is kept so that commits to a workspace can be undone. The oldest are removed first. This does not happen
/// while somebody waits for an accept, but at the next `prepare` or sweep, or when the tree is dropped; at the latest
/// when twice as much is kept, whoever committed it. A commit that exceeds the limit by itself removes all older ones
/// too, because otherwise an undo would take back an older commit than the last. Of the commits of the last turn
/// ([`CommitOptions::turn`](crate::CommitOptions::turn)) none is removed because they are many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UndoLimit {
    /// The most commits that are kept; 0 for none.
    pub accepts: usize,
    /// The most bytes of replaced content.
    pub bytes: u64,
}

impl Default for OsOptions {
    /// No state folder, full durability, no undo.
    fn default() -> Self {
        Self {
            state: None,
            durability: Durability::default(),
            undo: UndoLimit::default(),
            prepare: Preparing::default(),
        }
    }
}
