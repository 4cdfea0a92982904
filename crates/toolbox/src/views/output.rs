use std::time::Duration;

use headstart_git_ahead::GitChange;
use headstart_overlay_fs::{Change, ChangeKind, ChangeSet, LeftOut, Torn, WorkspacePath};

use super::{Tier, ViewRefusals};
use crate::CommandOutput;

/// The result of a command in a view.
#[derive(Debug, Clone, PartialEq)]
pub struct ViewOutput {
    /// What it printed, and how it ended.
    pub output: CommandOutput,
    /// All differences of the view from [`ViewRequest::base`](super::ViewRequest::base): what was staged before, as
    /// far as it is still there, and what the command wrote. Ignored files are only in it if they were staged before.
    pub changes: ChangeSet,
    /// What all commands in this view did to the git repository of the workspace. None of it is in
    /// [`changes`](Self::changes).
    pub git: Option<GitChange>,
    /// Why changes of a git repository cannot be kept, if so.
    pub git_refused: Option<String>,
    /// Ignored folders that it wrote to: build output, which stays in the view.
    pub warm: Vec<WorkspacePath>,
    /// What all commands of the view wrote and removed that is not in [`changes`](Self::changes).
    pub left_out: Vec<LeftOut>,
    /// What brings those of them that have no obstacle ([`LeftOut::obstacle`]), if this side knows their contents.
    pub keepable: Vec<Change>,
    /// Whether the view was made for this command: it shows nothing of what earlier ones left out.
    pub is_new_view: bool,
    /// If the only copy of something may be among that: the changes must not be staged then.
    pub torn: Option<Torn>,
    /// A file with several names (hard links) that it changed, removed or made: an accept would part them, so nothing
    /// that it wrote is among the changes.
    pub hard_links: Option<WorkspacePath>,
    /// Paths outside the workspace that it wrote to, as it named them, without caches of package managers.
    pub outside: Vec<String>,
    /// What it asked for and was refused.
    pub refused: ViewRefusals,
    /// Paths of [`changes`](Self::changes) that the user changed on disk while it ran, so that it is not known on
    /// what the change is based.
    pub changed_meanwhile: Vec<WorkspacePath>,
    /// What could not be staged as it was (a socket, a set-user-ID bit), in words for the model.
    pub notes: Vec<String>,
    /// A time in milliseconds since the Unix epoch, at its beginning or before: it may not have seen what changed on
    /// disk from then on.
    pub began_ms: u64,
    /// The resources that it took.
    pub cost: ViewCost,
    /// The tier of the view, if that is not the one of [`CommandRunner::views`](crate::CommandRunner::views).
    pub tier: Option<Tier>,
}

/// The resources that a command in a view took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ViewCost {
    /// From its start to its end.
    pub time: Duration,
    /// Processor time of all its processes together.
    pub processor: Duration,
    /// The most memory that it held, in bytes; 0 if unknown.
    pub peak_bytes: u64,
}

impl ViewOutput {
    /// The result of a command that only printed.
    pub fn of(output: CommandOutput, changes: ChangeSet) -> Self {
        Self {
            output,
            changes,
            git: None,
            git_refused: None,
            warm: Vec::new(),
            left_out: Vec::new(),
            keepable: Vec::new(),
            is_new_view: false,
            torn: None,
            hard_links: None,
            outside: Vec::new(),
            refused: ViewRefusals::default(),
            changed_meanwhile: Vec::new(),
            notes: Vec::new(),
            began_ms: 0,
            cost: ViewCost::default(),
            tier: None,
        }
    }

    /// The paths, in order, at which the view now differs from what was staged before the command. Folders without
    /// content are left out.
    pub fn changed_since(&self, staged: &ChangeSet) -> Vec<WorkspacePath> {
        let missing_in = |other: &ChangeSet, change: &Change| {
            let same = |one: &Change| {
                one.path == change.path && one.mode == change.mode && is_same(&one.kind, &change.kind)
            };
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

/// Whether both have the same result at their path, wherever its content came from.
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
