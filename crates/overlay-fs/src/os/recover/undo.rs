use std::collections::BTreeSet;
use std::io;

use crate::os::OsTree;
use crate::os::commit::apply::{Applied, difference, is_folder, not_put_back};
use crate::os::commit::commit_failure::CommitFailure;
use crate::os::commit::commit_failure::{at_root, not_followed, not_taken_back};
use crate::os::commit::folders::Folders;
use crate::os::commit::lock::CommitLock;
use crate::os::commit::stage;
use crate::os::disk::calls::Time;
use crate::os::disk::seen::{FileState, hold, look_if_there};
use crate::os::staging::journal::{Action, Journal, Step};
use crate::os::staging::{Phase, Staging};
use crate::{
    ChangeSet, Conflict, ConflictKind, ContentHash, Direction, EntryKind, Finish, NotPrepared, Prepared,
    TreeError, WorkspacePath,
};

/// How an undo ended, unless with an error.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum UndoOutcome {
    /// The workspace is as it was before the accept.
    Undone {
        /// The digest of the changes that were taken back; see [`ChangeSet::digest`](crate::ChangeSet::digest).
        changes: ContentHash,
        /// The paths that were put back, removed or restored.
        paths: Vec<WorkspacePath>,
    },
    /// The user changed what was accepted. Nothing was changed.
    Conflict(Vec<Conflict>),
    /// There is no such accept (any more): it was never made here, or is older than what is kept.
    NotKept,
}

impl OsTree {
    /// Takes back the commit of these changes, unless something of it has changed since.
    ///
    /// It is as safe as a commit: all or nothing, verified path by path, taken back by the next run if the process
    /// dies in the middle. What was replaced comes back as the same inode with its attributes, but with the current
    /// time, so that builds notice it. A folder that the commit made stays if it is not empty.
    pub fn undo(&self, changes: &ChangeSet) -> Result<UndoOutcome, TreeError> {
        self.undo_with(changes, None)
    }

    /// As [`undo`](Self::undo) for a commit with [another participant](crate::Workspace::commit_with), which takes
    /// its part back too: both or neither.
    pub fn undo_with(&self, changes: &ChangeSet, beside: Option<&str>) -> Result<UndoOutcome, TreeError> {
        let digest = changes.digest_with(beside);
        self.undo_found(|| self.find(digest))
    }

    /// Takes back the last commit to this workspace that is not taken back yet; see [`undo`](Self::undo).
    pub fn undo_last(&self) -> Result<UndoOutcome, TreeError> {
        self.undo_found(|| self.last_committed())
    }

    fn last_committed(&self) -> io::Result<Option<(Staging, Phase)>> {
        for (staging, phase) in self.ended()?.into_iter().rev() {
            let is_half_removed = || match staging.journal(phase)? {
                Some(journal) => is_whole(&staging, &journal.steps).map(|is_whole| !is_whole),
                None => Ok(false),
            };
            if phase == Phase::Committed && !is_half_removed()? {
                return Ok(Some((staging, phase)));
            }
        }
        Ok(None)
    }

