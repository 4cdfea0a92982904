//! Ends interrupted commits, and finds commits that are done.

pub(super) mod kept_turns;
pub(super) mod orphans;
pub(super) mod outcome;
pub(super) mod sweep;
pub(super) mod undo;
pub(super) mod undo_several;

use std::io;

use self::outcome::{Stayed, SweepOutcome, Swept};
use super::OsTree;
use super::Undoable;
use super::commit::apply::{Applied, Kept, still_kept};
use super::commit::commit_failure::CommitFailure;
use super::commit::commit_failure::at_root;
use super::commit::lock::CommitLock;
use super::disk::calls::Time;
use super::disk::seen::look_if_there;
use super::staging::home::StagingHome;
use super::staging::journal::Action;
use super::staging::{Phase, Staging};
use crate::{ChangeSet, ContentHash, Direction, Finish, TreeError, WorkspacePath};

impl OsTree {
    /// Takes back what a dead process left half done. The caller must have the commit lock, which shows that no other
    /// process is at work. Returns the time of the last commit that is kept.
    ///
    /// A tree that ends a commit with nothing half done notes that ([`note_clean`](Self::note_clean)). Then it need not
    /// look again until another process had the commit lock.
    pub(super) fn recover(&self) -> Result<Time, TreeError> {
        let failed = |error: io::Error| at_root(&error);
        let homes = self.homes.existing().map_err(failed)?;
        let last = self.known().last.take();
        if self.had_last_token(&homes).map_err(failed)?
            && let Some(last) = last
        {
            return Ok(last);
        }
        let mut kept = Undoable::new();
        let mut last = Time::default();
        for (name, reached, half_done) in self.reached(&homes).map_err(failed)? {
            let phase = reached.phase;
            last = reached.journal.map_or(last, |journal| last.max(journal));
            if phase == Phase::Committed && self.options.undo.accepts != 0 {
                kept.insert(name, reached.bytes);
            }
            let Some(staging) = half_done else { continue };
            let (outcome, stayed) = self.take_back(&staging, phase).map_err(|error| at_root(&error))?;
            if outcome == SweepOutcome::Damaged {
                let message = format!(
                    "a former accept was interrupted, and its journal is damaged, so nothing is guessed; what the \
                     accept took out of the workspace is in {}: move it away when you have looked",
                    staging.told
                );
                return Err(TreeError::failed(WorkspacePath::root(), message));
            }
            self.note(Swept { name: staging.told.clone(), outcome, stayed });
        }
        *self.undoable() = kept;
        Ok(last)
    }

    /// Whether everything is as this tree left it. Writes this tree's token.
    fn had_last_token(&self, homes: &[StagingHome]) -> io::Result<bool> {
        let mut is_ours = false;
        for home in homes {
            is_ours = match home.path {
                Some(_) => self.renew_token(home)?,
                // A process with another state folder commits in the workspace itself, and writes no token here.
                None => is_ours && self.known().has_none(home, &self.clock)?,
            };
        }
        Ok(is_ours)
    }

    /// Notes that nothing is half done, and the time of the last commit that is kept. The caller must have the commit
    /// lock.
    pub(super) fn note_clean(&self, last: Time) {
        self.known().last = Some(last);
    }

    /// Takes back what was begun in this folder. Also returns what did not go back.
    pub(super) fn take_back(
        &self,
        staging: &Staging,
        phase: Phase,
    ) -> io::Result<(SweepOutcome, Vec<Stayed>)> {
        let Some(journal) = staging.journal(phase)? else { return Ok((SweepOutcome::Damaged, Vec::new())) };
        if let Some(beside) = &journal.beside
            && self.finish_other(staging, phase, beside)?
        {
            return Ok((SweepOutcome::Completed, Vec::new()));
        }
        let mut applied = Applied::new(&self.root, staging);
        let kept = applied.roll_back(&journal.steps, self.is_full())?;
        if let Some(beside) = journal.beside.as_ref().filter(|_| !phase.is_in_place()) {
            self.other().and_then(|other| other.release(beside)).map_err(io::Error::other)?;
        }
        let mut stayed = with_former(staging, kept);
        let is_kept = !stayed.is_empty();
        stayed.extend(applied.edited().into_iter().map(|path| Stayed { path, former: None }));
        if is_kept {
            staging.go(phase, Phase::Kept, self.is_full())?;
            return Ok((SweepOutcome::Kept, stayed));
        }
        if matches!(phase, Phase::Undoing | Phase::Returning) {
            // The accept is in force again, and can be undone again.
            staging.leave(phase, self.is_full())?;
            return Ok((SweepOutcome::UndoRolledBack, stayed));
        }
        staging.remove(self.is_full())?;
        Ok((SweepOutcome::RolledBack, stayed))
    }

