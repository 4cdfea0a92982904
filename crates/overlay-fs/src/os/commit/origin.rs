use std::collections::{HashMap, HashSet};

use headstart_workspace_path::WorkspacePath;

use crate::{Change, ChangeKind, ChangeSet, EntryKind};

/// Where moved files and folders of a change set were before, so that they keep their attributes.
#[derive(Debug, Default)]
pub(in crate::os) struct Origins<'a> {
    files: HashMap<&'a WorkspacePath, &'a Change>,
    folders: HashMap<WorkspacePath, &'a Change>,
}

impl<'a> Origins<'a> {
    pub(in crate::os) fn of(changes: &'a ChangeSet) -> Self {
        let mut origins = Self::default();
        let (mut files, mut folders) = (HashMap::new(), HashMap::new());
        for change in changes.changes.iter().filter(|change| change.kind == ChangeKind::Delete) {
            match ChangeSet::base_kind(change) {
                Some(EntryKind::File) => drop(files.insert(&change.path, change)),
                Some(EntryKind::Directory) => drop(folders.insert(&change.path, change)),
                _ => {}
            }
        }
        let made = changes.changes.iter().filter(|change| change.kind == ChangeKind::CreateDirectory);
        let made: HashSet<_> = made.map(|change| &change.path).collect();
        for change in &changes.changes {
            let (ChangeKind::Write { moved_from: Some(from), .. }
            | ChangeKind::Link { moved_from: Some(from), .. }) = &change.kind
            else {
                continue;
            };
            if let Some(gone) = files.get(from) {
                origins.files.insert(&change.path, gone);
            }
            // A folder counts as moved if something in it moved and kept its name.
            let (mut from, mut to) = (from.clone(), change.path.clone());
            while from.file_name() == to.file_name()
                && let (Some(from_above), Some(to_above)) = (from.parent(), to.parent())
                && let Some(gone) = folders.get(&from_above)
                && made.contains(&to_above)
            {
                origins.folders.entry(to_above.clone()).or_insert(gone);
                (from, to) = (from_above, to_above);
            }
        }
        origins
    }

    /// The change that removes the content of this file from its old place.
    pub(in crate::os) fn file(&self, path: &WorkspacePath) -> Option<&'a Change> {
        self.files.get(path).copied()
    }

    /// The change that removes a folder from its old place.
    pub(in crate::os) fn folder(&self, path: &WorkspacePath) -> Option<&'a Change> {
        self.folders.get(path).copied()
    }
}
