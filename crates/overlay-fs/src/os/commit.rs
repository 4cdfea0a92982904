//! A commit: plan, journal, apply, mark.

pub(super) mod apply;
pub(super) mod commit_failure;
pub(super) mod folders;
pub(super) mod lock;
pub(super) mod observed_tree;
pub(super) mod origin;
pub(super) mod plan;
pub(super) mod ready;
pub(super) mod stage;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io;

use async_trait::async_trait;

use self::apply::{Applied, Kept, not_put_back};
use self::commit_failure::{CommitFailure, at_root, not_followed, not_taken_back};
use self::lock::CommitLock;
use self::observed_tree::{ObservedTree, StatByPath};
use self::plan::Planner;
use self::ready::Stage;
use self::stage::Synced;
use super::disk::calls::Time;
use super::refusal::Refusals;
use super::staging::home::StagingHome;
use super::staging::journal::{InTurn, Journal};
use super::staging::{Phase, Staging};
use super::{Durability, OsTree, Preparing};
use crate::change_set::digest::Digest;
use crate::{
    ChangeSet, CommitOptions, CommitOutcome, Committed, Conflict, ConflictKind, ContentHash, Direction,
    Finish, NotPrepared, Participant, Prepared, Resolution, TreeError, Workspace, WorkspacePath, resolve,
};

#[async_trait]
impl Workspace for OsTree {
    /// Commits in four phases: plan, journal, apply, mark. New files wait in a private folder; a journal says what is
    /// about to be done; then every path is exchanged or moved in one step of the kernel, and what came out is
    /// compared with what the change set expects. If something unexpected comes out, all steps are taken back. If the
    /// process dies in the middle, the next commit, undo or sweep of this workspace takes them back.
    ///
    /// A replaced or moved file keeps its permission bits and extended attributes, and its owner where that is
    /// permitted; its inode is new. A new file is as if it had been made in its folder.
    async fn commit(&self, changes: &ChangeSet, options: CommitOptions) -> Result<CommitOutcome, TreeError> {
        self.commit_both(changes, None, options).await
    }

    /// As [`commit`](Self::commit), with a participant: plan, prepare the participant, journal, apply, note that the
    /// files are in place, have the participant commit, mark. If a process dies before the note, the next one takes
    /// the files back. After the note, the next one has the participant finish, and takes the files back only if it
    /// refuses.
    async fn commit_with(
        &self,
        changes: &ChangeSet,
        beside: &str,
        options: CommitOptions,
    ) -> Result<CommitOutcome, TreeError> {
        self.commit_both(changes, Some(beside), options).await
    }
    async fn prepare(&self, changes: &ChangeSet) -> Result<(), TreeError> {
        if changes.is_empty() || self.options.prepare == Preparing::Never {
            return Ok(());
        }
        self.refuse_reserved_names(changes)?;
        let digest = Digest::of(changes);
        self.discard_waiting(digest.whole);
        {
            let _lock = CommitLock::take(&self.root)?;
            let last = self.recover()?;
            self.note_clean(last);
            let bytes = changes.changes.iter().filter_map(|change| change.base_content.as_ref());
            let bytes = bytes.map(|content| content.len() as u64).sum();
            // What cannot be removed now is tried again later, and a sweep reports it.
            let _ = self.trim(1, bytes);
        }
        // Before an accept nothing may appear in the workspace, not even a hidden folder.
        let Some(home) = self.homes.outside() else { return Ok(()) };
        let mut staging = Self::stage(&home, changes, digest.whole).map_err(CommitFailure::into_error)?;
        let mut done = self.give_all(&mut staging, changes).map_err(io::Error::from);
        if self.is_full() && done.is_ok() {
            done = self.sync(&home, &staging, &stage::written(changes));
        }
        if let Err(error) = done {
            discard(&staging);
            return Err(at_root(&error));
        }
        // If this fails, the accept reads what it puts in again.
        let _ = ready::verify(&mut staging, &digest.changes);
        if self.options.prepare == Preparing::ForAnyProcess {
            return staging.wait(self.is_full()).map_err(|error| at_root(&error));
        }
        // If this fails, the accept makes the file.
        let _ = staging.reserve();
        self.keep_prepared(digest.whole, staging);
        Ok(())
    }

