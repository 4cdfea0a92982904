use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use headstart_git_ahead::GitChange;
use headstart_overlay_fs::{
    Change, ChangeSet, DirEntry, LeftOut, Metadata, Overlay, Tree, TreeError, Workspace, WorkspacePath,
};

use crate::lock::lock;
use crate::turn_loop::SharedProgress;

/// The tree on which work ahead stands: what turns have staged until that is written, and from then on the workspace,
/// which contains it.
pub(crate) struct BaseView {
    /// The layer below.
    pub(crate) id: String,
    state: Mutex<BaseState>,
    workspace: Arc<dyn Workspace>,
}

enum BaseState {
    Staged { overlay: Arc<Overlay>, progress: SharedProgress },
    Written,
}

impl BaseView {
    pub(crate) fn new(
        id: String,
        overlay: Arc<Overlay>,
        progress: SharedProgress,
        workspace: Arc<dyn Workspace>,
    ) -> Self {
        Self { id, state: Mutex::new(BaseState::Staged { overlay, progress }), workspace }
    }

    /// Notes that what is staged below is in the workspace.
    pub(crate) fn written(&self) {
        *lock(&self.state) = BaseState::Written;
    }

    pub(crate) fn is_written(&self) -> bool {
        matches!(*lock(&self.state), BaseState::Written)
    }

    /// What is staged below, unless it is written.
    pub(crate) fn staged(&self) -> Option<ChangeSet> {
        match &*lock(&self.state) {
            BaseState::Staged { overlay, .. } => Some(overlay.change_set()),
            BaseState::Written => None,
        }
    }

    /// What the turns below did to the repository, unless it is written.
    pub(crate) fn git(&self) -> Option<GitChange> {
        match &*lock(&self.state) {
            BaseState::Staged { progress, .. } => lock(progress).git.clone(),
            BaseState::Written => None,
        }
    }

    /// What the commands of the turns below wrote and a write does not bring, unless that is over.
    pub(crate) fn left_out(&self) -> Vec<LeftOut> {
        match &*lock(&self.state) {
            BaseState::Staged { progress, .. } => lock(progress).left_out.rows(),
            BaseState::Written => Vec::new(),
        }
    }

    fn tree(&self) -> Arc<dyn Tree> {
        match &*lock(&self.state) {
            BaseState::Staged { overlay, .. } => Arc::clone(overlay) as Arc<dyn Tree>,
            BaseState::Written => Arc::clone(&self.workspace) as Arc<dyn Tree>,
        }
    }
}

#[async_trait]
impl Tree for BaseView {
    async fn metadata(&self, path: &WorkspacePath) -> Result<Metadata, TreeError> {
        self.tree().metadata(path).await
    }

    async fn read(&self, path: &WorkspacePath) -> Result<Vec<u8>, TreeError> {
        self.tree().read(path).await
    }

    async fn look(&self, path: &WorkspacePath) -> Result<(Metadata, Option<Vec<u8>>), TreeError> {
        self.tree().look(path).await
    }

    async fn list(&self, path: &WorkspacePath) -> Result<Vec<DirEntry>, TreeError> {
        self.tree().list(path).await
    }

    async fn read_link(&self, path: &WorkspacePath) -> Result<Vec<u8>, TreeError> {
        self.tree().read_link(path).await
    }

    async fn check_changes(&self, changes: &[Change]) -> Result<(), TreeError> {
        self.tree().check_changes(changes).await
    }

    fn is_staged(&self, path: &WorkspacePath) -> bool {
        self.tree().is_staged(path)
    }

    fn staged_changes(&self) -> ChangeSet {
        self.tree().staged_changes()
    }
}
