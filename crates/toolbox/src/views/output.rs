use std::time::Duration;

use headstart_git_ahead::GitChange;
use headstart_overlay_fs::{Change, ChangeKind, ChangeSet, WorkspacePath};

use super::{Refused, Tier};
use crate::CommandOutput;

/// What came of a command in a view.
#[derive(Debug, Clone, PartialEq)]
pub struct ViewOutput {
    /// What it printed, and how it ended.
    pub output: CommandOutput,
    /// Everything in which the view differs from [`ViewRequest::base`](super::ViewRequest::base): what was staged before, as far as it is still there, and what the
    /// command wrote. Nothing that git ignores is in it, unless it was staged before.
    pub changes: ChangeSet,
    /// What the commands in this view did to the git repository of the workspace, all of them together. None of it is in
    /// [`changes`](Self::changes).
    pub git: Option<GitChange>,
    /// Why what it did to a git repository cannot be kept, where it cannot.
    pub git_refused: Option<String>,
    /// Folders that git ignores and that it wrote to: build output, which stays in the view.
    pub warm: Vec<WorkspacePath>,
    /// Paths outside the workspace that it wrote to, as it named them; caches of package managers are not among them.
    pub outside: Vec<String>,
    /// What it asked for and did not get.
    pub refused: Refused,
    /// Paths of [`changes`](Self::changes) that their user changed on disk while it ran: nothing is known of what the change rests on.
    pub changed_meanwhile: Vec<WorkspacePath>,
    /// What could not be staged as it was (a socket, a set-user-ID bit), in words for the model.
    pub notes: Vec<String>,
    /// When it began, in milliseconds since the Unix epoch, or some moment before that: what changes on disk from then on it may not have seen.
    pub began_ms: u64,
    /// What it took.
    pub cost: ViewCost,
    /// By what it was kept apart, where that is another than [`CommandRunner::views`](crate::CommandRunner::views) says.
    pub tier: Option<Tier>,
}

/// What a command in a view took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ViewCost {
    /// From its start to its end.
    pub time: Duration,
    /// Of all its processes together.
    pub processor: Duration,
    /// Most memory that it held, in bytes; 0 where that is not known.
    pub peak_bytes: u64,
}

impl ViewOutput {
    /// A command that did nothing but print.
    pub fn of(output: CommandOutput, changes: ChangeSet) -> Self {
        Self {
            output,
            changes,
            git: None,
            git_refused: None,
            warm: Vec::new(),
            outside: Vec::new(),
            refused: Refused::default(),
            changed_meanwhile: Vec::new(),
            notes: Vec::new(),
            began_ms: 0,
            cost: ViewCost::default(),
            tier: None,
        }
    }

    /// The paths at which the view now differs from what was staged before the command, in order; a folder counts only by what is in it.
    pub fn changed_since(&self, staged: &ChangeSet) -> Vec<WorkspacePath> {
        let missing_in = |other: &ChangeSet, change: &Change| {
            let same = |one: &Change| one.path == change.path && is_same(&one.kind, &change.kind);
            change.kind != ChangeKind::CreateDirectory && !other.changes.iter().any(same)
        };
        let now = self.changes.changes.iter().filter(|change| missing_in(staged, change));
        let before = staged.changes.iter().filter(|change| missing_in(&self.changes, change));
        let mut paths: Vec<_> = now.chain(before).map(|change| change.path.clone()).collect();
        paths.sort_unstable();
        paths.dedup();
        paths
    }
}

/// Whether both leave the same at their path, wherever it came from.
fn is_same(one: &ChangeKind, other: &ChangeKind) -> bool {
    match (one, other) {
        (
            ChangeKind::Write { content: one, executable: one_runs, .. },
            ChangeKind::Write { content: other, executable: other_runs, .. },
        ) => one == other && one_runs == other_runs,
        (ChangeKind::Link { target: one, .. }, ChangeKind::Link { target: other, .. }) => one == other,
        (one, other) => one == other,
    }
}
