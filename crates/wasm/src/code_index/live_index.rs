use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use futures::future::join_all;
use futures::lock::Mutex as Turn;
use headstart_code_index::{
    ContentFields, CutContents, Delta, FileChange, LARGEST_FILE, MemoryIndex, Snapshot, Symbol, is_rule_file,
    project_files,
};
use headstart_overlay_fs::{
    ChangeSet, ContentHash, EntryKind, Fingerprint, Overlay, Quota, Tree, TreeError, WorkspacePath,
};
use headstart_tool_gate::DenyRules;
use headstart_toolbox::{IndexCoverage, IndexState, IndexWork, ProjectIndex};
use serde::{Deserialize, Serialize};

/// How many files are read in one step, and how many bytes, before other work has its turn: this takes some tens of
/// milliseconds.
const READ_AT_ONCE: usize = 16;
const BYTES_AT_ONCE: u64 = 128 * 1024;
/// How many paths are followed in one step of which the host said that they changed.
const CHANGED_AT_ONCE: usize = 64;

/// How much of a project is indexed; what is left out is reported.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct IndexLimits {
    max_files: Option<u32>,
    max_bytes: Option<u64>,
}

const USUAL_FILES: u32 = 20_000;
const USUAL_BYTES: u64 = 128 << 20;

/// The progress of an index, in JSON.
#[derive(Serialize)]
pub(super) struct Progress {
    /// How many files are in the index with their current content.
    indexed: usize,
    /// How many files are to be in the index.
    files: usize,
    percent: u64,
    /// What is not indexed, in words for people.
    notes: Vec<String>,
}

/// An index in memory that follows a tree of the host in small steps.
pub(super) struct LiveIndex {
    files: Arc<dyn Tree>,
    deny: DenyRules,
    most_files: usize,
    most_bytes: u64,
    state: Mutex<LiveState>,
    /// Held during each change of the index, including everything for which the change waits: so of two answers about
    /// one path, the later one counts.
    turn: Turn<CutContents>,
}

#[derive(Default)]
struct LiveState {
    index: MemoryIndex,
    /// A number that changes with each change of the index.
    generation: u64,
    /// Whether all files have to be looked at, and whether they were at least once.
    must_scan: bool,
    scanned: bool,
    /// Files that are new or have changed since, as they were seen at the look.
    waiting: VecDeque<(WorkspacePath, Fingerprint)>,
    /// Paths of which the host said that they changed, each with the number of that report.
    changed: BTreeMap<WorkspacePath, u64>,
    last_report: u64,
    /// The fingerprint of each file before it was read.
    seen: HashMap<WorkspacePath, Fingerprint>,
    notes: Vec<String>,
}

impl LiveIndex {
    pub(super) fn new(files: Arc<dyn Tree>, deny: DenyRules, most: &IndexLimits) -> Self {
        Self {
            files,
            deny,
            most_files: most.max_files.unwrap_or(USUAL_FILES) as usize,
            most_bytes: most.max_bytes.unwrap_or(USUAL_BYTES),
            state: Mutex::default(),
            turn: Turn::default(),
        }
    }

    pub(super) fn request_scan(&self) {
        self.state().must_scan = true;
    }

    pub(super) fn changed(&self, path: WorkspacePath) {
        let mut state = self.state();
        state.last_report += 1;
        let report = state.last_report;
        state.changed.insert(path, report);
    }

    /// Does a part of the work; returns whether there is more.
    pub(super) async fn step(&self) -> Result<bool, TreeError> {
        let mut cut = self.turn.lock().await;
        let (changed, must_scan) = {
            let state = self.state();
            let changed: Vec<_> = state.changed.clone().into_iter().take(CHANGED_AT_ONCE).collect();
            (changed, state.must_scan)
        };
        if !changed.is_empty() {
            self.update_paths(changed, &mut cut).await;
        } else if must_scan {
            self.state().must_scan = false;
            if let Err(error) = self.scan_all().await {
                self.state().must_scan = true;
                return Err(error);
            }
        } else {
            self.read_batch().await;
        }
        let state = self.state();
        Ok(state.must_scan || !state.changed.is_empty() || !state.waiting.is_empty())
    }

