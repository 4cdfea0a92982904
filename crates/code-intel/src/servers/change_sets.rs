//! Two change sets, and their difference.

use std::collections::BTreeMap;

use headstart_overlay_fs::{Change, ChangeKind, ChangeSet, Content, EntryKind};
use headstart_workspace_path::WorkspacePath;

/// What a change set says about a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StagedState<'a> {
    /// A file with this content.
    File(&'a Content),
    /// Whatever was there is removed.
    Gone,
    /// A link or a folder.
    Other,
    /// The change set does not touch it.
    Untouched,
}

/// How a file differs between two states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileChange {
    Created = 1,
    Changed = 2,
    Deleted = 3,
}

/// What is staged at a path.
pub(crate) fn staged<'a>(changes: &'a ChangeSet, path: &WorkspacePath) -> StagedState<'a> {
    match changes.changes.iter().find(|change| change.path == *path).map(|change| &change.kind) {
        None => StagedState::Untouched,
        Some(ChangeKind::Write { content, .. }) => StagedState::File(content),
        Some(ChangeKind::Delete) => StagedState::Gone,
        Some(ChangeKind::Link { .. } | ChangeKind::CreateDirectory) => StagedState::Other,
    }
}

/// The files that differ between two states, sorted by path, without folders.
pub(crate) fn difference(old: &ChangeSet, new: &ChangeSet) -> Vec<(WorkspacePath, FileChange)> {
    let by_path = |changes: &ChangeSet| -> BTreeMap<WorkspacePath, Change> {
        changes.changes.iter().map(|change| (change.path.clone(), change.clone())).collect()
    };
    let (old, new) = (by_path(old), by_path(new));
    let mut paths: Vec<&WorkspacePath> = old.keys().chain(new.keys()).collect();
    paths.sort();
    paths.dedup();
    let differing = paths.into_iter().filter_map(|path| {
        let (before, after) = (old.get(path), new.get(path));
        // One of both exists, and both were staged over the same base.
        let base = before.or(after)?;
        let (before, after) = (content_of(before, base), content_of(after, base));
        let change = match (before, after) {
            (None, None) => return None,
            (None, Some(_)) => FileChange::Created,
            (Some(_), None) => FileChange::Deleted,
            (Some(before), Some(after)) if before == after => return None,
            (Some(_), Some(_)) => FileChange::Changed,
        };
        Some((path.clone(), change))
    });
    differing.collect()
}

/// The content of a file in a state: `None` if there is no file, and an empty value if there is one whose content
/// cannot be compared.
fn content_of<'a>(change: Option<&'a Change>, base: &'a Change) -> Option<FileContent<'a>> {
    match change.map(|change| &change.kind) {
        Some(ChangeKind::Write { content, .. }) => Some(FileContent(Some(content))),
        Some(ChangeKind::Link { target, .. }) => Some(FileContent(Some(target))),
        Some(ChangeKind::Delete | ChangeKind::CreateDirectory) => None,
        None => {
            let is_file = base.base.as_ref().is_some_and(|seen| seen.kind != EntryKind::Directory);
            is_file.then_some(FileContent(base.base_content.as_deref()))
        }
    }
}

/// The content of a file, or the target of a link.
#[derive(PartialEq)]
struct FileContent<'a>(Option<&'a [u8]>);

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use headstart_overlay_fs::{MemoryTree, Overlay, Quota};

    use super::*;

    fn path(path: &str) -> WorkspacePath {
        WorkspacePath::parse(path).unwrap()
    }

    /// When a server goes from one speculation to another, it is told the changes of both: those of the first are taken
    /// back.
    #[test]
    fn two_speculations_differ_by_both_of_their_changes() {
        let tree =
            MemoryTree::from_files([("kept", "k"), ("edited", "e"), ("removed", "r"), ("d/moved", "m")])
                .unwrap();
        let tree = Arc::new(tree);
        let (one, other) =
            (Overlay::new(tree.clone(), Quota::default()), Overlay::new(tree, Quota::default()));
        let (one, other) = futures::executor::block_on(async {
            one.write(&path("edited"), b"one".to_vec()).await.unwrap();
            one.write(&path("both"), b"same".to_vec()).await.unwrap();
            one.remove(&path("removed")).await.unwrap();
            other.write(&path("both"), b"same".to_vec()).await.unwrap();
            other.rename(&path("d"), &path("n")).await.unwrap();
            (one.change_set(), other.change_set())
        });
        let listed = |old, new| -> Vec<String> {
            difference(old, new).iter().map(|(path, change)| format!("{change:?} {path}")).collect()
        };
        let nothing = ChangeSet::default();
        assert_eq!(listed(&nothing, &one), ["Created both", "Changed edited", "Deleted removed"]);
        assert_eq!(listed(&one, &nothing), ["Deleted both", "Changed edited", "Created removed"]);
        assert_eq!(
            listed(&one, &other),
            ["Deleted d/moved", "Changed edited", "Created n/moved", "Created removed"]
        );
        assert!(listed(&one, &one).is_empty());
        assert_eq!(staged(&one, &path("removed")), StagedState::Gone);
        assert_eq!(staged(&one, &path("kept")), StagedState::Untouched);
    }
}
