use std::io;

use cap_std::fs::{Dir, MetadataExt as _};
use headstart_workspace_path::WorkspacePath;
use rustix::io::Errno;

use super::os_name;
use super::plan::{Action, Folders, Identity, Step, Stop};
use super::rename::{Place, exchange, move_to_free};
use super::staging::Staging;
use crate::{ConflictKind, EntryKind, TreeError};

/// The steps of a commit that are made, so that they can be taken back.
#[derive(Debug)]
pub(super) struct Applied<'a> {
    staging: &'a Staging,
    folders: Folders<'a>,
    done: Vec<&'a Step<'a>>,
}

impl<'a> Applied<'a> {
    pub(super) fn new(root: &'a Dir, staging: &'a Staging) -> Self {
        Self { staging, folders: Folders::new(root), done: Vec::new() }
    }

    /// Makes the steps in order. What comes out of the workspace is compared with what the change set rests on
    /// only then: before, its user could still have changed it. An error leaves the steps before it made.
    pub(super) fn apply(&mut self, steps: &'a [Step<'a>]) -> Result<(), Stop> {
        for step in steps {
            #[cfg(test)]
            super::tests::before_step(&step.path)?;
            let is_made = self.make(step)?;
            if is_made {
                self.done.push(step);
            }
            if matches!(step.action, Action::TakeAway | Action::Replace) {
                self.check_taken(step)?;
            }
        }
        Ok(())
    }

    /// Makes one step; `false`: there was nothing to do.
    fn make(&mut self, step: &Step<'_>) -> Result<bool, Stop> {
        let staging = self.staging;
        let staged = Place { folder: &staging.folder, name: step.name.as_ref() };
        let target = self.target(&step.path)?;
        let outcome = match step.action {
            Action::TakeAway => move_to_free(target, staged),
            Action::Put => move_to_free(staged, target),
            Action::Replace => exchange(staged, target),
            Action::MakeFolder => return make_folder(target, &step.path),
        };
        if step.action == Action::TakeAway {
            self.folders.forget(&step.path);
        }
        match outcome {
            Ok(()) => Ok(true),
            Err(Errno::NOENT) => Err(Stop::conflict(&step.path, ConflictKind::Deleted)),
            Err(Errno::EXIST | Errno::NOTEMPTY) => Err(Stop::conflict(&step.path, ConflictKind::Created)),
            Err(Errno::XDEV) => {
                let message = "it is on another file system than the workspace's folder, and cannot be replaced \
                               without a moment in which it is half written";
                Err(Stop::Error(TreeError::Io { path: step.path.clone(), message: message.to_owned() }))
            }
            Err(error) => Err(Stop::io(&step.path, &error.into())),
        }
    }

    fn target<'b>(&'b mut self, path: &'b WorkspacePath) -> Result<Place<'b>, Stop> {
        let name = os_name(path.file_name().unwrap_or_default());
        Ok(Place { folder: self.folders.above(path)?, name })
    }

    /// Whether what came out is what the change set rests on.
    fn check_taken(&self, step: &Step<'_>) -> Result<(), Stop> {
        let Some((change, base)) = step.change.and_then(|change| Some((change, change.base.as_ref()?)))
        else {
            return Ok(());
        };
        let failed = |error: io::Error| Stop::io(&step.path, &error);
        let folder = &self.staging.folder;
        let found = folder.symlink_metadata(&step.name).map_err(failed)?;
        if super::kind_of(found.file_type()) != base.kind {
            return Err(Stop::conflict(&step.path, ConflictKind::Replaced));
        }
        let expected = change.base_content.as_deref();
        let is_same = match base.kind {
            EntryKind::Directory => folder.read_dir(&step.name).map_err(failed)?.next().is_none(),
            EntryKind::Symlink => {
                let target = folder.read_link_contents(&step.name).map_err(failed)?;
                expected == Some(target.as_os_str().as_encoded_bytes())
            }
            EntryKind::File => {
                found.nlink() == 1
                    && step.mode.is_none_or(|mode| mode == found.mode())
                    && expected.is_some_and(|expected| expected.len() as u64 == found.len())
                    && folder.read(&step.name).map_err(failed)?.as_slice() == expected.unwrap_or_default()
            }
            EntryKind::Other => false,
        };
        if is_same { Ok(()) } else { Err(Stop::conflict(&step.path, ConflictKind::Modified)) }
    }

    /// Takes the steps back, last first. What its user changed again meanwhile stays as the user has it; the
    /// paths whose former content therefore stays in the staging folder are returned.
    pub(super) fn roll_back(&mut self) -> Vec<(WorkspacePath, String)> {
        let mut kept = Vec::new();
        while let Some(step) = self.done.pop() {
            if self.take_back(step).is_err()
                && step.action != Action::MakeFolder
                && step.action != Action::Put
            {
                kept.push((step.path.clone(), step.name.clone()));
            }
        }
        kept
    }

    fn take_back(&mut self, step: &Step<'_>) -> io::Result<()> {
        let staging = self.staging;
        let staged = Place { folder: &staging.folder, name: step.name.as_ref() };
        let above = step.path.parent().unwrap_or_default();
        let name = os_name(step.path.file_name().unwrap_or_default());
        let target = Place { folder: self.folders.open(&above)?, name };
        match step.action {
            Action::TakeAway => Ok(move_to_free(staged, target)?),
            Action::MakeFolder => {
                self.folders.forget(&step.path);
                self.folders.open(&above)?.remove_dir(name)
            }
            Action::Put => {
                expect_ours(target, step)?;
                Ok(move_to_free(target, staged)?)
            }
            Action::Replace => {
                expect_ours(target, step)?;
                Ok(exchange(staged, target)?)
            }
        }
    }

    /// The commit is through: folders that were taken away are removed. If something was put in one meanwhile, by
    /// somebody who held it open, it goes back to its place; `false`: that place is taken.
    pub(super) fn finish(&mut self) -> bool {
        let folders = self.done.iter().copied().filter(|step| {
            let base = step.change.and_then(crate::ChangeSet::base_kind);
            step.action == Action::TakeAway && base == Some(EntryKind::Directory)
        });
        let mut is_clean = true;
        for step in folders.collect::<Vec<_>>() {
            let is_removed = self.staging.folder.remove_dir(&step.name).is_ok();
            is_clean &= is_removed || self.take_back(step).is_ok();
        }
        is_clean
    }
}

fn make_folder(target: Place<'_>, path: &WorkspacePath) -> Result<bool, Stop> {
    match target.folder.create_dir(target.name) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let is_folder = target.folder.symlink_metadata(target.name).is_ok_and(|found| found.is_dir());
            if is_folder { Ok(false) } else { Err(Stop::conflict(path, ConflictKind::Created)) }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(Stop::conflict(path, ConflictKind::Deleted))
        }
        Err(error) => Err(Stop::io(path, &error)),
    }
}

/// Fails if what is at the place is not what the step put there, or was edited since.
fn expect_ours(target: Place<'_>, step: &Step<'_>) -> io::Result<()> {
    let found = target.folder.symlink_metadata(target.name)?;
    if step.ours == Some(Identity::of(&found)) {
        Ok(())
    } else {
        Err(io::Error::other("changed by its user"))
    }
}
