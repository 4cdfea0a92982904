//! Finished layers of build output: what commands built from the workspace on disk, for all its views.
//!
//! Build tools compare times, so a layer can only be used as long as no file that it was not built from can be older
//! than it. Therefore it is built over the tree on disk without staged changes, it is dropped when the folder on disk
//! has changed, and files that changed on disk since then get a later time in each view.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use headstart_overlay_fs::{WorkspacePath, file_times};
use headstart_shadow::remove_folder;
use serde::{Deserialize, Serialize};

use super::view_folders::{self, ViewFolder, bytes_below};
use crate::clock;
use crate::file_lock::FileLock;
use crate::system::{FileNumbers as _, path_in};

const WARM: &str = "warm";
const RECORD: &str = "warm.json";
const LOCK: &str = "lock";
const FILL: &str = "fill";
/// The most layers on top of each other. If one more is needed, all are built anew.
const MAX_LAYERS: usize = 4;
/// The most entries of a folder on disk that are read for its stamp, to a depth of two.
const MAX_STAMPED: usize = 4_096;
/// The most names in a workspace. With more it would take too long to find out what changed.
const MAX_NAMES: usize = 200_000;
/// The most changed files that get a later time in a view; below it the most bytes of each.
const MAX_CHANGED: usize = 200;
const MAX_LENGTH: u64 = 1 << 20;
const SECOND: i64 = 1_000_000_000;

/// The layers of one workspace.
#[derive(Debug, Clone)]
pub struct WarmLayers {
    folder: PathBuf,
    workspace: PathBuf,
}

/// The stored layers, the topmost first.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LayerRecord {
    pub layers: Vec<Layer>,
    /// The stamps of the folders on disk.
    stamps: BTreeMap<String, String>,
    /// When a view last used the layers, in milliseconds since the Unix epoch.
    pub used: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Layer {
    id: String,
    pub folders: Vec<String>,
    /// In nanoseconds since the Unix epoch, by the clock of files.
    began: i64,
    done: i64,
    bytes: u64,
}

/// Layers that a view uses, so that they are not removed meanwhile.
#[derive(Debug)]
pub(super) struct LayersInUse {
    record: LayerRecord,
    folder: PathBuf,
    /// The files that must get a later time than the layers have.
    pub(super) changed: Vec<WorkspacePath>,
    _locks: Vec<FileLock>,
}

/// The right to build a layer.
pub struct LayerBuild {
    _lock: FileLock,
    began: i64,
    folders: Vec<WorkspacePath>,
    stamps: BTreeMap<String, String>,
}

impl WarmLayers {
    pub(super) fn new(of_workspace: &Path, workspace: &Path) -> Self {
        Self { folder: of_workspace.join(WARM), workspace: workspace.to_owned() }
    }

    /// The stored layers, and whether they can still be used.
    pub fn stored(&self) -> Option<(LayerRecord, bool)> {
        let record = self.record()?;
        let serves = self.are_current(&record.stamps);
        Some((record, serves))
    }

    /// The bytes of all layers.
    pub fn bytes(&self) -> u64 {
        self.record().map_or(0, |record| record.bytes())
    }

    /// The layers for a view with these folders; `None` if there are none that can be used.
    pub(super) fn take(&self, folders: &[WorkspacePath]) -> Option<LayersInUse> {
        let mut record = self.record()?;
        let lock = |layer: &Layer| {
            let file = File::open(self.folder.join(&layer.id).join(LOCK)).ok()?;
            let lock = FileLock::shared(file).ok()?;
            // A process that removes the layer holds the lock until all of it is removed.
            let is_there = fs::metadata(self.folder.join(&layer.id).join(LOCK)).is_ok();
            is_there.then_some(lock)
        };
        let locks: Option<Vec<FileLock>> = record.layers.iter().map(lock).collect();
        let (locks, is_current) = (locks?, self.are_current(&record.stamps));
        let known = |name: &String| folders.iter().any(|folder| folder.to_string() == *name);
        let changed = record.began().and_then(|began| self.changed_since(began, folders));
        let changed = changed.and_then(|changed| older(changed, record.done()));
        let (true, true, Some(changed)) = (is_current, record.stamps.keys().all(known), changed) else {
            drop(locks);
            if !is_current {
                self.clear();
            }
            return None;
        };
        record.used = clock::unix_ms();
        let _ = view_folders::write(&self.folder, RECORD, &record);
        Some(LayersInUse { record, folder: self.folder.clone(), changed, _locks: locks })
    }