    pub(in crate::os) fn undo_found(
        &self,
        find: impl FnOnce() -> io::Result<Option<(Staging, Phase)>>,
    ) -> Result<UndoOutcome, TreeError> {
        let _lock = CommitLock::take(&self.root)?;
        self.recover()?;
        let Some((staging, phase)) = find().map_err(|error| at_root(&error))? else {
            return Ok(UndoOutcome::NotKept);
        };
        let journal = staging.journal(phase).map_err(|error| at_root(&error))?;
        let Some(journal) = journal else { return Err(damaged_journal(&staging)) };
        let Some(changes) = staging.changes(phase).map_err(|error| at_root(&error))? else {
            return Ok(UndoOutcome::NotKept);
        };
        if phase == Phase::Undone {
            // The process died before its caller could note the undo.
            return Ok(UndoOutcome::Undone { changes, paths: self.taken_back(&journal.steps) });
        }
        if !is_whole(&staging, &journal.steps).map_err(|error| at_root(&error))? {
            return Ok(UndoOutcome::NotKept);
        }
        let conflicts = self.changed_since(&journal.steps).map_err(CommitFailure::into_error)?;
        if !conflicts.is_empty() {
            return Ok(UndoOutcome::Conflict(conflicts));
        }
        let other = journal.beside.as_deref().map(|beside| self.prepare_other(beside, Direction::Undo));
        let other = match other.transpose() {
            Ok(other) => other,
            Err(NotPrepared::Conflict(conflicts)) => return Ok(UndoOutcome::Conflict(conflicts)),
            Err(NotPrepared::Error(error)) => return Err(error),
        };
        match self.take_commit_back(&staging, changes, &journal, other) {
            Ok(Finish::Done) => Ok(UndoOutcome::Undone { changes, paths: self.taken_back(&journal.steps) }),
            Ok(Finish::Refused(conflicts)) => Ok(UndoOutcome::Conflict(conflicts)),
            Err(CommitFailure::Conflict(conflict)) => Ok(UndoOutcome::Conflict(vec![*conflict])),
            Ok(Finish::Failed(error)) | Err(CommitFailure::Error(error)) => Err(error),
        }
    }

    /// The paths at which a commit was taken back. A folder that it made is among them if it made nothing in it, and if it
    /// is gone: one in which something is now stays.
    fn taken_back(&self, steps: &[Step]) -> Vec<WorkspacePath> {
        let above: BTreeSet<_> = steps.iter().filter_map(|step| step.path.parent()).collect();
        let mut folders = Folders::new(&self.root);
        let mut is_gone = |path: &WorkspacePath| {
            folders.target(path).map_or(true, |at| matches!(look_if_there(at), Ok(None)))
        };
        let is_told = |step: &&Step| {
            step.action != Action::MakeFolder || !above.contains(&step.path) && is_gone(&step.path)
        };
        let mut paths: Vec<_> = steps.iter().filter(is_told).map(|step| step.path.clone()).collect();
        paths.sort();
        paths.dedup();
        paths
    }

    /// The paths that are not as the commit left them.
    pub(in crate::os) fn changed_since(&self, steps: &[Step]) -> Result<Vec<Conflict>, CommitFailure> {
        let mut folders = Folders::new(&self.root);
        let mut conflicts = Vec::new();
        let mut add = |path: &WorkspacePath, kind| conflicts.push(Conflict::new(path.clone(), kind));
        for step in steps {
            // A path that is removed first and made anew has a later step, which says more.
            let is_remade = || steps.iter().filter(|other| other.path == step.path).count() > 1;
            let target = match folders.target(&step.path) {
                Ok(target) => target,
                Err(CommitFailure::Conflict(_))
                    if step.action == Action::MakeFolder || is_below_put(step, steps) =>
                {
                    continue;
                }
                Err(CommitFailure::Conflict(conflict)) => {
                    // The commit removed the folder above too.
                    if step.new.is_some() || conflict.kind != ConflictKind::Deleted {
                        add(&step.path, conflict.kind);
                    }
                    continue;
                }
                Err(failure) => return Err(failure),
            };
            let there = look_if_there(target).map_err(|error| CommitFailure::io(&step.path, error))?;
            match (step.action, there, &step.new) {
                (Action::Put | Action::Replace, None, _) => add(&step.path, ConflictKind::Deleted),
                (Action::Put | Action::Replace, Some(_), Some(new)) => {
                    let held = hold(target).map_err(|error| CommitFailure::io(&step.path, error))?;
                    if let Some(kind) = difference(new, &held) {
                        add(&step.path, kind);
                    }
                }
                (Action::TakeAway, Some(_), _) if !is_remade() => add(&step.path, ConflictKind::Created),
                (Action::RemoveFolder, Some(found), _)
                    if found.kind != EntryKind::Directory && !is_remade() =>
                {
                    add(&step.path, ConflictKind::Created);
                }
                _ => {}
            }
        }
        conflicts.sort_by(|a, b| a.path.cmp(&b.path));
        conflicts.dedup();
        Ok(conflicts)
    }