    fn forget(&self, changes: &ChangeSet) {
        self.discard_waiting(Digest::of(changes).whole);
    }
}

/// What is to be done.
#[derive(Clone, Copy)]
struct Work<'a> {
    changes: &'a ChangeSet,
    digest: &'a Digest,
    /// What was found at the paths.
    found: &'a StatByPath,
    /// The turn in which it is done.
    in_turn: Option<InTurn>,
    breaks_hard_links: bool,
}

impl OsTree {
    async fn commit_both(
        &self,
        changes: &ChangeSet,
        beside: Option<&str>,
        options: CommitOptions,
    ) -> Result<CommitOutcome, TreeError> {
        self.refuse_reserved_names(changes)?;
        let plain = Digest::of(changes);
        let waiting = plain.whole;
        let mut digest = plain.with(beside);
        let name = digest.whole;
        let _lock = CommitLock::take(&self.root)?;
        let last = self.recover()?;
        // This holds until the first step is made.
        self.note_clean(last);
        if options.repeated && self.holds(name)? {
            self.discard_waiting(waiting);
            return Ok(CommitOutcome::Committed(Committed::default()));
        }
        let observed_tree = ObservedTree::new(self);
        let (changes, committed) = match resolve(&observed_tree, changes, options).await? {
            Resolution::Apply { changes, committed } => (changes, committed),
            Resolution::Conflict(found) => return Ok(CommitOutcome::Conflict(found)),
        };
        if changes.is_empty() && beside.is_none() {
            return Ok(CommitOutcome::Committed(committed));
        }
        let found = observed_tree.into_found();
        self.refuse(&changes, &found)?;
        let mut prepared = self.take_waiting(waiting);
        if beside.is_some() || matches!(changes, Cow::Owned(_)) {
            // Discarded, because it was prepared without what the user did meanwhile and is merged now; or because a
            // prepared folder is identified by the files alone and would be taken for their commit later.
            discard_prepared(prepared.take());
            digest = Digest { whole: name, ..Digest::of(&changes) };
        }
        let other = match beside.map(|beside| self.prepare_other(beside, Direction::Apply)).transpose() {
            Ok(other) => other,
            Err(NotPrepared::Conflict(conflicts)) => return Ok(CommitOutcome::Conflict(conflicts)),
            Err(NotPrepared::Error(error)) => return Err(error),
        };
        let in_turn = options.turn.map(|turn| self.next_place(turn));
        let work = Work {
            changes: &changes,
            digest: &digest,
            found: &found,
            in_turn,
            breaks_hard_links: options.breaks_hard_links,
        };
        match self.apply(work, prepared, other, last) {
            Ok(Finish::Done) => {
                self.known().in_turn = in_turn;
                Ok(CommitOutcome::Committed(committed))
            }
            Ok(Finish::Refused(conflicts)) => Ok(CommitOutcome::Conflict(conflicts)),
            Err(CommitFailure::Conflict(conflict)) => Ok(CommitOutcome::Conflict(vec![*conflict])),
            Ok(Finish::Failed(error)) | Err(CommitFailure::Error(error)) => Err(error),
        }
    }

    /// The place of the next commit of a turn. All commits of a turn are made by one tree.
    fn next_place(&self, turn: ContentHash) -> InTurn {
        let last = self.known().in_turn.filter(|last| last.turn == turn);
        InTurn { turn, place: last.map_or(0, |last| last.place + 1) }
    }

    /// What was prepared for these changes, by this tree or by another process.
    fn take_waiting(&self, changes: ContentHash) -> Option<Staging> {
        self.take_prepared(changes).or_else(|| self.adopt(changes))
    }

    fn discard_waiting(&self, changes: ContentHash) {
        discard_prepared(self.take_waiting(changes));
    }

    fn refuse_reserved_names(&self, changes: &ChangeSet) -> Result<(), TreeError> {
        let mut paths = BTreeSet::new();
        for change in &changes.changes {
            if change.path.is_root() || self.is_reserved(&change.path) {
                return Err(TreeError::reserved(&change.path));
            }
            if !paths.insert(&change.path) {
                let reason = "the change set changes it twice".to_owned();
                return Err(TreeError::Unsupported { path: change.path.clone(), reason });
            }
        }
        Ok(())
    }

