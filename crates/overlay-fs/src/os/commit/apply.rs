use std::collections::BTreeSet;
use std::io;

use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;
use headstart_workspace_path::WorkspacePath;

use super::commit_failure::CommitFailure;
use super::commit_failure::other_file_system;
use super::folders::Folders;
use crate::os::disk::calls::{self, Location, MoveMethod, exchange, move_to_free};
use crate::os::disk::seen::{FileState, hold, hold_file, is_at, is_ours, look_if_there, place};
use crate::os::disk::system::Errno;
use crate::os::staging::Staging;
use crate::os::staging::journal::{Action, Step};
use crate::{ConflictKind, EntryKind, TreeError};

/// Makes the steps of a journal, and takes them back.
#[derive(Debug)]
pub(in crate::os) struct Applied<'a> {
    staging: &'a Staging,
    folders: Folders<'a>,
    /// Whether something was moved by a hard link.
    links: bool,
    /// What steps put in place of nothing, and what a rollback left there because somebody had changed it since.
    edited: Vec<WorkspacePath>,
}

/// What a rollback left in the staging folder because its place in the workspace is taken: path in the workspace and
/// name in the folder.
pub(in crate::os) type Kept = Vec<(WorkspacePath, String)>;

/// The result of taking back one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StepRollback {
    /// The workspace is as if the step had never been made, except for what the user did since.
    Clean,
    /// What the step took out cannot go back to its place.
    Kept,
}

impl<'a> Applied<'a> {
    pub(in crate::os) fn new(root: &'a Dir, staging: &'a Staging) -> Self {
        Self { staging, folders: Folders::new(root), links: false, edited: Vec::new() }
    }

    /// Makes the steps in order. What comes out of the workspace is compared with what is expected only afterwards,
    /// because the user could still change it before. After an error the steps before it are made.
    pub(in crate::os) fn apply(&mut self, steps: &[Step]) -> Result<(), CommitFailure> {
        for step in steps {
            self.make(step)?;
            if matches!(step.action, Action::TakeAway | Action::Replace) {
                self.check_taken(step)?;
            }
        }
        Ok(())
    }

