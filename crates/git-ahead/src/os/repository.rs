use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use headstart_overlay_fs::{Direction, Finish, NotPrepared, Participant, Prepared, Process, TreeError};
use tracing::debug;

use super::head::{Standing, Switch};
use super::index::{self, NewIndex};
use super::locks::{self, Lock};
use super::program::{Git, RepositoryPaths};
use super::read::both;
use super::refs::{self, Transaction, Value};
use super::settle::{self, JournalNote};
use super::steps::reach;
use super::{folder, head, large, objects};
use crate::{GitChange, GitError, Head, ObjectName, RefChange};

/// How often to try for the lock of the index if another git has it: one second in total.
const ATTEMPTS: u32 = 200;

/// The user's repository, as a participant in the commits of its workspace.
///
/// Every host that opens a workspace in which a change of a repository may have been accepted has to pass it to
/// [`OsTree::with_participant`](headstart_overlay_fs::OsTree::with_participant). Otherwise an interrupted accept
/// cannot be ended.
#[derive(Debug, Clone)]
pub struct Repository {
    pub(super) git: Git,
    pub(super) workspace: PathBuf,
    pub(super) state: PathBuf,
}

/// A prepared change: git has locked the refs, and this process the index.
struct PreparedChange {
    git: Git,
    at: RepositoryPaths,
    folder: Dir,
    note: JournalNote,
    text: String,
    direction: Direction,
    transaction: Option<Transaction>,
    of_index: Vec<Lock>,
    new_index: Option<NewIndex>,
}

impl Repository {
    /// The repository of the workspace at this absolute path. `state` is the folder below which packs are kept
    /// ([`Objects::pack`](crate::Objects::pack)).
    pub fn new(git: Git, workspace: &Path, state: &Path) -> Self {
        Self { git, workspace: workspace.to_owned(), state: state.to_owned() }
    }

    pub(super) fn at(&self, change: &GitChange) -> Result<RepositoryPaths, GitError> {
        let workspace = Dir::open_ambient_dir(&self.workspace, ambient_authority())
            .map_err(|source| GitError::Io { path: self.workspace.display().to_string(), source })?;
        if folder::open_git(&workspace)?.is_none() {
            return Err(GitError::Unsupported {
                reason: "the workspace has no repository any more".to_owned(),
            });
        }
        Ok(RepositoryPaths::new(self.workspace.join(".git"), self.workspace.clone(), change.format))
    }

    fn ready(&self, text: &str, direction: Direction) -> Result<PreparedChange, NotPrepared> {
        let JournalNote { change, .. } = JournalNote::parse(text).map_err(error)?;
        if let Some(why) = change.boundary() {
            return Err(error(GitError::Unsupported { reason: why }));
        }
        let at = self.at(&change).map_err(error)?;
        if direction == Direction::Undo {
            return self.locked(at, change, direction);
        }
        self.unpack(&at, &change).map_err(error)?;
        let names = Self::brought(&change);
        let check = || objects::check_connected(&self.git, &at, &names);
        // Both have to succeed before anything changes.
        let (ready, checked) = both(|| self.locked(at.clone(), change, direction), check);
        checked.map_err(error)?;
        ready
    }

    /// Locks what the change touches.
    fn locked(
        &self,
        at: RepositoryPaths,
        change: GitChange,
        direction: Direction,
    ) -> Result<PreparedChange, NotPrepared> {
        let git = self.git.clone();
        let folder = folder::open(&at.folder).map_err(error)?;
        // A process that died before its journal was written may have left one.
        head::discard(&folder).map_err(error)?;
        let (locks, of_index, draft) = (Vec::new(), Vec::new(), String::new());
        let note = JournalNote { change, process: None, locks, draft };
        let text = String::new();
        let (transaction, new_index) = (None, None);
        let mut ready =
            PreparedChange { git, at, folder, note, text, direction, transaction, of_index, new_index };
        ready.draft_lock().map_err(error)?;
        ready.prepare()?;
        ready.check_head()?;
        ready.note_locks().map_err(error)?;
        Ok(ready)
    }

    /// Adds the objects, which no ref names yet.
    pub(super) fn bring(&self, at: &RepositoryPaths, change: &GitChange) -> Result<(), GitError> {
        self.unpack(at, change)?;
        objects::check_connected(&self.git, at, &Self::brought(change))
    }

