//! Gives what waits in a staging folder the attributes that it will have in the workspace, as far as possible while
//! the user still reads.

use std::io;

use super::commit_failure::CommitFailure;
use super::commit_failure::tampered;
use super::folders::Folders;
use super::lock::pause;
use super::origin::Origins;
use super::stage::{self, touch};
use crate::change_set::digest::Hashes;
use crate::os::attributes::inherit::Inherited;
use crate::os::attributes::{keep_attributes, keep_owner, permission_bits};
use crate::os::disk::calls::{self, Location, Stat, Time};
use crate::os::disk::seen::{FileState, Stamp, Verified, hold_file};
use crate::os::disk::system::{Errno, OpenFile, Result as SystemResult};
use crate::os::staging::{self, Staging};
use crate::os::{OsTree, file_times};
use crate::{Change, ChangeKind, ChangeSet, Content, ContentHash, EntryKind};

/// Whether what goes in is in the staging folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::os) enum Stage {
    /// It has to be written.
    Missing,
    /// It was prepared earlier: somebody may have changed it, and its times are those of the preparation.
    Waiting,
}

/// From what a file that goes in gets its attributes.
#[derive(Debug, Clone, Copy)]
pub(in crate::os) enum AttributeSource<'a> {
    /// From the file that it replaces, or that moves to its place: permission bits, owner and extended attributes as
    /// they are now.
    UserFile(UserFile<'a>),
    /// From its folder, like any new file.
    New(&'a Inherited),
}

/// A file of the user.
#[derive(Debug, Clone, Copy)]
pub(in crate::os) struct UserFile<'a> {
    pub(in crate::os) at: Location<'a>,
    pub(in crate::os) found: &'a Stat,
    /// What the change set expects.
    pub(in crate::os) base: &'a Change,
}

/// What is known of what waits for a change.
#[derive(Debug, Clone, Copy)]
pub(in crate::os) struct WaitingFile<'a> {
    pub(in crate::os) at: Location<'a>,
    pub(in crate::os) stage: Stage,
    pub(in crate::os) verified: Option<&'a Verified>,
    /// The permission bits of a new program, if another process wrote the file.
    pub(in crate::os) bits: Option<u32>,
}

/// How often, and thereby how long, to wait for a file system's clock: two ticks of the slowest one.
const ATTEMPTS: usize = 10;

impl OsTree {
    /// Gives the waiting files the attributes of the files that they replace, and notes which those were. What cannot
    /// be given now, or might change without a trace, is left to the accept.
    pub(in crate::os) fn give_all(&self, staging: &mut Staging, changes: &ChangeSet) -> SystemResult<()> {
        let origins = Origins::of(changes);
        let mut folders = Folders::new(&self.root);
        staging.verified = vec![Verified::default(); changes.changes.len()];
        for (number, change) in changes.changes.iter().enumerate() {
            let ChangeKind::Write { content, executable, .. } = &change.kind else { continue };
            let base = origins.file(&change.path).unwrap_or(change);
            let Ok(target) = folders.place(&base.path) else { continue };
            let moment = file_times::since_now_ns();
            let Ok(found) = calls::look(target) else { continue };
            if found.kind != EntryKind::File || !self.clock.shows_changes_since(moment, &found) {
                continue;
            }
            let name = number.to_string();
            let at = staging.at(&name);
            let file = calls::open(at)?;
            let staged = calls::look_at(&file)?;
            let old = UserFile { at: target, found: &found, base };
            if give(&file, &staged, old, content, (*executable, change.mode)).is_ok() {
                staging.verified[number].like = Some(Stamp::new(&found));
            } else {
                // It may have some of the attributes already.
                calls::remove_file(at)?;
                stage::write(at, content, stage::bits_wanted(change, *executable))?;
            }
        }
        Ok(())
    }
}

/// Gives a file the bits, owner and attributes of another one; returns whether it had others before.
fn give(
    file: &OpenFile,
    staged: &Stat,
    old: UserFile<'_>,
    content: &Content,
    (executable, mode): (bool, Option<u32>),
) -> SystemResult<bool> {
    let is_same = old.base.base_content.as_ref() == Some(content);
    let mut is_touched = keep_attributes(file, old.at, is_same);
    let mut mode = permission_bits(old.found, old.base, executable, mode);
    if staged.owner != old.found.owner {
        if !keep_owner(file, old.found) {
            // Permissions for the old group must not go to another one.
            mode = mode & !0o070 | (mode & 0o007) << 3;
        }
        is_touched = true;
    }
    if staged.mode != mode || is_touched {
        calls::set_mode(file, mode)?;
        is_touched = true;
    }
    Ok(is_touched)
}

