//! Git's index, path by path.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use cap_std::fs::Dir;
use headstart_overlay_fs::{ContentHash, Direction, Process};
use rustix::fs::{RenameFlags, renameat_with};
use rustix::io::Errno;
use tempfile::TempDir;

use super::folder;
use super::private::Layout;
use super::program::{Git, RepositoryPaths};
use crate::{GitError, Index, IndexEntry, ObjectName, Staged};

/// What is staged, by path; `None` for a path with an unfinished merge.
pub(super) type Entries = BTreeMap<Vec<u8>, Option<Staged>>;

/// All entries of an index.
pub(super) fn entries(git: &Git, at: &RepositoryPaths) -> Result<Entries, GitError> {
    let listed = git.ask(at, "ls-files", &["ls-files", "--stage", "-z"], b"")?;
    let mut entries = Entries::new();
    for line in listed.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
        let odd = || GitError::Damaged {
            message: format!("an entry of the index: {}", line.escape_ascii()),
            source: None,
        };
        let at = line.iter().position(|byte| *byte == b'\t').ok_or_else(odd)?;
        let (about, path) = (str::from_utf8(&line[..at]).map_err(|_| odd())?, line[at + 1..].to_vec());
        let mut about = about.split(' ');
        let (Some(mode), Some(object), Some(stage)) = (about.next(), about.next(), about.next()) else {
            return Err(odd());
        };
        let staged = Staged { mode: mode.to_owned(), object: ObjectName::parse(object)? };
        entries.insert(path, Some(staged).filter(|_| stage == "0"));
    }
    Ok(entries)
}

/// The entries that differ; `None` if one of them has an unfinished merge.
pub(super) fn difference(old: &Entries, new: &Entries) -> Option<Vec<IndexEntry>> {
    let mut found = Vec::new();
    let paths = old.keys().chain(new.keys().filter(|path| !old.contains_key(*path)));
    for path in paths {
        let sides = (old.get(path), new.get(path));
        if sides.0 == sides.1 {
            continue;
        }
        let plain = |side: Option<&Option<Staged>>| match side {
            None => Some(None),
            Some(staged) => staged.clone().map(Some),
        };
        found.push(IndexEntry { path: path.clone(), old: plain(sides.0)?, new: plain(sides.1)? });
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Some(found)
}

/// The user's index with what the work staged in it, ready to take its place: what has been written already cannot fail
/// for want of room.
#[derive(Debug)]
pub(super) struct NewIndex {
    own: RepositoryPaths,
    draft: String,
    /// The folder of the repository `own`, which goes with this value.
    _home: TempDir,
}

impl NewIndex {
    /// Stages what the work staged, for paths that are as they were before; what the user staged meanwhile stays as it
    /// is. The caller must have the index's lock. `draft` is a name in the folder that nobody else uses. `None` if there
    /// is nothing to change.
    pub(super) fn write(
        git: &Git,
        at: &RepositoryPaths,
        index: &Index,
        direction: Direction,
        draft: &str,
    ) -> Result<Option<Self>, GitError> {
        let folder = folder::open(&at.folder)?;
        let home = private_folder()?;
        let own = without_filters(at, &folder, home.path())?;
        let own = own.with_index(at.folder.join(draft));
        if !write_draft(git, &own, &folder, index, direction, draft)? {
            remove_if_there(&folder, draft)?;
            return Ok(None);
        }
        Ok(Some(Self { own, draft: draft.to_owned(), _home: home }))
    }

    /// Makes it the user's index, by one rename.
    pub(super) fn put(self, git: &Git, folder: &Dir) -> Result<(), GitError> {
        // This notes which files are as they were written, so that git need not read them later. That some differ is not a
        // failure, and without the note nothing is lost.
        let options = ["update-index", "-q", "--ignore-submodules", "--refresh"];
        let _ = git.try_ask(&self.own, "update-index", &options, b"");
        folder.rename(&self.draft, folder, "index").map_err(folder::io_error("index"))
    }
}

fn private_folder() -> Result<TempDir, GitError> {
    let io = |source| GitError::Io { path: std::env::temp_dir().display().to_string(), source };
    tempfile::Builder::new().prefix("git-").tempdir().map_err(io)
}

/// A repository with the objects and the work tree of another, under a configuration that we wrote.
///
/// A git that writes an index reads files of the work tree which may have changed in the moment of the last write, and
/// a refresh reads more of them: through the filters that attributes name and the configuration defines. Here none is
/// defined; only a git from 2.41 on could be kept from the attributes, and none from those in `info/attributes`.
fn without_filters(at: &RepositoryPaths, folder: &Dir, home: &Path) -> Result<RepositoryPaths, GitError> {
    super::private::write(&folder::open(home)?, "HEAD", b"ref: refs/heads/main\n")?;
    let layout = Layout { format: at.format, is_reftable: false };
    let own = super::private::make(home, layout, &at.folder.join("objects"))?;
    // Git looks in its own folder for the part of an index that several share.
    for entry in folder.entries().map_err(folder::io_error(""))? {
        let name = entry.map_err(folder::io_error(""))?.file_name();
        if name.as_encoded_bytes().starts_with(b"sharedindex.") {
            let failed = folder::io_error("sharedindex");
            std::os::unix::fs::symlink(at.folder.join(&name), home.join(&name)).map_err(failed)?;
        }
    }
    Ok(RepositoryPaths { work_tree: at.work_tree.clone(), ..own })
}

/// Has git check the paths: it refuses those that lead into `.git` or out of the work tree.
pub(super) fn check(git: &Git, at: &RepositoryPaths, index: &Index) -> Result<(), GitError> {
    let folder = folder::open(&at.folder)?;
    let at = at.with_index(at.folder.join(DRAFT));
    write_draft(git, &at, &folder, index, Direction::Apply, DRAFT)?;
    let there = entries(git, &at)?;
    remove_if_there(&folder, DRAFT)?;
    // Git skips the paths that it refuses, so they are missing from the result.
    let is_there = |entry: &&IndexEntry| there.get(&entry.path).cloned().flatten() == entry.new;
    match index.entries.iter().find(|entry| !is_there(entry)) {
        None => Ok(()),
        Some(entry) => {
            let reason = format!("git refuses the path {} in it", entry.path.escape_ascii());
            Err(folder::hostile("index", &reason))
        }
    }
}

/// Writes the new index under the name of a draft, which is the index of `at`; `false` if there is nothing to change.
fn write_draft(
    git: &Git,
    at: &RepositoryPaths,
    folder: &Dir,
    index: &Index,
    direction: Direction,
    draft: &str,
) -> Result<bool, GitError> {
    let old = match folder.read("index") {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        read => Some(read.map_err(folder::io_error("index"))?),
    };
    remove_if_there(folder, draft)?;
    remove_if_there(folder, &format!("{draft}.lock"))?;
    if let Some(old) = &old {
        super::private::write(folder, draft, old)?;
    }
    let is_as_before = direction == Direction::Apply && old.as_deref().map(ContentHash::of) == index.base;
    let there = if is_as_before { None } else { Some(entries(git, at)?) };
    let mut input = Vec::new();
    for entry in &index.entries {
        let (from, to) = match direction {
            Direction::Apply => (&entry.old, &entry.new),
            Direction::Undo => (&entry.new, &entry.old),
        };
        let is_ours = |there: &Entries| match there.get(&entry.path) {
            None => from.is_none(),
            Some(staged) => staged.is_some() && staged == from,
        };
        if there.as_ref().is_none_or(is_ours) {
            add_line(&mut input, &entry.path, to.as_ref(), at);
        }
    }
    if input.is_empty() {
        return Ok(false);
    }
    git.ask(at, "update-index", &["update-index", "-z", "--index-info"], &input)?;
    Ok(true)
}

pub(super) fn add_line(input: &mut Vec<u8>, path: &[u8], to: Option<&Staged>, at: &RepositoryPaths) {
    let none = Staged { mode: "0".to_owned(), object: at.format.none() };
    let to = to.unwrap_or(&none);
    input.extend_from_slice(format!("{} {}\t", to.mode, to.object).as_bytes());
    input.extend_from_slice(path);
    input.push(0);
}

fn remove_if_there(folder: &Dir, name: &str) -> Result<(), GitError> {
    match folder.remove_file(name) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(folder::io_error(name)(error)),
        _ => Ok(()),
    }
}

