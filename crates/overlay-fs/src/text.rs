//! Texts as lines, for diffs and merges.

use std::borrow::Cow;

use similar::{Algorithm, DiffOp};

/// If more lines than this differ on both sides, they count as replaced in one piece, because the search for the
/// smallest difference takes time that grows with their product.
const COMPARED_LINES: usize = 20_000;

/// The content, if it is text: UTF-8 without NUL.
pub(crate) fn as_text(content: &[u8]) -> Option<&str> {
    std::str::from_utf8(content).ok().filter(|text| !text.contains('\0'))
}

/// The content as a person reads it, if it is text: as [`as_text`], or UTF-16 with a byte order mark, which is left
/// out.
pub(crate) fn shown_text(content: &[u8]) -> Option<Cow<'_, str>> {
    let from_bytes: fn([u8; 2]) -> u16 = match content {
        // This is also how UTF-32 begins.
        [0xFF, 0xFE, 0, 0, ..] => return None,
        [0xFF, 0xFE, ..] => u16::from_le_bytes,
        [0xFE, 0xFF, ..] => u16::from_be_bytes,
        _ => return as_text(content).map(Cow::Borrowed),
    };
    let (pairs, odd) = content[2..].as_chunks::<2>();
    let units = pairs.iter().map(|pair| from_bytes(*pair));
    let text = char::decode_utf16(units).collect::<Result<String, _>>().ok();
    text.filter(|text| odd.is_empty() && !text.contains('\0')).map(Cow::Owned)
}

/// Lines end at a line feed only, as git sees them.
pub(crate) fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// The operations that lead from one list of lines to the other.
pub(crate) fn compare(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let same_start = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (old_rest, new_rest) = (&old[same_start..], &new[same_start..]);
    let same_end =
        old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(old, new)| old == new).count();
    let (old_len, new_len) = (old_rest.len() - same_end, new_rest.len() - same_end);
    if old_len.min(new_len) < COMPARED_LINES {
        return similar::capture_diff_slices(Algorithm::Myers, old, new);
    }
    let (old_index, new_index) = (same_start, same_start);
    vec![
        DiffOp::Equal { old_index: 0, new_index: 0, len: same_start },
        DiffOp::Replace { old_index, old_len, new_index, new_len },
        DiffOp::Equal { old_index: old_index + old_len, new_index: new_index + new_len, len: same_end },
    ]
}
