//! What a view holds in its `.git` that no accept brings: objects that nothing names, and files of which git takes no
//! notice. Where work takes the only copy of a file away, it may be there.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::os::fd::AsFd;
use std::path::Path;

use cap_std::fs::Dir;

use super::folder::{self, Entry, Kind, ReadBudget};
use super::objects::{self, is_fan, is_object};
use super::program::RepositoryPaths;
use super::read::Reader;
use super::snapshot::{FileClass, Snapshot, class};
use crate::{GitChange, GitError, ObjectName};

impl Reader {
    /// The places below `.git` of a view at which a content of one of these lengths may be and that `change`, which was
    /// read from the same state with the same `state` folder, does not bring. An object may hold any content, packed
    /// or within another one.
    pub fn unbrought(
        &self,
        view: impl AsFd,
        change: Option<&GitChange>,
        state: &Path,
        lengths: &BTreeSet<u64>,
    ) -> Result<Vec<String>, GitError> {
        let view = Dir::reopen_dir(&view.as_fd()).map_err(folder::io_error(""))?;
        let Some(view) = folder::open_git(&view)? else { return Ok(Vec::new()) };
        let real = folder::open(&self.workspace.join(".git"))?;
        let mut found = BTreeSet::new();
        let mut loose = BTreeMap::new();
        for entry in folder::walk(&view, "", &mut ReadBudget::new(), &|_| true)? {
            let Entry { path, kind: Kind::File(len), .. } = entry else { continue };
            let is_as_on_disk = real.symlink_metadata(&path).is_ok_and(|real| real.len() == len);
            let object = path.strip_prefix("objects/");
            match (class(&path), object) {
                _ if is_as_on_disk => {}
                (FileClass::Object, Some(object)) => match object.split_once('/') {
                    Some((fan, rest)) if is_fan(fan) && is_object(object, fan.len() + rest.len()) => {
                        loose.insert(format!("{fan}{rest}"), path);
                    }
                    _ => drop(found.insert(folder::told(&path))),
                },
                (FileClass::Large, _) => {
                    let is_brought = |change: &GitChange| {
                        change.large.iter().any(|file| path.ends_with(file.oid.as_str()))
                    };
                    if !change.is_some_and(is_brought) {
                        found.insert(folder::told(&path));
                    }
                }
                (FileClass::Note | FileClass::Log, _) if lengths.contains(&len) => {
                    found.insert(folder::told(&path));
                }
                // Of these the change itself tells.
                _ => {}
            }
        }
        if self.is_any_missing(&view, change, state, loose.keys().map(String::as_str))? {
            found.insert(folder::told("objects"));
        }
        Ok(found.into_iter().collect())
    }

    /// Whether the user's repository would lack one of these objects after the accept of `change`, which was read from
    /// this view with the same `state` folder: nothing names it any more.
    pub fn drops_any(
        &self,
        view: impl AsFd,
        change: Option<&GitChange>,
        state: &Path,
        objects: &BTreeSet<ObjectName>,
    ) -> Result<bool, GitError> {
        let view = Dir::reopen_dir(&view.as_fd()).map_err(folder::io_error(""))?;
        let Some(view) = folder::open_git(&view)? else { return Ok(!objects.is_empty()) };
        self.is_any_missing(&view, change, state, objects.iter().map(ObjectName::as_str))
    }

    fn is_any_missing<'n>(
        &self,
        view: &Dir,
        change: Option<&GitChange>,
        state: &Path,
        names: impl Iterator<Item = &'n str>,
    ) -> Result<bool, GitError> {
        let mut names = names.peekable();
        if names.peek().is_none() {
            return Ok(false);
        }
        let private = Snapshot::copy(view, &self.home)?;
        let at: RepositoryPaths = private.repository(&self.workspace.join(".git").join("objects"))?;
        if let Some(objects) = change.and_then(|change| change.objects.as_ref()) {
            objects::look_at(&self.git, &at, state, objects)?;
        }
        let mut input = String::new();
        for name in names {
            let _ = writeln!(input, "{name}");
        }
        let options = ["cat-file", "--batch-check=%(objecttype)"];
        let kinds = self.git.ask(&at, "cat-file", &options, input.as_bytes())?;
        Ok(kinds.split(|byte| *byte == b'\n').any(|line| line.ends_with(b" missing")))
    }
}