/// Reads the waiting files, and notes for each with the right content what the system says of it, so that a later
/// look shows whether it was touched. For this, the file system's clock must have gone on since the file was last
/// changed, because a change in the same tick would not show.
pub(in crate::os) fn verify(staging: &mut Staging, hashes: &[Hashes]) -> io::Result<()> {
    let mut held = Vec::with_capacity(hashes.len());
    for (number, hashes) in hashes.iter().enumerate() {
        let one = match hashes.new {
            Some(_) => Some(hold_file(staging.at(&number.to_string()))?),
            None => None,
        };
        held.push(one.filter(|one| one.found.kind == EntryKind::File && one.hash == hashes.new));
    }
    let changed = held.iter().flatten().map(|one| one.found.changed);
    let clock = clock_after(staging, changed.max().unwrap_or_default())?;
    for (held, verified) in held.iter().zip(&mut staging.verified) {
        let known = held.as_ref().filter(|one| one.found.changed < clock);
        verified.file = known.map(|one| Stamp::new(&one.found));
    }
    Ok(())
}

/// The time by the file system's clock: later than `changed`, if it gets there soon.
fn clock_after(staging: &Staging, changed: Time) -> io::Result<Time> {
    for _ in 0..ATTEMPTS {
        // Some systems keep exact times only for a file that somebody has looked at, so the second time is exact.
        touch(staging, staging::OWNER)?;
        let clock = touch(staging, staging::OWNER)?.changed;
        if changed < clock {
            return Ok(clock);
        }
        pause();
    }
    Ok(touch(staging, staging::OWNER)?.changed)
}

/// Gives what goes in for a change the attributes that it will have in the workspace. Returns its state, and whether
/// the file still has to be synced.
pub(in crate::os) fn ready(
    waits: WaitingFile<'_>,
    change: &Change,
    hash: Option<ContentHash>,
    like: AttributeSource<'_>,
) -> Result<(FileState, bool), CommitFailure> {
    match &change.kind {
        ChangeKind::Write { content, executable, .. } => {
            ready_file(waits, change, (content, *executable), hash, like)
        }
        ChangeKind::Link { target, .. } => ready_link(waits, change, target, hash, like),
        _ => Err(tampered(&change.path, waits.at)),
    }
}

fn ready_link(
    WaitingFile { at, stage, .. }: WaitingFile<'_>,
    change: &Change,
    target: &Vec<u8>,
    hash: Option<ContentHash>,
    like: AttributeSource<'_>,
) -> Result<(FileState, bool), CommitFailure> {
    let failed = |error: Errno| CommitFailure::io(&change.path, error);
    match stage {
        Stage::Missing => stage::link(at, target).map_err(|error| CommitFailure::io(&change.path, error))?,
        Stage::Waiting if calls::read_link(at).is_ok_and(|found| found == *target) => {}
        Stage::Waiting => return Err(tampered(&change.path, at)),
    }
    let mut found = calls::look(at).map_err(failed)?;
    if let AttributeSource::New(inherited) = like
        && inherited.give_link(at, &found)
    {
        found = calls::look(at).map_err(failed)?;
    }
    Ok((FileState::new(&found, hash), false))
}

fn ready_file(
    waits: WaitingFile<'_>,
    change: &Change,
    (content, executable): (&Content, bool),
    hash: Option<ContentHash>,
    like: AttributeSource<'_>,
) -> Result<(FileState, bool), CommitFailure> {
    let failed = |error: Errno| CommitFailure::io(&change.path, error);
    let WaitingFile { at, mut stage, verified, bits } = waits;
    let modified = match like {
        AttributeSource::UserFile(UserFile { found, base, .. }) => time_of(change, content, base, found),
        AttributeSource::New(inherited) => {
            if let Some(staged) = look_if_verified(&waits, change)?
                && has_all_of_new(&waits, &staged, change, executable, inherited)
            {
                calls::set_modified_at(at, None).map_err(failed)?;
                return Ok((FileState::new(&staged, hash), false));
            }
            None
        }
    };
    let mut open = match stage {
        Stage::Waiting => Some(open_waiting(&waits, change, content)?),
        Stage::Missing => None,
    };
    if open.is_some() && verified.is_some_and(|verified| verified.like.is_some()) {
        // It has attributes that the user's file had once; those that the file has lost since must not stay.
        calls::remove_file(at).map_err(failed)?;
        (open, stage) = (None, Stage::Missing);
    }
    let (file, staged) = if let Some(open) = open {
        open
    } else {
        let file = stage::write(at, content, stage::bits_wanted(change, executable)).map_err(failed)?;
        let staged = calls::look_at(&file).map_err(failed)?;
        (file, staged)
    };
    let is_touched = match like {
        AttributeSource::UserFile(old) => {
            give(&file, &staged, old, content, (executable, change.mode)).map_err(failed)?
        }
        AttributeSource::New(inherited) => {
            let mut is_touched = false;
            if let Some(bits) = bits_of_new(change, executable, bits).filter(|bits| staged.mode != *bits) {
                calls::set_mode(&file, bits).map_err(failed)?;
                is_touched = true;
            }
            let wanted = stage::bits_wanted(change, executable);
            inherited.give(&file, &staged, wanted).map_err(failed)? || is_touched
        }
    };
    let is_unsynced = is_touched || stage == Stage::Missing;
    if modified.is_some() || stage == Stage::Waiting {
        calls::set_modified(&file, modified).map_err(failed)?;
    } else if !is_touched {
        return Ok((FileState::new(&staged, hash), is_unsynced));
    }
    let now = calls::look_at(&file).map_err(failed)?;
    Ok((FileState::new(&now, hash), is_unsynced))
}

