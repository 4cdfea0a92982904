//! The two moves of a commit: each does all or nothing, and neither ever overwrites.

use std::ffi::OsStr;

use cap_std::fs::Dir;
use rustix::fs::{AtFlags, FileType, RenameFlags, linkat, renameat, renameat_with, statat, unlinkat};
use rustix::io::{Errno, Result};

/// A name in an open folder.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) folder: &'a Dir,
    pub(super) name: &'a OsStr,
}

/// Moves to a place where nothing is; [`Errno::EXIST`] if something is there.
pub(super) fn move_to_free(from: Place<'_>, to: Place<'_>) -> Result<()> {
    match renameat_with(from.folder, from.name, to.folder, to.name, RenameFlags::NOREPLACE) {
        Err(error) if is_missing_feature(error) => move_to_free_without_feature(from, to),
        outcome => outcome,
    }
}

/// Exchanges what is at two places; [`Errno::NOENT`] if one is empty.
pub(super) fn exchange(staged: Place<'_>, target: Place<'_>) -> Result<()> {
    match renameat_with(staged.folder, staged.name, target.folder, target.name, RenameFlags::EXCHANGE) {
        Err(error) if is_missing_feature(error) => exchange_without_feature(staged, target),
        outcome => outcome,
    }
}

/// Some file systems (network, FAT, FUSE) have plain renames only.
fn is_missing_feature(error: Errno) -> bool {
    [Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP, Errno::NOTSUP].contains(&error)
}

/// A hard link fails where something is, so it is as good; folders, and systems without hard links, are looked
/// at first: what its user makes there in between is replaced if it is a file.
fn move_to_free_without_feature(from: Place<'_>, to: Place<'_>) -> Result<()> {
    let found = statat(from.folder, from.name, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(found.st_mode) != FileType::Directory {
        match linkat(from.folder, from.name, to.folder, to.name, AtFlags::empty()) {
            Ok(()) => return unlinkat(from.folder, from.name, AtFlags::empty()),
            Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS | Errno::MLINK | Errno::ACCESS) => {}
            Err(error) => return Err(error),
        }
    }
    match statat(to.folder, to.name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) => Err(Errno::EXIST),
        Err(Errno::NOENT) => renameat(from.folder, from.name, to.folder, to.name),
        Err(error) => Err(error),
    }
}

/// For a moment nothing is at the target; if its user makes something there, the old one stays in between.
fn exchange_without_feature(staged: Place<'_>, target: Place<'_>) -> Result<()> {
    let mut name = staged.name.to_owned();
    name.push("-between");
    let between = Place { folder: staged.folder, name: &name };
    move_to_free_without_feature(target, between)?;
    if let Err(error) = move_to_free_without_feature(staged, target) {
        move_to_free_without_feature(between, target)?;
        return Err(error);
    }
    move_to_free_without_feature(between, staged)
}
