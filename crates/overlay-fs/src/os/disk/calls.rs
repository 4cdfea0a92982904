//! The system calls of a commit. Each does all or nothing, none follows a link, and a move never overwrites.

use std::ffi::OsStr;
use std::path::Path;

use cap_std::fs::Dir;

#[cfg(feature = "failpoints")]
use super::failpoints::before;
use super::system::{self, AsOpenFile, Errno, OpenFile, Rename, Result};
pub(in crate::os) use super::system::{Stat, Time};
#[cfg(feature = "failpoints")]
use super::trace::{RecordedCall, slot};
use crate::{ContentHash, EntryKind};

/// A name in an open folder.
#[derive(Debug, Clone, Copy)]
pub(in crate::os) struct Location<'a> {
    pub(in crate::os) folder: &'a Dir,
    pub(in crate::os) name: &'a OsStr,
}

/// Records a call, if a test asks for that.
macro_rules! done {
    ($done:expr) => {
        #[cfg(feature = "failpoints")]
        super::trace::note(|| Ok($done))
    };
}

#[cfg(not(feature = "failpoints"))]
#[expect(clippy::unnecessary_wraps, reason = "with the feature it may fail")]
fn before(_call: &'static str, _name: &OsStr) -> Result<()> {
    Ok(())
}

/// What is at the place. A link is not followed.
pub(in crate::os) fn look(at: Location<'_>) -> Result<Stat> {
    before("look", at.name)?;
    system::stat(at.folder, at.name)
}

/// What is at a path outside the workspace, with links followed.
pub(in crate::os) fn look_through(path: &Path) -> Result<Stat> {
    system::stat_through(path)
}

/// Whether nobody may change or rename it, whatever its permission bits say.
pub(in crate::os) fn is_fixed(at: Location<'_>) -> Result<bool> {
    before("look for marks", at.name)?;
    system::is_fixed(at.folder, at.name)
}

/// An error unless this user may make and remove names in a folder.
pub(in crate::os) fn may_write_folder(at: Location<'_>) -> Result<()> {
    before("may write folder", at.name)?;
    system::may_write_folder(at.folder, at.name)
}

/// Checks that this user may write the file at the place.
pub(in crate::os) fn may_write(at: Location<'_>) -> Result<()> {
    before("look", at.name)?;
    system::may_write(at.folder, at.name)
}

/// What an open file is.
pub(in crate::os) fn look_at(file: impl AsOpenFile) -> Result<Stat> {
    system::stat_open(file)
}

/// Opens what is at the place for reading; [`Errno::LOOP`] for a link.
pub(in crate::os) fn open(at: Location<'_>) -> Result<OpenFile> {
    before("open", at.name)?;
    system::open(at.folder, at.name)
}

/// Opens a file for reading and writing, unless its name is a link.
pub(in crate::os) fn open_to_write(at: Location<'_>) -> Result<OpenFile> {
    before("open", at.name)?;
    system::open_to_write(at.folder, at.name)
}

/// Opens a file or folder so that it can be synced.
pub(in crate::os) fn open_to_sync(at: Location<'_>) -> Result<OpenFile> {
    before("open", at.name)?;
    system::open_to_sync(at.folder, at.name)
}

/// Reads the start of an open file; `false` if the file is shorter.
pub(in crate::os) fn read_start(file: impl AsOpenFile, start: &mut [u8]) -> Result<bool> {
    loop {
        match system::read_at_start(&file, &mut *start) {
            Err(Errno::INTR) => {}
            outcome => return outcome.map(|count| count == start.len()),
        }
    }
}

