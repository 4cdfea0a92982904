//! Staging folders: private folders for new files that wait and old ones that are kept.

pub(super) mod cache;
pub(super) mod home;
pub(super) mod journal;
pub(super) mod lock_token;
pub(super) mod process;
pub(super) mod waiting;

use std::ffi::OsStr;
use std::io;
use std::sync::{Arc, OnceLock};

use cap_std::fs::Dir;
use serde::{Deserialize, Serialize};

use self::home::{PREFIX, StagingHome, identity, is_private};
use self::journal::Journal;
use self::process::Process;
use super::attributes::inherit::make_plain;
use super::disk::calls::{self, Location, Stat, Time};
use super::disk::file_lock::FileLock;
use super::disk::names::names_in;
use super::disk::seen::{Verified, look_if_there, place};
use super::disk::system::{self, Errno, OpenFile};
use crate::{ContentHash, EntryKind};

/// The file that says who made the folder, and for which changes. Its maker holds a lock on it.
///
/// Making a file takes longer than anything else when a folder is made, so one file does two things: as a
/// `.gitignore` it hides the folder from `git status` without a change to the user's files, and a comment in it holds
/// the record of the owner.
pub(super) const OWNER: &str = ".gitignore";
/// What stands before the owner's record in this file.
const IGNORE_ALL: &str = "*\n# ";
/// The largest size of a journal or record, in bytes. A larger one was not written here, and might be a sparse file
/// that fills the memory.
const LARGEST: u64 = 256 << 20;
/// A journal while it is being written.
const DRAFT: &str = "draft";

/// How far a commit got. Each phase is a journal of that name; if there are several, the first of this list counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// The folder holds what a rollback could not put back.
    Kept,
    /// The files of an undo are as they were before the accept, and the participant has to follow.
    Returning,
    /// The files of a commit are in place, and the participant has to follow.
    Completing,
    /// An undo is being made. The folder may hold the only copy of what was in the workspace.
    Undoing,
    /// A commit is being made. The folder may hold the only copy of what was in the workspace.
    Applying,
    /// The commit was taken back; only the owner's record and this journal are left.
    Undone,
    /// The commit is done; the folder holds what it replaced.
    Committed,
    /// The folder holds what goes in, for whichever process makes the commit.
    Waiting,
    /// The workspace was not touched.
    Idle,
}

impl Phase {
    const MARKED: [Self; 8] = [
        Self::Kept,
        Self::Returning,
        Self::Completing,
        Self::Undoing,
        Self::Applying,
        Self::Undone,
        Self::Committed,
        Self::Waiting,
    ];

    /// Whether the workspace may be neither in its old state nor in its new one.
    pub(super) fn is_half_done(self) -> bool {
        matches!(self, Self::Undoing | Self::Applying | Self::Completing | Self::Returning)
    }

    /// Whether all files are in their final places, and the participant has to follow.
    pub(super) fn is_in_place(self) -> bool {
        matches!(self, Self::Completing | Self::Returning)
    }

    pub(super) fn journal(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Returning => "returning",
            Self::Completing => "completing",
            Self::Undoing => "undoing",
            Self::Applying => "applying",
            Self::Undone => "undone",
            Self::Committed => "committed",
            Self::Waiting => "waiting",
            Self::Idle => DRAFT,
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Owner {
    pub(super) process: Process,
    /// The digest of the change set.
    #[serde(default)]
    pub(super) changes: Option<ContentHash>,
}

impl Owner {
    /// As a comment in the file. JSON contains no line end, so all of it fits into one.
    fn to_bytes(&self) -> io::Result<Vec<u8>> {
        Ok(format!("{IGNORE_ALL}{}\n", serde_json::to_string(self)?).into_bytes())
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes.strip_prefix(IGNORE_ALL.as_bytes())?).ok()
    }
}

/// An empty file that was made for a journal to come.
#[derive(Debug)]
struct Reserved {
    file: OpenFile,
    /// Device and inode.
    identity: (u64, u64),
}

/// A private folder for new files that wait and old ones that are kept.
#[derive(Debug)]
pub(super) struct Staging {
    home: Arc<Dir>,
    pub(super) folder: Dir,
    pub(super) name: String,
    /// Its path as people are told it.
    pub(super) told: String,
    /// Tells this folder from any other, including a copy of it.
    identity: OnceLock<String>,
    /// The lock on the owner's record. The kernel releases it when the process dies.
    lock: Option<FileLock>,
    /// What is known of the waiting files, by the index of the change; empty for files that were just written.
    pub(super) verified: Vec<Verified>,
    /// An empty file for the journal of a possible commit, because making a file can take longer than the rest of the
    /// commit.
    reserved: Option<Reserved>,
    /// The permission bits of a new program, if another process, which may have another umask, wrote the files.
    pub(super) bits: Option<u32>,
}

impl Staging {
    pub(super) fn create(home: &StagingHome, changes: ContentHash) -> io::Result<Self> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
        let name = format!("{PREFIX}{:032x}", u128::from_ne_bytes(random));
        calls::make_folder(place(&home.folder, &name), 0o700)?;
        let folder = system::open_own_folder(&home.folder, &name)?;
        let told = home.told(&name);
        let home = home.folder.clone();
        let (identity, lock, verified, reserved, bits) = Default::default();
        let mut staging = Self { home, folder, name, told, identity, lock, verified, reserved, bits };
        match staging.prepare(changes) {
            Ok(()) => Ok(staging),
            Err(error) => {
                // The first error is the one to report; what is left is for a sweep.
                let _ = staging.remove(false);
                Err(error)
            }
        }
    }

