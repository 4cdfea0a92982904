use std::sync::Arc;

use async_trait::async_trait;
use headstart_overlay_fs::{
    ChangeSet, CommitOptions, CommitOutcome, DirEntry, Metadata, Tree, TreeError, Workspace, WorkspacePath,
};

use super::Upkeep;

/// A workspace that tells the index what it commits, before anybody else hears that it is committed.
pub(super) struct FollowedWorkspace {
    pub(super) workspace: Arc<dyn Workspace>,
    pub(super) upkeep: Arc<Upkeep>,
}

impl FollowedWorkspace {
    fn tell(&self, changes: &ChangeSet, outcome: &CommitOutcome) {
        if let CommitOutcome::Committed(_) = outcome {
            self.upkeep.note_changed(changes.changes.iter().map(|change| &change.path));
        }
    }
}

#[async_trait]
impl Tree for FollowedWorkspace {
    async fn metadata(&self, path: &WorkspacePath) -> Result<Metadata, TreeError> {
        self.workspace.metadata(path).await
    }

    async fn read(&self, path: &WorkspacePath) -> Result<Vec<u8>, TreeError> {
        self.workspace.read(path).await
    }

    async fn look(&self, path: &WorkspacePath) -> Result<(Metadata, Option<Vec<u8>>), TreeError> {
        self.workspace.look(path).await
    }

    async fn list(&self, path: &WorkspacePath) -> Result<Vec<DirEntry>, TreeError> {
        self.workspace.list(path).await
    }

    async fn read_link(&self, path: &WorkspacePath) -> Result<Vec<u8>, TreeError> {
        self.workspace.read_link(path).await
    }

    fn is_staged(&self, path: &WorkspacePath) -> bool {
        self.workspace.is_staged(path)
    }

    fn staged_changes(&self) -> ChangeSet {
        self.workspace.staged_changes()
    }
}

#[async_trait]
impl Workspace for FollowedWorkspace {
    async fn commit(&self, changes: &ChangeSet, options: CommitOptions) -> Result<CommitOutcome, TreeError> {
        let outcome = self.workspace.commit(changes, options).await?;
        self.tell(changes, &outcome);
        Ok(outcome)
    }

    async fn commit_with(
        &self,
        changes: &ChangeSet,
        beside: &str,
        options: CommitOptions,
    ) -> Result<CommitOutcome, TreeError> {
        let outcome = self.workspace.commit_with(changes, beside, options).await?;
        self.tell(changes, &outcome);
        Ok(outcome)
    }

    async fn prepare(&self, changes: &ChangeSet) -> Result<(), TreeError> {
        self.workspace.prepare(changes).await
    }

    fn forget(&self, changes: &ChangeSet) {
        self.workspace.forget(changes);
    }
}
