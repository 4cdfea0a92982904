//! Wraps a workspace, so that something more is done at a commit and all else stays the same.

use async_trait::async_trait;

use crate::{
    Change, ChangeSet, CommitOptions, CommitOutcome, DirEntry, Metadata, Tree, TreeError, Workspace,
    WorkspacePath,
};

/// A [`Workspace`] around another one: reads go to the inner workspace, and commits go through
/// [`commit_wrapped`](Self::commit_wrapped).
#[async_trait]
pub trait WorkspaceWrapper: Send + Sync {
    /// The workspace that is wrapped.
    fn inner(&self) -> &dyn Workspace;

    /// Commits to the inner workspace, by [`commit_inner`], and does whatever has to be done before and after.
    async fn commit_wrapped(
        &self,
        changes: &ChangeSet,
        beside: Option<&str>,
        options: CommitOptions,
    ) -> Result<CommitOutcome, TreeError>;
}

/// Calls [`Workspace::commit`], or [`Workspace::commit_with`] if another participant commits too.
pub async fn commit_inner(
    workspace: &dyn Workspace,
    changes: &ChangeSet,
    beside: Option<&str>,
    options: CommitOptions,
) -> Result<CommitOutcome, TreeError> {
    match beside {
        None => workspace.commit(changes, options).await,
        Some(beside) => workspace.commit_with(changes, beside, options).await,
    }
}

#[async_trait]
impl<W: WorkspaceWrapper> Tree for W {
    async fn metadata(&self, path: &WorkspacePath) -> Result<Metadata, TreeError> {
        self.inner().metadata(path).await
    }

    async fn read(&self, path: &WorkspacePath) -> Result<Vec<u8>, TreeError> {
        self.inner().read(path).await
    }

    async fn look(&self, path: &WorkspacePath) -> Result<(Metadata, Option<Vec<u8>>), TreeError> {
        self.inner().look(path).await
    }

    async fn list(&self, path: &WorkspacePath) -> Result<Vec<DirEntry>, TreeError> {
        self.inner().list(path).await
    }

    async fn read_link(&self, path: &WorkspacePath) -> Result<Vec<u8>, TreeError> {
        self.inner().read_link(path).await
    }

    async fn check_changes(&self, changes: &[Change]) -> Result<(), TreeError> {
        self.inner().check_changes(changes).await
    }

    fn is_staged(&self, path: &WorkspacePath) -> bool {
        self.inner().is_staged(path)
    }

    fn staged_changes(&self) -> ChangeSet {
        self.inner().staged_changes()
    }
}

#[async_trait]
impl<W: WorkspaceWrapper> Workspace for W {
    async fn commit(&self, changes: &ChangeSet, options: CommitOptions) -> Result<CommitOutcome, TreeError> {
        self.commit_wrapped(changes, None, options).await
    }

    async fn commit_with(
        &self,
        changes: &ChangeSet,
        beside: &str,
        options: CommitOptions,
    ) -> Result<CommitOutcome, TreeError> {
        self.commit_wrapped(changes, Some(beside), options).await
    }

    async fn prepare(&self, changes: &ChangeSet) -> Result<(), TreeError> {
        self.inner().prepare(changes).await
    }

    fn forget(&self, changes: &ChangeSet) {
        self.inner().forget(changes);
    }
}
