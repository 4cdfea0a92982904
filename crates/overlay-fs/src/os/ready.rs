//! What waits in a staging folder is made as it will be in the workspace: as much of it as can be while its user still reads.

use std::io;

use rustix::fd::OwnedFd;
use rustix::io::Errno;

use super::OsTree;
use super::attributes::{keep_attributes, keep_owner, permission_bits};
use super::calls::{self, Found, Place, Time};
use super::clock::Clock;
use super::folders::{Folders, Stop};
use super::inherit::Inherited;
use super::journal::Hashes;
use super::lock::pause;
use super::origin::Origins;
use super::plan::tampered;
use super::seen::{Seen, Stamp, Vouched, hold_file};
use super::stage::{self, touch};
use super::staging::{self, Staging};
use crate::{Change, ChangeKind, ChangeSet, ContentHash, EntryKind};

/// Whether what waits in a staging folder was written a moment ago, by the call that looks at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fresh {
    /// Yes: only the files' last touches are missing.
    Yes,
    /// No: somebody may have changed it, and its times are those of the staging.
    No,
}

/// What a file that goes in is like, besides its content.
#[derive(Debug, Clone, Copy)]
pub(super) enum Like<'a> {
    /// The file that it replaces, or that moves to its place: permission bits, owner and extended attributes are its, as
    /// they are now.
    Old(Old<'a>),
    /// Any new one in its folder.
    New(&'a Inherited),
}

/// A file of its user's.
#[derive(Debug, Clone, Copy)]
pub(super) struct Old<'a> {
    pub(super) at: Place<'a>,
    pub(super) found: &'a Found,
    /// What the change set rests on.
    pub(super) base: &'a Change,
}

/// What is known of what waits for a change.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waits<'a> {
    pub(super) at: Place<'a>,
    pub(super) fresh: Fresh,
    pub(super) vouched: Option<&'a Vouched>,
    /// The permission bits of a new program, if another process wrote it.
    pub(super) bits: Option<u32>,
}

/// How often, and so for how long, a file system's clock is waited for: two ticks of the slowest one.
const ATTEMPTS: usize = 10;

impl OsTree {
    /// Gives the files that wait what those have whose places they take, and notes of each whose that is. What cannot be given
    /// now, or might change without a sign, is left to the accept.
    pub(super) fn give_all(&self, staging: &mut Staging, changes: &ChangeSet) -> rustix::io::Result<()> {
        let origins = Origins::of(changes);
        let mut folders = Folders::new(&self.root);
        staging.vouched = vec![Vouched::default(); changes.changes.len()];
        for (number, change) in changes.changes.iter().enumerate() {
            let ChangeKind::Write { content, executable, .. } = &change.kind else { continue };
            let base = origins.file(&change.path).unwrap_or(change);
            let Ok(target) = folders.place(&base.path) else { continue };
            let moment = Clock::now();
            let Ok(found) = calls::look(target) else { continue };
            if found.kind != EntryKind::File || !self.clock.shows_changes_since(moment, &found) {
                continue;
            }
            let name = number.to_string();
            let at = staging.at(&name);
            let file = calls::open(at)?;
            let staged = calls::look_at(&file)?;
            if give(&file, &staged, Old { at: target, found: &found, base }, content, *executable).is_ok() {
                staging.vouched[number].like = Some(Stamp::new(&found));
            } else {
                // It has some of it, perhaps.
                calls::remove_file(at)?;
                stage::write(at, content, *executable)?;
            }
        }
        Ok(())
    }
}

