//! Finds out which new file is an old one at another path.

use std::collections::{BTreeMap, HashMap};

use headstart_overlay_fs::{Change, ChangeKind, ContentHash, EntryKind};
use headstart_workspace_path::WorkspacePath;

/// Notes at new files from where they were moved: if exactly one removed file and exactly one new file have the same
/// content.
pub(super) fn find(changes: &mut BTreeMap<WorkspacePath, Change>) {
    let mut gone: HashMap<ContentHash, Vec<WorkspacePath>> = HashMap::new();
    let mut new: HashMap<ContentHash, Vec<WorkspacePath>> = HashMap::new();
    for (path, change) in &*changes {
        let was_file = change.base.as_ref().is_some_and(|base| base.kind == EntryKind::File);
        match (&change.kind, &change.base_content) {
            (ChangeKind::Delete, Some(content)) if was_file && !content.is_empty() => {
                gone.entry(content.hash()).or_default().push(path.clone());
            }
            (ChangeKind::Write { content, .. }, None) => {
                new.entry(content.hash()).or_default().push(path.clone());
            }
            _ => {}
        }
    }
    for (hash, to) in new {
        let ([to], Some([from])) = (to.as_slice(), gone.get(&hash).map(Vec::as_slice)) else { continue };
        if let Some(Change { kind: ChangeKind::Write { moved_from, .. }, .. }) = changes.get_mut(to) {
            *moved_from = Some(from.clone());
        }
    }
}