    fn unpack(&self, at: &RepositoryPaths, change: &GitChange) -> Result<(), GitError> {
        if let Some(objects) = &change.objects {
            reach("objects")?;
            objects::bring(&self.git, at, &self.state, objects)?;
        }
        if !change.large.is_empty() {
            reach("large files")?;
            large::write(&self.git, at, &folder::open(&at.folder)?, &change.large)?;
        }
        reach("connected")
    }

    /// The objects that are named afterwards.
    fn brought(change: &GitChange) -> Vec<ObjectName> {
        let staged = change.index.entries.iter().filter_map(|entry| entry.new.as_ref());
        let staged = staged.filter(|staged| staged.mode != "160000").map(|staged| &staged.object);
        let moved = change.refs.iter().filter_map(|change| change.new.as_ref());
        moved.chain(staged).cloned().collect()
    }
}

impl Participant for Repository {
    fn prepare(&self, change: &str, direction: Direction) -> Result<Box<dyn Prepared>, NotPrepared> {
        let ready = self.ready(change, direction);
        debug!(?direction, is_ready = ready.is_ok(), "a repository was asked for a commit of work ahead");
        Ok(Box::new(ready?))
    }

    fn finish(&self, note: &str, direction: Direction) -> Result<Finish, TreeError> {
        let note = JournalNote::parse(note)?;
        let finish = settle::finish(&self.git, &self.at(&note.change)?, &note, direction)?;
        debug!(?direction, ?finish, "a repository ended a commit that was interrupted");
        Ok(finish)
    }

    fn release(&self, note: &str) -> Result<(), TreeError> {
        let note = JournalNote::parse(note)?;
        Ok(settle::release(&self.at(&note.change)?, &note)?)
    }
}

impl PreparedChange {
    /// Makes the file that becomes the lock of the index once the journal knows it.
    fn draft_lock(&mut self) -> Result<(), GitError> {
        if !self.note.has_index() {
            return Ok(());
        }
        reach("draft")?;
        index::remove_old_drafts(&self.folder)?;
        self.note.draft = index::make_draft(&self.at.folder)?;
        let draft = locks::found(&self.folder, self.note.draft.clone())?;
        self.of_index.extend(draft.map(|draft| draft.renamed("index.lock")));
        Ok(())
    }

    fn prepare(&mut self) -> Result<(), NotPrepared> {
        if self.note.change.refs.is_empty() {
            return Ok(());
        }
        reach("prepare").map_err(error)?;
        let changes: Vec<&RefChange> = self.note.change.refs.iter().collect();
        match Transaction::prepare(&self.git, &self.at, &changes, self.direction) {
            Ok(transaction) => {
                self.transaction = Some(transaction);
                Ok(())
            }
            Err(refusal) => {
                let now = refs::current(&self.git, &self.at, &self.note.change.refs).map_err(error)?;
                let moved = refs::moved(&self.note.change.refs, &now, self.direction);
                if moved.is_empty() {
                    return Err(error(refusal));
                }
                Err(NotPrepared::Conflict(moved.iter().map(|name| refs::conflict(name.as_str())).collect()))
            }
        }
    }

    /// Checks that `HEAD` is where it was. If it is on a branch that moves, git has locked it by now.
    fn check_head(&self) -> Result<(), NotPrepared> {
        if let Some(switch) = Switch::of(&self.note.change, self.direction) {
            let standing = switch.standing(&self.git, &self.at).map_err(error)?;
            let is_there = standing == Standing::ToDo;
            return if is_there { Ok(()) } else { Err(NotPrepared::Conflict(vec![refs::conflict("HEAD")])) };
        }
        let Head::Unchanged { branch } = &self.note.change.head else { return Ok(()) };
        let is_here = |change: &RefChange| match branch {
            Some(branch) => change.name == *branch,
            None => change.name.as_str() == "HEAD",
        };
        if !self.note.has_index() && !self.note.change.refs.iter().any(is_here) {
            return Ok(());
        }
        let now = refs::head(&self.git, &self.at).map_err(error)?;
        let is_same = match (&now, branch) {
            (Value::Ref(now), Some(branch)) => now == branch.as_str(),
            (Value::Object(_), None) => true,
            _ => false,
        };
        if is_same { Ok(()) } else { Err(NotPrepared::Conflict(vec![refs::conflict("HEAD")])) }
    }

