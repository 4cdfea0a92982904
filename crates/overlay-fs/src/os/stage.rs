use std::ffi::OsStr;
use std::io;

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Gid, Uid, fchown, fgetxattr, flistxattr, fsetxattr};
use rustix::io::Errno;

use super::calls::{self, Found, Place};
use super::folders::Stop;
use super::inherit::Inherited;
use super::journal::Hashes;
use super::os_name;
use super::plan::tampered;
use super::seen::{Seen, Stamp, hold, look_if_there, place};
use super::staging::{self, Staging};
use crate::{Change, ChangeKind, ChangeSet, ContentHash, EntryKind};

/// Beyond so many files, syncing the whole file system once is cheaper than syncing each.
const SYNC_EACH: usize = 4;

/// Smaller files are read at once; to know that they are as they were would cost as much.
const LARGE: u64 = 64 * 1024;

/// Whether what waits in a staging folder was written a moment ago, by the call that looks at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fresh {
    /// Yes: only the files' last touches are missing.
    Yes,
    /// No: somebody may have changed it, and its times are those of the staging.
    No,
}

/// Writes the content of every change to the staging folder.
pub(super) fn write_all(staging: &Staging, changes: &ChangeSet) -> Result<(), Stop> {
    for (number, change) in changes.changes.iter().enumerate() {
        let name = number.to_string();
        let at = staging.at(&name);
        let failed = |error: Errno| Stop::io(&change.path, error);
        match &change.kind {
            ChangeKind::Write { content, executable, .. } => {
                let mode = if *executable { 0o777 } else { 0o666 };
                calls::create(at, mode, content).map_err(failed)?;
            }
            ChangeKind::Link { target, .. } => calls::make_link(at, os_name(target)).map_err(failed)?,
            _ => {}
        }
    }
    Ok(())
}

/// The names of the files that [`write_all`] makes.
pub(super) fn written(changes: &ChangeSet) -> Vec<String> {
    let is_written = |change: &Change| matches!(change.kind, ChangeKind::Write { .. });
    let numbered = changes.changes.iter().enumerate();
    numbered.filter(|(_, change)| is_written(change)).map(|(number, _)| number.to_string()).collect()
}

/// What a sync has put on the medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Synced {
    /// What was asked for.
    These,
    /// Everything on this file system.
    All,
}

/// Puts files and folders in the staging folder on the medium: what they hold, and their bits.
pub(super) fn sync(staging: &Staging, names: &[String]) -> io::Result<Synced> {
    if SYNC_EACH < names.len() {
        match calls::sync_file_system(&staging.folder) {
            Err(Errno::NOSYS) => {}
            outcome => return Ok(outcome.map(|()| Synced::All)?),
        }
    }
    for name in names {
        calls::sync(&calls::open(staging.at(name))?, OsStr::new(name))?;
    }
    Ok(Synced::These)
}

/// Reads the large files that wait, and notes of each that holds what it should by what the system says it will be known
/// to be untouched. For this, the file system's clock must have gone on since the file was written: a change in the
/// same tick would not show.
pub(super) fn vouch(staging: &mut Staging, hashes: &[Hashes]) -> io::Result<()> {
    let mut stamps = vec![None; hashes.len()];
    let mut is_clock_asked = false;
    let mut clock = (0, 0);
    for (number, stamp) in stamps.iter_mut().enumerate() {
        let name = number.to_string();
        if !look_if_there(staging.at(&name))?.is_some_and(is_large) {
            continue;
        }
        if !is_clock_asked {
            is_clock_asked = true;
            // The second time it is exact, where the system counts finely only after somebody has looked.
            touch(staging, staging::OWNER)?;
            clock = touch(staging, staging::OWNER)?.changed;
        }
        let held = hold(staging.at(&name))?;
        let is_known = held.found.changed < clock && held.hash == hashes[number].new;
        *stamp = is_known.then(|| Stamp::new(&held.found));
    }
    staging.stamps = stamps;
    Ok(())
}

