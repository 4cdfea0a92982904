use std::collections::{HashMap, HashSet};
use std::io;

use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;
use headstart_workspace_path::WorkspacePath;

use super::commit_failure::{CommitFailure, other_file_system};
use super::folders::Folders;
use super::observed_tree::StatByPath;
use super::origin::Origins;
use super::ready::{self, AttributeSource, Stage, UserFile, WaitingFile};
use super::stage;
use crate::change_set::digest::Hashes;
use crate::os::attributes::inherit::Inherited;
use crate::os::disk::calls::{self, Stat};
use crate::os::disk::seen::FileState;
use crate::os::disk::system::Errno;
use crate::os::staging::Staging;
use crate::os::staging::journal::{Action, Step};
use crate::{Change, ChangeKind, ChangeSet, ConflictKind, EntryKind, carried_bits};

/// Turns changes into the steps that make them, and gives what waits in the staging folder the attributes that it
/// will have in the workspace. The workspace itself is only read.
pub(in crate::os) struct Planner<'a> {
    folders: Folders<'a>,
    staging: &'a Staging,
    stage: Stage,
    steps: Vec<Step>,
    unsynced: Vec<String>,
    /// Folders that exist, or are made by the steps.
    there: HashSet<WorkspacePath>,
    /// The folders that the steps make, with their names in the staging folder.
    made: HashMap<WorkspacePath, String>,
    origins: Origins<'a>,
    /// What a folder gives to new files in it, for the folder that was asked about last.
    inherited: Option<(WorkspacePath, Inherited)>,
    /// What the comparison with the change set found in the workspace.
    found: &'a StatByPath,
    /// The device number of the workspace's file system.
    device: u64,
    /// Whether what comes out may have several names.
    breaks_hard_links: bool,
}