    fn note_locks(&mut self) -> Result<(), GitError> {
        let changes = &self.note.change.refs;
        let removes = changes.iter().any(|change| refs::sides(change, self.direction).1.is_none());
        let names: Vec<_> = changes.iter().map(|change| &change.name).collect();
        let mut locks = self.of_index.clone();
        if let Some(transaction) = &self.transaction {
            self.note.process = Some(Process::with_id(transaction.process()));
            let is_reftable = self.folder.is_file("reftable/tables.list");
            locks.extend(locks::held(&self.folder, &names, removes, is_reftable)?);
        }
        if let Some(switch) = Switch::of(&self.note.change, self.direction) {
            reach("draft of HEAD")?;
            locks.extend(switch.draft(&self.folder)?);
        }
        self.note.locks = locks;
        self.text = self.note.to_text();
        Ok(())
    }
}

impl PreparedChange {
    /// Writes the index that will be put in place, before anything is changed: on a full disk this fails.
    fn write_index(&mut self) -> Result<(), GitError> {
        reach("new index")?;
        let index = &self.note.change.index;
        self.new_index = NewIndex::write(&self.git, &self.at, index, self.direction, &self.note.draft)?;
        Ok(())
    }

    /// Moves the refs, and `HEAD` if the work switched it; `false` if the user checked out something else.
    fn move_refs(&mut self) -> Result<bool, GitError> {
        reach("refs")?;
        self.transaction.take().map_or(Ok(()), Transaction::commit)?;
        self.switch()
    }

    /// Moves back what was moved, because the rest could not be: a log of a ref cannot grow on a full disk. If that
    /// cannot be done either, it is left to the next run.
    fn take_back(&self, error: GitError) -> Result<Finish, TreeError> {
        reach("take back")?;
        match settle::take_back(&self.git, &self.at, &self.note, self.direction) {
            Ok(()) => Ok(Finish::Failed(error.into())),
            Err(_) => Err(error.into()),
        }
    }

    /// Has `HEAD` name the branch to which the work switched, if it did; `false` if the user checked out something else.
    fn switch(&self) -> Result<bool, GitError> {
        let change = &self.note.change;
        let switch = Switch::of(change, self.direction);
        switch.map_or(Ok(true), |switch| switch.carry_out(&self.git, &self.at, &self.folder, change))
    }
}

impl Prepared for PreparedChange {
    fn note(&self) -> &str {
        &self.text
    }

    fn hold(&mut self) -> Result<(), NotPrepared> {
        if self.of_index.is_empty() {
            return Ok(());
        }
        reach("lock index").map_err(error)?;
        for _ in 0..ATTEMPTS {
            if index::try_lock(&self.folder, &self.note.draft).map_err(error)? {
                return self.write_index().map_err(error);
            }
            // Another git has the lock, for some milliseconds as a rule.
            locks::pause();
        }
        Err(NotPrepared::Conflict(vec![refs::conflict("index")]))
    }

    fn commit(mut self: Box<Self>) -> Result<Finish, TreeError> {
        // From here on the lock of the index is kept where it is not known how far this got: the next run needs it.
        let lock = std::mem::take(&mut self.of_index);
        if !self.move_refs().unwrap_or(false) {
            // Git itself was ended, possibly halfway, or the user checked out something else; so what is there decides.
            let finish = settle::finish(&self.git, &self.at, &self.note, self.direction);
            return finish.or_else(|error| self.take_back(error));
        }
        if !lock.is_empty() {
            settle::put_index(&self.git, &self.note, self.new_index.take(), &self.folder, &lock)?;
        }
        Ok(Finish::Done)
    }
}

impl Drop for PreparedChange {
    /// Releases a change that was not committed: git unlocks the refs, and this process the index.
    fn drop(&mut self) {
        drop(self.transaction.take());
        let _ = head::discard(&self.folder);
        if !self.of_index.is_empty() {
            let _ = locks::remove(&self.folder, &self.of_index);
            let _ = settle::remove_draft(&self.folder, &self.note);
        }
    }
}

fn error(error: GitError) -> NotPrepared {
    NotPrepared::Error(error.into())
}
