//! Completes or releases what a dead process left of an accept.

use cap_std::fs::Dir;
use headstart_overlay_fs::{Direction, Finish, Process};
use serde::{Deserialize, Serialize};

use super::folder;
use super::head::{self, Standing, Switch};
use super::index::NewIndex;
use super::locks::{self, Lock};
use super::program::{Git, RepositoryPaths};
use super::refs::{self, Transaction};
use super::steps::reach;
use crate::{GitChange, GitError, ObjectName, RefChange};

/// How often to look for a git process whose caller has died; it ends within milliseconds.
const LOOKS: u32 = 1_000;

/// What the journal of a commit keeps about the repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct JournalNote {
    pub(super) change: GitChange,
    /// The git process that had prepared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) process: Option<Process>,
    /// The locks of that process, and of this crate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) locks: Vec<Lock>,
    /// The name in `.git` of an index that is being made.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) draft: String,
}

impl JournalNote {
    pub(super) fn parse(text: &str) -> Result<Self, GitError> {
        serde_json::from_str(text)
            .map_err(|error| GitError::Damaged { message: error.to_string(), source: Some(error) })
    }

    pub(super) fn to_text(&self) -> String {
        serde_json::to_string(self).expect("works because no map in it has odd keys")
    }

    /// Whether the index has to be written.
    pub(super) fn has_index(&self) -> bool {
        !self.change.index.is_empty()
    }
}

/// Releases what a dead process had locked. First waits for its git process, which may be releasing its locks at this
/// moment.
pub(super) fn release(at: &RepositoryPaths, note: &JournalNote) -> Result<(), GitError> {
    wait_for_end(note)?;
    let folder = folder::open(&at.folder)?;
    locks::remove(&folder, &note.locks)?;
    head::discard(&folder)?;
    remove_draft(&folder, note)
}

/// Moves the refs that were not moved yet, then writes the index. If one of them has another value now, those that
/// were moved go back, and nothing is left of the change.
pub(super) fn finish(
    git: &Git,
    at: &RepositoryPaths,
    note: &JournalNote,
    direction: Direction,
) -> Result<Finish, GitError> {
    reach("finish")?;
    wait_for_end(note)?;
    let folder = folder::open(&at.folder)?;
    // The index stays locked until it is written.
    let (of_index, of_refs): (Vec<Lock>, Vec<Lock>) = note.locks.iter().cloned().partition(Lock::is_of_index);
    locks::remove(&folder, &of_refs)?;
    head::discard(&folder)?;
    let changes = &note.change.refs;
    let now = refs::current(git, at, changes)?;
    let is_done = |place: &usize| now[*place] == *refs::sides(&changes[*place], direction).1;
    let is_to_do = |place: &usize| now[*place] == *refs::sides(&changes[*place], direction).0;
    let places = 0..changes.len();
    let elsewhere = places.clone().filter(|place| !is_done(place) && !is_to_do(place));
    let mut elsewhere: Vec<_> = elsewhere.map(|place| refs::conflict(changes[place].name.as_str())).collect();
    let standing = standing(git, at, note, direction)?;
    if standing == Some(Standing::Elsewhere) {
        elsewhere.push(refs::conflict("HEAD"));
    }
    if !elsewhere.is_empty() {
        take_back(git, at, note, direction)?;
        return Ok(Finish::Refused(elsewhere));
    }
    let left: Vec<&RefChange> = places.filter(|place| !is_done(place)).map(|place| &changes[place]).collect();
    if !left.is_empty() {
        Transaction::prepare(git, at, &left, direction)?.commit()?;
    }
    if standing == Some(Standing::ToDo) {
        carry_out(git, at, note, direction, &folder)?;
    }
    if note.has_index() && !of_index.is_empty() {
        let is_held = of_index.iter().all(|lock| lock.is_there(&folder));
        let index = &note.change.index;
        let new = if is_held { NewIndex::write(git, at, index, direction, &note.draft)? } else { None };
        put_index(git, note, new, &folder, &of_index)?;
    }
    Ok(Finish::Done)
}

