//! One look at each path of a commit, for the comparison and for the plan.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use headstart_workspace_path::WorkspacePath;

use super::folders::Folders;
use crate::os::disk::calls::{self, Found};
use crate::os::disk::clock::Clock;
use crate::os::{OsTree, metadata_of};
use crate::{DirEntry, Metadata, Tree, TreeError};

/// The tree as a commit compares it with what it rests on. What it looked at is noted: the plan need not look again, for what
/// counts is what comes out of the workspace when it is applied.
pub(in crate::os) struct Looks<'a> {
    tree: &'a OsTree,
    noted: Mutex<Noted<'a>>,
}

struct Noted<'a> {
    folders: Folders<'a>,
    found: FoundAt,
}

/// What was found, by its path.
pub(in crate::os) type FoundAt = HashMap<WorkspacePath, Found>;

impl<'a> Looks<'a> {
    pub(in crate::os) fn new(tree: &'a OsTree) -> Self {
        let noted = Noted { folders: Folders::new(&tree.root), found: HashMap::new() };
        Self { tree, noted: Mutex::new(noted) }
    }

    pub(in crate::os) fn into_found(self) -> FoundAt {
        self.noted.into_inner().unwrap_or_else(PoisonError::into_inner).found
    }

    /// `None`: nothing is there, or what leads there is no plain folder; the tree itself says which.
    fn look_at(&self, path: &WorkspacePath) -> Option<Found> {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        let found = noted.folders.place(path).ok().and_then(|at| calls::look(at).ok())?;
        noted.found.insert(path.clone(), found);
        Some(found)
    }
}

#[async_trait]
impl Tree for Looks<'_> {
    async fn metadata(&self, path: &WorkspacePath) -> Result<Metadata, TreeError> {
        if path.is_root() || self.tree.is_reserved(path) {
            return self.tree.metadata(path).await;
        }
        let now = Clock::now();
        let Some(found) = self.look_at(path) else { return self.tree.metadata(path).await };
        let mut metadata = metadata_of(&found);
        self.tree.clock.date(&mut metadata.fingerprint, now);
        Ok(metadata)
    }

    async fn read(&self, path: &WorkspacePath) -> Result<Vec<u8>, TreeError> {
        self.tree.read(path).await
    }

    async fn look(&self, path: &WorkspacePath) -> Result<(Metadata, Option<Vec<u8>>), TreeError> {
        self.tree.look(path).await
    }

    async fn list(&self, path: &WorkspacePath) -> Result<Vec<DirEntry>, TreeError> {
        self.tree.list(path).await
    }

    async fn read_link(&self, path: &WorkspacePath) -> Result<Vec<u8>, TreeError> {
        self.tree.read_link(path).await
    }
}
