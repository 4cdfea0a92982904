//! Reads a `.git` folder that somebody else may have filled: by handles only, never through a link, and with limits.

use std::ffi::OsStr;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use cap_fs_ext::DirExt as _;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, Metadata, MetadataExt as _};
use rustix::fs::{FileType, Mode, OFlags, fstat, openat};

use crate::GitError;

/// The deepest nesting of folders.
const DEEPEST: usize = 64;

/// How much may still be read of one state of a repository.
#[derive(Debug)]
pub(super) struct ReadBudget {
    files: u64,
    bytes: u64,
}

impl ReadBudget {
    const FILES: u64 = 100_000;
    const BYTES: u64 = 1 << 30;

    pub(super) fn new() -> Self {
        Self { files: Self::FILES, bytes: Self::BYTES }
    }

    pub(super) fn take(&mut self, path: &str, bytes: u64) -> Result<(), GitError> {
        let Some(files) = self.files.checked_sub(1) else {
            return Err(GitError::Limit { path: path.to_owned(), limit: Self::FILES, unit: "files" });
        };
        let Some(bytes) = self.bytes.checked_sub(bytes) else {
            return Err(GitError::Limit { path: path.to_owned(), limit: Self::BYTES, unit: "bytes" });
        };
        (self.files, self.bytes) = (files, bytes);
        Ok(())
    }
}

/// The kind of a name in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Folder,
    /// Its length in bytes.
    File(u64),
}

/// A name in a `.git` folder.
#[derive(Debug)]
pub(super) struct Entry {
    /// The path from the folder, with `/`.
    pub(super) path: String,
    pub(super) kind: Kind,
    /// The time of the last change of its content, its mode or its place, in nanoseconds since the Unix epoch.
    pub(super) changed: i64,
}

/// The time of the last change, by the kernel's clock. No program can set this time.
pub(super) fn changed(metadata: &Metadata) -> i64 {
    metadata.ctime().saturating_mul(1_000_000_000).saturating_add(metadata.ctime_nsec())
}

/// Opens the folder of a repository; `None` if there is none. If it is a file or a link, the repository is of a kind
/// that is not supported.
pub(super) fn open_git(workspace: &Dir) -> Result<Option<Dir>, GitError> {
    let is_there = match workspace.symlink_metadata(".git") {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        found => found.map_err(io_error("."))?,
    };
    if !is_there.is_dir() {
        let reason = "`.git` is a file or a link: this is a linked worktree, or a submodule".to_owned();
        return Err(GitError::Unsupported { reason });
    }
    let git = workspace.open_dir_nofollow(".git").map_err(io_error(""))?;
    if git.symlink_metadata("commondir").is_ok() {
        let reason = "`.git` is that of a linked worktree".to_owned();
        return Err(GitError::Unsupported { reason });
    }
    Ok(Some(git))
}

pub(super) fn open(path: &Path) -> Result<Dir, GitError> {
    Dir::open_ambient_dir(path, ambient_authority())
        .map_err(|source| GitError::Io { path: path.display().to_string(), source })
}

/// All names below a folder, sorted, each before its content. `enter` says which folders to enter. Whatever is
/// neither a file nor a folder is an error.
pub(super) fn walk(
    git: &Dir,
    below: &str,
    room: &mut ReadBudget,
    enter: &dyn Fn(&str) -> bool,
) -> Result<Vec<Entry>, GitError> {
    let mut found = Vec::new();
    walk_into(git, below, room, enter, &mut found, 0)?;
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

fn walk_into(
    folder: &Dir,
    path: &str,
    room: &mut ReadBudget,
    enter: &dyn Fn(&str) -> bool,
    found: &mut Vec<Entry>,
    depth: usize,
) -> Result<(), GitError> {
    if DEEPEST < depth {
        return Err(GitError::Limit {
            path: told(path),
            limit: DEEPEST as u64,
            unit: "folders in each other",
        });
    }
    for entry in folder.entries().map_err(io_error(path))? {
        let entry = entry.map_err(io_error(path))?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else {
            let odd = format!("{path}/{}", name.as_bytes().escape_ascii());
            return Err(hostile(&odd, "its name is no text"));
        };
        let path = if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
        room.take(&told(&path), 0)?;
        let metadata = folder.symlink_metadata(name).map_err(io_error(&path))?;
        if metadata.is_dir() {
            found.push(Entry { path: path.clone(), kind: Kind::Folder, changed: changed(&metadata) });
            if enter(&path) {
                let inner = folder.open_dir_nofollow(name).map_err(io_error(&path))?;
                walk_into(&inner, &path, room, enter, found, depth + 1)?;
            }
        } else if metadata.is_file() {
            found.push(Entry { path, kind: Kind::File(metadata.len()), changed: changed(&metadata) });
        } else {
            let reason = if metadata.is_symlink() {
                "it is a symbolic link"
            } else {
                "it is neither a file nor a folder"
            };
            return Err(hostile(&path, reason));
        }
    }
    Ok(())
}

/// The content of a file; `None` if it does not exist.
pub(super) fn read(
    git: &Dir,
    path: &str,
    limit: u64,
    room: &mut ReadBudget,
) -> Result<Option<Vec<u8>>, GitError> {
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    let mut folder = None;
    for part in above.split('/').filter(|part| !part.is_empty()) {
        let next = match folder.as_ref().unwrap_or(git).open_dir_nofollow(part) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(io_error(path))?,
        };
        folder = Some(next);
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match openat(folder.as_ref().unwrap_or(git), OsStr::new(name), flags, Mode::empty()) {
        Err(rustix::io::Errno::NOENT) => return Ok(None),
        Err(rustix::io::Errno::LOOP) => return Err(hostile(path, "it is a symbolic link")),
        opened => opened.map_err(|error| io_error(path)(error.into()))?,
    };
    let found = fstat(&file).map_err(|error| io_error(path)(error.into()))?;
    if !FileType::from_raw_mode(found.st_mode).is_file() {
        return Err(hostile(path, "it is no file"));
    }
    let len = u64::try_from(found.st_size).unwrap_or(u64::MAX);
    let too_long = || GitError::Limit { path: told(path), limit, unit: "bytes in one file" };
    if limit < len {
        return Err(too_long());
    }
    room.take(&told(path), len)?;
    let mut bytes = Vec::new();
    let read = File::from(file).take(limit + 1).read_to_end(&mut bytes);
    read.map_err(io_error(path))?;
    if limit < bytes.len() as u64 { Err(too_long()) } else { Ok(Some(bytes)) }
}

/// A path in the folder as people are told it.
pub(super) fn told(path: &str) -> String {
    let path = if path.is_empty() { ".git".to_owned() } else { format!(".git/{path}") };
    path.escape_debug().to_string()
}

pub(super) fn hostile(path: &str, reason: &str) -> GitError {
    GitError::Hostile { path: told(path), reason: reason.to_owned() }
}

pub(super) fn io_error(path: &str) -> impl Fn(io::Error) -> GitError {
    let path = told(path);
    move |source| match rustix::io::Errno::from_io_error(&source) {
        Some(rustix::io::Errno::LOOP) => {
            GitError::Hostile { path: path.clone(), reason: "it is a symbolic link".to_owned() }
        }
        _ => GitError::Io { path: path.clone(), source },
    }
}