    /// Refuses what the system would not let this user do, before anything is changed.
    fn refuse(&self, changes: &ChangeSet, found: &StatByPath) -> Result<(), TreeError> {
        let mut refusals = Refusals::new(self);
        changes.changes.iter().try_for_each(|change| refusals.check(change, found.get(&change.path)))
    }

    fn stage(home: &StagingHome, changes: &ChangeSet, digest: ContentHash) -> Result<Staging, CommitFailure> {
        let staging = Staging::create(home, digest).map_err(CommitFailure::at_root)?;
        match stage::write_all(&staging, changes) {
            Ok(()) => Ok(staging),
            Err(failure) => {
                discard(&staging);
                Err(failure)
            }
        }
    }

    /// Syncs what is staged and the name of the staging folder. The names in it are synced with the journal.
    fn sync(&self, home: &StagingHome, staging: &Staging, names: &[String]) -> io::Result<()> {
        match stage::sync(staging, names)? {
            Synced::All => Ok(()),
            Synced::These => self.homes.sync(home),
        }
    }

    /// Applies a planned commit. `last` is the time of the last commit that is kept.
    fn apply(
        &self,
        work: Work<'_>,
        prepared: Option<Staging>,
        mut other: Option<Box<dyn Prepared>>,
        last: Time,
    ) -> Result<Finish, CommitFailure> {
        let note = other.as_deref().map(Prepared::note);
        self.known().last = None;
        let mut planned = None;
        if let Some(staging) = prepared {
            match self.plan(&staging, None, work, note, last) {
                Ok(journal) => planned = Some((staging, journal)),
                // Another process prepared the files some time ago, and much may have happened to them since.
                Err(CommitFailure::Error(_)) if staging.bits.is_some() => discard(&staging),
                Err(failure) => {
                    discard(&staging);
                    return Err(failure);
                }
            }
        }
        let (mut staging, (journal, begun)) = if let Some(planned) = planned {
            planned
        } else {
            let home = self.homes.for_new();
            let staging = Staging::create(&home, work.digest.whole).map_err(CommitFailure::at_root)?;
            let journal = self.plan(&staging, Some(&home), work, note, last);
            let journal = journal.inspect_err(|_| discard(&staging))?;
            (staging, journal)
        };
        let mut applied = Applied::new(&self.root, &staging);
        let held = other.as_mut().map_or(Ok(()), |other| other.hold()).map_err(CommitFailure::from);
        let outcome = held.and_then(|()| applied.apply(&journal.steps)).and_then(|()| {
            if self.is_full() {
                applied.sync(&journal.steps)?;
            }
            let next = if other.is_some() { Phase::Completing } else { Phase::Committed };
            staging.end(Phase::Applying, next, self.is_full()).map_err(CommitFailure::at_root)
        });
        if let Err(failure) = outcome {
            drop(other);
            return Err(match applied.roll_back(&journal.steps, self.is_full()) {
                Ok(kept) => self.end_rollback(&staging, &kept, failure),
                Err(error) => not_taken_back(failure, &error),
            });
        }
        if let Some(other) = other {
            // After an error the next run asks it again.
            let finish = other.commit().map_err(|error| not_followed(&error))?;
            if finish != Finish::Done {
                return match applied.roll_back(&journal.steps, self.is_full()) {
                    Ok(kept) if kept.is_empty() => {
                        let _ = staging.remove(self.is_full());
                        Ok(finish)
                    }
                    Ok(kept) => {
                        let _ = staging.go(Phase::Completing, Phase::Kept, self.is_full());
                        Err(CommitFailure::Error(not_put_back(&staging, &kept)))
                    }
                    Err(error) => Err(not_taken_back(CommitFailure::of_finish(finish), &error)),
                };
            }
            staging
                .end(Phase::Completing, Phase::Committed, self.is_full())
                .map_err(CommitFailure::at_root)?;
        }
        self.note_clean(begun);
        staging.release();
        let bytes: u64 = journal.steps.iter().filter_map(|step| step.old.as_ref()).map(|old| old.len).sum();
        let limit = self.options.undo;
        if limit.accepts == 0 {
            discard(&staging);
        } else if limit.bytes < bytes {
            self.forget_kept();
        } else {
            self.keep_one_more(&staging.name, bytes);
        }
        Ok(Finish::Done)
    }

