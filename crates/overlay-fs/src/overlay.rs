use std::sync::Arc;

use async_trait::async_trait;
use headstart_workspace_path::WorkspacePath;

use crate::{ChangeSet, DirEntry, Metadata, Tree, TreeError};

/// How much an overlay may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// Staged paths.
    pub files: u64,
    /// Staged content, in bytes.
    pub bytes: u64,
}

impl Default for Quota {
    fn default() -> Self {
        Self { files: 10_000, bytes: 256 * 1024 * 1024 }
    }
}

/// How much an overlay holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StagedUsage {
    /// Staged paths.
    pub files: u64,
    /// Staged content, in bytes.
    pub bytes: u64,
}

/// Staged files over a tree that is never written.
pub struct Overlay {
    base: Arc<dyn Tree>,
}

impl Overlay {
    /// An empty overlay.
    pub fn new(base: Arc<dyn Tree>, _quota: Quota) -> Self {
        Self { base }
    }

    /// Stages the whole content of a file, new or not; missing folders are made.
    pub async fn write(&self, _path: &WorkspacePath, _content: Vec<u8>) -> Result<(), TreeError> {
        todo!()
    }

    /// Stages the removal of a file, link or whole folder.
    pub async fn delete(&self, _path: &WorkspacePath) -> Result<(), TreeError> {
        todo!()
    }

    /// Stages a move; the target must not exist.
    pub async fn rename(&self, _from: &WorkspacePath, _to: &WorkspacePath) -> Result<(), TreeError> {
        todo!()
    }

    /// Stages a new folder (and the folders above it).
    pub async fn create_dir(&self, _path: &WorkspacePath) -> Result<(), TreeError> {
        todo!()
    }

    /// Stages the executable bit of a file.
    pub async fn set_executable(&self, _path: &WorkspacePath, _executable: bool) -> Result<(), TreeError> {
        todo!()
    }

    /// What an accept would do.
    pub fn change_set(&self) -> ChangeSet {
        todo!()
    }

    /// Whether something is staged at or below the path (a removal counts).
    pub fn touches(&self, _path: &WorkspacePath) -> bool {
        todo!()
    }

    /// How much is staged.
    pub fn usage(&self) -> StagedUsage {
        todo!()
    }

    /// Forgets everything that is staged.
    pub fn discard(&self) {
        todo!()
    }
}

#[async_trait]
impl Tree for Overlay {
    async fn metadata(&self, path: &WorkspacePath) -> Result<Metadata, TreeError> {
        self.base.metadata(path).await
    }
    async fn read(&self, path: &WorkspacePath) -> Result<Vec<u8>, TreeError> {
        self.base.read(path).await
    }
    async fn list(&self, path: &WorkspacePath) -> Result<Vec<DirEntry>, TreeError> {
        self.base.list(path).await
    }
    async fn read_link(&self, path: &WorkspacePath) -> Result<Vec<u8>, TreeError> {
        self.base.read_link(path).await
    }
}
