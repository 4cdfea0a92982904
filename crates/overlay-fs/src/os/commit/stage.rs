use std::ffi::OsStr;
use std::io;

use super::commit_failure::CommitFailure;
use crate::os::attributes::inherit::Inherited;
use crate::os::attributes::{copy_attributes, keep_owner};
use crate::os::disk::calls::{self, Location, Stat};
use crate::os::disk::seen::place;
use crate::os::disk::system::{Errno, OpenFile, Result as SystemResult, os_name};
use crate::os::staging::Staging;
use crate::{Change, ChangeKind, ChangeSet};

/// The bits that a folder can be given: for everybody, its group for what is made in it, and that only an owner
/// removes.
const FOLDER_BITS: u32 = 0o3777;

/// With more files than this, syncing the whole file system once is cheaper than syncing each file.
const SYNC_EACH: usize = 4;

/// Writes the content of every change to the staging folder.
pub(in crate::os) fn write_all(staging: &Staging, changes: &ChangeSet) -> Result<(), CommitFailure> {
    for (number, change) in changes.changes.iter().enumerate() {
        let name = number.to_string();
        let at = staging.at(&name);
        let failed = |error: Errno| CommitFailure::io(&change.path, error);
        match &change.kind {
            ChangeKind::Write { content, executable, .. } => {
                write(at, content, bits_wanted(change, *executable)).map_err(failed)?;
            }
            ChangeKind::Link { target, .. } => {
                link(at, target).map_err(|error| CommitFailure::io(&change.path, error))?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Writes the content of one file. The umask applies to its bits.
pub(in crate::os) fn write(at: Location<'_>, content: &[u8], bits: u32) -> SystemResult<OpenFile> {
    calls::create(at, bits, content)
}

/// The permission bits of a new file: those that the change gives it, or else those before a umask.
pub(in crate::os) fn bits_wanted(change: &Change, executable: bool) -> u32 {
    let all = if executable { 0o777 } else { 0o666 };
    change.mode.map_or(all, |mode| mode & 0o777)
}

/// Makes a link.
pub(in crate::os) fn link(at: Location<'_>, target: &[u8]) -> io::Result<()> {
    Ok(calls::make_link(at, os_name(target)?)?)
}

/// The names of the files that [`write_all`] makes.
pub(in crate::os) fn written(changes: &ChangeSet) -> Vec<String> {
    let is_written = |change: &Change| matches!(change.kind, ChangeKind::Write { .. });
    let numbered = changes.changes.iter().enumerate();
    numbered.filter(|(_, change)| is_written(change)).map(|(number, _)| number.to_string()).collect()
}

/// What a sync wrote to the medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::os) enum Synced {
    /// The files that were asked for.
    These,
    /// Everything on this file system.
    All,
}

/// Syncs files and folders in the staging folder: their content and their bits.
pub(in crate::os) fn sync(staging: &Staging, names: &[String]) -> io::Result<Synced> {
    if SYNC_EACH < names.len() {
        match calls::sync_file_system(&staging.folder) {
            Err(Errno::NOSYS) => {}
            outcome => return Ok(outcome.map(|()| Synced::All)?),
        }
    }
    for name in names {
        calls::sync(&calls::open_to_sync(staging.at(name))?, OsStr::new(name))?;
    }
    Ok(Synced::These)
}

/// Makes an empty folder with the bits, owner and attributes of another one.
pub(in crate::os) fn copy_of_folder(of: Location<'_>, at: Location<'_>) -> io::Result<()> {
    let old = calls::look(of)?;
    match calls::make_folder(at, 0o700) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    let folder = calls::open(at)?;
    if let Ok(of) = calls::open(of) {
        copy_attributes(of, &folder, |_| true);
    }
    keep_owner(&folder, &old);
    Ok(calls::set_mode(&folder, old.mode)?)
}

/// Makes a folder with what it would have if it were made at its final place, and with these bits, if there are any.
pub(in crate::os) fn new_folder(
    at: Location<'_>,
    inherited: &Inherited,
    mode: Option<u32>,
) -> SystemResult<Stat> {
    let wanted = mode.map_or(0o777, |mode| mode & 0o777 | 0o700);
    // An earlier attempt at this commit may have made it.
    calls::make_folder_if_missing(at, wanted)?;
    let mut found = calls::look(at)?;
    if inherited.is_plain(&found) && mode.is_none_or(|mode| found.mode & 0o7777 == mode) {
        return Ok(found);
    }
    let folder = calls::open(at)?;
    if let Some(mode) = mode {
        // What the folder above gives stays: a view need not show it. Its owner may always write, because what is in
        // it comes later.
        calls::set_mode(&folder, mode & FOLDER_BITS | 0o700 | found.mode & 0o2000)?;
        found = calls::look_at(&folder)?;
    }
    inherited.give(&folder, &found, wanted)?;
    calls::look_at(&folder)
}

/// Makes an empty folder with these bits, unless it exists.
pub(in crate::os) fn folder(at: Location<'_>, mode: u32, is_there: bool) -> io::Result<()> {
    if !is_there {
        calls::make_folder(at, 0o700)?;
    }
    Ok(calls::set_mode(calls::open(at)?, mode)?)
}

/// Sets the time of what is put back to now, because a build must see it as newer than what it built meanwhile.
pub(in crate::os) fn touch(staging: &Staging, name: &str) -> io::Result<Stat> {
    let file = calls::open(place(&staging.folder, name))?;
    match calls::set_modified(&file, None) {
        // It belongs to another user who lets nobody else write it, so it keeps its time.
        Err(Errno::PERM | Errno::ACCESS) => {}
        outcome => outcome?,
    }
    Ok(calls::look_at(&file)?)
}
