//! The files of views on disk. `STATE/shadow/WORKSPACE/` has a folder for each view (its room), which the view's
//! process holds locked, and one for finished layers.
//!
//! A room is removed with its view. The room of a process that died is removed the next time one is made or listed,
//! because its lock shows that no process holds it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use headstart_overlay_fs::WorkspacePath;
use headstart_shadow::{BuildLayer, BuildRoom, Tier, remove_folder};
use headstart_tool_gate::DenyRules;
use serde::{Deserialize, Serialize};

use super::warm_layers::WarmLayers;
use crate::clock;
use crate::config::ShadowConfig;
use crate::file_lock::FileLock;
use crate::system::{FileNumbers as _, PrivateFile as _, path_of_bytes};
use crate::workspace::state_name;

/// The folder of all workspaces, in the state folder.
const SHADOW: &str = "shadow";
const LOCK: &str = "lock";
const ABOUT: &str = "view.json";
const BUILD: &str = "build";
/// The beginning of the name of a room that is being made, because no process holds its lock yet.
const NEW: &str = ".new-";
const ROOM: &str = "view-";
/// A room that has been in the making for so long was left by a dead process.
const LEFTOVER_AFTER: Duration = Duration::from_secs(60 * 60);

/// The rooms of one workspace.
#[derive(Debug, Clone)]
pub struct ViewFolders {
    folder: PathBuf,
    workspace: PathBuf,
    /// The most bytes on disk of all rooms and layers together.
    most: u64,
    /// Further folders of build output.
    more: Vec<WorkspacePath>,
}

/// A locked folder for one view. Dropping this removes it, which must happen after the view has ended.
#[derive(Debug)]
pub(crate) struct ViewFolder {
    folder: PathBuf,
    about: ViewInfo,
    _lock: FileLock,
}

/// What other processes are told about a view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ViewInfo {
    pub id: String,
    pub workspace: String,
    pub tier: Tier,
    /// The process that holds the view, and below it the first process in the view.
    pub owner: u32,
    pub process: u32,
    /// In milliseconds since the Unix epoch.
    pub started: u64,
    /// When it was last used.
    pub used: u64,
    /// Whether a command or a server runs in it.
    pub is_running: bool,
    /// What its commands wrote, measured when the last one had ended; for a server, at the last check.
    pub memory_bytes: u64,
    pub disk_bytes: u64,
}

/// What is stored for a workspace.
#[derive(Debug)]
pub struct StoredViews {
    pub(crate) workspace: Option<PathBuf>,
    pub folder: PathBuf,
    pub views: Vec<ViewInfo>,
    /// The number of views that were removed because their processes had died.
    pub left: usize,
}

impl ViewFolders {
    /// The rooms of a workspace; `None` if they would be inside the workspace, because its views would show them.
    pub(crate) fn new(state: &Path, workspace: &Path, settings: &ShadowConfig) -> Option<Self> {
        let workspace = workspace.canonicalize().ok()?;
        let folder = state.join(SHADOW).join(state_name(&workspace));
        let is_inside = state.canonicalize().unwrap_or_else(|_| state.to_owned()).starts_with(&workspace);
        (!is_inside).then(|| Self {
            folder,
            workspace,
            most: settings.build_bytes,
            more: settings.build.clone(),
        })
    }

    pub(super) fn warm(&self) -> WarmLayers {
        WarmLayers::new(&self.folder, &self.workspace)
    }

    /// The folders of the workspace that hold much build output, except those that a rule closes.
    pub(super) fn folders(&self, deny: &DenyRules) -> Vec<WorkspacePath> {
        let folders = headstart_shadow::build_folders(&self.workspace, &self.more);
        folders.into_iter().filter(|path| deny.matching(path).is_none()).collect()
    }

    /// Makes a room for one view. Rooms of dead processes are removed.
    pub(super) fn make(&self, id: &str, tier: Tier) -> io::Result<ViewFolder> {
        if let Some(above) = self.folder.parent() {
            crate::store::create_private_folder(above).map_err(io::Error::other)?;
        }
        make_private(&self.folder)?;
        sweep(&self.folder);
        let note = self.folder.join("workspace");
        if !note.exists() {
            fs::write(note, self.workspace.as_os_str().as_encoded_bytes())?;
        }
        let new = tempfile::Builder::new().prefix(NEW).tempdir_in(&self.folder)?;
        let lock = FileLock::exclusive(File::create_new(new.path().join(LOCK))?)?;
        fs::create_dir(new.path().join(BUILD))?;
        let random = new.path().file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let folder = self.folder.join(random.replacen(NEW, ROOM, 1));
        fs::rename(new.keep(), &folder)?;
        let now = clock::unix_ms();
        let about = ViewInfo {
            id: id.to_owned(),
            workspace: self.workspace.display().to_string(),
            tier,
            owner: std::process::id(),
            process: 0,
            started: now,
            used: now,
            is_running: false,
            memory_bytes: 0,
            disk_bytes: 0,
        };
        Ok(ViewFolder { folder, about, _lock: lock })
    }

    /// The part of a room for a view's build output: these folders, each over its finished layers.
    pub(super) fn build(
        &self,
        room: &ViewFolder,
        folders: &[WorkspacePath],
        below: impl Fn(&WorkspacePath) -> Vec<PathBuf>,
    ) -> BuildRoom {
        let layer = |path: &WorkspacePath| BuildLayer { path: path.clone(), below: below(path) };
        BuildRoom {
            folder: room.folder.join(BUILD),
            layers: folders.iter().map(layer).collect(),
            bytes: self.most,
            measured: self.folder.clone(),
        }
    }

