//! Applies what work did to a repository to that of another view: for work that follows it, or for a new view.

use std::os::fd::AsFd;
use std::path::Path;

use cap_std::fs::Dir;

use super::folder::{self, Kind, ReadBudget};
use super::index::NewIndex;
use super::program::RepositoryPaths;
use super::read::Reader;
use super::refs::Transaction;
use super::snapshot::{FileClass, LONGEST, Snapshot, class};
use super::{large, objects, private};
use crate::{GitChange, GitError, Head, RefChange};
use headstart_overlay_fs::Direction;

/// The name of the index while it is being made, in a private folder.
const DRAFT: &str = "index.headstart-shown";

impl Reader {
    /// Gives the repository of a view, in which no command has run yet, what this change gives a user's: objects,
    /// refs and index. The refs must be where the change starts from. `state` is the folder below which its pack is
    /// kept.
    ///
    /// Git does this in a private copy, so that it runs nothing that the repository names. What differs afterwards is
    /// written into the view.
    pub fn apply_to_view(&self, view: impl AsFd, state: &Path, change: &GitChange) -> Result<(), GitError> {
        if let Some(reason) = change.boundary() {
            return Err(GitError::Unsupported { reason });
        }
        let Some(view) = open(view)? else {
            return Err(GitError::Unsupported {
                reason: "the workspace has no repository any more".to_owned(),
            });
        };
        let copy = self.snapshot_of(&view)?;
        let at = copy.repository(&self.workspace.join(".git/objects"))?;
        if let Some(objects) = &change.objects {
            objects::look_at(&self.git, &at, state, objects)?;
        }
        let refs: Vec<&RefChange> = change.refs.iter().collect();
        if !refs.is_empty() {
            Transaction::prepare(&self.git, &at, &refs, Direction::Apply)?.commit()?;
        }
        if let Head::Switched { to, .. } = &change.head {
            private::write(&folder::open(&at.folder)?, "HEAD", format!("ref: {to}\n").as_bytes())?;
        }
        if !change.index.is_empty()
            && let Some(new) = NewIndex::write(&self.git, &at, &change.index, Direction::Apply, DRAFT)?
        {
            new.put(&self.git, &folder::open(&at.folder)?)?;
        }
        write_back(&copy, &at, &view)?;
        large::write(&self.git, &at, &view, &change.large)
    }

    /// The state of a view's repository before the first command runs in it, once the earlier work that it is to show
    /// has been [applied](Self::apply_to_view); `None` if there is no repository.
    pub fn snapshot(&self, view: impl AsFd) -> Result<Option<Snapshot>, GitError> {
        open(view)?.map(|view| self.snapshot_of(&view)).transpose()
    }

    fn snapshot_of(&self, view: &Dir) -> Result<Snapshot, GitError> {
        let copy = Snapshot::copy(view, &self.home)?;
        let real = folder::open(&self.workspace.join(".git"))?;
        objects::copy_new(view, &real, &folder::open(copy.path())?, copy.layout.format.digits())?;
        Ok(Snapshot { is_of_work: true, ..copy })
    }
}

fn open(view: impl AsFd) -> Result<Option<Dir>, GitError> {
    let view = Dir::reopen_dir(&view.as_fd()).map_err(folder::io_error(""))?;
    folder::open_git(&view)
}

/// Makes the state of the view's repository that of the copy.
fn write_back(copy: &Snapshot, at: &RepositoryPaths, view: &Dir) -> Result<(), GitError> {
    let from = folder::open(&at.folder)?;
    let mut room = ReadBudget::new();
    let is_shown = |path: &str| {
        let is_object = path.starts_with("objects/") && !path.starts_with("objects/info");
        let is_stashes = path == "logs/refs/stash" && !copy.layout.is_reftable;
        class(path) == FileClass::State || is_object || is_stashes
    };
    let enter = |path: &str| path == "objects" || path == "logs" || path == "logs/refs" || is_shown(path);
    let there = folder::walk(&from, "", &mut room, &enter)?;
    for entry in there.iter().filter(|entry| is_shown(&entry.path)) {
        let (Kind::File(_), path) = (entry.kind, entry.path.as_str()) else { continue };
        let new = folder::read(&from, path, LONGEST, &mut room)?;
        if new.is_some() && new != folder::read(view, path, LONGEST, &mut room)? {
            put(view, path, &new.unwrap_or_default())?;
        }
    }
    let is_state = |path: &str| class(path) == FileClass::State;
    for entry in folder::walk(view, "", &mut room, &is_state)? {
        let is_gone = entry.kind != Kind::Folder && !there.iter().any(|other| other.path == entry.path);
        if is_gone && is_state(&entry.path) {
            view.remove_file(&entry.path).map_err(folder::io_error(&entry.path))?;
        }
    }
    Ok(())
}

/// Writes a file in the view. No command has run there, so nobody can have put a link in the way, and the handle
/// would refuse one that leads out.
fn put(view: &Dir, path: &str, bytes: &[u8]) -> Result<(), GitError> {
    if let Some((above, _)) = path.rsplit_once('/') {
        view.create_dir_all(above).map_err(folder::io_error(above))?;
    }
    // The file of an object is read-only, so it is removed and made anew.
    match view.remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(folder::io_error(path)(error));
        }
        _ => {}
    }
    private::write(view, path, bytes)
}
