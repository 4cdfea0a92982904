mod entry;
mod replace;
mod stack;
mod stage;
mod state;
mod view;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use headstart_workspace_path::WorkspacePath;

use self::entry::{Entry, StagedState};
use self::state::State;
use crate::{ChangeSet, Tree, TreeError};

/// How much an overlay may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// Staged paths.
    pub files: u64,
    /// Staged content, and the content of the base that is kept for the diff, in bytes.
    pub bytes: u64,
    /// The content of one file, both as staged and as in the base, in bytes.
    pub file_bytes: u64,
    /// Names in a staged path.
    pub depth: u64,
}

impl Default for Quota {
    /// 10,000 paths, 256 MiB, 64 MiB a file, 128 names in a path.
    fn default() -> Self {
        Self { files: 10_000, bytes: 256 << 20, file_bytes: 64 << 20, depth: 128 }
    }
}

impl Quota {
    /// Refuses what is staged at one path if it exceeds the quota by itself.
    fn check(&self, path: &WorkspacePath, now: &StagedState) -> Result<(), TreeError> {
        let content = match now {
            StagedState::File { content, .. } | StagedState::Link { target: content } => content.len(),
            StagedState::Directory { .. } => 0,
            StagedState::Removed => return Ok(()),
        };
        if self.file_bytes < content as u64 {
            return Err(self.file_too_large(path));
        }
        if self.depth < path.names().count() as u64 {
            let unit = "names in a path";
            return Err(TreeError::Quota { path: path.clone(), limit: self.depth, unit });
        }
        Ok(())
    }

    fn file_too_large(&self, path: &WorkspacePath) -> TreeError {
        TreeError::Quota { path: path.clone(), limit: self.file_bytes, unit: "bytes in one file" }
    }
}

/// How much an overlay holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StagedUsage {
    /// Staged paths.
    pub files: u64,
    /// Staged content, and the content of the base that is kept for the diff, in bytes.
    pub bytes: u64,
}

/// What an overlay held at one moment ([`Overlay::savepoint`]).
#[derive(Debug, Clone)]
pub struct Savepoint {
    entries: BTreeMap<WorkspacePath, Entry>,
    bytes: u64,
}

/// Staged files over a tree that is never written.
///
/// Nothing is written to the base: what is staged is held in memory, and what was read from the base is noted. An
/// overlay is itself a [`Tree`], so overlays stack. All methods take `&self`; of two that stage at the same time, one
/// comes after the other. A method that fails stages nothing.
///
/// Every path is resolved to the one without links in it, so that a file has one identity. A link that leads out of
/// the workspace is refused with [`TreeError::Escapes`].
pub struct Overlay {
    base: Arc<dyn Tree>,
    quota: Quota,
    breaks_hard_links: bool,
    state: Mutex<State>,
}

impl Overlay {
    /// An empty overlay.
    pub fn new(base: Arc<dyn Tree>, quota: Quota) -> Self {
        Self { base, quota, breaks_hard_links: false, state: Mutex::default() }
    }

    /// An empty overlay that also stages changes of a file with several names (hard links): its other names keep the
    /// former content. They are committed with [`CommitOptions::breaks_hard_links`](crate::CommitOptions).
    pub fn breaking_hard_links(base: Arc<dyn Tree>, quota: Quota) -> Self {
        Self { breaks_hard_links: true, ..Self::new(base, quota) }
    }

    /// The tree below, which is never written.
    pub fn base(&self) -> &Arc<dyn Tree> {
        &self.base
    }

    /// Restores the overlay from which this change set was taken, over the same tree or one that has changed since.
    pub fn from_change_set(
        base: Arc<dyn Tree>,
        quota: Quota,
        changes: &ChangeSet,
    ) -> Result<Self, TreeError> {
        let mut state = State::default();
        state.restore(changes, quota)?;
        Ok(Self { state: Mutex::new(state), ..Self::new(base, quota) })
    }

    /// What an accept would do.
    pub fn change_set(&self) -> ChangeSet {
        let state = self.lock();
        ChangeSet { changes: state.changes(), reads: state.reads() }
    }

    /// Whether something is staged at or below the path, including removals.
    pub fn touches(&self, path: &WorkspacePath) -> bool {
        self.lock().touches(path)
    }

    /// How much is staged.
    pub fn usage(&self) -> StagedUsage {
        self.lock().usage()
    }

    /// What is staged now, for [`roll_back`](Self::roll_back). Contents are shared, not copied.
    pub fn savepoint(&self) -> Savepoint {
        self.lock().savepoint()
    }

    /// Takes back everything that was staged since the savepoint. What was read since stays in the read set.
    pub fn roll_back(&self, savepoint: Savepoint) {
        self.lock().roll_back(savepoint);
    }

    /// Forgets everything that is staged and everything that was read.
    pub fn discard(&self) {
        self.lock().discard();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic in another thread cannot do harm here: an accept checks the whole state again.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
