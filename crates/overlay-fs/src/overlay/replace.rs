use std::collections::BTreeMap;

use headstart_workspace_path::WorkspacePath;

use super::entry::Entry;
use super::state::{Edits, State};
use super::{Overlay, Quota};
use crate::{Change, ChangeKind, ChangeSet, EntryKind, Observation, TreeError};

impl Overlay {
    /// Stages this change set in place of everything that is staged. It succeeds as a whole or stages nothing.
    ///
    /// This is for work that was done elsewhere over what this overlay shows, and came back whole. A path that was
    /// staged here before keeps as its base what the base had when it was first staged; for other paths the base is
    /// the one that the change set names. A path that was staged and is not in the change set is unchanged again, and
    /// joins the read set. So does the change set's own read set, and the names in each folder that is removed, which
    /// are those that the change set removes there.
    ///
    /// The quota applies as always ([`TreeError::Quota`]).
    pub fn replace(&self, changes: &ChangeSet) -> Result<(), TreeError> {
        self.lock().replace(changes, self.quota)
    }

    /// What an accept would refuse of changes with which [`replace`](Self::replace) is about to be called. A path that is
    /// staged is checked as well, because it may get other bits: a command made a file writable, and another one took
    /// that back.
    pub async fn check_replacement(&self, changes: &[Change]) -> Result<(), TreeError> {
        self.base.check_changes(changes).await
    }
}

impl State {
    fn replace(&mut self, changes: &ChangeSet, quota: Quota) -> Result<(), TreeError> {
        let mut incoming: BTreeMap<&WorkspacePath, &Change> =
            changes.changes.iter().map(|change| (&change.path, change)).collect();
        let mut edits: Edits = Vec::new();
        let mut unchanged: Vec<Observation> = Vec::new();
        for (path, entry) in &self.entries {
            if let Some(change) = incoming.remove(path) {
                let given = Entry::from_change(change);
                let moved_from = given.moved_from.clone().or_else(|| entry.moved_from.clone());
                let base = entry.base.clone();
                edits.push((path.clone(), Some(Entry { base, moved_from, ..given })));
            } else {
                unchanged.extend(entry.base_seen(path));
                edits.push((path.clone(), None));
            }
        }
        for (path, change) in incoming {
            let entry = Entry::from_change(change);
            if let Some(base) = entry.base.as_ref().and_then(|base| base.content.as_ref())
                && quota.file_bytes < base.len() as u64
            {
                return Err(quota.file_too_large(path));
            }
            edits.push((path.clone(), Some(entry)));
        }
        self.apply(edits, quota)?;
        unchanged.extend(removed_folders(changes));
        unchanged.into_iter().chain(changes.reads.iter().cloned()).for_each(|read| self.observe(read));
        Ok(())
    }
}

/// The names in each folder of the base that the change set removes or replaces by something else.
fn removed_folders(changes: &ChangeSet) -> Vec<Observation> {
    let mut folders: BTreeMap<&WorkspacePath, Observation> = BTreeMap::new();
    for change in changes.changes.iter().filter(|change| change.kind != ChangeKind::CreateDirectory) {
        if let Some(base) = change.base.as_ref().filter(|base| base.kind == EntryKind::Directory) {
            let (path, seen) = (change.path.clone(), Some(base.clone()));
            folders.insert(&change.path, Observation { path, seen, content: None, names: Some(Vec::new()) });
        }
    }
    for change in changes.changes.iter().filter(|change| change.base.is_some()) {
        let Some(folder) = change.path.parent() else { continue };
        let names = folders.get_mut(&folder).and_then(|folder| folder.names.as_mut());
        if let (Some(names), Some(name)) = (names, change.path.names().last()) {
            names.push(name.to_vec());
        }
    }
    folders
        .into_values()
        .map(|mut folder| {
            folder.names.iter_mut().for_each(|names| names.sort_unstable());
            folder
        })
        .collect()
}
