use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use headstart_git_ahead::GitChange;
use headstart_overlay_fs::{ChangeSet, Tree, WorkspacePath};
use headstart_tool_gate::DenyRules;
use serde::{Deserialize, Serialize};

use crate::{PartialOutput, SecretAccess};

/// Identifies a view: that of one step of work ahead, for as long as the step exists.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ViewId(Arc<str>);

/// A command for a view.
#[derive(Clone)]
pub struct ViewRequest {
    /// The command line for `bash -c`, as the model wrote it, because in a view it may also write.
    pub command: String,
    /// The folder in which it runs: one of the workspace, or one that is staged.
    pub directory: WorkspacePath,
    /// The view. The first command makes it, and later ones find what that left.
    pub view: ViewId,
    /// What the view has to show of the work below this one, over the workspace on disk; empty if there is none.
    pub below: Arc<ChangeSet>,
    /// What the view has to show of this work, over both.
    pub staged: Arc<ChangeSet>,
    /// What the work did to the git repository of the workspace so far, which the view has to show too.
    pub git: PriorGitChanges,
    /// The workspace with what is [`below`](Self::below): the base of all changes.
    pub base: Arc<dyn Tree>,
    /// What the view must not show: each path that [`DenyRules::matching`] finds, and each that [`DenyRules::secret`]
    /// finds, unless [`secrets`](Self::secrets) are open.
    pub deny: DenyRules,
    /// Whether the view may show files whose names say that they hold a secret.
    pub secrets: SecretAccess,
    /// The time limit, after which it is ended.
    pub time_limit: Duration,
    /// The most bytes of output that are kept.
    pub output_limit: usize,
    /// Receives what it prints while it runs. Nothing has been compared with what is closed by then, so this is for the
    /// eyes of the user alone.
    pub printed: Option<Arc<dyn PartialOutput>>,
}

/// What work ahead did to a git repository before a command runs in a view of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriorGitChanges {
    /// The changes of the work below this one, as far as it is not accepted, the lowest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub below: Vec<GitChange>,
    /// The changes of the commands in this view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<GitChange>,
}

impl PriorGitChanges {
    /// Whether the repository is as the user has it.
    pub fn is_empty(&self) -> bool {
        self.below.is_empty() && self.step.is_none()
    }
}

impl fmt::Debug for ViewRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ViewRequest")
            .field("command", &self.command)
            .field("view", &self.view)
            .finish_non_exhaustive()
    }
}

impl ViewId {
    /// The view of this name.
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    /// Its name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ViewId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
