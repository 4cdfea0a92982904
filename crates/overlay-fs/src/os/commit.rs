use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io;

use async_trait::async_trait;

use super::apply::{Applied, Kept};
use super::calls::{self, Time};
use super::folders::{Folders, Stop};
use super::home::Home;
use super::journal::{Digest, Journal};
use super::lock::CommitLock;
use super::looks::{FoundAt, Looks};
use super::plan::Planner;
use super::ready::{self, Stage};
use super::stage::{self, Synced};
use super::staging::{Phase, Staging};
use super::{Durability, OsTree, Preparing, tree_error};
use crate::{
    ChangeKind, ChangeSet, CommitOptions, CommitOutcome, Committed, ContentHash, EntryKind, Resolution,
    TreeError, Workspace, WorkspacePath, resolve,
};

#[async_trait]
impl Workspace for OsTree {
    /// Plan, journal, apply, mark: new files wait in a private folder; a journal says what is about to be done; then
    /// every path is exchanged or moved in one step of the kernel, and what came out is compared with what the change
    /// set rests on. On a surprise all steps are taken back. If the process dies in the middle, the next commit,
    /// undo or sweep of this workspace takes them back.
    ///
    /// A replaced or moved file keeps its permission bits and extended attributes, and its owner where that is allowed; it
    /// is a new inode. A new one is as if it were made in its folder.
    async fn commit(&self, changes: &ChangeSet, options: CommitOptions) -> Result<CommitOutcome, TreeError> {
        self.refuse_reserved_names(changes)?;
        let mut digest = Digest::of(changes);
        let name = digest.whole;
        let _lock = CommitLock::take(&self.root)?;
        let last = self.recover()?;
        // Until the first step is made.
        self.ends_turn(last);
        if options.repeated && self.holds(name)? {
            self.discard_waiting(name);
            return Ok(CommitOutcome::Committed(Committed::default()));
        }
        let looks = Looks::new(self);
        let (changes, committed) = match resolve(&looks, changes, options).await? {
            Resolution::Apply { changes, committed } => (changes, committed),
            Resolution::Conflict(found) => return Ok(CommitOutcome::Conflict(found)),
        };
        if changes.is_empty() {
            return Ok(CommitOutcome::Committed(committed));
        }
        let found = looks.into_found();
        self.refuse_read_only(&changes, &found)?;
        let mut prepared = self.take_waiting(name);
        if let Cow::Owned(_) = changes {
            // It was prepared without what its user did meanwhile, and is merged now.
            discard_prepared(prepared.take());
            digest = Digest { whole: name, ..Digest::of(&changes) };
        }
        match self.apply((&changes, &digest, &found), prepared, last) {
            Ok(()) => Ok(CommitOutcome::Committed(committed)),
            Err(Stop::Conflict(conflict)) => Ok(CommitOutcome::Conflict(vec![*conflict])),
            Err(Stop::Error(error)) => Err(error),
        }
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
            self.ends_turn(last);
            let bytes = changes.changes.iter().filter_map(|change| change.base_content.as_ref());
            let bytes = bytes.map(|content| content.len() as u64).sum();
            // What cannot be removed now is tried again, and told of by a sweep.
            let _ = self.trim(1, bytes);
        }
        // Before an accept nothing appears in the workspace, not even a hidden folder.
        let Some(home) = self.homes.outside() else { return Ok(()) };
        let mut staging = Self::stage(&home, changes, digest.whole).map_err(Stop::into_error)?;
        let mut done = self.give_all(&mut staging, changes).map_err(io::Error::from);
        if self.is_full() && done.is_ok() {
            done = self.sync(&home, &staging, &stage::written(changes));
        }
        if let Err(error) = done {
            discard(&staging);
            return Err(at_root(&error));
        }
        // Without it, an accept reads again what it puts in.
        let _ = ready::vouch(&mut staging, &digest.changes);
        if self.options.prepare == Preparing::ForAnyProcess {
            return staging.wait(self.is_full()).map_err(|error| at_root(&error));
        }
        // Without it, an accept makes the file.
        let _ = staging.reserve();
        self.keep_prepared(digest.whole, staging);
        Ok(())
    }

    fn forget(&self, changes: &ChangeSet) {
        self.discard_waiting(Digest::of(changes).whole);
    }
}

/// What is to be done, and what was found where it is to be done.
type Work<'a> = (&'a ChangeSet, &'a Digest, &'a FoundAt);

impl OsTree {
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

    /// A rename would replace also a file that this user may not write.
    fn refuse_read_only(&self, changes: &ChangeSet, found: &FoundAt) -> Result<(), TreeError> {
        let mut folders = Folders::new(&self.root);
        for change in &changes.changes {
            let there = found.get(&change.path).filter(|there| there.kind == EntryKind::File);
            let Some(there) = there.filter(|_| matches!(change.kind, ChangeKind::Write { .. })) else {
                continue;
            };
            // What the file system says is asked only where the bits do not tell.
            let may_write = there.mode & 0o200 != 0 && there.owner.0 == rustix::process::geteuid().as_raw()
                || there.mode & 0o222 != 0
                    && folders.place(&change.path).is_ok_and(|at| calls::may_write(at).is_ok());
            if !may_write {
                let reason = "the file is read-only; make it writable and try again".to_owned();
                return Err(TreeError::Unsupported { path: change.path.clone(), reason });
            }
        }
        Ok(())
    }

