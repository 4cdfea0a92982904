//! A file that the work moved and its user edited meanwhile, at the place that it had: the edit goes along.

use std::collections::HashMap;

use headstart_workspace_path::WorkspacePath;

use super::Written;
use crate::commit::ConflictSide;
use crate::merge::merge;
use crate::{Change, ChangeKind, ConflictKind, EntryKind, Merge, Metadata};

/// Where the changes of a set move files to.
pub(super) struct Moves<'a>(HashMap<&'a WorkspacePath, Option<usize>>);

/// The two changes of a move, so that an edit of its user's counts as well.
pub(crate) struct Followed {
    /// The number of the change at the new place.
    pub(super) to: usize,
    pub(super) gone: Change,
    pub(super) moved: Change,
    /// Whether the content holds the edits of both; else only the executable bit came along.
    pub(super) is_merged: bool,
}

impl<'a> Moves<'a> {
    pub(super) fn of(changes: &'a [Change]) -> Self {
        let mut moves = HashMap::new();
        for (number, change) in changes.iter().enumerate() {
            if let ChangeKind::Write { moved_from: Some(from), .. } = &change.kind {
                // What went to two places has no place for an edit.
                moves.entry(from).and_modify(|to| *to = None).or_insert(Some(number));
            }
        }
        Self(moves)
    }

    /// The number of the change that holds what this one takes away from its place.
    fn to(&self, change: &Change) -> Option<usize> {
        let is_file = change.base.as_ref().is_some_and(|base| base.kind == EntryKind::File);
        let is_gone = is_file && change.kind == ChangeKind::Delete;
        *self.0.get(&change.path).filter(|_| is_gone)?
    }

    /// What became of a path, if what was there moved: an edit of it goes along, where both fit together.
    pub(super) fn follow(
        &self,
        changes: &[Change],
        change: &Change,
        seen: Written,
        policy: Merge,
    ) -> Written {
        let Some(to) = self.to(change) else { return seen };
        match &seen {
            Written::AsItWas(Some(now)) => match followed(change, &changes[to], now, None) {
                Some((gone, moved)) if moved != changes[to] => {
                    Written::Followed(Box::new(Followed { to, gone, moved, is_merged: false }))
                }
                _ => seen,
            },
            Written::Edited(now, found) if policy == Merge::Text => {
                match followed(change, &changes[to], now, Some(found)) {
                    Some((gone, moved)) => {
                        Written::Followed(Box::new(Followed { to, gone, moved, is_merged: true }))
                    }
                    None => seen,
                }
            }
            _ => seen,
        }
    }
}

/// The removal and the file at its new place, with what its user has at the old one now.
fn followed(
    change: &Change,
    moved: &Change,
    now: &Metadata,
    found: Option<&[u8]>,
) -> Option<(Change, Change)> {
    let ChangeKind::Write { content, executable, moved_from } = &moved.kind else { return None };
    let base = change.base.as_ref()?;
    let base_content = change.base_content.as_deref()?;
    let found = found.unwrap_or(base_content);
    let content = merge(base_content, content, found)?.into();
    let executable = if base.is_executable() == *executable { now.executable } else { *executable };
    let kind = ChangeKind::Write { content, executable, moved_from: moved_from.clone() };
    let gone = Change {
        path: change.path.clone(),
        base: Some(now.fingerprint.clone()),
        base_content: Some(found.into()),
        kind: ChangeKind::Delete,
    };
    Some((gone, Change { kind, ..moved.clone() }))
}

impl Written {
    /// What is no longer to be merged.
    pub(crate) fn conflict(self) -> Option<(ConflictKind, Option<ConflictSide>)> {
        match self {
            Self::Conflict(kind, side) => Some((kind, side)),
            Self::Edited(now, content) => {
                Some((ConflictKind::Modified, Some(ConflictSide::found(&now, Some(&content)))))
            }
            Self::AsItWas(_) | Self::Merged(_) | Self::Followed(_) => None,
        }
    }
}
