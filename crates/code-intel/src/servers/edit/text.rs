use headstart_workspace_path::WorkspacePath;

use super::EditError;
use crate::{LineIndex, Position, PositionEncoding};

/// Applies edits to a text. All of them refer to the text before; those at one position come one after the other.
pub(super) fn apply_text_edits(
    path: &WorkspacePath,
    text: &str,
    edits: &[(Position, Position, String)],
    encoding: PositionEncoding,
) -> Result<String, EditError> {
    let lines = LineIndex::of(text);
    let place = || EditError::InvalidPosition { path: path.clone() };
    let mut ranges = Vec::with_capacity(edits.len());
    for (start, end, new) in edits {
        let start = lines.offset(*start, encoding).ok_or_else(place)?;
        let end = lines.offset(*end, encoding).ok_or_else(place)?;
        if end < start {
            return Err(place());
        }
        ranges.push((start, end, new));
    }
    // The sort is stable: insertions at one position keep their order, and come before a replacement that starts
    // there.
    ranges.sort_by_key(|(start, end, _)| (*start, *end));
    let mut edited = String::with_capacity(text.len());
    let mut at = 0;
    for (start, end, new) in ranges {
        if start < at {
            return Err(EditError::Overlap { path: path.clone() });
        }
        edited.push_str(&text[at..start]);
        edited.push_str(new);
        at = end;
    }
    edited.push_str(&text[at..]);
    Ok(edited)
}