fn is_large(found: Found) -> bool {
    found.kind == EntryKind::File && LARGE <= found.len
}

/// What a file that goes in is like, besides its content.
#[derive(Debug, Clone, Copy)]
pub(super) enum Like<'a> {
    /// The file that it replaces, or that moves to its place: permission bits, owner and extended attributes are its, as
    /// they are now.
    Old {
        at: Place<'a>,
        found: &'a Found,
        /// What the change set rests on.
        base: &'a Change,
    },
    /// Any new one in its folder.
    New(&'a Inherited),
}

/// Makes what waits for a change as it will be in the workspace, and says what it is then, and whether its bits, owner or
/// attributes are others now.
pub(super) fn ready(
    at: Place<'_>,
    change: &Change,
    hash: Option<ContentHash>,
    like: Like<'_>,
    (fresh, stamp, bits): (Fresh, Option<&Stamp>, Option<u32>),
) -> Result<(Seen, bool), Stop> {
    let failed = |error: Errno| Stop::io(&change.path, error);
    let (content, executable) = match &change.kind {
        ChangeKind::Write { content, executable, .. } => (content, *executable),
        ChangeKind::Link { target, .. } => {
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
            return Ok((Seen::new(&found, hash), false));
        }
        _ => return Err(tampered(&change.path, at)),
    };
    let file = match calls::open(at) {
        Err(Errno::NOENT | Errno::LOOP) => return Err(tampered(&change.path, at)),
        opened => opened.map_err(failed)?,
    };
    let staged = calls::look_at(&file).map_err(failed)?;
    if staged.kind != EntryKind::File || staged.links != 1 || staged.len != content.len() as u64 {
        return Err(tampered(&change.path, at));
    }
    let is_known = fresh == Fresh::Yes || stamp.is_some_and(|stamp| stamp.vouches_for(&staged));
    if !is_known && calls::read(&file, staged.len).map_err(failed)? != *content {
        return Err(tampered(&change.path, at));
    }
    let (is_touched, modified) = match like {
        Like::Old { at, found: old, base } => {
            let is_same = base.base_content.as_ref() == Some(content);
            let mut is_touched = keep_attributes(&file, at, is_same);
            let mut mode = permission_bits(old, base, executable);
            if staged.owner != old.owner {
                if !keep_owner(&file, old) {
                    // What the old group was given is not for another one.
                    mode = mode & !0o070 | (mode & 0o007) << 3;
                }
                is_touched = true;
            }
            if staged.mode != mode || is_touched {
                calls::set_mode(&file, mode).map_err(failed)?;
                is_touched = true;
            }
            // Where only the bits change, the time is that of the content. At another place a build must see it as new.
            (is_touched, (is_same && base.path == change.path).then_some(old.modified))
        }
        Like::New(inherited) => {
            let wanted = if executable { 0o777 } else { 0o666 };
            let mut is_touched = false;
            if let Some(bits) = bits.filter(|bits| staged.mode != wanted & bits) {
                calls::set_mode(&file, wanted & bits).map_err(failed)?;
                is_touched = true;
            }
            (inherited.give(&file, &staged, wanted).map_err(failed)? || is_touched, None)
        }
    };
    let has_other_bits = is_touched;
    // A build that ran since the content was staged must see it as newer than what it built.
    let is_touched = if modified.is_some() || fresh == Fresh::No {
        calls::set_modified(&file, modified).map_err(failed)?;
        true
    } else {
        is_touched
    };
    let now = if is_touched { calls::look_at(&file).map_err(failed)? } else { staged };
    Ok((Seen::new(&now, hash), has_other_bits))
}

/// The bits that the user's file has now, with the executable ones changed only if the change set changes them.
/// Set-user-id and the like are not carried over to new content.
fn permission_bits(old: &Found, base: &Change, executable: bool) -> u32 {
    let now = old.mode & 0o777;
    let was_executable = base.base.as_ref().is_some_and(crate::Fingerprint::is_executable);
    match (was_executable, executable) {
        (false, true) => now | (now & 0o444) >> 2,
        (true, false) => now & !0o111,
        _ => now,
    }
}