    fn take_commit_back(
        &self,
        staging: &Staging,
        changes: ContentHash,
        commit: &Journal,
        mut other: Option<Box<dyn Prepared>>,
    ) -> Result<Finish, CommitFailure> {
        let made = &commit.steps;
        let mut steps = Vec::with_capacity(made.len());
        for step in made.iter().rev() {
            steps.extend(self.reverse(staging, step)?);
        }
        if self.is_full() {
            let copies = made.iter().map(|step| &step.name).filter(|name| is_folder(staging.at(name)));
            stage::sync(staging, &copies.cloned().collect::<Vec<_>>()).map_err(CommitFailure::at_root)?;
        }
        let journal =
            Journal::new(changes, staging.identity().map_err(CommitFailure::at_root)?.to_owned(), steps);
        let journal = journal.with_beside(other.as_deref().map(Prepared::note)).with_turn(commit.turn);
        staging
            .begin(Phase::Undoing, &journal, Time::default(), self.is_full())
            .map_err(CommitFailure::at_root)?;
        let mut applied = Applied::new(&self.root, staging);
        let held = other.as_mut().map_or(Ok(()), |other| other.hold()).map_err(CommitFailure::from);
        let outcome = held.and_then(|()| applied.apply(&journal.steps)).and_then(|()| {
            if self.is_full() {
                applied.sync(&journal.steps)?;
            }
            let next = if other.is_some() { Phase::Returning } else { Phase::Undone };
            staging.end(Phase::Undoing, next, self.is_full()).map_err(CommitFailure::at_root)
        });
        let Err(failure) = outcome else {
            let finish = match other {
                Some(other) => self.other_back(staging, other)?,
                None => Finish::Done,
            };
            if finish != Finish::Done {
                return self.keep_commit(staging, &mut applied, &journal, finish);
            }
            // The undo is done, so what cannot be removed now is left to a sweep.
            let _ = staging.remove_content();
            return Ok(Finish::Done);
        };
        drop(other);
        let kept = match applied.roll_back(&journal.steps, self.is_full()) {
            Ok(kept) => kept,
            Err(error) => return Err(not_taken_back(failure, &error)),
        };
        if kept.is_empty() {
            let _ = staging.leave(Phase::Undoing, self.is_full());
            return Err(failure);
        }
        let _ = staging.go(Phase::Undoing, Phase::Kept, self.is_full());
        Err(CommitFailure::Error(not_put_back(staging, &kept)))
    }

    /// Has the participant follow, now that the files are as before the commit. After an error it is not known how
    /// far it got, so the next run asks it again.
    fn other_back(&self, staging: &Staging, other: Box<dyn Prepared>) -> Result<Finish, CommitFailure> {
        let finish = other.commit().map_err(|error| not_followed(&error))?;
        if finish == Finish::Done {
            staging.end(Phase::Returning, Phase::Undone, self.is_full()).map_err(CommitFailure::at_root)?;
        }
        Ok(finish)
    }

    /// Puts the files in place again, because the participant did not go back.
    fn keep_commit(
        &self,
        staging: &Staging,
        applied: &mut Applied<'_>,
        journal: &Journal,
        finish: Finish,
    ) -> Result<Finish, CommitFailure> {
        match applied.roll_back(&journal.steps, self.is_full()) {
            Ok(kept) if kept.is_empty() => {
                let _ = staging.leave(Phase::Returning, self.is_full());
                Ok(finish)
            }
            Ok(kept) => {
                let _ = staging.go(Phase::Returning, Phase::Kept, self.is_full());
                Err(CommitFailure::Error(not_put_back(staging, &kept)))
            }
            Err(error) => Err(not_taken_back(CommitFailure::of_finish(finish), &error)),
        }
    }