/// Moves back what was moved, because the rest cannot be or must not. Another value of a ref is somebody's, and stays.
/// The index must not have been put in place.
pub(super) fn take_back(
    git: &Git,
    at: &RepositoryPaths,
    note: &JournalNote,
    direction: Direction,
) -> Result<(), GitError> {
    let folder = folder::open(&at.folder)?;
    let (of_index, of_refs): (Vec<Lock>, Vec<Lock>) = note.locks.iter().cloned().partition(Lock::is_of_index);
    locks::remove(&folder, &of_refs)?;
    head::discard(&folder)?;
    if standing(git, at, note, direction)? == Some(Standing::Done) {
        carry_out(git, at, note, other(direction), &folder)?;
    }
    let changes = &note.change.refs;
    let now = refs::current(git, at, changes)?;
    let is_done =
        |(change, now): &(&RefChange, Option<ObjectName>)| *now == *refs::sides(change, direction).1;
    let done: Vec<&RefChange> = changes.iter().zip(now).filter(is_done).map(|(change, _)| change).collect();
    if !done.is_empty() {
        Transaction::prepare(git, at, &done, other(direction))?.commit()?;
    }
    locks::remove(&folder, &of_index)?;
    remove_draft(&folder, note)
}

/// Where `HEAD` is, if the work switched it.
fn standing(
    git: &Git,
    at: &RepositoryPaths,
    note: &JournalNote,
    direction: Direction,
) -> Result<Option<Standing>, GitError> {
    Switch::of(&note.change, direction).map(|switch| switch.standing(git, at)).transpose()
}

/// Has `HEAD` name the branch to which the work switched.
fn carry_out(
    git: &Git,
    at: &RepositoryPaths,
    note: &JournalNote,
    direction: Direction,
    folder: &Dir,
) -> Result<(), GitError> {
    let Some(switch) = Switch::of(&note.change, direction) else { return Ok(()) };
    switch.draft(folder)?;
    if switch.carry_out(git, at, folder, &note.change)? {
        return Ok(());
    }
    let message = "another branch was checked out at this moment; try again".to_owned();
    Err(GitError::Git { command: "switch".to_owned(), message, source: None })
}

/// Puts the new index in the place of the old one if its lock is still this process's, and releases the lock.
pub(super) fn put_index(
    git: &Git,
    note: &JournalNote,
    new: Option<NewIndex>,
    folder: &Dir,
    lock: &[Lock],
) -> Result<(), GitError> {
    let is_held = lock.iter().all(|lock| lock.is_there(folder));
    if let Some(new) = new.filter(|_| is_held) {
        reach("index")?;
        new.put(git, folder)?;
    }
    reach("unlock")?;
    locks::remove(folder, lock)?;
    remove_draft(folder, note)
}

fn other(direction: Direction) -> Direction {
    match direction {
        Direction::Apply => Direction::Undo,
        Direction::Undo => Direction::Apply,
    }
}

pub(super) fn remove_draft(folder: &Dir, note: &JournalNote) -> Result<(), GitError> {
    if note.draft.is_empty() {
        return Ok(());
    }
    for name in [note.draft.clone(), format!("{}.lock", note.draft)] {
        match folder.remove_file(&name) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(folder::io_error(&name)(error));
            }
            _ => {}
        }
    }
    Ok(())
}

fn wait_for_end(note: &JournalNote) -> Result<(), GitError> {
    let Some(process) = &note.process else { return Ok(()) };
    for _ in 0..LOOKS {
        if !process.is_alive() {
            return Ok(());
        }
        // The system does not report the end of a process that is not a child, so it is polled.
        locks::pause();
    }
    let message = "the git of an earlier accept still runs; try again when it has ended".to_owned();
    Err(GitError::Git { command: "update-ref".to_owned(), message, source: None })
}