    /// Whether a dead process may have left something half done, or a folder with what could not be put back. Changes
    /// nothing.
    pub fn has_interrupted(&self) -> Result<bool, TreeError> {
        let failed = |error: io::Error| at_root(&error);
        let phases = self.stagings().map_err(failed)?.into_iter().map(|staging| staging.phase());
        let phases = phases.collect::<io::Result<Vec<_>>>().map_err(failed)?;
        Ok(phases.into_iter().any(|phase| phase == Phase::Kept || phase.is_half_done()))
    }

    /// The folders with what could not be put back, and what of it is still there.
    pub fn not_put_back(&self) -> Result<Vec<Swept>, TreeError> {
        let failed = |error: io::Error| at_root(&error);
        let mut kept = Vec::new();
        for staging in self.stagings().map_err(failed)? {
            if staging.phase().map_err(failed)? != Phase::Kept {
                continue;
            }
            let Some(journal) = staging.journal(Phase::Kept).map_err(failed)? else { continue };
            let still = still_kept(&staging, &journal.steps).map_err(failed)?;
            let stayed = with_former(&staging, still);
            kept.push(Swept { name: staging.told, outcome: SweepOutcome::Kept, stayed });
        }
        Ok(kept)
    }

    /// Has the participant of a commit whose files are in place finish; returns whether it did, now or before. If it
    /// refuses, the files are to be taken back.
    fn finish_other(&self, staging: &Staging, phase: Phase, beside: &str) -> io::Result<bool> {
        let (direction, next) = match phase {
            Phase::Completing => (Direction::Apply, Phase::Committed),
            Phase::Returning => (Direction::Undo, Phase::Undone),
            _ => return Ok(false),
        };
        let finish = self.other().and_then(|other| other.finish(beside, direction));
        if finish.map_err(io::Error::other)? != Finish::Done {
            return Ok(false);
        }
        staging.end(phase, next, self.is_full())?;
        Ok(true)
    }

    /// Every staging folder of this workspace that this crate made for this user.
    pub(super) fn stagings(&self) -> io::Result<Vec<Staging>> {
        let mut stagings = Vec::new();
        for home in self.homes.existing()? {
            for name in home.names()? {
                stagings.extend(Staging::open(&home, &name)?);
            }
        }
        Ok(stagings)
    }

    /// The folder of a commit that is done, or was undone.
    pub(super) fn find(&self, changes: ContentHash) -> io::Result<Option<(Staging, Phase)>> {
        let mut found = None;
        for staging in self.stagings()? {
            let phase = staging.phase()?;
            let is_ended = matches!(phase, Phase::Committed | Phase::Undone);
            if is_ended && staging.changes(phase)? == Some(changes) {
                // A commit that was undone and made again counts as made.
                if phase == Phase::Committed {
                    return Ok(Some((staging, phase)));
                }
                found = Some((staging, phase));
            }
        }
        Ok(found)
    }

    /// Whether a commit made these changes, and all of them are still in the workspace: for a host that may have died
    /// before it could note that. Known as long as the commit can be undone.
    pub fn is_committed(&self, changes: &ChangeSet) -> Result<bool, TreeError> {
        let _lock = CommitLock::take(&self.root)?;
        self.recover()?;
        self.holds(changes.digest())
    }

    /// Whether a commit made these changes and nobody took them back, whatever became of the files since; see
    /// [`ChangeSet::digest`]. Known as long as the commit can be undone.
    pub fn has_committed(&self, changes: ContentHash) -> Result<bool, TreeError> {
        let _lock = CommitLock::take(&self.root)?;
        self.recover()?;
        let found = self.find(changes).map_err(|error| at_root(&error))?;
        Ok(matches!(found, Some((_, Phase::Committed))))
    }

    /// As [`is_committed`](Self::is_committed), for a caller with the commit lock.
    pub(super) fn holds(&self, changes: ContentHash) -> Result<bool, TreeError> {
        let found = self.find(changes).map_err(|error| at_root(&error))?;
        let Some((staging, Phase::Committed)) = found else { return Ok(false) };
        let journal = staging.journal(Phase::Committed).map_err(|error| at_root(&error))?;
        let Some(journal) = journal else { return Ok(false) };
        // The same changes may be wanted again, by another speculation or because the user took them back. There is
        // only nothing to do if all of them are still there.
        Ok(self.changed_since(&journal.steps).map_err(CommitFailure::into_error)?.is_empty())
    }

    /// Notes that one more accept is kept. The oldest are removed together, once twice as many are kept as the limit
    /// permits, unless a `prepare`, a sweep or the end of the tree comes first. Removing one at every accept would
    /// take as long as the accept, while the user waits.
    pub(super) fn keep_one_more(&self, name: &str, bytes: u64) {
        self.undoable().insert(name.to_owned(), bytes);
        if self.keeps_more_than(2) {
            // The commit is done, so what cannot be removed now is left to a sweep.
            let _ = self.trim(0, 0);
        }
    }