impl<'a> Planner<'a> {
    pub(in crate::os) fn new(
        (root, device): (&'a Dir, u64),
        found: &'a StatByPath,
        staging: &'a Staging,
        stage: Stage,
        breaks_hard_links: bool,
    ) -> Self {
        Self {
            folders: Folders::new(root),
            staging,
            stage,
            steps: Vec::new(),
            unsynced: Vec::new(),
            there: HashSet::new(),
            made: HashMap::new(),
            origins: Origins::default(),
            inherited: None,
            found,
            device,
            breaks_hard_links,
        }
    }

    /// The steps in order, and the names of those things in the staging folder that still have to be synced.
    pub(in crate::os) fn plan(
        mut self,
        changes: &'a ChangeSet,
        hashes: &[Hashes],
    ) -> Result<(Vec<Step>, Vec<String>), CommitFailure> {
        self.origins = Origins::of(changes);
        for change in &changes.changes {
            if change.kind == ChangeKind::CreateDirectory {
                self.there.insert(change.path.clone());
            }
        }
        for (number, (change, hashes)) in changes.changes.iter().zip(hashes).enumerate() {
            self.add(number, change, *hashes)?;
        }
        Ok((self.steps, self.unsynced))
    }

    fn add(&mut self, number: usize, change: &Change, hashes: Hashes) -> Result<(), CommitFailure> {
        let base = ChangeSet::base_kind(change);
        let goes_in = number.to_string();
        let comes_out = format!("{number}-old");
        match (&change.kind, base) {
            (ChangeKind::Delete, Some(EntryKind::Directory)) => self.remove_folder(change, comes_out),
            (ChangeKind::Delete, _) => self.take_away(change, hashes, comes_out),
            (ChangeKind::CreateDirectory, None) => self.make_folder(&change.path, change.mode, goes_in),
            (ChangeKind::CreateDirectory, Some(_)) => {
                self.take_away(change, hashes, comes_out)?;
                self.make_folder(&change.path, change.mode, goes_in)
            }
            (_, None) => self.put(number, change, hashes),
            (_, Some(EntryKind::Directory)) => {
                self.remove_folder(change, comes_out)?;
                self.put(number, change, hashes)
            }
            (_, Some(_)) => self.replace(number, change, hashes),
        }
    }

    fn take_away(&mut self, change: &Change, hashes: Hashes, name: String) -> Result<(), CommitFailure> {
        let found = self.look(&change.path)?;
        let old = self.expected(change, hashes, &found);
        self.push(&change.path, Action::TakeAway, name, Some(old), None);
        Ok(())
    }

    fn remove_folder(&mut self, change: &Change, name: String) -> Result<(), CommitFailure> {
        let found = self.look(&change.path)?;
        if found.kind != EntryKind::Directory {
            return Err(CommitFailure::conflict(&change.path, ConflictKind::Replaced));
        }
        let target = self.folders.target(&change.path)?;
        stage::copy_of_folder(target, self.staging.at(&name))
            .map_err(|error| CommitFailure::io(&change.path, error))?;
        self.unsynced.push(name.clone());
        self.push(&change.path, Action::RemoveFolder, name, Some(FileState::new(&found, None)), None);
        Ok(())
    }

    fn make_folder(
        &mut self,
        path: &WorkspacePath,
        mode: Option<u32>,
        name: String,
    ) -> Result<(), CommitFailure> {
        self.make_folders_above(path)?;
        let at = self.staging.at(&name);
        let failed = |error: io::Error| CommitFailure::io(path, error);
        let found = if let Some(gone) = self.origins.folder(path) {
            stage::copy_of_folder(self.folders.target(&gone.path)?, at).map_err(failed)?;
            if let (Some(base), Some(mode)) = (&gone.base, mode) {
                let now = calls::look(at).map_err(|error| CommitFailure::io(path, error))?.mode;
                let mode = now & 0o7000 | carried_bits(base.mode, mode, now);
                stage::folder(at, mode, true).map_err(failed)?;
            }
            calls::look(at)
        } else {
            let inherited = self.inherited(path)?;
            stage::new_folder(at, &inherited, mode)
        };
        let found = found.map_err(|error| CommitFailure::io(path, error))?;
        self.made.insert(path.clone(), name.clone());
        self.push(path, Action::MakeFolder, name, None, Some(FileState::new(&found, None)));
        self.there.insert(path.clone());
        Ok(())
    }

    fn put(&mut self, number: usize, change: &Change, hashes: Hashes) -> Result<(), CommitFailure> {
        let name = number.to_string();
        self.make_folders_above(&change.path)?;
        let new = self.ready(number, change, hashes, None)?;
        self.push(&change.path, Action::Put, name, None, Some(new));
        Ok(())
    }

    fn replace(&mut self, number: usize, change: &Change, hashes: Hashes) -> Result<(), CommitFailure> {
        let found = self.look(&change.path)?;
        let old = self.expected(change, hashes, &found);
        let new = self.ready(number, change, hashes, Some(&found))?;
        self.push(&change.path, Action::Replace, number.to_string(), Some(old), Some(new));
        Ok(())
    }

    /// Gives what waits for a change the attributes that it will have in the workspace, where it replaces what was
    /// found or moves to.
    fn ready(
        &mut self,
        number: usize,
        change: &Change,
        hashes: Hashes,
        found: Option<&Stat>,
    ) -> Result<FileState, CommitFailure> {
        let name = number.to_string();
        let at = self.staging.at(&name);
        let verified = self.staging.verified.get(number);
        let origin = match self.origins.file(&change.path) {
            Some(gone) => Some((gone, self.look(&gone.path)?)),
            None => found.map(|found| (change, *found)),
        };
        let waits = WaitingFile { at, stage: self.stage, verified, bits: self.staging.bits };
        if let Some((base, found)) = &origin
            && let Some(seen) = ready::as_prepared(waits, change, hashes.new, base, found)?
        {
            return Ok(seen);
        }
        let inherited;
        let like = match &origin {
            Some((base, found)) if found.kind == EntryKind::File => {
                AttributeSource::UserFile(UserFile { at: self.folders.target(&base.path)?, found, base })
            }
            _ => {
                inherited = self.inherited(&change.path)?;
                AttributeSource::New(&inherited)
            }
        };
        let (seen, is_unsynced) = ready::ready(waits, change, hashes.new, like)?;
        if is_unsynced {
            self.unsynced.push(name);
        }
        Ok(seen)
    }

    /// What the folder above a path gives to new files.
    fn inherited(&mut self, path: &WorkspacePath) -> Result<Inherited, CommitFailure> {
        let above = path.parent().unwrap_or_default();
        if let Some((_, inherited)) = self.inherited.as_ref().filter(|(at, _)| *at == above) {
            return Ok(inherited.clone());
        }
        let given = match (self.folders.open(&above), self.made.get(&above)) {
            (Ok(folder), _) => Inherited::from(folder),
            (Err(_), Some(name)) => match self.staging.folder.open_dir_nofollow(name) {
                Ok(folder) => Inherited::from(&folder),
                Err(error) => return Err(CommitFailure::io(path, error)),
            },
            (Err(error), None) => return Err(CommitFailure::above(path, &error)),
        };
        let inherited = given.map_err(|error| CommitFailure::io(path, error))?;
        Ok(self.inherited.insert((above, inherited)).1.clone())
    }

    fn look(&mut self, path: &WorkspacePath) -> Result<Stat, CommitFailure> {
        let device = self.device;
        let found = match self.found.get(path) {
            Some(found) => Ok(*found),
            None => calls::look(self.folders.target(path)?),
        };
        match found {
            Ok(found) if found.device == device => Ok(found),
            Ok(_) => Err(other_file_system(path)),
            Err(Errno::NOENT) => Err(CommitFailure::conflict(path, ConflictKind::Deleted)),
            Err(error) => Err(CommitFailure::io(path, error)),
        }
    }

    /// Adds steps for missing folders above a path.
    fn make_folders_above(&mut self, path: &WorkspacePath) -> Result<(), CommitFailure> {
        let mut missing = Vec::new();
        // Something other than a folder, which the change set may replace further up.
        let mut obstacle = None;
        let mut above = path.parent();
        while let Some(folder) = above {
            if self.there.contains(&folder) {
                obstacle = None;
                break;
            }
            above = folder.parent();
            match self.folders.open(&folder) {
                Ok(found) => {
                    if calls::look_at(found).map_err(|error| CommitFailure::io(path, error))?.device
                        != self.device
                    {
                        return Err(other_file_system(path));
                    }
                    self.there.insert(folder);
                    break;
                }
                Err(error) => {
                    let is_missing = error.kind() == io::ErrorKind::NotFound;
                    obstacle = obstacle.or_else(|| (!is_missing).then(|| CommitFailure::above(path, &error)));
                    missing.push(folder);
                }
            }
        }
        if let Some(obstacle) = obstacle {
            return Err(obstacle);
        }
        for folder in missing.into_iter().rev() {
            let name = format!("above-{}", self.steps.len());
            self.make_folder(&folder, None, name)?;
        }
        Ok(())
    }

    fn push(
        &mut self,
        path: &WorkspacePath,
        action: Action,
        name: String,
        old: Option<FileState>,
        new: Option<FileState>,
    ) {
        self.steps.push(Step { path: path.clone(), action, name, old, new });
    }

    /// What must come out: what is there now, with the content that the change expects.
    fn expected(&self, change: &Change, hashes: Hashes, found: &Stat) -> FileState {
        let base = change.base.as_ref();
        let kind = base.map_or(found.kind, |base| base.kind);
        let len = change.base_content.as_ref().map_or(0, |content| content.len() as u64);
        let several_names = self.breaks_hard_links && 1 < found.links;
        FileState { kind, len, several_names, ..FileState::new(found, hashes.old) }
    }
}
