//! Commands in views over the workspace itself, for a side that is on the same machine.

use headstart_git_ahead::GitChange;
use headstart_overlay_fs::{ChangeSet, WorkspacePath};
use headstart_tool_gate::DenyRule;
use serde::{Deserialize, Serialize};

use super::RunResult;
use crate::{PriorGitChanges, ViewOutput};

/// A [`ViewRequest`](crate::ViewRequest) for a view over the workspace itself. It has the contents in it, because no
/// network is between the two sides, and the rules, because the view is over files that they close.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LocalRunRequest {
    /// Identifies the call.
    pub id: u64,
    /// [`ViewRequest::view`](crate::ViewRequest::view).
    pub view: String,
    /// [`ViewRequest::command`](crate::ViewRequest::command).
    pub command: String,
    /// [`ViewRequest::directory`](crate::ViewRequest::directory).
    pub directory: WorkspacePath,
    /// [`ViewRequest::below`](crate::ViewRequest::below). What it says of the workspace before the changes is ignored.
    pub below: ChangeSet,
    /// [`ViewRequest::staged`](crate::ViewRequest::staged), read in the same way.
    pub staged: ChangeSet,
    /// [`ViewRequest::git`](crate::ViewRequest::git).
    #[serde(default)]
    pub git: PriorGitChanges,
    /// The rules of [`ViewRequest::deny`](crate::ViewRequest::deny), which count besides those of this side.
    pub deny: Vec<DenyRule>,
    /// Whether the view may show files whose names say that they hold a secret.
    pub secrets_open: bool,
    /// [`ViewRequest::time_limit`](crate::ViewRequest::time_limit), in milliseconds.
    pub time_ms: u64,
    /// [`ViewRequest::output_limit`](crate::ViewRequest::output_limit).
    pub output_bytes: usize,
}

/// The answer to a [`LocalRunRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LocalRunResult {
    /// Everything but the changes, which are in [`staged`](Self::staged).
    #[serde(flatten)]
    pub result: RunResult,
    /// [`ViewOutput::changes`](crate::ViewOutput::changes).
    pub staged: ChangeSet,
    /// [`ViewOutput::git`](crate::ViewOutput::git).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<GitChange>,
    /// [`ViewOutput::began_ms`](crate::ViewOutput::began_ms).
    pub began_ms: u64,
}

impl LocalRunResult {
    /// The result of a view as the answer to a call.
    pub fn of(id: u64, ran: &ViewOutput) -> Self {
        let result =
            RunResult::of(id, &ViewOutput { changes: ChangeSet::default(), git: None, ..ran.clone() });
        Self { result, staged: ran.changes.clone(), git: ran.git.clone(), began_ms: ran.began_ms }
    }
}
