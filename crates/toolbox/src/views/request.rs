use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use headstart_git_ahead::GitChange;
use headstart_overlay_fs::{ChangeSet, Tree, WorkspacePath};
use headstart_tool_gate::DenyRules;

use crate::Secrets;

/// Names one view: that of one step of work ahead, for as long as the step lives.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ViewId(Arc<str>);

/// A command for a view.
#[derive(Clone)]
pub struct ViewRequest {
    /// The command line, for `bash -c`, as the model wrote it: a view needs no form in which it only reads.
    pub command: String,
    /// Where it runs: a folder of the workspace, or one that is staged.
    pub directory: WorkspacePath,
    /// Where it runs. The first command makes the view, those after it find there what it left.
    pub view: ViewId,
    /// What has to show in it of the work that this one stands on, over the workspace on disk; empty for work that stands on the workspace.
    pub below: Arc<ChangeSet>,
    /// What has to show in it over both, and nothing else of the work.
    pub staged: Arc<ChangeSet>,
    /// What the work did to the git repository of the workspace before, which has to show as well.
    pub git: GitSoFar,
    /// The workspace with what is [`below`](Self::below): what a change rests on is what this tree has.
    pub base: Arc<dyn Tree>,
    /// What must not be there: each path that [`DenyRules::matching`] finds, and each that [`DenyRules::secret`] finds, unless
    /// [`secrets`](Self::secrets) are open.
    pub deny: DenyRules,
    /// Whether files that hold a secret by their name may be there.
    pub secrets: Secrets,
    /// It is ended after this time.
    pub time_limit: Duration,
    /// At most so many bytes of output are kept.
    pub output_limit: usize,
}

/// What work ahead did to a git repository before a command runs in a view of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GitSoFar {
    /// The work that this one stands on, as far as it is not accepted, the lowest first.
    pub below: Vec<GitChange>,
    /// The commands in this view.
    pub step: Option<GitChange>,
}

impl GitSoFar {
    /// Whether the repository is as its user has it.
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
