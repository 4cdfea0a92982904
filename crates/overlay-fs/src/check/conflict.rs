//! Conflicts with what each side has.

use super::{content_at, metadata_at};
use crate::commit::ConflictSide;
use crate::text::as_text;
use crate::{Change, ChangeKind, Conflict, ConflictKind, EntryKind, Tree, TreeError};

/// The conflict about a change, with the content that the user has at the path now.
pub(super) async fn about(
    tree: &dyn Tree,
    changes: &[Change],
    change: &Change,
    kind: ConflictKind,
    found: Option<ConflictSide>,
) -> Result<Conflict, TreeError> {
    let mut conflict = Conflict::about(change, kind, found);
    // Whatever is found above the path cannot be chosen in place of the work's change.
    let Some(now) = metadata_at(tree, &change.path).await? else { return Ok(conflict) };
    if !matches!(now.kind, EntryKind::File | EntryKind::Symlink) || conflict.found.is_none() {
        return Ok(conflict);
    }
    let Some(content) = content_at(tree, &change.path, now.kind).await? else { return Ok(conflict) };
    conflict.found = Some(ConflictSide::found(&now, Some(&content)));
    let base = change.base_content.as_deref().unwrap_or_default();
    let texts = text_of(changes, change).map(|at| [base, staged(&changes[at]), &content]);
    conflict.markers = now.kind == EntryKind::File
        && texts.is_some_and(|texts| texts.iter().all(|text| as_text(text).is_some()));
    Ok(conflict)
}

/// The index of the change with the work's content for this path: the change itself, or the one at the place where
/// the file moved.
pub(crate) fn text_of(changes: &[Change], change: &Change) -> Option<usize> {
    let holds = |other: &Change| match (&change.kind, &other.kind) {
        (ChangeKind::Delete, ChangeKind::Write { moved_from, .. }) => {
            moved_from.as_ref() == Some(&change.path)
        }
        (ChangeKind::Write { .. }, _) => other.path == change.path,
        _ => false,
    };
    let mut holding = (0..changes.len()).filter(|&at| holds(&changes[at]));
    holding.next().filter(|_| holding.next().is_none())
}

fn staged(change: &Change) -> &[u8] {
    match &change.kind {
        ChangeKind::Write { content, .. } => content,
        _ => &[],
    }
}