/// Gives a file the bits, owner and attributes of another one; whether it had others before.
fn give(
    file: &OwnedFd,
    staged: &Found,
    old: Old<'_>,
    content: &Vec<u8>,
    executable: bool,
) -> rustix::io::Result<bool> {
    let is_same = old.base.base_content.as_ref() == Some(content);
    let mut is_touched = keep_attributes(file, old.at, is_same);
    let mut mode = permission_bits(old.found, old.base, executable);
    if staged.owner != old.found.owner {
        if !keep_owner(file, old.found) {
            // What the old group was given is not for another one.
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

/// Reads the files that wait, and notes of each that holds what it should by what the system says it will be known
/// to be untouched. For this, the file system's clock must have gone on since the file was last changed: a change in the
/// same tick would not show.
pub(super) fn vouch(staging: &mut Staging, hashes: &[Hashes]) -> io::Result<()> {
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
    for (held, vouched) in held.iter().zip(&mut staging.vouched) {
        let known = held.as_ref().filter(|one| one.found.changed < clock);
        vouched.file = known.map(|one| Stamp::new(&one.found));
    }
    Ok(())
}

/// The time by the file system's clock, later than that of a change if it gets there soon.
fn clock_after(staging: &Staging, changed: Time) -> io::Result<Time> {
    for _ in 0..ATTEMPTS {
        // The second time it is exact, where the system counts finely only after somebody has looked.
        touch(staging, staging::OWNER)?;
        let clock = touch(staging, staging::OWNER)?.changed;
        if changed < clock {
            return Ok(clock);
        }
        pause();
    }
    Ok(touch(staging, staging::OWNER)?.changed)
}

/// Makes what waits for a change as it will be in the workspace, and says what it is then, and whether something of it is not
/// on the medium that was there before.
pub(super) fn ready(
    waits: Waits<'_>,
    change: &Change,
    hash: Option<ContentHash>,
    like: Like<'_>,
) -> Result<(Seen, bool), Stop> {
    match &change.kind {
        ChangeKind::Write { content, executable, .. } => {
            ready_file(waits, change, (content, *executable), hash, like)
        }
        ChangeKind::Link { target, .. } => ready_link(waits, change, target, hash, like),
        _ => Err(tampered(&change.path, waits.at)),
    }
}

fn ready_link(
    Waits { at, fresh, .. }: Waits<'_>,
    change: &Change,
    target: &Vec<u8>,
    hash: Option<ContentHash>,
    like: Like<'_>,
) -> Result<(Seen, bool), Stop> {
    let failed = |error: Errno| Stop::io(&change.path, error);
    let is_ours = fresh == Fresh::Yes || calls::read_link(at).is_ok_and(|found| found == *target);
    if !is_ours {
        return Err(tampered(&change.path, at));
    }
    let mut found = calls::look(at).map_err(failed)?;
    if let Like::New(inherited) = like
        && inherited.give_link(at, &found)
    {
        found = calls::look(at).map_err(failed)?;
    }
    Ok((Seen::new(&found, hash), false))
}

fn ready_file(
    waits: Waits<'_>,
    change: &Change,
    (content, executable): (&Vec<u8>, bool),
    hash: Option<ContentHash>,
    like: Like<'_>,
) -> Result<(Seen, bool), Stop> {
    let failed = |error: Errno| Stop::io(&change.path, error);
    let Waits { at, mut fresh, vouched, bits } = waits;
    let modified = match like {
        // Where only the bits change, the time is that of the content. At another place a build must see it as new.
        Like::Old(Old { found, base, .. }) => {
            let is_same = base.base_content.as_ref() == Some(content) && base.path == change.path;
            is_same.then_some(found.modified)
        }
        Like::New(_) => None,
    };
    if let Some(vouched) = vouched.filter(|_| fresh == Fresh::No) {
        let staged = look_at_waiting(at, change)?;
        if vouched.vouches_for(&staged) && has_all(vouched, &staged, like, executable, bits) {
            // A build that ran since the content was staged must see it as newer than what it built.
            calls::set_modified_at(at, modified).map_err(failed)?;
            return Ok((Seen::new(&staged, hash), false));
        }
    }
    let mut file = match calls::open(at) {
        Err(Errno::NOENT | Errno::LOOP) => return Err(tampered(&change.path, at)),
        opened => opened.map_err(failed)?,
    };
    let mut staged = calls::look_at(&file).map_err(failed)?;
    if staged.kind != EntryKind::File || staged.links != 1 || staged.len != content.len() as u64 {
        return Err(tampered(&change.path, at));
    }
    let is_known = fresh == Fresh::Yes || vouched.is_some_and(|vouched| vouched.vouches_for(&staged));
    if !is_known && calls::read(&file, staged.len).map_err(failed)? != *content {
        return Err(tampered(&change.path, at));
    }
    let mut is_unsynced = false;
    if vouched.is_some_and(|vouched| vouched.like.is_some()) && fresh == Fresh::No {
        // It has what its user's file had once; that of it which this one has no more must not stay.
        calls::remove_file(at).map_err(failed)?;
        file = stage::write(at, content, executable).map_err(failed)?;
        staged = calls::look_at(&file).map_err(failed)?;
        (fresh, is_unsynced) = (Fresh::Yes, true);
    }
    let is_touched = match like {
        Like::Old(old) => give(&file, &staged, old, content, executable).map_err(failed)?,
        Like::New(inherited) => {
            let wanted = bits_wanted(executable);
            let mut is_touched = false;
            if let Some(bits) = bits.filter(|bits| staged.mode != wanted & bits) {
                calls::set_mode(&file, wanted & bits).map_err(failed)?;
                is_touched = true;
            }
            inherited.give(&file, &staged, wanted).map_err(failed)? || is_touched
        }
    };
    is_unsynced |= is_touched;
    if modified.is_some() || fresh == Fresh::No {
        calls::set_modified(&file, modified).map_err(failed)?;
    } else if !is_touched {
        return Ok((Seen::new(&staged, hash), is_unsynced));
    }
    let now = calls::look_at(&file).map_err(failed)?;
    Ok((Seen::new(&now, hash), is_unsynced))
}

fn look_at_waiting(at: Place<'_>, change: &Change) -> Result<Found, Stop> {
    match calls::look(at) {
        Err(Errno::NOENT) => Err(tampered(&change.path, at)),
        found => found.map_err(|error| Stop::io(&change.path, error)),
    }
}

/// Whether what waits has all that it is to have, but for its time.
fn has_all(vouched: &Vouched, staged: &Found, like: Like<'_>, executable: bool, bits: Option<u32>) -> bool {
    match like {
        Like::Old(old) => vouched.is_like(old.found),
        Like::New(inherited) => {
            let is_other = |bits: u32| staged.mode != bits_wanted(executable) & bits;
            vouched.like.is_none() && !bits.is_some_and(is_other) && inherited.gives_nothing_to(staged)
        }
    }
}

fn bits_wanted(executable: bool) -> u32 {
    if executable { 0o777 } else { 0o666 }
}
