use async_trait::async_trait;

use super::apply::Applied;
use super::lock::CommitLock;
use super::plan::{Folders, Stop, prepare};
use super::staging::{self, Staging};
use super::{OsTree, tree_error};
use crate::{
    ChangeSet, CommitOptions, CommitOutcome, Resolution, TreeError, Workspace, WorkspacePath, resolve,
};

#[async_trait]
impl Workspace for OsTree {
    /// Plan, apply, finish: new files are written to a private folder first; then every path is exchanged or moved
    /// in one step of the kernel, and what came out is compared with what the change set rests on. On a surprise all
    /// steps are taken back.
    ///
    /// A replaced file keeps its permission bits, and its owner where that is allowed; it is a new inode.
    /// A process that is killed in the middle leaves some paths new and some old, and the old ones in the
    /// staging folder.
    async fn commit(&self, changes: &ChangeSet, options: CommitOptions) -> Result<CommitOutcome, TreeError> {
        for change in &changes.changes {
            if change.path.is_root() || change.path.names().any(staging::is_staging_name) {
                let reason = "the name is reserved".to_owned();
                return Err(TreeError::Unsupported { path: change.path.clone(), reason });
            }
        }
        let _lock = CommitLock::take(&self.root)?;
        let (changes, committed) = match resolve(self, changes, options).await? {
            Resolution::Apply { changes, committed } => (changes, committed),
            Resolution::Conflict(found) => return Ok(CommitOutcome::Conflict(found)),
        };
        if changes.is_empty() {
            return Ok(CommitOutcome::Committed(committed));
        }
        match self.apply(&changes) {
            Ok(()) => Ok(CommitOutcome::Committed(committed)),
            Err(Stop::Conflict(conflict)) => Ok(CommitOutcome::Conflict(vec![*conflict])),
            Err(Stop::Error(error)) => Err(error),
        }
    }
}

impl OsTree {
    fn apply(&self, changes: &ChangeSet) -> Result<(), Stop> {
        let at_root = |error: std::io::Error| Stop::Error(tree_error(&WorkspacePath::root(), &error));
        let staging = Staging::create(&self.root).map_err(at_root)?;
        let steps = prepare(&mut Folders::new(&self.root), &staging, changes);
        let steps = steps.and_then(|steps| {
            staging.mark_applying().map_err(at_root)?;
            Ok(steps)
        });
        let steps = steps.inspect_err(|_| discard(&staging))?;
        let mut applied = Applied::new(&self.root, &staging);
        let outcome = applied.apply(&steps);
        if outcome.is_ok() && !applied.finish() {
            // Not lost, and a sweep tells of it; but the commit is through.
            let _ = staging.mark_kept();
            return outcome;
        }
        let kept = if outcome.is_ok() { Vec::new() } else { applied.roll_back() };
        if kept.is_empty() {
            // The commit has its outcome; what cannot be removed here is left to a sweep.
            let _ = staging.mark_idle();
            discard(&staging);
            return outcome;
        }
        let _ = staging.mark_kept();
        Err(Stop::Error(not_put_back(&staging, &kept)))
    }
}

fn discard(staging: &Staging) {
    let _ = staging.remove();
}

fn not_put_back(staging: &Staging, kept: &[(WorkspacePath, String)]) -> TreeError {
    let copies = kept.iter().map(|(path, name)| format!("{path} in {}/{name}", staging.name));
    let copies = copies.collect::<Vec<_>>().join(", ");
    let message = format!(
        "changed by somebody else while the accept was taken back; the former content is kept: {copies}"
    );
    TreeError::Io { path: kept[0].0.clone(), message }
}