/// Opens the waiting file; an error if it does not have the right content.
fn open_waiting(
    waits: &WaitingFile<'_>,
    change: &Change,
    content: &Content,
) -> Result<(OpenFile, Stat), CommitFailure> {
    let failed = |error: Errno| CommitFailure::io(&change.path, error);
    let file = match calls::open(waits.at) {
        Err(Errno::NOENT | Errno::LOOP) => return Err(tampered(&change.path, waits.at)),
        opened => opened.map_err(failed)?,
    };
    let staged = calls::look_at(&file).map_err(failed)?;
    if staged.kind != EntryKind::File || staged.links != 1 || staged.len != content.len() as u64 {
        return Err(tampered(&change.path, waits.at));
    }
    let is_known = waits.verified.is_some_and(|verified| verified.proves_unchanged(&staged));
    if !is_known && calls::read(&file, staged.len).map_err(failed)? != **content {
        return Err(tampered(&change.path, waits.at));
    }
    Ok((file, staged))
}

/// The state of a waiting file that was given all attributes but its time earlier, and still has them, where a file
/// of the user is at its place or moves to it.
pub(in crate::os) fn as_prepared(
    waits: WaitingFile<'_>,
    change: &Change,
    hash: Option<ContentHash>,
    base: &Change,
    found: &Stat,
) -> Result<Option<FileState>, CommitFailure> {
    let ChangeKind::Write { content, .. } = &change.kind else { return Ok(None) };
    if !waits.verified.is_some_and(|verified| verified.is_like(found)) {
        return Ok(None);
    }
    let Some(staged) = look_if_verified(&waits, change)? else { return Ok(None) };
    // A build that ran since the content was staged must see the file as newer than what it built.
    calls::set_modified_at(waits.at, time_of(change, content, base, found))
        .map_err(|error| CommitFailure::io(&change.path, error))?;
    Ok(Some(FileState::new(&staged, hash)))
}

/// The modification time to give to a file; `None` for now. If only the bits change, it keeps the time of its
/// content. At another path a build must see it as new.
fn time_of(change: &Change, content: &Content, base: &Change, found: &Stat) -> Option<Time> {
    let is_same = base.base_content.as_ref() == Some(content) && base.path == change.path;
    is_same.then_some(found.modified)
}

/// What is there, if it is known to be what was written.
fn look_if_verified(waits: &WaitingFile<'_>, change: &Change) -> Result<Option<Stat>, CommitFailure> {
    let Some(verified) = waits.verified.filter(|_| waits.stage == Stage::Waiting) else { return Ok(None) };
    match calls::look(waits.at) {
        Ok(staged) => Ok(Some(staged).filter(|staged| verified.proves_unchanged(staged))),
        Err(Errno::NOENT) => Err(tampered(&change.path, waits.at)),
        Err(error) => Err(CommitFailure::io(&change.path, error)),
    }
}

/// Whether a waiting file has everything that a new file gets, except its time.
fn has_all_of_new(
    waits: &WaitingFile<'_>,
    staged: &Stat,
    change: &Change,
    executable: bool,
    inherited: &Inherited,
) -> bool {
    let is_other = bits_of_new(change, executable, waits.bits).is_some_and(|bits| staged.mode != bits);
    let was_like_another = waits.verified.is_some_and(|verified| verified.like.is_some());
    !was_like_another && !is_other && inherited.gives_nothing_to(staged)
}

/// The permission bits that a new file has to get, unless it has what this process's umask leaves: those that the
/// change gives it, or, if another process wrote the file, what `umask_leaves`.
fn bits_of_new(change: &Change, executable: bool, umask_leaves: Option<u32>) -> Option<u32> {
    let wanted = stage::bits_wanted(change, executable);
    if change.mode.is_some() { Some(wanted) } else { umask_leaves.map(|bits| wanted & bits) }
}