    fn prepare(&mut self, changes: ContentHash) -> io::Result<()> {
        if !is_private(&self.folder)? {
            return Err(not_private(&calls::look_at(&self.folder)?));
        }
        make_plain(&self.folder)?;
        let owner = Owner { process: Process::current(), changes: Some(changes) };
        let file = calls::create(self.at(OWNER), 0o600, &owner.to_bytes()?)?;
        // It was made a moment ago, so nobody else has opened it.
        self.lock = Some(FileLock::of_file(file)?.ok_or(io::ErrorKind::WouldBlock)?);
        Ok(())
    }

    /// Opens an existing staging folder; `None` unless it is a private folder that this crate made.
    ///
    /// In the workspace that is not enough, because a project can bring such a folder along. There, a journal counts
    /// only if it was written in this very folder.
    pub(super) fn open(home: &StagingHome, name: &str) -> io::Result<Option<Self>> {
        match Self::open_ours(home, name)? {
            Some(staging) if home.path.is_none() && staging.is_brought()? => Ok(None),
            opened => Ok(opened),
        }
    }

    /// As [`open`](Self::open), for a name that this process gave or has opened before.
    pub(super) fn open_ours(home: &StagingHome, name: &str) -> io::Result<Option<Self>> {
        let at = place(&home.folder, name);
        if look_if_there(at)?.is_none_or(|found| found.kind != EntryKind::Directory) {
            return Ok(None);
        }
        let folder = match system::open_own_folder(&home.folder, name) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(None),
            // Its process has just removed it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        if !is_private(&folder)? {
            return Ok(None);
        }
        let told = home.told(name);
        let (home, name) = (home.folder.clone(), name.to_owned());
        let (identity, lock, verified, reserved, bits) = Default::default();
        Ok(Some(Self { home, folder, name, told, identity, lock, verified, reserved, bits }))
    }

    /// Whether it holds a journal that no commit wrote here. A damaged journal is reported and not acted on.
    fn is_brought(&self) -> io::Result<bool> {
        let (phase, Some(found)) = self.marked()? else { return Ok(false) };
        if found.kind != EntryKind::File || LARGEST < found.len {
            return Ok(true);
        }
        let journal = match self.journal(phase) {
            // Its process has just entered the next phase.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            journal => journal?,
        };
        let identity = self.identity()?;
        Ok(journal.is_some_and(|journal| !journal.is_of(identity)))
    }

    pub(super) fn identity(&self) -> io::Result<&str> {
        if let Some(identity) = self.identity.get() {
            return Ok(identity);
        }
        let found = identity(&self.folder)?;
        Ok(self.identity.get_or_init(|| found))
    }

    pub(super) fn at<'a>(&'a self, name: &'a str) -> Location<'a> {
        place(&self.folder, name)
    }

    /// The owner's record; `None` if there is none that can be read.
    pub(super) fn owner(&self) -> io::Result<Option<Owner>> {
        match look_if_there(self.at(OWNER))? {
            Some(found) if found.kind == EntryKind::File && found.len <= LARGEST => {
                match self.content_of(OWNER) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound || system::is_locked(&error) => {
                        Ok(None)
                    }
                    content => Ok(Owner::parse(&content?)),
                }
            }
            _ => Ok(None),
        }
    }

    /// Whether its maker is at work: it holds the lock, or is a living process.
    pub(super) fn is_alive(&self) -> io::Result<bool> {
        let is_locked = match calls::open(self.at(OWNER)) {
            Ok(file) => FileLock::is_taken(file)?,
            Err(Errno::NOENT | Errno::LOOP) => false,
            Err(error) => return Err(error.into()),
        };
        // The folders that this process works with are locked by it.
        let is_another = |owner: &Owner| owner.process != Process::current();
        Ok(is_locked || self.owner()?.filter(is_another).is_some_and(|owner| owner.process.is_alive()))
    }

    pub(super) fn phase(&self) -> io::Result<Phase> {
        Ok(self.marked()?.0)
    }

    /// The phase, and what the system says about its journal.
    pub(super) fn marked(&self) -> io::Result<(Phase, Option<Stat>)> {
        for phase in Phase::MARKED {
            if let Some(found) = look_if_there(self.at(phase.journal()))? {
                return Ok((phase, Some(found)));
            }
        }
        Ok((Phase::Idle, None))
    }

    /// Writes what is about to be done, and enters the phase of doing it. Returns the journal's time, which is later
    /// than `after` whatever the clock says.
    pub(super) fn begin(&self, phase: Phase, journal: &Journal, after: Time, sync: bool) -> io::Result<Time> {
        self.mark(phase, &journal.to_bytes(), after, sync)
    }

    /// Enters a phase from none.
    pub(super) fn mark(&self, phase: Phase, journal: &[u8], after: Time, sync: bool) -> io::Result<Time> {
        if LARGEST < journal.len() as u64 {
            return Err(io::Error::other("these are more changes than one journal can hold"));
        }
        let created;
        let file = if let Some(file) = self.reserved()? {
            calls::append(file, OsStr::new(DRAFT), journal)?;
            file
        } else {
            self.remove_if_there(DRAFT)?;
            created = calls::create(self.at(DRAFT), 0o600, journal)?;
            &created
        };
        let mut written = calls::look_at(file)?.modified;
        if written <= after {
            let (seconds, part) = after;
            written = if part < 999_999_999 { (seconds, part + 1) } else { (seconds.saturating_add(1), 0) };
            calls::set_modified(file, Some(written))?;
        }
        if sync {
            calls::sync(file, OsStr::new(DRAFT))?;
        }
        self.go(Phase::Idle, phase, sync)?;
        Ok(written)
    }

    /// Makes the file for the journal of a possible commit.
    pub(super) fn reserve(&mut self) -> io::Result<()> {
        self.identity()?;
        let file = calls::create(self.at(DRAFT), 0o600, b"")?;
        let Stat { device, inode, .. } = calls::look_at(&file)?;
        self.reserved = Some(Reserved { file, identity: (device, inode) });
        Ok(())
    }

    /// The reserved file, if it is unchanged.
    fn reserved(&self) -> io::Result<Option<&OpenFile>> {
        let Some(Reserved { file, identity }) = &self.reserved else { return Ok(None) };
        let is_same = |found: &Stat| (found.device, found.inode) == *identity;
        let is_as_made = |found: &Stat| is_same(found) && found.len == 0 && found.links == 1;
        Ok(look_if_there(self.at(DRAFT))?.filter(is_as_made).map(|_| file))
    }

    /// Ends the phase `from` by entering `to`, or stays in it if that cannot be synced.
    pub(super) fn end(&self, from: Phase, to: Phase, sync: bool) -> io::Result<()> {
        self.go(from, to, sync).inspect_err(|_| {
            // Does nothing if the rename itself failed. If this fails too, the caller gets an error, and learns when
            // it asks again that the commit was made.
            let _ = self.go(to, from, false);
        })
    }

    /// Enters one phase from another by one rename.
    pub(super) fn go(&self, from: Phase, to: Phase, sync: bool) -> io::Result<()> {
        calls::rename_over(&self.folder, from.journal(), to.journal())?;
        if sync {
            calls::sync_folder(&self.folder)?;
        }
        Ok(())
    }

    /// Goes back to the phase before this one by one rename.
    pub(super) fn leave(&self, phase: Phase, sync: bool) -> io::Result<()> {
        calls::remove_file(self.at(phase.journal()))?;
        if sync {
            calls::sync_folder(&self.folder)?;
        }
        Ok(())
    }

    /// The digest of the change set that was committed or undone. The owner's record may be missing after a loss of
    /// power; the journal never is.
    pub(super) fn changes(&self, phase: Phase) -> io::Result<Option<ContentHash>> {
        match self.owner()?.and_then(|owner| owner.changes) {
            Some(changes) => Ok(Some(changes)),
            None => Ok(self.journal(phase)?.and_then(|journal| journal.changes)),
        }
    }

    /// The number of bytes in it.
    pub(super) fn size(&self) -> io::Result<u64> {
        let mut size = 0;
        for name in self.content()? {
            size += calls::look(self.at(&name))?.len;
        }
        Ok(size)
    }

    /// The journal; `None` if it is damaged, or written by a newer headstart.
    pub(super) fn journal(&self, phase: Phase) -> io::Result<Option<Journal>> {
        Ok(Journal::parse(&self.content_of(phase.journal())?))
    }

    pub(super) fn content_of(&self, name: &str) -> io::Result<Vec<u8>> {
        let file = calls::open(self.at(name))?;
        let found = calls::look_at(&file)?;
        if found.kind != EntryKind::File || LARGEST < found.len {
            return Err(io::Error::other(format!("{}/{name} is none of ours", self.told)));
        }
        Ok(calls::read(file, found.len)?)
    }

    /// Releases the folder, because its commit is done or taken back.
    pub(super) fn release(&mut self) {
        self.lock = None;
    }

    /// Takes the folder over with the lock on its owner's record.
    pub(super) fn hold(&mut self, lock: FileLock) {
        self.lock = Some(lock);
    }

    /// Removes the folder and everything that a commit puts into it. The journals go first, because a folder without
    /// one is known to hold nothing that is needed. The owner's record goes last, so that a folder left by a process
    /// that dies here is still recognised. An unexpected name stops it before anything is removed.
    pub(super) fn remove(&self, sync: bool) -> io::Result<()> {
        self.content()?;
        for phase in Phase::MARKED.into_iter().rev() {
            if look_if_there(self.at(phase.journal()))?.is_none() {
                continue;
            }
            self.remove_if_there(phase.journal())?;
            // After a loss of power the journal could come back without the files that it mentions, and nothing could
            // be taken back by it.
            if sync && phase.is_half_done() {
                calls::sync_folder(&self.folder)?;
            }
        }
        self.remove_content()?;
        self.remove_if_there(OWNER)?;
        Ok(calls::remove_folder(place(&self.home, &self.name))?)
    }

    /// Removes everything except the owner's record and the journal.
    pub(super) fn remove_content(&self) -> io::Result<()> {
        for name in self.content()? {
            let at = self.at(&name);
            match look_if_there(at)? {
                Some(found) if found.kind == EntryKind::Directory => calls::remove_folder(at)?,
                Some(_) => calls::remove_file(at)?,
                None => {}
            }
        }
        Ok(())
    }

    fn remove_if_there(&self, name: &str) -> io::Result<()> {
        Ok(calls::remove_file_if_there(self.at(name))?)
    }

    /// The names of what waits or is kept; an error for a name that no commit gives.
    pub(super) fn content(&self) -> io::Result<Vec<String>> {
        names_in(&self.folder, |name| {
            let Some(name) = str::from_utf8(name).ok().filter(|name| is_content(name) || is_mark(name))
            else {
                let message = format!("{}/{} is not one of ours", self.told, name.escape_ascii());
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            };
            Ok((is_content(name) || name == DRAFT).then(|| name.to_owned()))
        })
    }
}

/// Why a folder that was just made cannot be used.
fn not_private(found: &Stat) -> io::Error {
    if found.owner.0 != system::user() {
        return io::Error::other("the staging folder belongs to another user: somebody changed it at once");
    }
    let bits = found.mode & 0o777;
    io::Error::other(format!(
        "the folder for what is replaced cannot be made private (its permission bits are {bits:o}, not 700): on a file system \
         without permissions, such as FAT, exFAT or some network shares, nothing can be accepted; the changes can be \
         exported as a patch"
    ))
}

/// Whether a commit gives this name to what waits or is kept: a number, possibly with `above-`, `-old` or `-between`.
fn is_content(name: &str) -> bool {
    let number = name.strip_suffix("-between").unwrap_or(name);
    let number = number.strip_suffix("-old").unwrap_or(number);
    let number = number.strip_prefix("above-").unwrap_or(number);
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_mark(name: &str) -> bool {
    name == OWNER || name == DRAFT || Phase::MARKED.iter().any(|phase| phase.journal() == name)
}