    /// Plans the commit and writes the journal. If the process dies from here on, the commit is taken back.
    fn plan(
        &self,
        staging: &Staging,
        home: Option<&StagingHome>,
        work: Work<'_>,
        note: Option<&str>,
        last: Time,
    ) -> Result<(Journal, Time), CommitFailure> {
        let stage = if home.is_some() { Stage::Missing } else { Stage::Waiting };
        let planner =
            Planner::new((&self.root, self.device), work.found, staging, stage, work.breaks_hard_links);
        let (steps, unsynced) = planner.plan(work.changes, &work.digest.changes)?;
        match home {
            _ if !self.is_full() => {}
            Some(home) => self.sync(home, staging, &unsynced).map_err(CommitFailure::at_root)?,
            None => drop(stage::sync(staging, &unsynced).map_err(CommitFailure::at_root)?),
        }
        let identity = staging.identity().map_err(CommitFailure::at_root)?.to_owned();
        let journal = Journal::new(work.digest.whole, identity, steps);
        let journal = journal.with_beside(note).with_turn(work.in_turn);
        let begun =
            staging.begin(Phase::Applying, &journal, last, self.is_full()).map_err(CommitFailure::at_root)?;
        Ok((journal, begun))
    }

    /// Ends a commit whose steps were taken back: removes its folder, unless it holds what could not be put back.
    fn end_rollback(&self, staging: &Staging, kept: &Kept, failure: CommitFailure) -> CommitFailure {
        if kept.is_empty() {
            // What cannot be removed here is left to the next run, which finds nothing to take back.
            let _ = staging.remove(self.is_full());
            return failure;
        }
        let from = staging.phase().unwrap_or(Phase::Applying);
        let _ = staging.go(from, Phase::Kept, self.is_full());
        CommitFailure::Error(not_put_back(staging, kept))
    }

    /// Has the participant of this workspace lock what its change relies on.
    pub(super) fn prepare_other(
        &self,
        change: &str,
        direction: Direction,
    ) -> Result<Box<dyn Prepared>, NotPrepared> {
        self.other().map_err(NotPrepared::Error)?.prepare(change, direction)
    }

    pub(super) fn other(&self) -> Result<&dyn Participant, TreeError> {
        self.participant.as_deref().ok_or_else(|| {
            let reason = "the work changed more than files (a repository), and this tree was opened without a participant for \
                          that; nothing was changed"
                .to_owned();
            TreeError::Unsupported { path: WorkspacePath::root(), reason }
        })
    }

    pub(super) fn is_full(&self) -> bool {
        self.options.durability == Durability::Full
    }
}

impl CommitFailure {
    /// Stops with the first conflict; there is at least one if something was refused.
    pub(super) fn of(conflicts: Vec<Conflict>) -> Self {
        let first = conflicts.into_iter().next();
        let first = first.unwrap_or_else(|| Conflict::new(WorkspacePath::root(), ConflictKind::Ref));
        Self::Conflict(Box::new(first))
    }

    /// Why a participant did not follow.
    pub(super) fn of_finish(finish: Finish) -> Self {
        match finish {
            Finish::Failed(error) => Self::Error(error),
            Finish::Refused(conflicts) => Self::of(conflicts),
            Finish::Done => Self::of(Vec::new()),
        }
    }

    pub(super) fn into_error(self) -> TreeError {
        match self {
            Self::Error(error) => error,
            Self::Conflict(conflict) => {
                TreeError::failed(conflict.path, "changed by somebody else meanwhile")
            }
        }
    }
}

impl From<NotPrepared> for CommitFailure {
    fn from(not: NotPrepared) -> Self {
        match not {
            NotPrepared::Conflict(conflicts) => Self::of(conflicts),
            NotPrepared::Error(error) => Self::Error(error),
        }
    }
}

fn discard(staging: &Staging) {
    // The outcome is decided, so what cannot be removed is left to a sweep. A journal in it is not of anything half
    // done.
    let _ = staging.remove(false);
}

pub(super) fn discard_prepared(prepared: Option<Staging>) {
    if let Some(staging) = prepared {
        discard(&staging);
    }
}