    fn make(&mut self, step: &Step) -> Result<(), CommitFailure> {
        let staging = self.staging;
        let staged = staging.at(&step.name);
        let target = self.folders.target(&step.path)?;
        let path = &step.path;
        if matches!(step.action, Action::TakeAway | Action::Replace) {
            // Only what comes out counts. But a change that can be seen now need not come out, not even for a moment.
            let found = look_if_there(target).map_err(|error| CommitFailure::io(path, error))?;
            if let (Some(found), Some(old)) = (found, &step.old)
                && !old.is(&found)
            {
                let is_kind = old.kind == found.kind;
                let kind = if is_kind { ConflictKind::Modified } else { ConflictKind::Replaced };
                return Err(CommitFailure::conflict(path, kind));
            }
        }
        let outcome = match step.action {
            Action::TakeAway => move_to_free(target, staged),
            Action::Put => move_to_free(staged, target),
            Action::Replace => exchange(staged, target, staging.at(&between(step))),
            Action::MakeFolder => match move_to_free(staged, target) {
                Err(Errno::EXIST | Errno::NOTEMPTY) if is_folder(target) => Ok(MoveMethod::Rename),
                outcome => outcome,
            },
            Action::RemoveFolder => match calls::remove_folder(target) {
                Err(Errno::NOTEMPTY | Errno::EXIST) => {
                    return Err(CommitFailure::conflict(path, ConflictKind::Modified));
                }
                Err(Errno::NOTDIR) => return Err(CommitFailure::conflict(path, ConflictKind::Replaced)),
                outcome => outcome.map(|()| MoveMethod::Rename),
            },
            Action::RemoveOwnFolder => match calls::remove_folder(target) {
                Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOENT | Errno::NOTDIR) => Ok(MoveMethod::Rename),
                outcome => outcome.map(|()| MoveMethod::Rename),
            },
        };
        self.links |= outcome == Ok(MoveMethod::HardLink);
        if !matches!(step.action, Action::Put | Action::Replace) {
            self.folders.forget(path);
        }
        outcome.map(drop).map_err(|error| match error {
            Errno::NOENT => CommitFailure::conflict(path, ConflictKind::Deleted),
            Errno::EXIST | Errno::NOTEMPTY => CommitFailure::conflict(path, ConflictKind::Created),
            Errno::XDEV => other_file_system(path),
            error => CommitFailure::io(path, error),
        })
    }

    /// Checks that what came out is what was expected.
    fn check_taken(&self, step: &Step) -> Result<(), CommitFailure> {
        let Some(old) = &step.old else { return Ok(()) };
        let at = self.staging.at(&step.name);
        let held = if old.kind == EntryKind::File { hold_file(at) } else { hold(at) };
        let held = held.map_err(|error| CommitFailure::io(&step.path, error))?;
        match difference(old, &held) {
            None => Ok(()),
            Some(kind) => Err(CommitFailure::conflict(&step.path, kind)),
        }
    }

    /// Takes steps back, last first, whether or not they were made: where a file is tells that. What the user changed
    /// again meanwhile stays as they have it. After an error this can be tried again with the same journal.
    pub(in crate::os) fn roll_back(&mut self, steps: &[Step], sync: bool) -> io::Result<Kept> {
        let mut kept = Vec::new();
        let mut failed = None;
        for step in steps.iter().rev() {
            self.folders.forget(&step.path);
            match self.take_back(step, steps) {
                Ok(StepRollback::Clean) => {}
                // An unreachable path only loses something if the step had taken something out.
                Err(error) if is_in_the_way(&error) && self.holds_only_ours(step) => {}
                Err(error) if !is_in_the_way(&error) => {
                    failed = failed.or_else(|| Some(CommitFailure::io(&step.path, error)));
                }
                Ok(StepRollback::Kept) | Err(_) => kept.push((step.path.clone(), self.kept_name(step))),
            }
        }
        let synced = if sync && failed.is_none() { self.sync(steps) } else { Ok(()) };
        match failed.map_or(synced, Err) {
            Ok(()) => Ok(kept),
            Err(failure) => Err(io::Error::other(failure.into_error().to_string())),
        }
    }

    /// Takes the new files that a rollback left in the workspace, because somebody had changed them since.
    pub(in crate::os) fn edited(&mut self) -> Vec<WorkspacePath> {
        std::mem::take(&mut self.edited)
    }

    /// The name in the folder of what a step took out of the workspace.
    fn kept_name(&self, step: &Step) -> String {
        let between = between(step);
        let is_there = matches!(look_if_there(self.staging.at(&between)), Ok(Some(_)));
        if is_there { between } else { step.name.clone() }
    }

    fn take_back(&mut self, step: &Step, steps: &[Step]) -> io::Result<StepRollback> {
        let staging = self.staging;
        let staged = staging.at(&step.name);
        if matches!(step.action, Action::Put | Action::MakeFolder) {
            self.take_out_of_waiting(step, steps)?;
        }
        let waits = look_if_there(staged)?;
        match step.action {
            Action::TakeAway => match waits {
                Some(_) => self.put_back(step, staged),
                None => Ok(StepRollback::Clean),
            },
            Action::RemoveFolder | Action::RemoveOwnFolder => {
                let target = self.folders.place(&step.path)?;
                if waits.is_some() && look_if_there(target)?.is_none() {
                    return self.put_back(step, staged);
                }
                Ok(StepRollback::Clean)
            }
            Action::MakeFolder => match waits {
                // The user put something into the folder, and then the power failed.
                Some(_) if !is_empty(staging, &step.name)? => Ok(StepRollback::Kept),
                Some(_) => Ok(StepRollback::Clean),
                None => self.remove_made_folder(step).map(|()| StepRollback::Clean),
            },
            Action::Put => {
                if (waits.is_none() || self.is_twin(step, staged)?) && !self.take_out(step, staged)? {
                    self.edited.push(step.path.clone());
                }
                Ok(StepRollback::Clean)
            }
            Action::Replace => self.take_replacement_back(step, staged),
        }
    }

    fn take_replacement_back(&mut self, step: &Step, staged: Location<'_>) -> io::Result<StepRollback> {
        let staging = self.staging;
        let name = between(step);
        let between = staging.at(&name);
        let is_new_staged = is_ours(staged, step.new.as_ref())?;
        if look_if_there(between)?.is_some() {
            // This happens only if the file system cannot exchange: the old file is out, and the new one may be in.
            if is_one_file(between, staged)? {
                calls::remove_file(between)?;
                return self.take_replacement_back(step, staged);
            }
            if !is_new_staged && !self.take_out(step, staged)? {
                return Ok(StepRollback::Kept);
            }
            if is_new_staged && self.is_twin(step, staged)? {
                self.take_out(step, staged)?;
            }
            return self.put_back(step, between);
        }
        if is_new_staged {
            return Ok(StepRollback::Clean);
        }
        let target = self.folders.place(&step.path)?;
        // After a loss of power the journal may exist without the names of the staged files: then nothing was
        // exchanged.
        if look_if_there(staged)?.is_none() && is_at(target, step.old.as_ref())? {
            return Ok(StepRollback::Clean);
        }
        if !is_ours(target, step.new.as_ref())? {
            return Ok(StepRollback::Kept);
        }
        exchange(staged, target, between)?;
        if is_ours(staged, step.new.as_ref())? {
            return Ok(StepRollback::Clean);
        }
        // The user saved in this very moment, so what came out goes back to its place.
        exchange(staged, target, between)?;
        Ok(StepRollback::Kept)
    }

    /// Moves what was taken out back to its place.
    fn put_back(&mut self, step: &Step, from: Location<'_>) -> io::Result<StepRollback> {
        let target = self.folders.place(&step.path)?;
        match move_to_free(from, target) {
            Ok(_) => Ok(StepRollback::Clean),
            Err(Errno::EXIST | Errno::NOTEMPTY) => {
                if is_folder(from) && is_folder(target) {
                    return Ok(StepRollback::Clean);
                }
                if is_one_file(from, target)? {
                    calls::remove_file(from)?;
                    return Ok(StepRollback::Clean);
                }
                Ok(StepRollback::Kept)
            }
            Err(Errno::NOENT) => Ok(StepRollback::Kept),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes what a step put into the workspace out again, unless the user changed or removed it; `false` if
    /// something else is there.
    fn take_out(&mut self, step: &Step, staged: Location<'_>) -> io::Result<bool> {
        let is_twin = self.is_twin(step, staged)?;
        let target = match self.folders.place(&step.path) {
            Err(error) if is_gone(&error) => return Ok(true),
            target => target?,
        };
        if look_if_there(target)?.is_none() {
            return Ok(true);
        }
        if !is_ours(target, step.new.as_ref())? {
            return Ok(false);
        }
        if is_twin {
            calls::remove_file(target)?;
            return Ok(true);
        }
        move_to_free(target, staged)?;
        if is_ours(staged, step.new.as_ref())? {
            return Ok(true);
        }
        // The user saved in this very moment, so what came out goes back to its place.
        move_to_free(staged, target)?;
        Ok(false)
    }

    /// Takes what a step put into a folder out of it while that folder is in the staging folder: a loss of power may
    /// have undone the folder's move, but not what was done in it later.
    fn take_out_of_waiting(&self, step: &Step, steps: &[Step]) -> io::Result<()> {
        let is_above = |above: &&Step| above.action == Action::MakeFolder && above.path != step.path;
        for above in steps.iter().filter(is_above) {
            let Some(rest) = step.path.strip_prefix(&above.path) else { continue };
            if !is_folder(self.staging.at(&above.name)) {
                continue;
            }
            let folder = self.staging.folder.open_dir_nofollow(&above.name)?;
            let mut folders = Folders::new(&folder);
            match folders.place(&rest) {
                Err(error) if is_gone(&error) => {}
                Ok(place) if !is_ours(place, step.new.as_ref())? => {}
                place => {
                    let (place, staged) = (place?, self.staging.at(&step.name));
                    if is_one_file(place, staged)? {
                        calls::remove_file(place)?;
                    } else if look_if_there(staged)?.is_none() {
                        move_to_free(place, staged)?;
                    }
                    // If the power fails again, it must not be in a folder that no journal mentions.
                    folders.open(&rest.parent().unwrap_or_default()).map(calls::sync_folder)??;
                }
            }
        }
        Ok(())
    }

    fn is_twin(&mut self, step: &Step, staged: Location<'_>) -> io::Result<bool> {
        match self.folders.place(&step.path) {
            Err(error) if is_gone(&error) => Ok(false),
            target => is_one_file(staged, target?),
        }
    }

    fn remove_made_folder(&mut self, step: &Step) -> io::Result<()> {
        let target = match self.folders.place(&step.path) {
            Err(error) if is_gone(&error) => return Ok(()),
            target => target?,
        };
        if !is_at(target, step.new.as_ref())? {
            return Ok(());
        }
        match calls::remove_folder(target) {
            // The user put something into it.
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOENT) => Ok(()),
            outcome => Ok(outcome?),
        }
    }

    /// Whether the staging folder holds only what was staged for the step.
    fn holds_only_ours(&self, step: &Step) -> bool {
        let is_free = |name: &str| matches!(look_if_there(place(&self.staging.folder, name)), Ok(None));
        match step.action {
            Action::Put | Action::MakeFolder | Action::RemoveFolder | Action::RemoveOwnFolder => true,
            Action::TakeAway => is_free(&step.name),
            Action::Replace => {
                is_free(&between(step))
                    && is_ours(self.staging.at(&step.name), step.new.as_ref()).unwrap_or(false)
            }
        }
    }

    /// Syncs the names in all folders that the steps changed.
    pub(in crate::os) fn sync(&mut self, steps: &[Step]) -> Result<(), CommitFailure> {
        if self.links {
            // Otherwise, after a loss of power, a file could still have its former name as well, and would count as
            // one that the user linked.
            calls::sync_folder(&self.staging.folder).map_err(CommitFailure::at_root)?;
        }
        let changed: BTreeSet<_> = steps.iter().map(|step| step.path.parent().unwrap_or_default()).collect();
        for above in changed {
            match self.folders.open(&above) {
                Ok(folder) => {
                    calls::sync_folder(folder).map_err(|error| CommitFailure::io(&above, error))?;
                }
                // The folder was removed by a later step, and its path may be a file now.
                Err(error) if is_gone(&error) => {}
                Err(error) => return Err(CommitFailure::io(&above, error)),
            }
        }
        Ok(())
    }
}

