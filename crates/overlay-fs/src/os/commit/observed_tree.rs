//! Looks up each path of a commit once, for both the comparison and the plan.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use headstart_workspace_path::WorkspacePath;

use super::folders::Folders;
use crate::os::disk::calls::{self, Stat};
use crate::os::{OsTree, file_times, metadata_of};
use crate::{DirEntry, Metadata, Tree, TreeError};

/// The tree as a commit compares it with the change set. It notes what it found, so that the plan need not look
/// again: what counts is what comes out of the workspace when the plan is applied.
pub(in crate::os) struct ObservedTree<'a> {
    tree: &'a OsTree,
    noted: Mutex<Noted<'a>>,
}

struct Noted<'a> {
    folders: Folders<'a>,
    found: StatByPath,
}

/// What was found at each path.
pub(in crate::os) type StatByPath = HashMap<WorkspacePath, Stat>;

impl<'a> ObservedTree<'a> {
    pub(in crate::os) fn new(tree: &'a OsTree) -> Self {
        let noted = Noted { folders: Folders::new(&tree.root), found: HashMap::new() };
        Self { tree, noted: Mutex::new(noted) }
    }

    pub(in crate::os) fn into_found(self) -> StatByPath {
        self.noted.into_inner().unwrap_or_else(PoisonError::into_inner).found
    }

    /// What is at a path; `None` if nothing is, or what leads there is not a plain folder (the tree itself says
    /// which).
    fn look_at(&self, path: &WorkspacePath) -> Option<Stat> {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        let found = noted.folders.place(path).ok().and_then(|at| calls::look(at).ok())?;
        noted.found.insert(path.clone(), found);
        Some(found)
    }
}

#[async_trait]
impl Tree for ObservedTree<'_> {
    async fn metadata(&self, path: &WorkspacePath) -> Result<Metadata, TreeError> {
        if path.is_root() || self.tree.is_reserved(path) {
            return self.tree.metadata(path).await;
        }
        let now = file_times::since_now_ns();
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
