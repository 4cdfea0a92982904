use std::collections::{BTreeMap, HashMap, HashSet};

use headstart_workspace_path::WorkspacePath;

use super::entry::{Entry, StagedState};
use super::{Quota, Savepoint, StagedUsage};
use crate::{Change, ChangeKind, ChangeSet, EntryKind, Fingerprint, Observation, TreeError};

/// What is staged, what was read, and what is known of the base.
///
/// A path with an entry hides the base at and below it. A folder that exists only because something staged is in it
/// has no entry, so it goes with its content.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) entries: BTreeMap<WorkspacePath, Entry>,
    reads: BTreeMap<WorkspacePath, Observation>,
    /// Folders of the base that are known to be folders, not links.
    folders: HashSet<WorkspacePath>,
    bytes: u64,
    /// Raised by every change of `entries`. A change is prepared without the lock, and prepared again if another one
    /// came first.
    pub(super) version: u64,
}

/// What the state alone says about a path whose parent is a folder.
pub(super) enum Lookup {
    Entry(Entry),
    /// A folder, because something staged is in it. Whether the base has it too is not known.
    ImpliedFolder,
    /// Nothing, because the base is hidden here.
    Hidden,
    /// A folder of the base.
    Folder,
    /// Not known, so the base has to be asked.
    Base,
}

/// Changes of entries that are made together; `None` removes the entry.
pub(super) type Edits = Vec<(WorkspacePath, Option<Entry>)>;

impl State {
    pub(super) fn lookup(&self, path: &WorkspacePath) -> Lookup {
        if let Some(entry) = self.entries.get(path) {
            return Lookup::Entry(entry.clone());
        }
        if !self.entries.is_empty() && self.below(path).next().is_some() {
            return Lookup::ImpliedFolder;
        }
        if self.is_hidden(path) {
            return Lookup::Hidden;
        }
        if path.is_root() || self.folders.contains(path) { Lookup::Folder } else { Lookup::Base }
    }

    /// Whether the path is known to be a folder of the base that the overlay shows, with no link on the way.
    pub(super) fn is_base_folder(&self, path: &WorkspacePath) -> bool {
        self.folders.contains(path) && !self.entries.contains_key(path) && !self.is_hidden(path)
    }

    /// Whether an entry above the path hides the base there.
    pub(super) fn is_hidden(&self, path: &WorkspacePath) -> bool {
        !self.entries.is_empty() && ancestors(path).any(|folder| self.entries.contains_key(&folder))
    }