/// Reads up to `len` bytes of an open file, and one more, which shows that there is more.
pub(in crate::os) fn read(file: impl AsOpenFile, len: u64) -> Result<Vec<u8>> {
    let mut content = vec![0; usize::try_from(len).map_err(|_| Errno::FBIG)?.saturating_add(1)];
    let mut filled = 0;
    while filled < content.len() {
        match system::read(&file, &mut content[filled..]) {
            Ok(0) => break,
            Ok(count) => {
                filled += count;
                if filled + 1 == content.len() {
                    // One byte more than the file's length was asked for, and did not come.
                    break;
                }
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    content.truncate(filled);
    Ok(content)
}

/// Small enough for the data to stay in the processor's cache between reading and hashing.
const PART: u64 = 64 * 1024;

/// The hash of up to `len` bytes of an open file, and of at least one more if there is more.
pub(in crate::os) fn hash(file: impl AsOpenFile, len: u64) -> Result<ContentHash> {
    let part = usize::try_from(PART.min(len + 1)).map_err(|_| Errno::FBIG)?;
    let mut rest = u128::from(len) + 1;
    ContentHash::of_parts(&mut vec![0; part], |buffer| {
        if rest == 0 {
            return Ok(0);
        }
        let count = loop {
            match system::read(&file, &mut *buffer) {
                Err(Errno::INTR) => {}
                outcome => break outcome?,
            }
        };
        rest = rest.saturating_sub(count as u128);
        if rest == 1 && count < buffer.len() {
            // One byte more than the file's length was asked for, and did not come.
            rest = 0;
        }
        Ok(count)
    })
}

/// The target of the link at the place.
pub(in crate::os) fn read_link(at: Location<'_>) -> Result<Vec<u8>> {
    before("read link", at.name)?;
    system::read_link(at.folder, at.name)
}

/// Makes a file where nothing is. The process's umask applies to `mode`.
pub(in crate::os) fn create(at: Location<'_>, mode: u32, content: &[u8]) -> Result<OpenFile> {
    before("create", at.name)?;
    let file = system::create(at.folder, at.name, mode)?;
    done!(RecordedCall::MakeFile { at: slot(at)?, inode: look_at(&file)?.inode, mode: look_at(&file)?.mode });
    if !content.is_empty() {
        append(&file, at.name, content)?;
    }
    Ok(file)
}

/// Appends to a file that this process made.
pub(in crate::os) fn append(file: &OpenFile, name: &OsStr, content: &[u8]) -> Result<()> {
    // Written in two parts if a test may stop in between.
    let half = if cfg!(feature = "failpoints") { content.len() / 2 } else { 0 };
    let (start, rest) = content.split_at(half);
    for part in [start, rest].into_iter().filter(|part| cfg!(feature = "failpoints") || !part.is_empty()) {
        before("write", name)?;
        write_all(file, part)?;
        done!({
            let Stat { inode, modified, .. } = look_at(file)?;
            RecordedCall::Append { inode, content: part.to_vec(), modified }
        });
    }
    Ok(())
}

/// Overwrites the start of an open file. Only living processes read it, so the power tests need no record of it.
pub(in crate::os) fn overwrite(file: &OpenFile, name: &OsStr, start: &[u8]) -> Result<()> {
    before("overwrite", name)?;
    loop {
        match system::write_at_start(file, start) {
            Ok(count) if count == start.len() => return Ok(()),
            Ok(_) => return Err(Errno::IO),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
}

fn write_all(file: &OpenFile, mut rest: &[u8]) -> Result<()> {
    while !rest.is_empty() {
        match system::write(file, rest) {
            Ok(0) => return Err(Errno::IO),
            Ok(count) => rest = &rest[count..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

pub(in crate::os) fn make_link(at: Location<'_>, target: &OsStr) -> Result<()> {
    before("make link", at.name)?;
    system::make_link(at.folder, at.name, target)?;
    done!(RecordedCall::MakeLink {
        at: slot(at)?,
        inode: system::stat(at.folder, at.name)?.inode,
        target: target.as_encoded_bytes().to_vec()
    });
    Ok(())
}

pub(in crate::os) fn make_folder(at: Location<'_>, mode: u32) -> Result<()> {
    before("make folder", at.name)?;
    system::make_folder(at.folder, at.name, mode)?;
    done!({
        let new = system::stat(at.folder, at.name)?;
        RecordedCall::MakeFolder { at: slot(at)?, inode: new.inode, mode: new.mode }
    });
    Ok(())
}

/// As [`make_folder`], unless it exists.
pub(in crate::os) fn make_folder_if_missing(at: Location<'_>, mode: u32) -> Result<()> {
    match make_folder(at, mode) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Removes an empty folder; [`Errno::NOTEMPTY`] (or [`Errno::EXIST`]) if something is in it.
pub(in crate::os) fn remove_folder(at: Location<'_>) -> Result<()> {
    before("remove folder", at.name)?;
    system::remove_folder(at.folder, at.name)?;
    done!(RecordedCall::RemoveFolder { at: slot(at)? });
    Ok(())
}

pub(in crate::os) fn remove_file(at: Location<'_>) -> Result<()> {
    before("remove file", at.name)?;
    system::remove_file(at.folder, at.name)?;
    done!(RecordedCall::RemoveFile { at: slot(at)? });
    Ok(())
}

/// As [`remove_file`], if it exists.
pub(in crate::os) fn remove_file_if_there(at: Location<'_>) -> Result<()> {
    match remove_file(at) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error),
    }
}

pub(in crate::os) fn set_mode(file: impl AsOpenFile, mode: u32) -> Result<()> {
    before("set mode", OsStr::new(""))?;
    system::set_mode(&file, mode)?;
    done!(RecordedCall::SetMode { inode: look_at(&file)?.inode, mode });
    Ok(())
}

/// Sets the modification time of an open file; `None` for now.
pub(in crate::os) fn set_modified(file: impl AsOpenFile, modified: Option<Time>) -> Result<()> {
    before("set time", OsStr::new(""))?;
    system::set_modified(&file, modified)?;
    done!({
        let Stat { inode, modified, .. } = look_at(&file)?;
        RecordedCall::SetModified { inode, modified }
    });
    Ok(())
}

/// As [`set_modified`] for what is at the place.
pub(in crate::os) fn set_modified_at(at: Location<'_>, modified: Option<Time>) -> Result<()> {
    before("set time", at.name)?;
    system::set_modified_at(at.folder, at.name, modified)?;
    done!({
        let Stat { inode, modified, .. } = system::stat(at.folder, at.name)?;
        RecordedCall::SetModified { inode, modified }
    });
    Ok(())
}

/// Writes an open file to the medium.
pub(in crate::os) fn sync(file: &OpenFile, name: &OsStr) -> Result<()> {
    before("sync", name)?;
    system::sync(file)?;
    done!(RecordedCall::Sync { inode: look_at(file)?.inode });
    Ok(())
}

/// Writes the names in a folder to the medium.
pub(in crate::os) fn sync_folder(folder: &Dir) -> Result<()> {
    let folder = open_folder(folder)?;
    before("sync folder", OsStr::new(""))?;
    match system::sync_folder(&folder) {
        // Some file systems cannot sync a folder; then their own guarantees have to do.
        Err(Errno::INVAL | Errno::ROFS) => return Ok(()),
        outcome => outcome?,
    }
    done!(RecordedCall::SyncFolder { inode: look_at(&folder)?.inode });
    Ok(())
}

/// Writes everything to the medium that was written to a folder's file system; [`Errno::NOSYS`] if the system cannot.
pub(in crate::os) fn sync_file_system(folder: &Dir) -> Result<()> {
    let folder = open_folder(folder)?;
    before("sync file system", OsStr::new(""))?;
    system::sync_file_system(&folder)?;
    done!(RecordedCall::SyncFileSystem);
    Ok(())
}

/// Opens a folder so that it can be synced and its names read, which the handles that only lead to it do not permit.
pub(in crate::os) fn open_folder(folder: &Dir) -> Result<OpenFile> {
    before("open folder", OsStr::new(""))?;
    system::open_folder(folder)
}

/// How something was moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::os) enum MoveMethod {
    /// By one rename.
    Rename,
    /// By a hard link: for a moment it had both names, and may have them again after a loss of power.
    HardLink,
}

/// Moves something to a place where nothing is; [`Errno::EXIST`] if something is there.
pub(in crate::os) fn move_to_free(from: Location<'_>, to: Location<'_>) -> Result<MoveMethod> {
    let moved = before("move", to.name).and_then(|()| rename(from, to, Rename::ToFree));
    match moved {
        Err(error) if is_missing_feature(error) => move_to_free_without_feature(from, to),
        outcome => outcome.map(|()| MoveMethod::Rename),
    }
}

/// Exchanges what is at two places; [`Errno::NOENT`] if nothing is at one of them.
///
/// `between` is a free place in the folder of `staged`, for file systems that cannot exchange. There, nothing is at
/// the target for a moment; if the user makes something there, the old file stays at `between`.
pub(in crate::os) fn exchange(
    staged: Location<'_>,
    target: Location<'_>,
    between: Location<'_>,
) -> Result<MoveMethod> {
    let exchanged = before("exchange", target.name).and_then(|()| rename(staged, target, Rename::Exchange));
    match exchanged {
        Err(error) if is_missing_feature(error) => {}
        outcome => return outcome.map(|()| MoveMethod::Rename),
    }
    move_to_free(target, between)?;
    if let Err(error) = move_to_free(staged, target) {
        move_to_free(between, target)?;
        return Err(error);
    }
    move_to_free(between, staged)
}

/// Renames within one folder, over what may be there.
pub(in crate::os) fn rename_over(folder: &Dir, from: &str, to: &str) -> Result<()> {
    before("rename", OsStr::new(to))?;
    system::rename_over((folder, OsStr::new(from)), (folder, OsStr::new(to)))?;
    done!({
        let at = |name| slot(Location { folder, name: OsStr::new(name) });
        RecordedCall::Move { from: at(from)?, to: at(to)? }
    });
    Ok(())
}

fn rename(from: Location<'_>, to: Location<'_>, how: Rename) -> Result<()> {
    system::rename((from.folder, from.name), (to.folder, to.name), how)?;
    done!(if how == Rename::Exchange {
        RecordedCall::Exchange { one: slot(from)?, other: slot(to)? }
    } else {
        RecordedCall::Move { from: slot(from)?, to: slot(to)? }
    });
    Ok(())
}

/// Some file systems (network, FAT, FUSE) only have plain renames, and so has Windows.
fn is_missing_feature(error: Errno) -> bool {
    [Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP, Errno::NOTSUP].contains(&error)
}

/// Moves without the kernel's help. A hard link fails if something is there, so it does as well. For folders, and on
/// systems without hard links, the target is looked up first, and a file that the user makes there in between is
/// replaced.
fn move_to_free_without_feature(from: Location<'_>, to: Location<'_>) -> Result<MoveMethod> {
    if look(from)?.kind != EntryKind::Directory {
        before("link", to.name)?;
        match system::link((from.folder, from.name), (to.folder, to.name)) {
            Ok(()) => {
                done!(RecordedCall::Link { from: slot(from)?, to: slot(to)? });
                return remove_file(from).map(|()| MoveMethod::HardLink);
            }
            Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS | Errno::MLINK | Errno::ACCESS) => {}
            Err(error) => return Err(error),
        }
    }
    match look(to) {
        Ok(_) => Err(Errno::EXIST),
        Err(Errno::NOENT) => {
            before("plain rename", to.name)?;
            system::rename_over((from.folder, from.name), (to.folder, to.name))?;
            done!(RecordedCall::Move { from: slot(from)?, to: slot(to)? });
            Ok(MoveMethod::Rename)
        }
        Err(error) => Err(error),
    }
}
