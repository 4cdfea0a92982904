use std::collections::HashSet;
use std::io;

use cap_fs_ext::DirExt as _;
use cap_std::fs::{Dir, MetadataExt as _, Permissions, PermissionsExt as _};
use headstart_workspace_path::WorkspacePath;

use super::os_name;
use super::staging::Staging;
use crate::{Change, ChangeKind, ChangeSet, Conflict, ConflictKind, EntryKind, TreeError};

/// Why a commit does not go on.
#[derive(Debug)]
pub(super) enum Stop {
    Conflict(Box<Conflict>),
    Error(TreeError),
}

/// One move that changes the workspace. Everything it needs is a name, so that a list of steps can be written down.
#[derive(Debug)]
pub(super) struct Step<'a> {
    pub(super) path: WorkspacePath,
    pub(super) action: Action,
    /// The name in the staging folder of what goes in or comes out.
    pub(super) name: String,
    /// `None`: a folder above a new file.
    pub(super) change: Option<&'a Change>,
    /// For what goes in: what it is, to know it again.
    pub(super) ours: Option<Identity>,
    /// For what comes out of a `Replace`: the permission bits that the new file took over.
    pub(super) mode: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// What is at the path moves to the staging folder.
    TakeAway,
    /// An empty folder is made; if one is there, that is as good.
    MakeFolder,
    /// What waits in the staging folder moves to the path, where nothing is.
    Put,
    /// Both change places.
    Replace,
}

/// What tells a file from another one and from itself before an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    inode: u64,
    len: u64,
    modified: (i64, i64),
}

impl Identity {
    pub(super) fn of(found: &cap_std::fs::Metadata) -> Self {
        Self { inode: found.ino(), len: found.len(), modified: (found.mtime(), found.mtime_nsec()) }
    }
}

/// Opens folders below the root, name by name and never through a link.
#[derive(Debug)]
pub(super) struct Folders<'a> {
    root: &'a Dir,
    /// The last one: the next is often the same, or in it.
    last: Option<(WorkspacePath, Dir)>,
}

impl<'a> Folders<'a> {
    pub(super) fn new(root: &'a Dir) -> Self {
        Self { root, last: None }
    }

    pub(super) fn open(&mut self, path: &WorkspacePath) -> io::Result<&Dir> {
        let (from, start) = match self.last.take() {
            Some((at, folder)) if path.starts_with(&at) => (at, Some(folder)),
            _ => (WorkspacePath::root(), None),
        };
        let rest = path.strip_prefix(&from).unwrap_or_default();
        let mut folder = start;
        for name in rest.names() {
            folder = Some(folder.as_ref().unwrap_or(self.root).open_dir_nofollow(os_name(name))?);
        }
        match folder {
            None => Ok(self.root),
            Some(folder) => Ok(&self.last.insert((path.clone(), folder)).1),
        }
    }

    /// The folder that holds the path of a step.
    pub(super) fn above(&mut self, path: &WorkspacePath) -> Result<&Dir, Stop> {
        let above = path.parent().unwrap_or_default();
        self.open(&above).map_err(|error| Stop::above(path, &error))
    }

    /// Forgets an open folder at or below a path that is taken away.
    pub(super) fn forget(&mut self, path: &WorkspacePath) {
        self.last.take_if(|(at, _)| at.starts_with(path));
    }
}

impl Stop {
    pub(super) fn conflict(path: &WorkspacePath, kind: ConflictKind) -> Self {
        Self::Conflict(Box::new(Conflict::new(path.clone(), kind)))
    }

    pub(super) fn io(path: &WorkspacePath, error: &io::Error) -> Self {
        Self::Error(TreeError::Io { path: path.clone(), message: error.to_string() })
    }

    /// A folder above the path could not be opened.
    fn above(path: &WorkspacePath, error: &io::Error) -> Self {
        use rustix::io::Errno;
        match (error.kind(), Errno::from_io_error(error)) {
            (io::ErrorKind::NotFound, _) => Self::conflict(path, ConflictKind::Deleted),
            (_, None | Some(Errno::NOTDIR | Errno::LOOP | Errno::XDEV | Errno::MLINK)) => {
                Self::conflict(path, ConflictKind::Replaced)
            }
            _ => Self::io(path, error),
        }
    }
}

/// The steps that make the changes, in order, with what goes in waiting in the staging folder. The workspace is
/// only looked at.
pub(super) fn prepare<'a>(
    folders: &mut Folders<'_>,
    staging: &Staging,
    changes: &'a ChangeSet,
) -> Result<Vec<Step<'a>>, Stop> {
    let mut steps = Vec::new();
    let mut there = HashSet::new();
    for change in &changes.changes {
        let base = ChangeSet::base_kind(change);
        let mut add = |action| {
            steps.push(Step {
                path: change.path.clone(),
                action,
                name: format!("{}", steps.len()),
                change: Some(change),
                ours: None,
                mode: None,
            });
        };
        match (&change.kind, base) {
            (ChangeKind::Delete, _) => add(Action::TakeAway),
            (ChangeKind::CreateDirectory, None) => add(Action::MakeFolder),
            (ChangeKind::CreateDirectory, Some(_)) => {
                add(Action::TakeAway);
                add(Action::MakeFolder);
            }
            (_, None) => add(Action::Put),
            (_, Some(EntryKind::Directory)) => {
                add(Action::TakeAway);
                add(Action::Put);
            }
            (_, Some(_)) => add(Action::Replace),
        }
        if change.kind == ChangeKind::CreateDirectory {
            there.insert(change.path.clone());
        }
    }
    let mut with_folders = Vec::with_capacity(steps.len());
    for mut step in steps {
        if step.action != Action::TakeAway {
            add_missing_folders(&mut with_folders, folders, &mut there, &step.path)?;
        }
        if matches!(step.action, Action::Put | Action::Replace) {
            stage(&mut step, folders, staging)?;
        }
        with_folders.push(step);
    }
    Ok(with_folders)
}

