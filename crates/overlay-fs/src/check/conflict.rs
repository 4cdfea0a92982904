//! What a conflict says of both sides.

use super::{content_at, metadata_at};
use crate::commit::ConflictSide;
use crate::text::as_text;
use crate::{Change, ChangeKind, Conflict, ConflictKind, EntryKind, Tree, TreeError};

/// The conflict about a change, with the content of what its user has at the path now.
pub(super) async fn about(
    tree: &dyn Tree,
    changes: &[Change],
    change: &Change,
    kind: ConflictKind,
    found: Option<ConflictSide>,
) -> Result<Conflict, TreeError> {
    let mut conflict = Conflict::about(change, kind, found);
    // What is found above the path is nothing that a user could choose instead.
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

/// The number of the change that holds what the work made of the file at this path: the change itself, or where the file moved.
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
