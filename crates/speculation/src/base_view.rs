use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures::FutureExt;
use futures::channel::oneshot;
use futures::future::Shared;
use headstart_git_ahead::GitChange;
use headstart_overlay_fs::{
    Change, ChangeSet, DirEntry, LeftOut, Metadata, Overlay, Tree, TreeError, Workspace, WorkspacePath,
};

use crate::lock::lock;
use crate::turn_loop::SharedProgress;

/// The tree on which a step builds: the work of the step below until that is accepted, and from then on the workspace,
/// which contains that work.
pub(crate) struct BaseView {
    /// The speculation below.
    pub(crate) id: String,
    state: Mutex<BaseState>,
    workspace: Arc<dyn Workspace>,
    accepted: Shared<oneshot::Receiver<()>>,
}

enum BaseState {
    Unaccepted { overlay: Arc<Overlay>, progress: SharedProgress, accepted_sender: oneshot::Sender<()> },
    Accepted,
}

impl BaseView {
    pub(crate) fn new(
        id: String,
        overlay: Arc<Overlay>,
        progress: SharedProgress,
        workspace: Arc<dyn Workspace>,
    ) -> Self {
        let (accepted_sender, accepted) = oneshot::channel();
        let state = Mutex::new(BaseState::Unaccepted { overlay, progress, accepted_sender });
        Self { id, state, workspace, accepted: accepted.shared() }
    }

    /// Notes that the work below is in the workspace.
    pub(crate) fn accept(&self) {
        let state = std::mem::replace(&mut *lock(&self.state), BaseState::Accepted);
        if let BaseState::Unaccepted { accepted_sender, .. } = state {
            // Nobody waits if there is no step above.
            let _ = accepted_sender.send(());
        }
    }

    pub(crate) fn is_accepted(&self) -> bool {
        matches!(*lock(&self.state), BaseState::Accepted)
    }

    /// Waits until the work below is accepted; forever, if it never is.
    pub(crate) async fn accepted(&self) {
        let accepted = self.accepted.clone();
        // The sender is dropped only with this value, or by being used.
        let _ = accepted.await;
    }

    /// What the work below stages, unless it is accepted.
    pub(crate) fn staged(&self) -> Option<ChangeSet> {
        match &*lock(&self.state) {
            BaseState::Unaccepted { overlay, .. } => Some(overlay.change_set()),
            BaseState::Accepted => None,
        }
    }

    /// What the work below did to the repository, unless it is accepted.
    pub(crate) fn git(&self) -> Option<GitChange> {
        match &*lock(&self.state) {
            BaseState::Unaccepted { progress, .. } => lock(progress).git.clone(),
            BaseState::Accepted => None,
        }
    }

    /// What the commands of the work below wrote and an accept does not bring, unless it is accepted.
    pub(crate) fn left_out(&self) -> Vec<LeftOut> {
        match &*lock(&self.state) {
            BaseState::Unaccepted { progress, .. } => lock(progress).left_out.rows(),
            BaseState::Accepted => Vec::new(),
        }
    }

    fn tree(&self) -> Arc<dyn Tree> {
        match &*lock(&self.state) {
            BaseState::Unaccepted { overlay, .. } => Arc::clone(overlay) as Arc<dyn Tree>,
            BaseState::Accepted => Arc::clone(&self.workspace) as Arc<dyn Tree>,
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
