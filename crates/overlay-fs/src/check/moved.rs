//! A file that the work moved and the user edited at its old place meanwhile: the edit is applied at the new place.

use std::collections::{HashMap, HashSet};

use headstart_workspace_path::WorkspacePath;

use super::Written;
use crate::commit::ConflictSide;
use crate::merge::merge;
use crate::metadata::carried_bits;
use crate::{Change, ChangeKind, ConflictKind, EntryKind, Fingerprint, Merge, Metadata};

/// Where the changes of a set move files.
pub(crate) struct Moves<'a> {
    /// The index of the change that now has the content of a path; `None` if several have it.
    to: HashMap<&'a WorkspacePath, Option<usize>>,
    /// Files that are removed from their place.
    gone: HashSet<&'a WorkspacePath>,
}

/// The two changes of a move that keep an edit of the user.
pub(crate) struct Followed {
    /// The index of the change at the new place.
    pub(super) to: usize,
    pub(super) gone: Change,
    pub(super) moved: Change,
    /// Whether the content holds the edits of both sides; otherwise only the executable bit was kept.
    pub(super) is_merged: bool,
}

impl<'a> Moves<'a> {
    pub(crate) fn of(changes: &'a [Change]) -> Self {
        let mut to = HashMap::new();
        for (number, change) in changes.iter().enumerate() {
            if let ChangeKind::Write { moved_from: Some(from), .. } = &change.kind {
                // A file that went to two places has no single place for the edit.
                to.entry(from).and_modify(|to| *to = None).or_insert(Some(number));
            }
        }
        let is_file =
            |change: &&Change| change.base.as_ref().is_some_and(|base| base.kind == EntryKind::File);
        let gone = changes.iter().filter(is_file).filter(|change| change.kind == ChangeKind::Delete);
        Self { to, gone: gone.map(|change| &change.path).collect() }
    }

    /// The executable bit of a file that is written: the one that the user gave to the file that is there `now`,
    /// unless the change set changes it, or the file was moved here with its own.
    pub(crate) fn executable(&self, change: &Change, staged: bool, now: Option<bool>) -> bool {
        let ChangeKind::Write { moved_from, .. } = &change.kind else { return staged };
        let came =
            |from: &WorkspacePath| self.gone.contains(from) && self.to.get(from).is_some_and(Option::is_some);
        match (&change.base, now) {
            (Some(base), Some(now)) if !moved_from.as_ref().is_some_and(came) => bit(base, staged, now),
            _ => staged,
        }
    }

    /// The index of the change that has the content which this one removes.
    fn to(&self, change: &Change) -> Option<usize> {
        *self.to.get(&change.path).filter(|_| self.gone.contains(&change.path))?
    }

    /// Applies the user's edit of a path whose content moved at its new place, if both edits fit together.
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

/// The executable bit of a file: as the user has it now, unless the change set changes it.
pub(super) fn bit(base: &Fingerprint, staged: bool, now: bool) -> bool {
    if base.is_executable() == staged { now } else { staged }
}

/// The removal, and the file at its new place with what the user has at the old one now.
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
    let executable = bit(base, *executable, now.executable);
    let kind = ChangeKind::Write { content, executable, moved_from: moved_from.clone() };
    let gone = Change {
        path: change.path.clone(),
        base: Some(now.fingerprint.clone()),
        base_content: Some(found.into()),
        kind: ChangeKind::Delete,
        mode: None,
    };
    let mode = moved.mode.map(|mode| carried_bits(base.mode, mode, now.fingerprint.mode));
    Some((gone, Change { kind, mode, ..moved.clone() }))
}

impl Written {
    /// The conflict, if it cannot be merged.
    pub(crate) fn conflict(self) -> Option<(ConflictKind, Option<ConflictSide>)> {
        match self {
            Self::Conflict(kind, side) => Some((kind, side)),
            Self::Edited(now, content) => {
                Some((ConflictKind::Modified, Some(ConflictSide::found(&now, Some(&content)))))
            }
            Self::AsItWas(_) | Self::Same(_) | Self::Merged(_) | Self::Followed(_) => None,
        }
    }
}