    /// The bytes on disk according to the records, and the most that are allowed.
    pub(super) fn usage(&self) -> (u64, u64) {
        let views: u64 = views(&self.folder).iter().map(|about| about.disk_bytes).sum();
        (views + self.warm().bytes(), self.most)
    }
}

impl ViewFolder {
    /// Empties the folder for layers, for another attempt.
    pub(super) fn empty(&self) -> io::Result<()> {
        remove_folder(&self.folder.join(BUILD))?;
        fs::create_dir(self.folder.join(BUILD))
    }

    /// The folder with what a view wrote to its folder with this number, once the view has ended.
    pub(super) fn upper(&self, number: usize) -> PathBuf {
        self.folder.join(BUILD).join(number.to_string()).join("upper")
    }

    /// Updates what other processes are told about the view. An error has no effect, because the room works without
    /// that.
    pub(super) fn update_info(&mut self, change: impl FnOnce(&mut ViewInfo)) {
        change(&mut self.about);
        let _ = write(&self.folder, ABOUT, &self.about);
    }

    /// The bytes on disk that the view wrote.
    pub(super) fn bytes(&self) -> u64 {
        bytes_below(&self.folder)
    }
}

impl Drop for ViewFolder {
    fn drop(&mut self) {
        // A room that cannot be removed now is removed by the next sweep.
        let _ = remove_folder(&self.folder);
    }
}

/// Everything that is stored, for every workspace. Rooms of dead processes are removed first.
pub fn all(state: &Path) -> io::Result<Vec<StoredViews>> {
    let entries = match fs::read_dir(state.join(SHADOW)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut folders: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    let stored = folders.into_iter().map(|folder| {
        let left = sweep(&folder);
        let workspace = fs::read(folder.join("workspace")).ok();
        let workspace = workspace.and_then(|bytes| path_of_bytes(&bytes).ok());
        StoredViews { workspace, left, views: views(&folder), folder }
    });
    Ok(stored.collect())
}

impl StoredViews {
    /// The path of the workspace; empty if it was not noted.
    pub fn name(&self) -> String {
        self.workspace.as_ref().map(|path| path.display().to_string()).unwrap_or_default()
    }

    pub fn warm(&self) -> WarmLayers {
        WarmLayers::new(&self.folder, self.workspace.as_deref().unwrap_or(Path::new("/nonexistent")))
    }

    /// Removes what is stored for a workspace that no longer exists.
    pub fn remove_if_unused(&self) -> bool {
        let is_gone = self.workspace.as_ref().is_none_or(|workspace| !workspace.is_dir());
        is_gone && self.views.is_empty() && self.warm().clear() && remove_folder(&self.folder).is_ok()
    }
}

/// Removes the rooms that no process holds, and returns their number.
pub(crate) fn sweep(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let left = entries.filter(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(ROOM) {
            return !is_held(&entry.path().join(LOCK));
        }
        name.starts_with(NEW) && entry.metadata().is_ok_and(|found| is_leftover(&found))
    });
    left.filter(|entry| remove_folder(&entry.path()).is_ok()).count()
}

/// Whether something without a known holder is too old to be in the making.
pub(super) fn is_leftover(found: &fs::Metadata) -> bool {
    let age = found.modified().ok().and_then(|time| time.elapsed().ok());
    age.is_some_and(|age| LEFTOVER_AFTER < age)
}

/// Creates a folder for this user alone, if it does not exist.
pub(super) fn make_private(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).private().create(folder)
}

/// Whether a living process holds the lock. A lock that cannot be checked counts as held.
pub(super) fn is_held(lock: &Path) -> bool {
    match FileLock::is_free(lock) {
        Ok(is_free) => !is_free,
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

fn views(folder: &Path) -> Vec<ViewInfo> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let rooms = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(ROOM));
    let mut views: Vec<ViewInfo> = rooms
        .filter_map(|entry| serde_json::from_slice(&fs::read(entry.path().join(ABOUT)).ok()?).ok())
        .collect();
    views.sort_by_key(|about| about.started);
    views
}

/// The number of processes in a view, including its own two.
pub fn processes(first: u32) -> usize {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let parents: Vec<(u32, u32)> = entries
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            Some((pid, stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?))
        })
        .collect();
    let mut found = vec![first];
    let mut at = 0;
    while let Some(parent) = found.get(at).copied() {
        found.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
        at += 1;
    }
    found.len()
}

/// Replaces the content of a file with a value, completely or not at all.
pub(super) fn write(folder: &Path, name: &str, value: &impl Serialize) -> io::Result<()> {
    let mut file = tempfile::Builder::new().prefix(NEW).tempfile_in(folder)?;
    serde_json::to_writer(&mut file, value)?;
    file.persist(folder.join(name)).map(drop).map_err(|error| error.error)
}

/// The bytes on disk of everything below a folder.
pub(super) fn bytes_below(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(found) if found.is_dir() => bytes_below(&entry.path()),
        Ok(found) => found.blocks() * 512 / found.nlink().max(1),
        Err(_) => 0,
    };
    entries.map(size).sum()
}