/// Every git makes a file with this name before it writes the index.
const LOCK: &str = "index.lock";
/// The prefix of our own files beside the index.
const DRAFT: &str = "index.headstart-";

/// Makes a file that says which process made it, under a name of its own.
pub(super) fn make_draft(path: &Path) -> Result<String, GitError> {
    let failed = folder::io_error("index");
    let mut made = tempfile::Builder::new().prefix(DRAFT).tempfile_in(path).map_err(&failed)?;
    let name = made.path().file_name().and_then(|name| name.to_str()).unwrap_or(DRAFT).to_owned();
    let owner = serde_json::to_vec(&Process::current()).expect("works because no map in it has odd keys");
    // What cannot be written goes again.
    made.write_all(&owner).map_err(&failed)?;
    made.keep().map_err(|error| failed(error.error))?;
    Ok(name)
}

/// Removes drafts of processes that died before their journal was written.
pub(super) fn remove_old_drafts(folder: &Dir) -> Result<(), GitError> {
    for entry in folder.entries().map_err(folder::io_error(""))? {
        let name = entry.map_err(folder::io_error(""))?.file_name();
        let Some(name) = name.to_str().filter(|name| name.starts_with(DRAFT)) else { continue };
        let owner = folder.read(name).ok().and_then(|bytes| serde_json::from_slice::<Process>(&bytes).ok());
        if owner.is_some_and(|owner| !owner.is_alive()) {
            remove_if_there(folder, name)?;
        }
    }
    Ok(())
}

/// Turns the draft into the lock of the index; `false` if another git has the lock.
pub(super) fn try_lock(folder: &Dir, draft: &str) -> Result<bool, GitError> {
    match renameat_with(folder, draft, folder, LOCK, RenameFlags::NOREPLACE) {
        Err(Errno::EXIST) => Ok(false),
        moved => moved.map(|()| true).map_err(|error| folder::io_error(LOCK)(error.into())),
    }
}
