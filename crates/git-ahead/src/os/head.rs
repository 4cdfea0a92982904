//! `HEAD`, where the work switched to a branch that it made. It is written as git writes it, under git's own lock: what
//! the user checks out at the same moment is never overwritten.

use std::io::Write as _;

use cap_std::fs::{Dir, OpenOptions};
use headstart_overlay_fs::Direction;
use rustix::fs::{RenameFlags, renameat_with};
use rustix::io::Errno;

use super::folder;
use super::locks::{self, Lock};
use super::program::{Git, RepositoryPaths};
use super::refs::{self, Value};
use super::steps::reach;
use crate::{GitChange, GitError, Head, ObjectName, RefName};

/// Every git makes a file with this name before it writes `HEAD`.
const LOCK: &str = "HEAD.lock";
/// What becomes the lock, and then `HEAD`. It has one name, because one process at a time commits to a workspace.
const DRAFT: &str = "HEAD.headstart-draft";
const LOG: &str = "logs/HEAD";
/// How often to try for the lock if another git has it: one second in total.
const ATTEMPTS: u32 = 200;

/// A switch from one branch to another.
#[derive(Debug, Clone, Copy)]
pub(super) struct Switch<'a> {
    from: &'a RefName,
    to: &'a RefName,
}

/// Where `HEAD` is, seen from a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// On the branch that the switch leads from.
    ToDo,
    /// On the one that it leads to.
    Done,
    /// The user checked out something else.
    Elsewhere,
}

impl<'a> Switch<'a> {
    /// The switch of a change, in this direction; `None` if it has none.
    pub(super) fn of(change: &'a GitChange, direction: Direction) -> Option<Self> {
        match (&change.head, direction) {
            (Head::Switched { from, to }, Direction::Apply) => Some(Self { from, to }),
            (Head::Switched { from, to }, Direction::Undo) => Some(Self { from: to, to: from }),
            _ => None,
        }
    }

    pub(super) fn standing(self, git: &Git, at: &RepositoryPaths) -> Result<Standing, GitError> {
        Ok(match refs::head(git, at)? {
            Value::Ref(now) if now == self.from.as_str() => Standing::ToDo,
            Value::Ref(now) if now == self.to.as_str() => Standing::Done,
            _ => Standing::Elsewhere,
        })
    }

    /// Writes the draft. It is the lock that [`carry_out`](Self::carry_out) will hold, for the journal.
    pub(super) fn draft(self, folder: &Dir) -> Result<Option<Lock>, GitError> {
        discard(folder)?;
        let failed = folder::io_error(DRAFT);
        let options = OpenOptions::new().write(true).create_new(true).clone();
        let mut file = folder.open_with(DRAFT, &options).map_err(&failed)?;
        file.write_all(format!("ref: {}\n", self.to).as_bytes())
            .and_then(|()| file.sync_all())
            .map_err(failed)?;
        Ok(locks::found(folder, DRAFT.to_owned())?.map(|draft| draft.renamed(LOCK)))
    }

    /// Has `HEAD` name the other branch; `false` if it does not name the one from which the switch leads. The draft must
    /// have been written.
    pub(super) fn carry_out(
        self,
        git: &Git,
        at: &RepositoryPaths,
        folder: &Dir,
        change: &GitChange,
    ) -> Result<bool, GitError> {
        reach("lock HEAD")?;
        lock(folder)?;
        if self.standing(git, at)? != Standing::ToDo {
            folder.remove_file(LOCK).map_err(folder::io_error(LOCK))?;
            return Ok(false);
        }
        // Without its line in the log nothing is lost but `git switch -`.
        let _ = self.log(git, at, folder, change);
        reach("HEAD")?;
        folder.rename(LOCK, folder, "HEAD").map_err(folder::io_error("HEAD"))?;
        Ok(true)
    }

    /// Adds the line by which `git switch -` finds its way back.
    fn log(self, git: &Git, at: &RepositoryPaths, folder: &Dir, change: &GitChange) -> Result<(), GitError> {
        let failed = folder::io_error(LOG);
        let mut log = folder.open_with(LOG, OpenOptions::new().append(true)).map_err(&failed)?;
        let who = [
            "-c",
            "user.name=headstart",
            "-c",
            "user.email=headstart@localhost",
            "var",
            "GIT_COMMITTER_IDENT",
        ];
        let who = git.ask(at, "var", &who, b"")?;
        let commit = |name: &RefName| -> Result<ObjectName, GitError> {
            // A branch that the change makes is there at only one side of it.
            if let Some(made) = change.refs.iter().find(|change| change.name == *name) {
                return Ok(made.new.clone().unwrap_or_else(|| at.format.none()));
            }
            match git.try_ask(at, "rev-parse", &["rev-parse", "--verify", "-q", name.as_str()], b"")? {
                Ok(object) => ObjectName::parse(String::from_utf8_lossy(&object).trim()),
                Err(_) => Ok(at.format.none()),
            }
        };
        let (from, to) = (self.from.short(), self.to.short());
        let (old, new, who) = (commit(self.from)?, commit(self.to)?, String::from_utf8_lossy(&who));
        let line = format!("{old} {new} {}\tcheckout: moving from {from} to {to}\n", who.trim());
        log.write_all(line.as_bytes()).map_err(failed)
    }
}

/// Turns the draft into the lock.
fn lock(folder: &Dir) -> Result<(), GitError> {
    for _ in 0..ATTEMPTS {
        match renameat_with(folder, DRAFT, folder, LOCK, RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => locks::pause(),
            moved => return moved.map_err(|error| folder::io_error(LOCK)(error.into())),
        }
    }
    let message = "another git has the lock of HEAD and does not let go of it".to_owned();
    Err(GitError::Git { command: "switch".to_owned(), message, source: None })
}

/// Removes a draft that did not become the lock.
pub(super) fn discard(folder: &Dir) -> Result<(), GitError> {
    match folder.remove_file(DRAFT) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(folder::io_error(DRAFT)(error)),
        _ => Ok(()),
    }
}
