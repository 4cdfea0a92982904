use std::sync::Arc;

use async_trait::async_trait;
use headstart_overlay_fs::{
    ChangeSet, CommitOptions, CommitOutcome, TreeError, Workspace, WorkspaceWrapper, commit_inner,
};

use super::Upkeep;

/// A workspace that tells the index what it commits, before the commit is reported as done.
pub(super) struct IndexedWorkspace {
    pub(super) workspace: Arc<dyn Workspace>,
    pub(super) upkeep: Arc<Upkeep>,
}

#[async_trait]
impl WorkspaceWrapper for IndexedWorkspace {
    fn inner(&self) -> &dyn Workspace {
        &*self.workspace
    }

    async fn commit_wrapped(
        &self,
        changes: &ChangeSet,
        beside: Option<&str>,
        options: CommitOptions,
    ) -> Result<CommitOutcome, TreeError> {
        let outcome = commit_inner(&*self.workspace, changes, beside, options).await?;
        if let CommitOutcome::Committed(_) = outcome {
            self.upkeep.note_changed(changes.changes.iter().map(|change| &change.path));
        }
        Ok(outcome)
    }
}