    /// The step that takes a step back, if there is anything to take back. What it puts in must be what came out.
    fn reverse(&self, staging: &Staging, made: &Step) -> Result<Option<Step>, CommitFailure> {
        let failed = |error: io::Error| CommitFailure::io(&made.path, error);
        let (action, new) = match made.action {
            Action::Replace => (Action::Replace, Some(Self::kept(staging, made)?)),
            Action::TakeAway => (Action::Put, Some(Self::kept(staging, made)?)),
            Action::Put => (Action::TakeAway, None),
            Action::RemoveFolder | Action::RemoveOwnFolder => {
                let at = staging.at(&made.name);
                let bits = made.old.as_ref().map_or(0o777, |old| old.mode);
                match look_if_there(at).map_err(failed)? {
                    Some(found) if found.mode == bits => {}
                    // The copy is missing or half made: an undo that was taken back used it, or one that failed was
                    // making it.
                    found => stage::folder(at, bits, found.is_some()).map_err(failed)?,
                }
                let found = look_if_there(at).map_err(failed)?;
                (Action::MakeFolder, found.map(|found| FileState::new(&found, None)))
            }
            Action::MakeFolder => {
                let waits = look_if_there(staging.at(&made.name)).map_err(failed)?;
                if waits.is_some_and(|waits| made.new.as_ref().is_some_and(|new| new.is(&waits))) {
                    // The folder existed before the commit, so it is the user's.
                    return Ok(None);
                }
                let mut folders = Folders::new(&self.root);
                if let Ok(target) = folders.target(&made.path)
                    && look_if_there(target)
                        .map_err(failed)?
                        .is_some_and(|found| found.kind == EntryKind::Directory)
                {
                    stage::copy_of_folder(target, staging.at(&made.name)).map_err(failed)?;
                }
                (Action::RemoveOwnFolder, None)
            }
        };
        let mut old = made.new.clone();
        if let Some(old) = &mut old {
            // A later accept may have removed it, and its undo brought it back.
            let mut folders = Folders::new(&self.root);
            let target = folders.target(&made.path);
            if let Some(found) = target.ok().map(look_if_there).transpose().map_err(failed)?.flatten() {
                (old.inode, old.modified) = (found.inode, found.modified);
            }
        }
        Ok(Some(Step { path: made.path.clone(), action, name: made.name.clone(), old, new }))
    }

    /// Gets what came out of the workspace ready to go in again.
    fn kept(staging: &Staging, made: &Step) -> Result<FileState, CommitFailure> {
        let at = staging.at(&made.name);
        let held = hold(at).map_err(|error| CommitFailure::io(&made.path, error))?;
        let is_same = made.old.as_ref().is_some_and(|old| difference(old, &held).is_none());
        if !is_same {
            let message = format!(
                "what was kept of it ({}/{}) was changed by somebody else; nothing was undone",
                staging.told, made.name
            );
            return Err(CommitFailure::Error(TreeError::failed(made.path.clone(), message)));
        }
        let content_changes = made.new.as_ref().is_none_or(|new| new.hash != held.hash);
        if held.found.kind != EntryKind::File || !content_changes {
            return Ok(FileState::new(&held.found, held.hash));
        }
        let touched =
            stage::touch(staging, &made.name).map_err(|error| CommitFailure::io(&made.path, error))?;
        Ok(FileState::new(&touched, held.hash))
    }
}

pub(in crate::os) fn damaged_journal(staging: &Staging) -> TreeError {
    let message = format!("the journal in {} is damaged; nothing was undone", staging.told);
    TreeError::failed(WorkspacePath::root(), message)
}

/// Whether the commit replaced a folder above. Then that path shows whether everything is as it was left.
fn is_below_put(step: &Step, steps: &[Step]) -> bool {
    let is_put = |other: &&Step| matches!(other.action, Action::Put | Action::Replace);
    steps.iter().filter(is_put).any(|other| other.path != step.path && step.path.starts_with(&other.path))
}

/// Whether everything is there that the steps took out. It may be incomplete if the power failed while it was being
/// removed.
pub(in crate::os) fn is_whole(staging: &Staging, steps: &[Step]) -> io::Result<bool> {
    for step in steps.iter().filter(|step| matches!(step.action, Action::TakeAway | Action::Replace)) {
        if look_if_there(staging.at(&step.name))?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}
