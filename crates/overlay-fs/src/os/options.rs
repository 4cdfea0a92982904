use std::path::PathBuf;

/// A host's choices for a workspace on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OsOptions {
    /// A folder of the host, outside the workspace and private to its user, for what is staged and what is kept for an
    /// undo. It is made when it is needed. `None`, or on another file system than the workspace: a hidden folder in
    /// the workspace is used.
    pub state: Option<PathBuf>,
    /// What a commit survives.
    pub durability: Durability,
    /// How many commits can be undone.
    pub undo: UndoLimit,
    /// Whether [`Workspace::prepare`](crate::Workspace::prepare) writes to the disk, and for whom; it does so in the state
    /// folder alone.
    pub prepare: Preparing,
}

/// For whose commit is prepared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Preparing {
    /// Nobody's.
    Never,
    /// That of this very tree: what is prepared goes with it.
    #[default]
    ForThisTree,
    /// That of any process. What is prepared stays until it is committed, [forgotten](crate::Workspace::forget), or
    /// [swept](crate::OsTree::sweep_unwanted), all of it by the same change set.
    ForAnyProcess,
}

/// What a commit survives, all of it or nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The death of its process.
    Fast,
    /// The loss of power, too, as far as the medium keeps what it was told to: data, journal and folders are synced.
    #[default]
    Full,
}

/// What is kept so that commits to a workspace can be undone. The oldest go first: not while an accept is waited for, but at
/// the next `prepare` or sweep, or when the tree is dropped; at the latest when there is twice as much, whoever committed
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UndoLimit {
    /// So many commits; 0: none.
    pub accepts: usize,
    /// So many bytes of replaced content.
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