    fn stage(home: &Home, changes: &ChangeSet, digest: ContentHash) -> Result<Staging, Stop> {
        let staging = Staging::create(home, digest).map_err(Stop::at_root)?;
        match stage::write_all(&staging, changes) {
            Ok(()) => Ok(staging),
            Err(stop) => {
                discard(&staging);
                Err(stop)
            }
        }
    }

    /// Puts what is staged on the medium, and the name of the staging folder; the names in it follow with the journal.
    fn sync(&self, home: &Home, staging: &Staging, names: &[String]) -> io::Result<()> {
        match stage::sync(staging, names)? {
            Synced::All => Ok(()),
            Synced::These => self.homes.sync(home),
        }
    }

    /// `last`: the time of the last commit that is kept.
    fn apply(&self, work: Work<'_>, prepared: Option<Staging>, last: Time) -> Result<(), Stop> {
        let (_, digest, _) = work;
        self.known().last = None;
        let mut planned = None;
        if let Some(staging) = prepared {
            match self.plan(&staging, None, work, last) {
                Ok(journal) => planned = Some((staging, journal)),
                // Much may have happened to what another process wrote.
                Err(Stop::Error(_)) if staging.bits.is_some() => discard(&staging),
                Err(stop) => {
                    discard(&staging);
                    return Err(stop);
                }
            }
        }
        let (mut staging, (journal, begun)) = if let Some(planned) = planned {
            planned
        } else {
            let home = self.homes.for_new();
            let staging = Staging::create(&home, digest.whole).map_err(Stop::at_root)?;
            let journal = self.plan(&staging, Some(&home), work, last);
            let journal = journal.inspect_err(|_| discard(&staging))?;
            (staging, journal)
        };
        let mut applied = Applied::new(&self.root, &staging);
        let outcome = applied.apply(&journal.steps).and_then(|()| {
            if self.is_full() {
                applied.sync(&journal.steps)?;
            }
            staging.end(Phase::Applying, Phase::Committed, self.is_full()).map_err(Stop::at_root)
        });
        if let Err(stop) = outcome {
            return Err(match applied.roll_back(&journal.steps, self.is_full()) {
                Ok(kept) => self.end_rollback(&staging, &kept, stop),
                Err(error) => not_taken_back(stop, &error),
            });
        }
        self.ends_turn(begun);
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
        Ok(())
    }

    /// Plans the commit, and notes the plan: from here on a process that dies is a commit to be taken back.
    fn plan(
        &self,
        staging: &Staging,
        home: Option<&Home>,
        (changes, digest, found): Work<'_>,
        last: Time,
    ) -> Result<(Journal, Time), Stop> {
        let stage = if home.is_some() { Stage::Missing } else { Stage::Waiting };
        let planner = Planner::new((&self.root, self.device), found, staging, stage);
        let (steps, unsynced) = planner.plan(changes, &digest.changes)?;
        match home {
            _ if !self.is_full() => {}
            Some(home) => self.sync(home, staging, &unsynced).map_err(Stop::at_root)?,
            None => drop(stage::sync(staging, &unsynced).map_err(Stop::at_root)?),
        }
        let identity = staging.identity().map_err(Stop::at_root)?.to_owned();
        let journal = Journal::new(digest.whole, identity, steps);
        let begun = staging.begin(Phase::Applying, &journal, last, self.is_full()).map_err(Stop::at_root)?;
        Ok((journal, begun))
    }

    /// The steps are taken back: the folder goes, unless it holds what could not be put back.
    fn end_rollback(&self, staging: &Staging, kept: &Kept, stop: Stop) -> Stop {
        if kept.is_empty() {
            // What cannot be removed here is left to the next run, which finds nothing to take back.
            let _ = staging.remove(self.is_full());
            return stop;
        }
        let from = staging.phase().unwrap_or(Phase::Applying);
        let _ = staging.go(from, Phase::Kept, self.is_full());
        Stop::Error(not_put_back(staging, kept))
    }

    pub(super) fn is_full(&self) -> bool {
        self.options.durability == Durability::Full
    }
}

impl Stop {
    pub(super) fn into_error(self) -> TreeError {
        match self {
            Self::Error(error) => error,
            Self::Conflict(conflict) => TreeError::Io {
                path: conflict.path,
                message: "changed by somebody else meanwhile".to_owned(),
            },
        }
    }
}

fn discard(staging: &Staging) {
    // It has its outcome; what cannot be removed here is left to a sweep. No journal in it is of something half done.
    let _ = staging.remove(false);
}

pub(super) fn discard_prepared(prepared: Option<Staging>) {
    if let Some(staging) = prepared {
        discard(&staging);
    }
}

/// What was done is still half done, and its journal in force.
pub(super) fn not_taken_back(stop: Stop, error: &io::Error) -> Stop {
    let stop = stop.into_error();
    let message = format!(
        "{stop}; what was done until then could not be taken back ({error}): the next accept, undo or sweep does it"
    );
    Stop::Error(TreeError::Io { path: WorkspacePath::root(), message })
}

pub(super) fn not_put_back(staging: &Staging, kept: &Kept) -> TreeError {
    let copies = kept.iter().map(|(path, name)| format!("{path} in {}/{name}", staging.told));
    let copies = copies.collect::<Vec<_>>().join(", ");
    let message = format!(
        "changed by somebody else while the accept was taken back; the former content is kept: {copies}"
    );
    TreeError::Io { path: kept[0].0.clone(), message }
}

pub(super) fn at_root(error: &io::Error) -> TreeError {
    tree_error(&WorkspacePath::root(), error)
}