/// What steps took out of the workspace and a rollback left in the folder.
pub(in crate::os) fn still_kept(staging: &Staging, steps: &[Step]) -> io::Result<Kept> {
    let mut kept = Vec::new();
    for step in steps.iter().filter(|step| matches!(step.action, Action::TakeAway | Action::Replace)) {
        for name in [between(step), step.name.clone()] {
            let at = staging.at(&name);
            if look_if_there(at)?.is_some() && !is_ours(at, step.new.as_ref())? {
                kept.push((step.path.clone(), name));
                break;
            }
        }
    }
    Ok(kept)
}

fn between(step: &Step) -> String {
    format!("{}-between", step.name)
}

/// Whether an error says that the path of a step does not exist or leads elsewhere. Trying again does not help then,
/// as it may with other errors.
fn is_in_the_way(error: &io::Error) -> bool {
    let in_the_way = [None, Some(Errno::LOOP), Some(Errno::XDEV), Some(Errno::MLINK)];
    is_gone(error) || in_the_way.contains(&Errno::from_io_error(error))
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn is_empty(staging: &Staging, folder: &str) -> io::Result<bool> {
    Ok(staging.folder.open_dir_nofollow(folder)?.entries()?.next().is_none())
}

/// Whether two names are of one file, because a move by link and unlink was interrupted.
fn is_one_file(one: Location<'_>, other: Location<'_>) -> io::Result<bool> {
    let (one, other) = (look_if_there(one)?, look_if_there(other)?);
    Ok(one.zip(other).is_some_and(|(one, other)| {
        one.kind != EntryKind::Directory && (one.inode, one.device) == (other.inode, other.device)
    }))
}

pub(in crate::os) fn is_folder(at: Location<'_>) -> bool {
    calls::look(at).is_ok_and(|found| found.kind == EntryKind::Directory)
}

/// How what came out differs from what was expected; `None` if it does not. Only the content, the permission bits and,
/// unless several names are expected, the number of names count, not times and inode.
pub(in crate::os) fn difference(
    expected: &FileState,
    held: &crate::os::disk::seen::HashedStat,
) -> Option<ConflictKind> {
    if expected.kind != held.found.kind {
        return Some(ConflictKind::Replaced);
    }
    let is_same = match expected.kind {
        EntryKind::Directory => true,
        EntryKind::Symlink => expected.hash.is_some() && expected.hash == held.hash,
        EntryKind::File => {
            (held.found.links == 1 || expected.several_names)
                && held.found.mode == expected.mode
                && held.found.len == expected.len
                && expected.hash.is_some()
                && expected.hash == held.hash
        }
        EntryKind::Other => false,
    };
    (!is_same).then_some(ConflictKind::Modified)
}

pub(in crate::os) fn not_put_back(staging: &Staging, kept: &Kept) -> TreeError {
    let copies = kept.iter().map(|(path, name)| format!("{path} in {}/{name}", staging.told));
    let copies = copies.collect::<Vec<_>>().join(", ");
    let message = format!(
        "changed by somebody else while the accept was taken back; the former content is kept: {copies}"
    );
    TreeError::failed(kept[0].0.clone(), message)
}