/// Adds steps for the folders above a path that are not there.
fn add_missing_folders(
    steps: &mut Vec<Step<'_>>,
    folders: &mut Folders<'_>,
    there: &mut HashSet<WorkspacePath>,
    path: &WorkspacePath,
) -> Result<(), Stop> {
    let mut missing = Vec::new();
    let mut obstacle = None;
    let mut above = path.parent();
    loop {
        let Some(folder) = above.filter(|folder| !folder.is_root()) else {
            // What is in the way is nothing that the change set replaces.
            if let Some(obstacle) = obstacle {
                return Err(obstacle);
            }
            break;
        };
        if there.contains(&folder) {
            break;
        }
        above = folder.parent();
        match folders.open(&folder) {
            Ok(_) => {
                there.insert(folder);
                break;
            }
            Err(error) => {
                let is_missing = error.kind() == io::ErrorKind::NotFound;
                obstacle = obstacle.or_else(|| (!is_missing).then(|| Stop::above(path, &error)));
                missing.push(folder);
            }
        }
    }
    for folder in missing.into_iter().rev() {
        let name = String::new();
        let path = folder.clone();
        steps.push(Step { path, action: Action::MakeFolder, name, change: None, ours: None, mode: None });
        there.insert(folder);
    }
    Ok(())
}

/// Writes what goes in to the staging folder, as it will be in the workspace.
fn stage(step: &mut Step<'_>, folders: &mut Folders<'_>, staging: &Staging) -> Result<(), Stop> {
    let Some(change) = step.change else { return Ok(()) };
    let failed = |error: &io::Error| Stop::io(&step.path, error);
    let (content, executable) = match &change.kind {
        ChangeKind::Write { content, executable, .. } => (content, *executable),
        ChangeKind::Link { target, .. } => {
            staging.folder.symlink_contents(os_name(target), &step.name).map_err(|error| failed(&error))?;
            let found = staging.folder.symlink_metadata(&step.name).map_err(|error| failed(&error))?;
            step.ours = Some(Identity::of(&found));
            return Ok(());
        }
        ChangeKind::CreateDirectory | ChangeKind::Delete => return Ok(()),
    };
    let default_mode = if executable { 0o777 } else { 0o666 };
    let file = staging.create_file(&step.name, default_mode, content).map_err(|error| failed(&error))?;
    let staged = file.metadata().map_err(|error| failed(&error))?;
    step.ours = Some(Identity::of(&staged));
    if step.action != Action::Replace || ChangeSet::base_kind(change) != Some(EntryKind::File) {
        return Ok(());
    }
    let above = folders.above(&step.path)?;
    let name = step.path.file_name().unwrap_or_default();
    let old = match above.symlink_metadata(os_name(name)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(Stop::conflict(&step.path, ConflictKind::Deleted));
        }
        found => found.map_err(|error| failed(&error))?,
    };
    let mode = permission_bits(&old, change, executable);
    if staged.mode() & 0o777 != mode {
        file.set_permissions(Permissions::from_mode(mode)).map_err(|error| failed(&error))?;
    }
    if (staged.uid(), staged.gid()) != (old.uid(), old.gid()) {
        keep_owner(&file, &old);
    }
    step.mode = Some(old.mode());
    Ok(())
}

/// The bits that the user's file has now, with the executable ones changed only if the change set changes them.
/// Set-user-id and the like are not carried over to new content.
fn permission_bits(old: &cap_std::fs::Metadata, change: &Change, executable: bool) -> u32 {
    let now = old.mode() & 0o777;
    let was_executable = change.base.as_ref().is_some_and(crate::Fingerprint::is_executable);
    match (was_executable, executable) {
        (false, true) => now | (now & 0o444) >> 2,
        (true, false) => now & !0o111,
        _ => now,
    }
}

/// Only the superuser, or a member of the group, can give a file away; for all others the file becomes theirs, as
/// with every editor that saves by renaming.
fn keep_owner(file: &cap_std::fs::File, old: &cap_std::fs::Metadata) {
    let group = Some(rustix::fs::Gid::from_raw(old.gid()));
    let user = Some(rustix::fs::Uid::from_raw(old.uid()));
    if rustix::fs::fchown(file, user, group).is_err() {
        let _ = rustix::fs::fchown(file, None, group);
    }
}
