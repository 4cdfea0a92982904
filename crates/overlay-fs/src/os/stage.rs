use std::ffi::OsStr;
use std::io;

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Gid, Uid, fchown, fgetxattr, flistxattr, fsetxattr};
use rustix::io::Errno;

use super::calls::{self, Found, Place};
use super::folders::Stop;
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
pub(super) fn write_all(staging: &Staging, changes: &ChangeSet, sync: bool) -> Result<(), Stop> {
    let mut files = 0;
    for (number, change) in changes.changes.iter().enumerate() {
        let name = number.to_string();
        let at = staging.at(&name);
        let failed = |error: Errno| Stop::io(&change.path, error);
        match &change.kind {
            ChangeKind::Write { content, executable, .. } => {
                let mode = if *executable { 0o777 } else { 0o666 };
                let file = calls::create(at, mode, content).map_err(failed)?;
                files += 1;
                if sync && files <= SYNC_EACH {
                    calls::sync(&file, at.name).map_err(failed)?;
                }
            }
            ChangeKind::Link { target, .. } => calls::make_link(at, os_name(target)).map_err(failed)?,
            _ => {}
        }
    }
    if !sync || files == 0 {
        return Ok(());
    }
    if SYNC_EACH < files {
        sync_many(staging, changes)?;
    }
    calls::sync_folder(&staging.folder).map_err(Stop::at_root)
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

fn sync_many(staging: &Staging, changes: &ChangeSet) -> Result<(), Stop> {
    match calls::sync_file_system(&staging.folder) {
        Err(Errno::NOSYS) => {}
        outcome => return outcome.map_err(Stop::at_root),
    }
    for (number, change) in changes.changes.iter().enumerate().skip(SYNC_EACH) {
        if matches!(change.kind, ChangeKind::Write { .. }) {
            let name = number.to_string();
            let file = calls::open(staging.at(&name)).map_err(|error| Stop::io(&change.path, error))?;
            calls::sync(&file, OsStr::new(&name)).map_err(|error| Stop::io(&change.path, error))?;
        }
    }
    Ok(())
}

/// Makes what waits for a change as it will be in the workspace, and says what it is then. `old` is what it replaces:
/// permission bits, owner and extended attributes are its, as they are now.
pub(super) fn ready(
    at: Place<'_>,
    change: &Change,
    hash: Option<ContentHash>,
    old: Option<(Place<'_>, &Found)>,
    (fresh, stamp): (Fresh, Option<&Stamp>),
) -> Result<Seen, Stop> {
    let failed = |error: Errno| Stop::io(&change.path, error);
    let (content, executable) = match &change.kind {
        ChangeKind::Write { content, executable, .. } => (content, *executable),
        ChangeKind::Link { target, .. } => {
            let is_ours = fresh == Fresh::Yes || calls::read_link(at).is_ok_and(|found| found == *target);
            if !is_ours {
                return Err(tampered(&change.path, at));
            }
            let found = calls::look(at).map_err(failed)?;
            return Ok(Seen::new(&found, hash));
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
    let mut is_touched = false;
    if let Some((target, old)) = old.filter(|(_, old)| old.kind == EntryKind::File) {
        is_touched |= keep_attributes(&file, target);
        let mode = permission_bits(old, change, executable);
        if staged.owner != old.owner {
            keep_owner(&file, old);
            is_touched = true;
        }
        if staged.mode != mode || is_touched {
            calls::set_mode(&file, mode).map_err(failed)?;
            is_touched = true;
        }
    }
    if change.base_content.as_ref() == Some(content) {
        if let Some((_, old)) = old.filter(|(_, old)| old.kind == EntryKind::File) {
            // Only its bits change: its time is that of its content.
            calls::set_modified(&file, Some(old.modified)).map_err(failed)?;
            is_touched = true;
        }
    } else if fresh == Fresh::No {
        // A build that ran since the content was staged must see it as newer than what it built.
        calls::set_modified(&file, None).map_err(failed)?;
        is_touched = true;
    }
    let now = if is_touched { calls::look_at(&file).map_err(failed)? } else { staged };
    Ok(Seen::new(&now, hash))
}

/// The bits that the user's file has now, with the executable ones changed only if the change set changes them.
/// Set-user-id and the like are not carried over to new content.
fn permission_bits(old: &Found, change: &Change, executable: bool) -> u32 {
    let now = old.mode & 0o777;
    let was_executable = change.base.as_ref().is_some_and(crate::Fingerprint::is_executable);
    match (was_executable, executable) {
        (false, true) => now | (now & 0o444) >> 2,
        (true, false) => now & !0o111,
        _ => now,
    }
}

/// Only the superuser, or a member of the group, can give a file away; for all others the file becomes theirs, as
/// with every editor that saves by renaming.
fn keep_owner(file: &OwnedFd, old: &Found) {
    let (user, group) = (Uid::from_raw(old.owner.0), Gid::from_raw(old.owner.1));
    if fchown(file, Some(user), Some(group)).is_err() {
        let _ = fchown(file, None, Some(group));
    }
}

/// What speaks of the old content alone: what a program may do, and signatures. A write in place takes it away, too.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
const OF_THE_CONTENT: [&[u8]; 3] = [b"security.capability", b"security.ima", b"security.evm"];

/// Copies extended attributes, access lists among them, as far as the system lets us; whether there were any.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn keep_attributes(file: &OwnedFd, old: Place<'_>) -> bool {
    let Ok(old) = calls::open(old) else { return false };
    copy_attributes(old, file, &OF_THE_CONTENT)
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn copy_attributes(from: impl AsFd, to: impl AsFd, without: &[&[u8]]) -> bool {
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
    for name in
        names[..len].split(|byte| *byte == 0).filter(|name| !name.is_empty() && !without.contains(name))
    {
        value.resize(64 * 1024, 0);
        if let Ok(len) = fgetxattr(&from, name, &mut value[..]) {
            // What only the superuser may set stays behind, as with a copy.
            let _ = fsetxattr(&to, name, &value[..len], rustix::fs::XattrFlags::empty());
        }
    }
    len != 0
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn keep_attributes(_file: &OwnedFd, _old: Place<'_>) -> bool {
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
        copy_attributes(of, &folder, &[]);
    }
    keep_owner(&folder, &old);
    Ok(calls::set_mode(&folder, old.mode)?)
}

/// An empty folder with these bits.
pub(super) fn folder(at: Place<'_>, mode: u32) -> io::Result<()> {
    calls::make_folder(at, 0o700)?;
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