    /// The entries below the path, itself not included.
    pub(super) fn below<'a>(
        &'a self,
        path: &'a WorkspacePath,
    ) -> impl Iterator<Item = (&'a WorkspacePath, &'a Entry)> {
        let same_start = self
            .entries
            .range(path.clone()..)
            .take_while(|(at, _)| at.as_bytes().starts_with(path.as_bytes()));
        same_start.filter(move |(at, _)| *at != path && at.starts_with(path))
    }

    /// The names in the folder that something staged adds, or (`None`) removes.
    pub(super) fn names_in(&self, folder: &WorkspacePath) -> HashMap<Vec<u8>, Option<EntryKind>> {
        let mut names = HashMap::new();
        for (path, entry) in self.below(folder) {
            let Some(rest) = path.strip_prefix(folder) else { continue };
            let Some(name) = rest.names().next() else { continue };
            if rest.as_bytes().len() == name.len() {
                names.insert(name.to_vec(), entry.now.kind());
            } else if !names.contains_key(name) && entry.now.kind().is_some() {
                names.insert(name.to_vec(), Some(EntryKind::Directory));
            }
        }
        names
    }

    /// Notes that a path is a folder of the base.
    pub(super) fn know_folder(&mut self, path: WorkspacePath) {
        self.folders.insert(path);
    }

    /// Whether the read set has the names of this folder, so that another look adds nothing.
    pub(super) fn knows_names(&self, folder: &WorkspacePath) -> bool {
        self.reads.get(folder).is_some_and(|read| read.names.is_some())
    }

    /// Adds to the read set. The first look counts; a later one only adds what the first did not look at.
    pub(super) fn observe(&mut self, seen: Observation) {
        let Some(first) = self.reads.get_mut(&seen.path) else {
            self.reads.insert(seen.path.clone(), seen);
            return;
        };
        if first.seen.as_ref().map(|seen| seen.kind) != seen.seen.as_ref().map(|seen| seen.kind) {
            return;
        }
        first.names = first.names.take().or(seen.names);
        if is_consistent(first.seen.as_ref(), seen.seen.as_ref()) {
            first.content = first.content.or(seen.content);
        }
    }

    /// Applies all edits, or fails and applies none.
    pub(super) fn apply(&mut self, mut edits: Edits, quota: Quota) -> Result<(), TreeError> {
        for (path, edit) in &mut edits {
            if edit
                .as_ref()
                .is_some_and(|entry| entry.base.is_none() && matches!(entry.now, StagedState::Removed))
            {
                *edit = None;
            }
            if let Some(entry) = edit
                && entry.moved_from.as_ref() == Some(path)
            {
                entry.moved_from = None;
            }
        }
        self.check_quota(&edits, quota)?;
        for (path, edit) in &edits {
            let added = edit.as_ref().map_or(0, Entry::bytes);
            let old = match edit {
                Some(entry) => self.entries.insert(path.clone(), entry.clone()),
                None => self.entries.remove(path),
            };
            self.bytes = self.bytes + added - old.as_ref().map_or(0, Entry::bytes);
        }
        for (path, _) in edits {
            self.drop_if_unchanged(&path);
            self.drop_emptied_above(&path);
        }
        self.version += 1;
        Ok(())
    }

    fn check_quota(&self, edits: &Edits, quota: Quota) -> Result<(), TreeError> {
        let (mut files, mut bytes) = (self.entries.len() as u64, self.bytes);
        for (path, edit) in edits {
            let old = self.entries.get(path);
            if let Some(entry) = edit {
                quota.check(path, &entry.now)?;
            }
            files = files + u64::from(edit.is_some()) - u64::from(old.is_some());
            bytes = bytes + edit.as_ref().map_or(0, Entry::bytes) - old.map_or(0, Entry::bytes);
        }
        let exceeded = |limit, unit| {
            let path = edits.first().map(|(path, _)| path.clone()).unwrap_or_default();
            Err(TreeError::Quota { path, limit, unit })
        };
        if quota.files < files && (self.entries.len() as u64) < files {
            return exceeded(quota.files, "files");
        }
        if quota.bytes < bytes && self.bytes < bytes {
            return exceeded(quota.bytes, "bytes");
        }
        Ok(())
    }

    /// Removes the entry of a file or link that is as the base has it. That it was looked at stays in the read set.
    fn drop_if_unchanged(&mut self, path: &WorkspacePath) {
        if self.is_hidden(path) {
            return;
        }
        let Some(entry) = self.entries.get(path) else { return };
        let is_leaf = matches!(entry.now, StagedState::File { .. } | StagedState::Link { .. });
        if !is_leaf || entry.is_change() {
            return;
        }
        if let Some(entry) = self.entries.remove(path) {
            self.bytes -= entry.bytes();
            if let Some(seen) = entry.base_seen(path) {
                self.observe(seen);
            }
        }
    }

    /// Removes folders that take the place of something removed once nothing staged is left in them.
    fn drop_emptied_above(&mut self, path: &WorkspacePath) {
        for folder in ancestors(path) {
            let is_implied = |entry: &Entry| matches!(entry.now, StagedState::Directory { implied: true });
            if !self.entries.get(&folder).is_some_and(is_implied) {
                continue;
            }
            if self.below(&folder).any(|(_, entry)| entry.now.kind().is_some()) {
                return;
            }
            if let Some(entry) = self.entries.get_mut(&folder) {
                entry.now = StagedState::Removed;
            }
        }
    }

    /// Edits that make folders of the removed paths above this one.
    pub(super) fn revive_above(&self, path: &WorkspacePath) -> Edits {
        let removed = ancestors(path).filter_map(|folder| {
            let entry = self.entries.get(&folder)?;
            let now = StagedState::Directory { implied: true };
            let edit = Entry { base: entry.base.clone(), now, moved_from: None, mode: None };
            matches!(entry.now, StagedState::Removed).then_some((folder, Some(edit)))
        });
        removed.collect()
    }

    /// Stages what a change set holds, without asking the base.
    pub(super) fn restore(&mut self, changes: &ChangeSet, quota: Quota) -> Result<(), TreeError> {
        let edits =
            changes.changes.iter().map(|change| (change.path.clone(), Some(Entry::from_change(change))));
        self.apply(edits.collect(), quota)?;
        changes.reads.iter().cloned().for_each(|read| self.observe(read));
        Ok(())
    }

    pub(super) fn savepoint(&self) -> Savepoint {
        Savepoint { entries: self.entries.clone(), bytes: self.bytes }
    }

    pub(super) fn roll_back(&mut self, Savepoint { entries, bytes }: Savepoint) {
        self.entries = entries;
        self.bytes = bytes;
        self.version += 1;
    }

    pub(super) fn discard(&mut self) {
        *self = Self { version: self.version + 1, ..Self::default() };
    }

    pub(super) fn usage(&self) -> StagedUsage {
        StagedUsage { files: self.entries.len() as u64, bytes: self.bytes }
    }

    pub(super) fn touches(&self, path: &WorkspacePath) -> bool {
        let at = self.entries.get(path);
        at.into_iter().chain(self.below(path).map(|(_, entry)| entry)).any(Entry::is_change)
    }

    /// The changes, in an order in which they can be made.
    pub(super) fn changes(&self) -> Vec<Change> {
        let is_removed = |path: &WorkspacePath| {
            self.entries.get(path).is_some_and(|entry| matches!(entry.now, StagedState::Removed))
        };
        let changes: Vec<_> = self
            .entries
            .iter()
            .filter(|(_, entry)| entry.is_change())
            .map(|(path, entry)| entry.to_change(path, is_removed))
            .collect();
        let (mut removals, rest): (Vec<_>, Vec<_>) =
            changes.into_iter().partition(|change| change.kind == ChangeKind::Delete);
        removals.reverse();
        removals.extend(rest);
        removals
    }

    /// The read set, without what the bases of the changes say too.
    pub(super) fn reads(&self) -> Vec<Observation> {
        let is_said = |read: &Observation| {
            let entry = self.entries.get(&read.path).filter(|entry| entry.is_change());
            entry.is_some_and(|entry| read.names.is_none() && entry.rests_on(read))
        };
        self.reads.values().filter(|read| !is_said(read)).cloned().collect()
    }
}

/// Whether what a first look at a path showed still held at the second look, which saw its content.
fn is_consistent(first: Option<&Fingerprint>, second: Option<&Fingerprint>) -> bool {
    let shown = |seen: &Fingerprint| (seen.kind, seen.len, seen.is_executable());
    first.map(shown) == second.map(shown)
}

/// The folders above a path, nearest first, without the root.
fn ancestors(path: &WorkspacePath) -> impl Iterator<Item = WorkspacePath> {
    std::iter::successors(path.parent(), WorkspacePath::parent).filter(|folder| !folder.is_root())
}
