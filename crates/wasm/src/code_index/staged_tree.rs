use async_trait::async_trait;
use headstart_overlay_fs::{ChangeSet, DirEntry, Metadata, Tree, TreeError, WorkspacePath};

use crate::tree_port::PortTree;

/// A view from another module, together with what is staged in it: a read here is a read of that module's overlay.
pub(super) struct StagedTree {
    pub(super) tree: PortTree,
    pub(super) staged: ChangeSet,
}

#[async_trait]
impl Tree for StagedTree {
    async fn metadata(&self, path: &WorkspacePath) -> Result<Metadata, TreeError> {
        self.tree.metadata(path).await
    }

    async fn read(&self, path: &WorkspacePath) -> Result<Vec<u8>, TreeError> {
        self.tree.read(path).await
    }

    async fn list(&self, path: &WorkspacePath) -> Result<Vec<DirEntry>, TreeError> {
        self.tree.list(path).await
    }

    async fn read_link(&self, path: &WorkspacePath) -> Result<Vec<u8>, TreeError> {
        self.tree.read_link(path).await
    }

    fn staged_changes(&self) -> ChangeSet {
        self.staged.clone()
    }
}
