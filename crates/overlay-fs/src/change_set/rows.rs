use std::collections::{HashMap, HashSet};

use headstart_workspace_path::WorkspacePath;

use crate::{Change, ChangeKind, EntryKind, ModeChange};

/// One change as a person sees it: a rename is one row although it is two changes.
#[derive(Clone)]
pub(super) struct Row<'a> {
    pub(super) path: &'a WorkspacePath,
    /// The path before a rename.
    pub(super) from: Option<&'a WorkspacePath>,
    pub(super) old: Option<Side<'a>>,
    pub(super) new: Option<Side<'a>>,
}

/// What is at a path before or after a change.
#[derive(Clone)]
pub(super) struct Side<'a> {
    pub(super) kind: EntryKind,
    pub(super) content: &'a [u8],
    pub(super) executable: bool,
    /// The permission bits, where they are known.
    pub(super) bits: Option<u32>,
}

impl Row<'_> {
    /// The permission bits of a file that stays one, if they differ. Where they are not known, they are as git has
    /// them.
    pub(super) fn mode_change(&self) -> Option<ModeChange> {
        let (old, new) = (self.old.as_ref()?, self.new.as_ref()?);
        if (old.kind, new.kind) != (EntryKind::File, EntryKind::File) {
            return None;
        }
        let as_git = |side: &Side<'_>| if side.executable { 0o755 } else { 0o644 };
        let (old, new) = match (old.bits, new.bits) {
            (Some(old), Some(new)) => (old, new),
            _ => (as_git(old), as_git(new)),
        };
        (old != new).then(|| ModeChange { old: format!("{old:03o}"), new: format!("{new:03o}") })
    }
}

/// The rows of these changes, by path. A folder has none if something in it has one.
pub(super) fn rows(changes: &[Change]) -> Vec<Row<'_>> {
    let sources: HashMap<_, _> = changes.iter().map(|change| (&change.path, change)).collect();
    let mut moved = HashSet::new();
    let mut rows: Vec<Row<'_>> = Vec::with_capacity(changes.len());
    for change in changes {
        let row = row(change, &sources, &mut moved);
        // The changes are almost sorted, so this moves few rows.
        let place = rows.partition_point(|other| other.path <= row.path);
        rows.insert(place, row);
    }
    rows.retain(|row| row.new.is_some() || !moved.contains(row.path));
    let is_only_folder = |row: &Row<'_>| {
        let is_folder =
            |side: &Option<Side<'_>>| side.as_ref().is_none_or(|side| side.kind == EntryKind::Directory);
        is_folder(&row.old) && is_folder(&row.new)
    };
    let mut implied = HashSet::new();
    for row in &rows {
        let mut parent = row.path.parent();
        while let Some(folder) = parent.filter(|folder| !implied.contains(folder)) {
            parent = folder.parent();
            implied.insert(folder);
        }
    }
    for path in moved {
        implied.extend(std::iter::successors(path.parent(), WorkspacePath::parent));
    }
    rows.retain(|row| !is_only_folder(row) || !implied.contains(row.path));
    rows
}

fn row<'a>(
    change: &'a Change,
    sources: &HashMap<&'a WorkspacePath, &'a Change>,
    moved: &mut HashSet<&'a WorkspacePath>,
) -> Row<'a> {
    let (new, moved_from) = match &change.kind {
        ChangeKind::Delete => (None, None),
        ChangeKind::CreateDirectory => (Some(side(EntryKind::Directory, &[], false)), None),
        ChangeKind::Link { target, moved_from } => {
            (Some(side(EntryKind::Symlink, target, false)), moved_from.as_ref())
        }
        ChangeKind::Write { content, executable, moved_from } => {
            let bits = change.mode;
            (Some(Side { bits, ..side(EntryKind::File, content, *executable) }), moved_from.as_ref())
        }
    };
    let old = base(change);
    // Git and people see a move onto a path that held something else as a change of that path, not as a rename.
    let source = moved_from.filter(|_| old.is_none()).and_then(|from| sources.get(from));
    let source = source.filter(|source| base(source).map(|old| old.kind) == new.as_ref().map(|new| new.kind));
    let Some(source) = source else { return Row { path: &change.path, from: None, old, new } };
    moved.insert(&source.path);
    Row { path: &change.path, from: Some(&source.path), old: base(source), new }
}

fn base(change: &Change) -> Option<Side<'_>> {
    let base = change.base.as_ref()?;
    let content = change.base_content.as_deref().unwrap_or_default();
    Some(Side { bits: Some(base.mode & 0o777), ..side(base.kind, content, base.is_executable()) })
}

fn side(kind: EntryKind, content: &[u8], executable: bool) -> Side<'_> {
    Side { kind, content, executable, bits: None }
}
