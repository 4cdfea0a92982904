//! What an editor cannot do itself when its user takes work: links, executable bits, and what the work did to the
//! repository. It is one commit to the folder with a journal, as the terminal makes it, so that it is made as a whole and
//! can be taken back.

use std::sync::Arc;

use headstart_git_ahead::GitChange;
use headstart_machine::setup::{self, AcceptingProcess};
use headstart_overlay_fs::{
    ChangeSet, CommitOptions, CommitOutcome, TreeError, UndoOutcome, Workspace as _, WorkspacePath,
};
use headstart_toolbox::exchange::{AcceptRequest, Failure, ServerMessage};
use tokio::runtime::Handle;

use super::calls::{CallFailure, ServedCall};
use super::{ServeSession, lock};

/// The last accept of a connection.
pub(super) struct LastAccept {
    id: u64,
    changes: ChangeSet,
    beside: Option<String>,
}

impl ServedCall {
    /// Makes the changes, and answers with the paths that prevent it.
    pub(super) async fn accept(&self, accept: AcceptRequest) -> Result<(), CallFailure> {
        self.session_here()?;
        self.commit(move |session| session.accept(accept)).await
    }

    /// Takes the last accept back, because the editor could not make its part.
    pub(super) async fn take_back(&self, accept: u64) -> Result<(), CallFailure> {
        self.session_here()?;
        self.commit(move |session| session.take_back(accept)).await
    }

    /// A commit is made as a whole even if the client disconnects, so it runs outside of the call's task.
    async fn commit(
        &self,
        work: impl FnOnce(&ServeSession) -> Result<Vec<WorkspacePath>, CallFailure> + Send + 'static,
    ) -> Result<(), CallFailure> {
        let session = Arc::clone(&self.session);
        let done = tokio::task::spawn_blocking(move || work(&session)).await;
        let conflicts = done.map_err(failed).flatten()?;
        self.session.send(&ServerMessage::Accepted { id: self.id, conflicts }).await;
        Ok(())
    }
}

impl ServeSession {
    fn accept(&self, accept: AcceptRequest) -> Result<Vec<WorkspacePath>, CallFailure> {
        let id = accept.id;
        let git = accept.beside.as_deref().map(GitChange::try_from).transpose().map_err(failed)?;
        let paths = accept.changes.iter().map(|change| &change.path);
        let committed = git.iter().flat_map(|git| &git.paths);
        let is_of_git = |path: &WorkspacePath| path.names().any(|name| name == b".git");
        let (deny, mut paths) = (self.deny(), paths.chain(committed));
        if let Some(path) = paths.find(|path| is_of_git(path) || deny.closes(path, true)) {
            return Err(CallFailure(Failure::Call, format!("{path} is closed, and nothing was changed")));
        }
        // Only what is known of a change of the repository reaches the journal.
        let beside = git.as_ref().map(GitChange::beside);
        let tree =
            setup::tree(&self.tree, self.state.as_deref(), AcceptingProcess::Another).map_err(failed)?;
        let commit = async {
            let changes = match accept.over(&tree).await? {
                Ok(changes) => changes,
                Err(conflicts) => return Ok((conflicts, None)),
            };
            let options = CommitOptions::default();
            let outcome = match &beside {
                Some(beside) => tree.commit_with(&changes, beside, options).await?,
                None => tree.commit(&changes, options).await?,
            };
            match outcome {
                CommitOutcome::Committed(_) => Ok((Vec::new(), Some(changes))),
                CommitOutcome::Conflict(conflicts) => {
                    Ok((conflicts.into_iter().map(|conflict| conflict.path).collect(), None))
                }
            }
        };
        let (conflicts, made) =
            Handle::current().block_on(commit).map_err(|error: TreeError| failed(error))?;
        *lock(&self.last_accept) = made.map(|changes| LastAccept { id, changes, beside });
        Ok(conflicts)
    }

    fn take_back(&self, accept: u64) -> Result<Vec<WorkspacePath>, CallFailure> {
        let last = lock(&self.last_accept).take_if(|last| last.id == accept);
        let LastAccept { changes, beside, .. } = last.ok_or_else(|| failed("there is no such accept"))?;
        let tree =
            setup::tree(&self.tree, self.state.as_deref(), AcceptingProcess::Another).map_err(failed)?;
        match tree.undo_with(&changes, beside.as_deref()).map_err(failed)? {
            UndoOutcome::Undone { .. } => Ok(Vec::new()),
            UndoOutcome::Conflict(conflicts) => {
                Ok(conflicts.into_iter().map(|conflict| conflict.path).collect())
            }
            _ => Err(failed("it is not kept")),
        }
    }
}

fn failed(error: impl std::fmt::Display) -> CallFailure {
    CallFailure(Failure::Call, error.to_string())
}
