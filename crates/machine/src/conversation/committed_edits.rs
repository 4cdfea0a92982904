//! What was written into the workspace, for the code that shows it.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use headstart_forked_query::ToolCall;
use headstart_overlay_fs::{
    ChangeSet, ChangeSummary, CommitOptions, CommitOutcome, TreeError, Workspace, WorkspaceWrapper,
    commit_inner,
};
use headstart_toolbox::edited_file;

/// How many commits are kept until the result of their call is shown.
const MAX_COMMITS: usize = 32;

/// What was committed and is not shown yet.
#[derive(Default)]
pub struct CommittedEdits {
    commits: Mutex<Vec<ChangeSet>>,
}

impl CommittedEdits {
    /// Takes the first kept commit that changed only the file of this call.
    pub fn take(&self, call: &ToolCall) -> Option<ChangeSet> {
        let path = edited_file(call)?.trim_start_matches("./").to_owned();
        let is_of_call = |changes: &ChangeSet| match changes.changes.as_slice() {
            [change] => {
                let changed = change.path.to_string();
                path.strip_suffix(changed.as_str())
                    .is_some_and(|before| before.is_empty() || before.ends_with('/'))
            }
            _ => false,
        };
        let mut commits = self.commits.lock().unwrap_or_else(PoisonError::into_inner);
        let place = commits.iter().position(is_of_call)?;
        Some(commits.remove(place))
    }

    /// Takes the last kept commit that changed exactly these files.
    pub fn take_all(&self, applied: &[ChangeSummary]) -> Option<ChangeSet> {
        // A moved file is two changes but one row, so rows are compared.
        let is_it = |changes: &ChangeSet| {
            let rows = changes.summary();
            rows.len() == applied.len()
                && rows.iter().all(|row| applied.iter().any(|summary| summary.path == row.path))
        };
        let mut commits = self.commits.lock().unwrap_or_else(PoisonError::into_inner);
        let place = commits.iter().rposition(is_it)?;
        Some(commits.remove(place))
    }

    /// Forgets the commits so far, because nothing asks for them any more.
    pub fn clear(&self) {
        self.commits.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn note(&self, changes: &ChangeSet, outcome: &CommitOutcome) {
        if !matches!(outcome, CommitOutcome::Committed(_)) {
            return;
        }
        let mut commits = self.commits.lock().unwrap_or_else(PoisonError::into_inner);
        if commits.len() == MAX_COMMITS {
            commits.remove(0);
        }
        commits.push(ChangeSet { changes: changes.changes.clone(), reads: Vec::new() });
    }
}

/// A workspace that notes what is committed to it.
pub(crate) struct RecordingWorkspace {
    workspace: Arc<dyn Workspace>,
    written: Arc<CommittedEdits>,
}

impl RecordingWorkspace {
    pub(crate) fn over(workspace: &Arc<dyn Workspace>, written: &Arc<CommittedEdits>) -> Arc<dyn Workspace> {
        Arc::new(Self { workspace: Arc::clone(workspace), written: Arc::clone(written) })
    }
}

#[async_trait]
impl WorkspaceWrapper for RecordingWorkspace {
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
        self.written.note(changes, &outcome);
        Ok(outcome)
    }
}