/// Only the superuser, or a member of the group, can give a file away; for all others the file becomes theirs, as
/// with every editor that saves by renaming. Whether it has the group.
fn keep_owner(file: &OwnedFd, old: &Found) -> bool {
    let (user, group) = (Uid::from_raw(old.owner.0), Gid::from_raw(old.owner.1));
    fchown(file, Some(user), Some(group)).or_else(|_| fchown(file, None, Some(group))).is_ok()
}

/// They speak of the content, and are void for another one: what the program may do beyond its user's rights, and sums
/// that are checked.
const OF_CONTENT: [&[u8]; 3] = [b"security.capability", b"security.ima", b"security.evm"];

/// Copies extended attributes, access lists among them, as far as the system lets us; whether there were any.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn keep_attributes(file: &OwnedFd, old: Place<'_>, is_same_content: bool) -> bool {
    let Ok(old) = calls::open(old) else { return false };
    copy_attributes(old, file, |name| is_same_content || !OF_CONTENT.contains(&name))
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn copy_attributes(from: impl AsFd, to: impl AsFd, is_wanted: impl Fn(&[u8]) -> bool) -> bool {
    let mut names = vec![0; 1024];
    let listed = match flistxattr(&from, &mut names[..]) {
        Err(Errno::RANGE) => {
            names.resize(64 * 1024, 0);
            flistxattr(&from, &mut names[..])
        }
        listed => listed,
    };
    let Ok(len) = listed else { return false };
    let mut value = Vec::new();
    let names = names[..len].split(|byte| *byte == 0);
    for name in names.filter(|name| !name.is_empty() && is_wanted(name)) {
        value.resize(64 * 1024, 0);
        if let Ok(len) = fgetxattr(&from, name, &mut value[..]) {
            // What only the superuser may set stays behind, as with a copy.
            let _ = fsetxattr(&to, name, &value[..len], rustix::fs::XattrFlags::empty());
        }
    }
    len != 0
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn keep_attributes(_file: &OwnedFd, _old: Place<'_>, _is_same_content: bool) -> bool {
    false
}

/// An empty folder with the bits, owner and attributes of another one.
pub(super) fn copy_of_folder(of: Place<'_>, at: Place<'_>) -> io::Result<()> {
    let old = calls::look(of)?;
    match calls::make_folder(at, 0o700) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    let folder = calls::open(at)?;
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    if let Ok(of) = calls::open(of) {
        copy_attributes(of, &folder, |_| true);
    }
    keep_owner(&folder, &old);
    Ok(calls::set_mode(&folder, old.mode)?)
}

/// A new folder, as if it were made where it will be.
pub(super) fn new_folder(at: Place<'_>, inherited: &Inherited) -> rustix::io::Result<Found> {
    // A commit before this one may have got as far as that.
    calls::make_folder_if_missing(at, 0o777)?;
    let found = calls::look(at)?;
    if inherited.is_plain(&found) {
        return Ok(found);
    }
    let folder = calls::open(at)?;
    inherited.give(&folder, &found, 0o777)?;
    calls::look_at(&folder)
}

/// An empty folder with these bits, made where it is not there.
pub(super) fn folder(at: Place<'_>, mode: u32, is_there: bool) -> io::Result<()> {
    if !is_there {
        calls::make_folder(at, 0o700)?;
    }
    Ok(calls::set_mode(calls::open(at)?, mode)?)
}

/// For what is put back: a build must see it as newer than what it built meanwhile.
pub(super) fn touch(staging: &Staging, name: &str) -> io::Result<Found> {
    let file = calls::open(place(&staging.folder, name))?;
    match calls::set_modified(&file, None) {
        // It belongs to another user, who lets nobody else write it: then it comes back as it was.
        Err(Errno::PERM | Errno::ACCESS) => {}
        outcome => outcome?,
    }
    Ok(calls::look_at(&file)?)
}
