use std::ffi::OsStr;
use std::io;

use serde::{Deserialize, Serialize};

use super::calls::{self, Location, Stat, Time};
use super::system::{Errno, OpenFile, Result};
use crate::{ContentHash, EntryKind};

/// What something on disk was at one moment: enough to recognise it, and to see whether it was edited.
///
/// The device number is missing, because it may be another one after the next boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::os) struct FileState {
    pub(in crate::os) kind: EntryKind,
    pub(in crate::os) inode: u64,
    pub(in crate::os) len: u64,
    /// Permission bits.
    pub(in crate::os) mode: u32,
    /// The modification time. It does not decide if there is a hash.
    pub(in crate::os) modified: Time,
    /// The hash of a file's content or a link's target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::os) hash: Option<ContentHash>,
    /// Whether it may have other names (hard links) besides, which a commit was told to part from it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(in crate::os) several_names: bool,
}

impl FileState {
    pub(in crate::os) fn new(found: &Stat, hash: Option<ContentHash>) -> Self {
        let Stat { kind, inode, len, mode, modified, .. } = *found;
        Self { kind, inode, len, mode, modified, hash, several_names: false }
    }

    /// Whether it is the same thing on the disk and was not edited since. It may have been renamed.
    pub(in crate::os) fn is(&self, found: &Stat) -> bool {
        let is_same = self.kind == found.kind && self.inode == found.inode;
        is_same
            && (self.kind == EntryKind::Directory
                || (self.len == found.len && self.modified == found.modified))
    }
}

/// What the system said about a file in this process's own folder when its content was read, or about a folder when
/// its names were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::os) struct Stamp {
    device: u64,
    inode: u64,
    len: u64,
    modified: Time,
    changed: Time,
}

impl Stamp {
    pub(in crate::os) fn new(found: &Stat) -> Self {
        let Stat { device, inode, len, modified, changed, .. } = *found;
        Self { device, inode, len, modified, changed }
    }

    /// Whether it proves that a file still holds what was read. Whoever changes the content also changes the last of
    /// the times, which no program can set.
    pub(in crate::os) fn proves_unchanged(&self, found: &Stat) -> bool {
        *self == Self::new(found)
    }
}

/// What is known of what waits for a change in a staging folder.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::os) struct Verified {
    /// What the system said about the file when its content was found to be right.
    pub(in crate::os) file: Option<Stamp>,
    /// The file of the user whose bits, owner and attributes it was given, as that file was then.
    pub(in crate::os) like: Option<Stamp>,
}

impl Verified {
    /// Whether the file is known to hold what it should.
    pub(in crate::os) fn proves_unchanged(&self, staged: &Stat) -> bool {
        self.file.is_some_and(|stamp| stamp.proves_unchanged(staged))
    }

    /// Whether the attributes that it was given are those that this file of the user has now.
    pub(in crate::os) fn is_like(&self, old: &Stat) -> bool {
        self.like.is_some_and(|stamp| stamp.proves_unchanged(old))
    }
}

/// What the system says about a place, and the hash of its content.
pub(in crate::os) struct HashedStat {
    pub(in crate::os) found: Stat,
    pub(in crate::os) hash: Option<ContentHash>,
}

/// Reads what is at a place. A link is not followed. If a file grows while it is read, the hash differs.
pub(in crate::os) fn hold(at: Location<'_>) -> Result<HashedStat> {
    let found = calls::look(at)?;
    match found.kind {
        EntryKind::File => hold_open(&calls::open(at)?),
        EntryKind::Symlink => Ok(HashedStat { found, hash: Some(ContentHash::of(&calls::read_link(at)?)) }),
        _ => Ok(HashedStat { found, hash: None }),
    }
}

/// As [`hold`], with one call less if a file is there.
pub(in crate::os) fn hold_file(at: Location<'_>) -> Result<HashedStat> {
    match calls::open(at) {
        Ok(file) => hold_open(&file),
        Err(_) => hold(at),
    }
}

fn hold_open(file: &OpenFile) -> Result<HashedStat> {
    let found = calls::look_at(file)?;
    let hash = if found.kind == EntryKind::File { Some(calls::hash(file, found.len)?) } else { None };
    Ok(HashedStat { found, hash })
}

/// Whether something is there that is `seen`.
pub(in crate::os) fn is_at(at: Location<'_>, seen: Option<&FileState>) -> io::Result<bool> {
    match look_if_there(at)? {
        Some(found) => Ok(seen.is_some_and(|seen| seen.is(&found))),
        None => Ok(false),
    }
}

/// Whether what was put there is there and was not edited since. If there is a hash, the modification time does not
/// count: after a loss of power it may be that of the staging, and the user may have edited the file in place and set
/// the time back.
pub(in crate::os) fn is_ours(at: Location<'_>, seen: Option<&FileState>) -> io::Result<bool> {
    let (Some(found), Some(seen)) = (look_if_there(at)?, seen) else { return Ok(false) };
    if seen.hash.is_none() {
        return Ok(seen.is(&found));
    }
    let is_same_file = seen.kind == found.kind && seen.inode == found.inode && seen.len == found.len;
    Ok(is_same_file && hold(at)?.hash == seen.hash)
}

pub(in crate::os) fn look_if_there(at: Location<'_>) -> io::Result<Option<Stat>> {
    match calls::look(at) {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// A place by its name in a folder.
pub(in crate::os) fn place<'a>(folder: &'a cap_std::fs::Dir, name: &'a str) -> Location<'a> {
    Location { folder, name: OsStr::new(name) }
}
