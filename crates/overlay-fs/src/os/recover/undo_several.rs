use std::collections::BTreeSet;
use std::io;

use super::undo::{damaged_journal, is_whole};
use crate::os::commit::commit_failure::CommitFailure;
use crate::os::commit::commit_failure::at_root;
use crate::os::commit::lock::CommitLock;
use crate::os::staging::{Phase, Staging};
use crate::os::{OsTree, UndoOutcome};
use crate::{Conflict, ContentHash, TreeError, WorkspacePath};

/// How many commits were taken back.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SeveralUndone {
    /// The number of commits, counted from the last one.
    pub commits: usize,
    /// The paths that were put back, removed or restored.
    pub paths: Vec<WorkspacePath>,
    /// What [other participants](crate::Workspace::commit_with) of these commits have taken back, as they named it,
    /// latest first.
    pub others: Vec<String>,
    /// Why not all were: the user has changed something since, or a commit is not kept. If this is found before the
    /// first one is taken back, none is.
    pub stopped: Option<UndoOutcome>,
}

/// What is found of a commit that is to be taken back.
struct Found {
    paths: Vec<WorkspacePath>,
    /// What of it is not as the commit left it.
    changed: Vec<Conflict>,
    /// What another participant did.
    other: Option<String>,
}

impl OsTree {
    /// Takes back several commits, the last one first. `commits` are their [digests](crate::ChangeSet::digest_with),
    /// oldest first.
    ///
    /// All of them are checked before the first one is taken back: if the user has changed a file since, or one is
    /// not kept any more, nothing is changed. Each is taken back as [`undo`](Self::undo) does it. Only an edit, or an
    /// error, in the very moment of the undo can leave the older ones in force.
    pub fn undo_several(&self, commits: &[ContentHash]) -> Result<SeveralUndone, TreeError> {
        let mut several = SeveralUndone::default();
        let mut others = Vec::new();
        let mut conflicts = Vec::new();
        let mut later = BTreeSet::new();
        for place in (0..commits.len()).rev() {
            let Some(Found { paths, changed, other }) = self.look_at(commits, place)? else {
                return Ok(SeveralUndone { stopped: Some(UndoOutcome::NotKept), ..several });
            };
            others.push(other);
            // What a later one of these commits changed will be as this one left it, once the later one is taken
            // back.
            conflicts.extend(changed.into_iter().filter(|conflict| !later.contains(&conflict.path)));
            later.extend(paths);
        }
        if !conflicts.is_empty() {
            conflicts.sort_by(|one, other| one.path.cmp(&other.path));
            return Ok(SeveralUndone { stopped: Some(UndoOutcome::Conflict(conflicts)), ..several });
        }
        for (place, other) in (0..commits.len()).rev().zip(others) {
            match self.undo_found(|| self.find_nth(commits[place], 0)) {
                Ok(UndoOutcome::Undone { paths, .. }) => {
                    several.commits += 1;
                    several.paths.extend(paths);
                    several.others.extend(other);
                }
                Ok(outcome) => {
                    several.stopped = Some(outcome);
                    break;
                }
                Err(error) if several.commits == 0 => return Err(error),
                Err(error) => {
                    let message = format!(
                        "{} of {} commits were taken back, then: {error}",
                        several.commits,
                        commits.len()
                    );
                    return Err(TreeError::failed(WorkspacePath::root(), message));
                }
            }
        }
        several.paths.sort();
        several.paths.dedup();
        Ok(several)
    }

    /// A commit as it is found now; `None` if it is not kept.
    fn look_at(&self, commits: &[ContentHash], place: usize) -> Result<Option<Found>, TreeError> {
        let _lock = CommitLock::take(&self.root)?;
        self.recover()?;
        // The same changes may have been made, taken back and made again.
        let same_later = commits[place + 1..].iter().filter(|commit| **commit == commits[place]).count();
        let found = self.find_nth(commits[place], same_later).map_err(|error| at_root(&error))?;
        let Some((staging, phase)) = found else { return Ok(None) };
        let Some(journal) = staging.journal(phase).map_err(|error| at_root(&error))? else {
            return Err(damaged_journal(&staging));
        };
        if !is_whole(&staging, &journal.steps).map_err(|error| at_root(&error))? {
            return Ok(None);
        }
        let changed = self.changed_since(&journal.steps).map_err(CommitFailure::into_error)?;
        let paths = journal.steps.into_iter().map(|step| step.path).collect();
        Ok(Some(Found { paths, changed, other: journal.beside }))
    }

    /// The commit of these changes that can be taken back: the last one, or the one before `later` others with the
    /// same changes.
    fn find_nth(&self, changes: ContentHash, later: usize) -> io::Result<Option<(Staging, Phase)>> {
        let mut left = later;
        for (staging, phase) in self.ended()?.into_iter().rev() {
            if phase != Phase::Committed || staging.changes(phase)? != Some(changes) {
                continue;
            }
            if left == 0 {
                return Ok(Some((staging, phase)));
            }
            left -= 1;
        }
        Ok(None)
    }
}
