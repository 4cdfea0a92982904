use std::borrow::Cow;
use std::collections::BTreeSet;

use async_trait::async_trait;

use super::apply::{Applied, Kept};
use super::folders::Stop;
use super::home::Home;
use super::journal::{Digest, Journal};
use super::lock::CommitLock;
use super::plan::Planner;
use super::stage::{self, Fresh};
use super::staging::{Phase, Staging, Time};
use super::{Durability, OsTree, tree_error};
use crate::{
    ChangeSet, CommitOptions, CommitOutcome, Committed, ContentHash, Resolution, TreeError, Workspace,
    WorkspacePath, resolve,
};

#[async_trait]
impl Workspace for OsTree {
    /// Plan, journal, apply, mark: new files wait in a private folder; a journal says what is about to be done; then
    /// every path is exchanged or moved in one step of the kernel, and what came out is compared with what the change
    /// set rests on. On a surprise all steps are taken back. If the process dies in the middle, the next commit,
    /// undo or sweep of this workspace takes them back.
    ///
    /// A replaced file keeps its permission bits and extended attributes, and its owner where that is allowed; it is a
    /// new inode.
    async fn commit(&self, changes: &ChangeSet, options: CommitOptions) -> Result<CommitOutcome, TreeError> {
        self.refuse_reserved_names(changes)?;
        let mut digest = Digest::of(changes);
        let name = digest.whole;
        let _lock = CommitLock::take(&self.root)?;
        let last = self.recover()?;
        if options.repeated && self.holds(name)? {
            discard_prepared(self.take_prepared(name));
            return Ok(CommitOutcome::Committed(Committed::default()));
        }
        let (changes, committed) = match resolve(self, changes, options).await? {
            Resolution::Apply { changes, committed } => (changes, committed),
            Resolution::Conflict(found) => return Ok(CommitOutcome::Conflict(found)),
        };
        if changes.is_empty() {
            return Ok(CommitOutcome::Committed(committed));
        }
        let mut prepared = self.take_prepared(name);
        if let Cow::Owned(_) = changes {
            // It was prepared without what its user did meanwhile, and is merged now.
            discard_prepared(prepared.take());
            digest = Digest { whole: name, ..Digest::of(&changes) };
        }
        match self.apply(&changes, &digest, prepared, last) {
            Ok(()) => Ok(CommitOutcome::Committed(committed)),
            Err(Stop::Conflict(conflict)) => Ok(CommitOutcome::Conflict(vec![*conflict])),
            Err(Stop::Error(error)) => Err(error),
        }
    }

    async fn prepare(&self, changes: &ChangeSet) -> Result<(), TreeError> {
        if changes.is_empty() || !self.options.prepare {
            return Ok(());
        }
        self.refuse_reserved_names(changes)?;
        let digest = Digest::of(changes);
        discard_prepared(self.take_prepared(digest.whole));
        {
            let _lock = CommitLock::take(&self.root)?;
            self.recover()?;
            let bytes = changes.changes.iter().filter_map(|change| change.base_content.as_ref());
            let bytes = bytes.map(|content| content.len() as u64).sum();
            // What cannot be removed now is tried again, and told of by a sweep.
            let _ = self.trim(1, bytes);
        }
        // Before an accept nothing appears in the workspace, not even a hidden folder.
        let Some(home) = self.homes.outside().map_err(|error| at_root(&error))? else { return Ok(()) };
        let mut staging = self.stage(&home, changes, digest.whole).map_err(Stop::into_error)?;
        // Without it, an accept reads again what it puts in.
        let _ = stage::vouch(&mut staging, &digest.changes);
        self.keep_prepared(digest.whole, staging);
        Ok(())
    }

    fn forget(&self, changes: &ChangeSet) {
        discard_prepared(self.take_prepared(Digest::of(changes).whole));
    }
}

impl OsTree {
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

    fn stage(&self, home: &Home, changes: &ChangeSet, digest: ContentHash) -> Result<Staging, Stop> {
        let staging = Staging::create(home, digest).map_err(Stop::at_root)?;
        match stage::write_all(&staging, changes, self.is_full()) {
            Ok(()) => Ok(staging),
            Err(stop) => {
                discard(&staging);
                Err(stop)
            }
        }
    }

    fn apply(
        &self,
        changes: &ChangeSet,
        digest: &Digest,
        prepared: Option<Staging>,
        last: Time,
    ) -> Result<(), Stop> {
        let (mut staging, fresh) = if let Some(staging) = prepared {
            (staging, Fresh::No)
        } else {
            let home = self.homes.for_new().map_err(Stop::at_root)?;
            (self.stage(&home, changes, digest.whole)?, Fresh::Yes)
        };
        let steps = Planner::new(&self.root, &staging, fresh)
            .and_then(|planner| planner.plan(changes, &digest.changes));
        let journal = steps.and_then(|steps| {
            let journal = Journal::new(staging.identity().map_err(Stop::at_root)?, steps);
            staging.begin(Phase::Applying, &journal, last, self.is_full()).map_err(Stop::at_root)?;
            Ok(journal)
        });
        let journal = journal.inspect_err(|_| discard(&staging))?;
        let mut applied = Applied::new(&self.root, &staging);
        let outcome = applied.apply(&journal.steps).and_then(|()| {
            if self.is_full() {
                applied.sync(&journal.steps)?;
            }
            staging.end(Phase::Applying, Phase::Committed, self.is_full()).map_err(Stop::at_root)
        });
        if let Err(stop) = outcome {
            let kept = applied.roll_back(&journal.steps);
            return Err(self.end_rollback(&staging, &kept, stop));
        }
        staging.release();
        let bytes: u64 = journal.steps.iter().filter_map(|step| step.old.as_ref()).map(|old| old.len).sum();
        let limit = self.options.undo;
        if limit.accepts == 0 {
            discard(&staging);
        } else if limit.bytes < bytes {
            self.forget_kept();
        } else if fresh == Fresh::Yes {
            self.keep_one_more(bytes);
        }
        Ok(())
    }

    /// The steps are taken back: the folder goes, unless it holds what could not be put back.
    fn end_rollback(&self, staging: &Staging, kept: &Kept, stop: Stop) -> Stop {
        if kept.is_empty() {
            discard(staging);
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
    // It has its outcome; what cannot be removed here is left to a sweep.
    let _ = staging.remove();
}

pub(super) fn discard_prepared(prepared: Option<Staging>) {
    if let Some(staging) = prepared {
        discard(&staging);
    }
}

pub(super) fn not_put_back(staging: &Staging, kept: &Kept) -> TreeError {
    let copies = kept.iter().map(|(path, name)| format!("{path} in {}/{name}", staging.told));
    let copies = copies.collect::<Vec<_>>().join(", ");
    let message = format!(
        "changed by somebody else while the accept was taken back; the former content is kept: {copies}"
    );
    TreeError::Io { path: kept[0].0.clone(), message }
}

pub(super) fn at_root(error: &std::io::Error) -> TreeError {
    tree_error(&WorkspacePath::root(), error)
}
