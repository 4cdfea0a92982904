//! The state of a repository at one moment, except its objects, copied to a private folder.

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::path::Path;

use cap_std::fs::Dir;
use headstart_overlay_fs::ContentHash;
use tempfile::TempDir;

use super::folder::{self, Kind, ReadBudget};
use super::large;
use super::private::{self, Layout};
use super::program::RepositoryPaths;
use crate::GitError;

/// The longest file that is copied, in bytes.
pub(super) const LONGEST: u64 = 512 << 20;
/// Files up to this length are hashed for comparison; a longer one is compared by its length.
const HASHED: u64 = 1 << 20;

/// The refs, `HEAD` and the index of a repository at one moment.
///
/// The moment must be that at which a view started: it is taken then, or later if nothing changed since
/// ([`changed_since`](Self::changed_since)). So what the user does meanwhile is never taken for the work's. Taking it
/// starts no program; it holds a private folder that is removed with it.
#[derive(Debug)]
pub struct Snapshot {
    pub(super) folder: TempDir,
    pub(super) layout: Layout,
    /// The hash of the index; `None` if there is none.
    pub(super) index: Option<ContentHash>,
    /// Refs that have files of their own.
    pub(super) loose: Vec<String>,
    /// The content of files that only grow.
    pub(super) logs: BTreeMap<String, Vec<u8>>,
    /// Whether it is the state of a view that shows earlier work, and not the user's.
    pub(super) is_of_work: bool,
    /// The contents that git-LFS keeps, with their lengths. Each has the name of its content, so none is read.
    pub(super) large: BTreeMap<String, u64>,
    /// All other files.
    pub(super) others: BTreeMap<String, Stamp>,
}

/// What is compared of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamp {
    len: u64,
    content: Option<ContentHash>,
}

/// What a file in `.git` is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileClass {
    /// Refs, `HEAD`, the index.
    State,
    /// Reflogs.
    Log,
    /// Objects, which are recognised by their names.
    Object,
    /// Contents that git-LFS keeps.
    Large,
    /// Notes that git leaves for people and does not read, and what git-LFS remembers for itself.
    Note,
    /// Everything else: configuration, hooks, unfinished merges.
    Other,
}

impl Snapshot {
    /// Copies the state of the repository in a folder; `None` if there is none. `home` is a folder of the host,
    /// private to the user.
    pub fn take(workspace: impl AsFd, home: &Path) -> Result<Option<Self>, GitError> {
        let workspace = Dir::reopen_dir(&workspace.as_fd()).map_err(folder::io_error(""))?;
        match folder::open_git(&workspace)? {
            Some(git) => Self::copy(&git, home).map(Some),
            None => Ok(None),
        }
    }

    /// Whether anything in the repository of this folder, except objects and notes, changed at `since` or later, in
    /// nanoseconds since the Unix epoch by the clock with which the kernel stamps files. It reads no file.
    pub fn changed_since(workspace: impl AsFd, since: i64) -> Result<bool, GitError> {
        let workspace = Dir::reopen_dir(&workspace.as_fd()).map_err(folder::io_error(""))?;
        let found = workspace.symlink_metadata(".git");
        let Some(git) = folder::open_git(&workspace)? else { return Ok(false) };
        let mut newest = found.map_or(i64::MAX, |found| folder::changed(&found));
        for entry in folder::walk(&git, "", &mut ReadBudget::new(), &|path| class(path) != FileClass::Object)?
        {
            if !matches!(class(&entry.path), FileClass::Object | FileClass::Note) {
                newest = newest.max(entry.changed);
            }
        }
        Ok(since <= newest)
    }

    pub(super) fn copy(git: &Dir, home: &Path) -> Result<Self, GitError> {
        let io = |source| GitError::Io { path: home.display().to_string(), source };
        let folder = tempfile::Builder::new().prefix("git-").tempdir_in(home).map_err(io)?;
        let to = folder::open(folder.path())?;
        let mut room = ReadBudget::new();
        let (mut loose, mut logs, mut others) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        let (mut index, mut layout, mut large) = (None, Layout::default(), BTreeMap::new());
        for entry in folder::walk(git, "", &mut room, &|path| class(path) != FileClass::Object)? {
            let path = entry.path;
            let class = class(&path);
            let Kind::File(len) = entry.kind else {
                if class == FileClass::State {
                    to.create_dir(&path).map_err(folder::io_error(&path))?;
                }
                continue;
            };
            match class {
                FileClass::State => {
                    // Git may be replacing it at this moment, so it counts as if it appeared later.
                    let Some(bytes) = folder::read(git, &path, LONGEST, &mut room)? else { continue };
                    if path == "index" {
                        index = Some(ContentHash::of(&bytes));
                    }
                    if path.starts_with("refs/") {
                        loose.push(path.clone());
                    }
                    private::write(&to, &path, &bytes)?;
                }
                FileClass::Log => {
                    let content = folder::read(git, &path, LONGEST, &mut room)?;
                    logs.insert(path, content.unwrap_or_default());
                }
                FileClass::Other => {
                    let content =
                        if len <= HASHED { folder::read(git, &path, HASHED, &mut room)? } else { None };
                    if path == "config" {
                        layout = private::layout_of(content.as_deref().unwrap_or_default())?;
                    }
                    let content = content.as_deref().map(ContentHash::of);
                    others.insert(path, Stamp { len, content });
                }
                FileClass::Large => {
                    large.insert(path, len);
                }
                FileClass::Object | FileClass::Note => {}
            }
        }
        for path in ["objects/info/alternates", "objects/info/http-alternates"] {
            if let Some(bytes) = folder::read(git, path, HASHED, &mut room)? {
                let stamp = Stamp { len: bytes.len() as u64, content: Some(ContentHash::of(&bytes)) };
                others.insert(path.to_owned(), stamp);
            }
        }
        Ok(Self { folder, layout, index, loose, logs, is_of_work: false, large, others })
    }

    /// Makes it a repository, with the objects in another folder.
    pub(super) fn repository(&self, objects: &Path) -> Result<RepositoryPaths, GitError> {
        private::make(self.folder.path(), self.layout, objects)
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}

pub(super) fn class(path: &str) -> FileClass {
    let first = path.split('/').next().unwrap_or(path);
    match first {
        "refs" | "reftable" => FileClass::State,
        "objects" => FileClass::Object,
        // Made by `git gc` for servers that offer plain files; no local git reads it.
        "info" if path == "info/refs" => FileClass::Note,
        "logs" => FileClass::Log,
        "lfs" if large::is_content(path) => FileClass::Large,
        "lfs" if ["lfs/tmp/", "lfs/cache/", "lfs/logs/"].iter().any(|folder| path.starts_with(folder)) => {
            FileClass::Note
        }
        // A view shows these empty, because nothing tells what is closed in them.
        "rr-cache" | "lost-found" => FileClass::Note,
        _ if path != first => FileClass::Other,
        "HEAD" | "packed-refs" | "shallow" | "index" => FileClass::State,
        _ if first.starts_with("sharedindex.") => FileClass::State,
        "COMMIT_EDITMSG" | "ORIG_HEAD" | "FETCH_HEAD" | "MERGE_MSG" | "SQUASH_MSG" | "AUTO_MERGE"
        | "MERGE_RR" | "TAG_EDITMSG" | "NOTES_EDITMSG" | "gc.log" | "gc.pid" => FileClass::Note,
        _ => FileClass::Other,
    }
}