    /// Sets the content of a path, whatever the tree says of it, until a change of the path is reported.
    pub(super) async fn put(
        &self,
        path: &WorkspacePath,
        content: Vec<u8>,
        definitions: Option<Vec<Symbol>>,
    ) -> Result<(), TreeError> {
        let mut cut = self.turn.lock().await;
        // The content is put over the tree, so that the rules decide whether such a file is indexed.
        let given = Overlay::new(Arc::clone(&self.files), Quota::default());
        given.write(path, content.clone()).await?;
        let staged = ChangeSet { reads: Vec::new(), ..given.change_set() };
        let delta = Delta::of(&given, &staged, &BTreeSet::new(), &self.is_closed(), &mut cut).await;
        let mut state = self.state();
        if state.index.content(path).is_none() && self.room(&state) == 0 {
            state.too_many(self.most_files);
            return Ok(());
        }
        delta.write_to(&mut state.index);
        if let Some(definitions) = definitions.filter(|_| state.index.content(path).is_some()) {
            let content = ContentFields::with_definitions(path, &content, definitions);
            state.index.put(path.clone(), Arc::new(content));
        }
        state.generation += 1;
        state.changed.remove(path);
        state.seen.remove(path);
        state.waiting.retain(|(waiting, _)| waiting != path);
        Ok(())
    }

    pub(super) async fn remove(&self, path: &WorkspacePath) {
        let _turn = self.turn.lock().await;
        let mut state = self.state();
        state.index.remove(path);
        state.generation += 1;
        state.changed.retain(|changed, _| !changed.starts_with(path));
        state.seen.retain(|seen, _| !seen.starts_with(path));
        state.waiting.retain(|(waiting, _)| !waiting.starts_with(path));
    }

    pub(super) fn progress(&self) -> Progress {
        let state = self.state();
        let (indexed, files) = state.counts();
        Progress { indexed, files, percent: state.percent(), notes: state.notes.clone() }
    }

    /// Updates the index to what is at these paths now.
    async fn update_paths(&self, changed: Vec<(WorkspacePath, u64)>, cut: &mut CutContents) {
        let kinds =
            changed.iter().map(|(path, _)| async { Some(self.files.metadata(path).await.ok()?.kind) });
        let kinds = join_all(kinds).await;
        let must_scan =
            kinds.contains(&Some(EntryKind::Directory)) || changed.iter().any(|(path, _)| is_rule_file(path));
        let mut paths = BTreeSet::new();
        {
            let mut state = self.state();
            let mut room = self.room(&state);
            for ((path, _), kind) in changed.iter().zip(kinds) {
                let is_new = kind == Some(EntryKind::File) && state.index.content(path).is_none();
                if is_new && room == 0 {
                    state.too_many(self.most_files);
                    continue;
                }
                room -= usize::from(is_new);
                paths.insert(path.clone());
            }
        }
        let none = ChangeSet::default();
        let delta = Delta::of(self.files.as_ref(), &none, &paths, &self.is_closed(), cut).await;
        let mut state = self.state();
        delta.write_to(&mut state.index);
        state.generation += 1;
        state.must_scan |= must_scan;
        for (path, report) in changed {
            state.seen.remove(&path);
            // The path may have changed again in the meantime.
            if state.changed.get(&path) == Some(&report) {
                state.changed.remove(&path);
            }
        }
    }