    /// Removes all kept accepts, because the last one is too large to be kept. As in [`trim`](Self::trim), an undo
    /// would otherwise take an older accept for the last one.
    pub(super) fn forget_kept(&self) {
        *self.undoable() = Undoable::new();
        for (staging, phase) in self.ended().unwrap_or_default() {
            if phase == Phase::Committed {
                // The commit is done, so what cannot be removed now is left to a sweep.
                let _ = drop_ended(&staging, phase, self.is_full());
            }
        }
    }

    /// Removes what `keep_one_more` left, unless another process at work here has done so.
    pub(super) fn make_room_at_end(&self) {
        if self.keeps_more_than(1)
            && let Some(_lock) = CommitLock::take_if_free(&self.root)
        {
            let _ = self.trim(0, 0);
        }
    }

    /// Whether more than this many times the limit is kept, counting all processes that commit here.
    fn keeps_more_than(&self, times: usize) -> bool {
        let (limit, kept) = (self.options.undo, self.undoable());
        let bytes = kept.values().fold(0, |sum: u64, bytes| sum.saturating_add(*bytes));
        let many = u64::try_from(times).unwrap_or(u64::MAX);
        limit.accepts.saturating_mul(times) < kept.len() || limit.bytes.saturating_mul(many) < bytes
    }

    /// Removes the oldest accepts, until there is room for this many more within the limit. The commits of the last turn
    /// are taken back together, so none of them goes because they are many.
    pub(super) fn trim(&self, accepts: usize, bytes: u64) -> io::Result<()> {
        let limit = self.options.undo;
        let mut kept = Undoable::new();
        let mut room = (limit.accepts.saturating_sub(accepts), limit.bytes.saturating_sub(bytes));
        let ended = self.ended()?;
        let last_turn = ended.last().map_or(Ok(None), |(staging, phase)| turn_of(staging, *phase))?;
        for (staging, phase) in ended.into_iter().rev() {
            let size = match staging.size() {
                // It contains a name that no commit gives. A sweep reports it and leaves it.
                Err(error) if error.kind() == io::ErrorKind::InvalidData => continue,
                size => size?,
            };
            let is_of_last_turn =
                || Ok::<_, io::Error>(last_turn.is_some() && turn_of(&staging, phase)? == last_turn);
            if size <= room.1 && (0 < room.0 || (limit.accepts != 0 && is_of_last_turn()?)) {
                room = (room.0.saturating_sub(1), room.1 - size);
                kept.insert(staging.name, size);
                continue;
            }
            // All folders from here on are older.
            room = (0, 0);
            drop_ended(&staging, phase, self.is_full())?;
        }
        *self.undoable() = kept;
        Ok(())
    }

    /// The folders of commits that are done, or were undone, oldest first.
    pub(super) fn ended(&self) -> io::Result<Vec<(Staging, Phase)>> {
        let mut ended = Vec::new();
        for staging in self.stagings()? {
            let (phase, journal) = staging.marked()?;
            if matches!(phase, Phase::Committed | Phase::Undone) {
                ended.push((journal.map(|found| found.modified), staging, phase));
            }
        }
        ended.sort_by_key(|one| one.0);
        Ok(ended.into_iter().map(|(_, staging, phase)| (staging, phase)).collect())
    }
}

fn with_former(staging: &Staging, kept: Kept) -> Vec<Stayed> {
    let stayed = |(path, name)| Stayed { path, former: Some(format!("{}/{name}", staging.told)) };
    kept.into_iter().map(stayed).collect()
}

/// The turn to which the commit of a folder belongs.
fn turn_of(staging: &Staging, phase: Phase) -> io::Result<Option<ContentHash>> {
    Ok(staging.journal(phase)?.and_then(|journal| journal.turn).map(|of| of.turn))
}

/// Removes what could be undone. A file that was written to after it was replaced, by a program that held it open, is
/// kept.
pub(super) fn drop_ended(staging: &Staging, phase: Phase, sync: bool) -> io::Result<SweepOutcome> {
    if phase == Phase::Committed && !is_as_replaced(staging)? {
        staging.go(phase, Phase::Kept, sync)?;
        return Ok(SweepOutcome::Kept);
    }
    staging.remove(sync)?;
    Ok(SweepOutcome::Removed)
}

/// Whether nobody wrote to what the commit took out. A missing file was being removed when the power failed.
fn is_as_replaced(staging: &Staging) -> io::Result<bool> {
    let Some(journal) = staging.journal(Phase::Committed)? else { return Ok(false) };
    for step in journal.steps.iter().filter(|step| matches!(step.action, Action::TakeAway | Action::Replace))
    {
        let kept = look_if_there(staging.at(&step.name))?;
        if kept.zip(step.old.as_ref()).is_some_and(|(kept, old)| !old.is(&kept)) {
            return Ok(false);
        }
    }
    Ok(true)
}