    /// Begins to build a layer; the error says what prevents it.
    pub fn begin(&self, folders: &[WorkspacePath]) -> Result<LayerBuild, String> {
        let failed = |error: io::Error| error.to_string();
        view_folders::make_private(&self.folder).map_err(failed)?;
        let lock = File::create(self.folder.join(FILL)).map_err(failed)?;
        let lock = FileLock::exclusive(lock).map_err(|_| "another process is at it")?;
        if self.record().is_some_and(|record| MAX_LAYERS <= record.layers.len()) {
            self.clear();
        }
        let stamps = folders.iter().map(|folder| (folder.to_string(), stamp(&self.workspace, folder)));
        Ok(LayerBuild {
            _lock: lock,
            began: file_times::since_now_ns(),
            folders: folders.to_vec(),
            stamps: stamps.collect(),
        })
    }

    /// Stores what an ended view wrote, on top of the layers that it used. `Ok(None)` means that it wrote nothing; an
    /// error says why it is not stored.
    pub(super) fn store(
        &self,
        filling: &LayerBuild,
        room: &ViewFolder,
        over: Option<&LayersInUse>,
    ) -> Result<Option<u64>, String> {
        let failed = |error: io::Error| error.to_string();
        let changed = self.changed_since(filling.began, &filling.folders);
        match changed.as_deref() {
            Some([]) => {}
            Some([path, ..]) => return Err(format!("{} changed on disk meanwhile", path.path)),
            None => return Err(format!("the workspace holds more than {MAX_NAMES} files")),
        }
        if !self.are_current(&filling.stamps) {
            return Err("somebody else built on disk meanwhile".to_owned());
        }
        let new = tempfile::Builder::new().prefix(".new-").tempdir_in(&self.folder).map_err(failed)?;
        let mut folders = Vec::new();
        for (number, folder) in filling.folders.iter().enumerate() {
            let upper = room.upper(number);
            let holds_any = fs::read_dir(&upper).is_ok_and(|mut entries| entries.next().is_some());
            if holds_any {
                fs::rename(&upper, new.path().join(folders.len().to_string())).map_err(failed)?;
                folders.push(folder.to_string());
            }
        }
        if folders.is_empty() {
            return Ok(None);
        }
        File::create_new(new.path().join(LOCK)).map_err(failed)?;
        // The overlay was volatile, so after a loss of power a layer that is not on the medium could be incomplete.
        write_out(new.path()).map_err(failed)?;
        let random =
            new.path().file_name().unwrap_or_default().to_string_lossy().replacen(".new-", "layer-", 1);
        let bytes = bytes_below(new.path());
        fs::rename(new.keep(), self.folder.join(&random)).map_err(failed)?;
        let layer =
            Layer { id: random, folders, began: filling.began, done: file_times::until_now_ns(), bytes };
        let below = over.map(|used| used.record.layers.clone()).unwrap_or_default();
        let layers = [vec![layer], below].concat();
        let record = LayerRecord { layers, stamps: filling.stamps.clone(), used: clock::unix_ms() };
        view_folders::write(&self.folder, RECORD, &record).map_err(failed)?;
        Ok(Some(bytes))
    }

    /// Removes all layers that no view uses. Returns whether none is left.
    pub fn clear(&self) -> bool {
        let _ = fs::remove_file(self.folder.join(RECORD));
        self.remove_unknown()
    }

    /// Removes the layers that no record names and no view uses. Returns whether none is left.
    fn remove_unknown(&self) -> bool {
        let known: Vec<String> = self
            .record()
            .map(|record| record.layers.into_iter().map(|layer| layer.id).collect())
            .unwrap_or_default();
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let layers = entries.filter(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            name.starts_with("layer-") && !known.contains(&name)
        });
        let removed: Vec<bool> = layers
            .map(|entry| {
                // A layer without this file was never completed.
                let lock = File::open(entry.path().join(LOCK)).ok().map(FileLock::exclusive);
                !matches!(lock, Some(Err(_))) && remove_folder(&entry.path()).is_ok()
            })
            .collect();
        removed.into_iter().all(|removed| removed)
    }

    fn record(&self) -> Option<LayerRecord> {
        let record: LayerRecord = serde_json::from_slice(&fs::read(self.folder.join(RECORD)).ok()?).ok()?;
        (!record.layers.is_empty()).then_some(record)
    }

    /// Whether the folders on disk have the same stamps as before.
    fn are_current(&self, stamps: &BTreeMap<String, String>) -> bool {
        stamps.iter().all(|(name, seen)| {
            WorkspacePath::parse(name).is_ok_and(|path| stamp(&self.workspace, &path) == *seen)
        })
    }

    /// The files of the workspace that changed since a time, except those in these folders and in git's own. `None` if
    /// there are too many files to check.
    fn changed_since(&self, since: i64, without: &[WorkspacePath]) -> Option<Vec<ChangedFile>> {
        let mut search = ChangeSearch { since, without, looked_at: 0, found: Vec::new() };
        search.folder(&self.workspace, &WorkspacePath::root()).then_some(search.found)
    }
}