    /// Finds the files that have to be read, and removes those that are gone.
    async fn scan_all(&self) -> Result<(), TreeError> {
        let mut found = project_files(self.files.as_ref(), &self.is_closed()).await?;
        let all = found.files.len();
        let mut bytes = 0;
        let fits = found.files.iter().take(self.most_files).take_while(|(_, seen)| {
            bytes += if seen.len <= LARGEST_FILE { seen.len } else { 0 };
            bytes <= self.most_bytes
        });
        let fits = fits.count();
        found.files.truncate(fits);
        let mut state = self.state();
        state.notes = found.told;
        if fits < all {
            let limit = if fits == self.most_files { "files" } else { "bytes" };
            state.notes.push(format!(
                "{fits} of {all} files are indexed, the first by name: more would be too many {limit}"
            ));
        }
        let present: HashSet<&WorkspacePath> = found.files.iter().map(|(path, _)| path).collect();
        let known: Vec<_> = state.index.catalogue().paths().cloned().collect();
        for path in known.iter().filter(|path| !present.contains(path)) {
            state.index.remove(path);
            state.seen.remove(path);
        }
        let is_new = |(path, seen): &(WorkspacePath, Fingerprint)| state.seen.get(path) != Some(seen);
        let waiting = found.files.into_iter().filter(is_new).collect();
        state.waiting = waiting;
        state.generation += 1;
        state.scanned = true;
        Ok(())
    }

    /// Reads some of the files that wait.
    async fn read_batch(&self) {
        let batch = self.batch();
        let reads = batch.iter().map(|(path, seen)| async {
            if LARGEST_FILE < seen.len {
                let digest = ContentHash::of(seen.len.to_string().as_bytes());
                return Some(ContentFields::too_large(path, digest));
            }
            let bytes = self.files.read(path).await.ok()?;
            Some(ContentFields::of(path, &bytes))
        });
        let contents = join_all(reads).await;
        let mut state = self.state();
        for ((path, seen), content) in batch.into_iter().zip(contents) {
            state.waiting.pop_front();
            let change = match content {
                Some(content) => {
                    // A file whose fingerprint might not show an edit is read anew at the next look.
                    if !seen.racy {
                        state.seen.insert(path.clone(), seen);
                    }
                    FileChange::Put { path, content: Arc::new(content) }
                }
                None => FileChange::Remove { path },
            };
            state.index.apply([change]);
        }
        state.generation += 1;
    }

    fn batch(&self) -> Vec<(WorkspacePath, Fingerprint)> {
        let state = self.state();
        let mut bytes = 0;
        let fits = state.waiting.iter().take(READ_AT_ONCE).take_while(|(_, seen)| {
            let fits = bytes < BYTES_AT_ONCE;
            bytes += seen.len;
            fits
        });
        fits.cloned().collect()
    }

    /// How many more files the index may take.
    fn room(&self, state: &LiveState) -> usize {
        self.most_files.saturating_sub(state.index.catalogue().paths().count())
    }

    fn is_closed(&self) -> impl Fn(&WorkspacePath) -> bool + Sync {
        |path| self.deny.closes(path, false)
    }

    fn state(&self) -> MutexGuard<'_, LiveState> {
        // There is one thread, and a panic ends it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LiveState {
    /// In hundredths, rounded down, so that it is 100 only if no file waits.
    fn percent(&self) -> u64 {
        if !self.scanned {
            return 0;
        }
        let (indexed, files) = self.counts();
        (100 * indexed as u64).checked_div(files as u64).unwrap_or(100)
    }

    /// How many files are in the index with their current content, and how many are to be.
    fn counts(&self) -> (usize, usize) {
        let known = self.index.catalogue().paths().count();
        let new = self.waiting.iter().filter(|(path, _)| self.index.content(path).is_none()).count();
        let files = known + new;
        (files - self.waiting.len(), files)
    }

    fn too_many(&mut self, most: usize) {
        let note = format!("files that came later are not indexed: there are {most} already");
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

#[async_trait]
impl ProjectIndex for LiveIndex {
    fn files(&self) -> Arc<dyn Tree> {
        Arc::clone(&self.files)
    }

    async fn changed(&self) -> BTreeSet<WorkspacePath> {
        self.state().changed.keys().cloned().collect()
    }

    async fn read(&self, work: IndexWork) {
        let state = self.state();
        let coverage = IndexCoverage { percent: Some(state.percent()), trouble: None };
        let generation = state.generation;
        work(&IndexState { snapshot: &state.index, recent: &[], generation, coverage: &coverage });
    }
}