impl LayerRecord {
    pub fn bytes(&self) -> u64 {
        self.layers.iter().map(|layer| layer.bytes).sum()
    }

    fn began(&self) -> Option<i64> {
        self.layers.iter().map(|layer| layer.began).min()
    }

    fn done(&self) -> i64 {
        self.layers.iter().map(|layer| layer.done).max().unwrap_or_default()
    }
}

impl LayersInUse {
    /// The layers of one folder, the topmost first.
    pub(super) fn below(&self, path: &WorkspacePath) -> Vec<PathBuf> {
        let name = path.to_string();
        let layer = |layer: &Layer| {
            let number = layer.folders.iter().position(|folder| *folder == name)?;
            Some(self.folder.join(&layer.id).join(number.to_string()))
        };
        self.record.layers.iter().filter_map(layer).collect()
    }

    /// When the last layer was finished.
    pub(super) fn done(&self) -> i64 {
        self.record.done()
    }
}

struct ChangedFile {
    path: WorkspacePath,
    modified: i64,
    is_plain: bool,
}

/// The changed files whose own time does not show the change; `None` if a view cannot give them another time.
fn older(changed: Vec<ChangedFile>, done: i64) -> Option<Vec<WorkspacePath>> {
    let second = done.div_euclid(SECOND);
    let older: Vec<_> = changed.into_iter().filter(|one| one.modified.div_euclid(SECOND) <= second).collect();
    let can_be = older.len() <= MAX_CHANGED && older.iter().all(|one| one.is_plain);
    can_be.then(|| older.into_iter().map(|one| one.path).collect())
}

struct ChangeSearch<'a> {
    since: i64,
    without: &'a [WorkspacePath],
    looked_at: usize,
    found: Vec<ChangedFile>,
}

impl ChangeSearch<'_> {
    /// Searches a folder. Returns whether all of it was searched.
    fn folder(&mut self, folder: &Path, path: &WorkspacePath) -> bool {
        let Ok(entries) = fs::read_dir(folder) else { return false };
        for entry in entries {
            self.looked_at += 1;
            let (Ok(entry), true) = (entry, self.looked_at <= MAX_NAMES) else { return false };
            let name = entry.file_name();
            let Ok(below) = path.join_bytes(name.as_encoded_bytes()) else { return false };
            if self.without.contains(&below) || path.is_root() && name == *".git" {
                continue;
            }
            let found = match entry.metadata() {
                Ok(found) => found,
                // It was removed just now.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(_) => return false,
            };
            if found.is_dir() {
                if !self.folder(&entry.path(), &below) {
                    return false;
                }
            } else if self.since <= nanoseconds(found.ctime(), found.ctime_nsec()) {
                let is_plain = found.nlink() == 1
                    && found.len() <= MAX_LENGTH
                    && (found.is_file() || found.is_symlink());
                let modified = nanoseconds(found.mtime(), found.mtime_nsec());
                self.found.push(ChangedFile { path: below, modified, is_plain });
            }
        }
        true
    }
}

/// A stamp of a folder on disk: of the folder and its entries to a depth of two, by the data that every change of them
/// alters.
fn stamp(workspace: &Path, folder: &WorkspacePath) -> String {
    let mut text = Vec::new();
    let mut left = MAX_STAMPED;
    if let Ok(at) = path_in(workspace, folder) {
        add(&at, 0, &mut left, &mut text);
    }
    format!("{:016x}", xxhash_rust::xxh3::xxh3_64(&text))
}

fn add(path: &Path, depth: usize, left: &mut usize, text: &mut Vec<u8>) {
    let Ok(found) = path.symlink_metadata() else { return };
    let Some(less) = left.checked_sub(1) else { return };
    *left = less;
    text.extend_from_slice(path.as_os_str().as_encoded_bytes());
    text.extend(numbers(&found).map(i64::to_le_bytes).concat());
    if found.is_dir() && depth < 2 {
        let mut below: Vec<_> =
            fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        below.sort();
        for path in below {
            add(&path, depth + 1, left, text);
        }
    }
}

fn numbers(found: &Metadata) -> [i64; 4] {
    [found.dev().cast_signed(), found.ino().cast_signed(), found.ctime(), found.ctime_nsec()]
}

fn nanoseconds(seconds: i64, more: i64) -> i64 {
    seconds.saturating_mul(SECOND).saturating_add(more)
}
/// Writes the content of a folder to the medium, together with everything else on its file system. Only Linux can do
/// this for one file system.
fn write_out(folder: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::fs::syncfs(File::open(folder)?)?;
    #[cfg(all(unix, not(target_os = "linux")))]
    {
        File::open(folder)?;
        rustix::fs::sync();
    }
    // There are no layers on Windows, because there are no views.
    #[cfg(windows)]
    folder.metadata()?;
    Ok(())
}
