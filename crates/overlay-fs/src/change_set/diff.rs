use std::fmt::Write as _;

use headstart_workspace_path::WorkspacePath;
use similar::{ChangeTag, DiffOp};

use super::binary;
use super::rows::{Row, Side};
use crate::EntryKind;
use crate::text::{as_text, compare, lines, shown_text};

/// How many unchanged lines are shown around a change.
const CONTEXT: usize = 3;

/// How content that is not text is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Binary {
    /// Only that it differs.
    Said,
    /// All of it, in git's form.
    Whole,
}

/// Writes the rows as a patch, in the form that `git apply` reads.
pub(super) fn unified(rows: &[Row<'_>], binary: Binary) -> String {
    let mut patch = String::new();
    for row in rows {
        write_row(&mut patch, row, binary);
    }
    patch
}

/// The numbers of lines added and removed between two texts; zeros for what is not text.
pub(super) fn count(old: &[u8], new: &[u8]) -> (usize, usize) {
    let (Some(old), Some(new)) = (shown_text(old), shown_text(new)) else { return (0, 0) };
    let sum = |range: fn(&DiffOp) -> usize, ops: &[DiffOp]| ops.iter().map(range).sum();
    let ops: Vec<_> = compare(&lines(&old), &lines(&new))
        .into_iter()
        .filter(|op| op.tag() != similar::DiffTag::Equal)
        .collect();
    (sum(|op| op.new_range().len(), &ops), sum(|op| op.old_range().len(), &ops))
}

fn write_row(patch: &mut String, row: &Row<'_>, binary: Binary) {
    let kind = |side: &Option<Side<'_>>| side.as_ref().map(|side| side.kind);
    if kind(&row.old) == Some(EntryKind::Directory) || kind(&row.new) == Some(EntryKind::Directory) {
        // A patch cannot contain folders, so it only shows what was at the path before or is there after.
        let mut row = row.clone();
        row.old.take_if(|side| side.kind == EntryKind::Directory);
        row.new.take_if(|side| side.kind == EntryKind::Directory);
        if row.old.is_some() || row.new.is_some() {
            write_file(patch, &row, binary);
        }
        return;
    }
    match (&row.old, &row.new) {
        (Some(old), Some(new)) if old.kind != new.kind => {
            write_file(patch, &Row { new: None, ..row.clone() }, binary);
            write_file(patch, &Row { old: None, from: None, ..row.clone() }, binary);
        }
        _ => write_file(patch, row, binary),
    }
}

/// Writes a line. Writing to a string cannot fail.
macro_rules! line {
    ($patch:expr, $($format:tt)*) => { writeln!($patch, $($format)*).expect("works because a string takes all") };
}

fn write_file(patch: &mut String, row: &Row<'_>, binary: Binary) {
    let from = row.from.unwrap_or(row.path);
    line!(patch, "diff --git {} {}", quoted("a/", from), quoted("b/", row.path));
    match (&row.old, &row.new) {
        (None, Some(new)) => line!(patch, "new file mode {}", mode(new)),
        (Some(old), None) => line!(patch, "deleted file mode {}", mode(old)),
        (Some(old), Some(new)) if mode(old) != mode(new) => {
            line!(patch, "old mode {}", mode(old));
            line!(patch, "new mode {}", mode(new));
        }
        // Git knows nothing of these bits, and a person has to see them.
        (Some(Side { bits: Some(old), .. }), Some(Side { bits: Some(new), kind: EntryKind::File, .. }))
            if old != new && binary == Binary::Said =>
        {
            line!(patch, "old mode 100{old:03o}");
            line!(patch, "new mode 100{new:03o}");
        }
        _ => {}
    }
    if let (Some(from), Some(_)) = (row.from, &row.new) {
        line!(patch, "rename from {}", quoted("", from));
        line!(patch, "rename to {}", quoted("", row.path));
    }
    let content = |side: &Option<Side<'_>>| side.as_ref().map_or(&[][..], |side| side.content).to_vec();
    let (old, new) = (content(&row.old), content(&row.new));
    if old == new {
        return;
    }
    let is_text = as_text(&old).is_some() && as_text(&new).is_some();
    if !is_text && binary == Binary::Whole {
        let id = |side: &Option<Side<'_>>| {
            side.as_ref().map_or_else(|| "0".repeat(40), |side| binary::object_id(side.content))
        };
        line!(patch, "index {}..{}", id(&row.old), id(&row.new));
        binary::write(patch, &old, &new);
        return;
    }
    let name = |side: &Option<Side<'_>>, prefix, path: &WorkspacePath| match side {
        None => "/dev/null".to_owned(),
        Some(_) => quoted(prefix, path),
    };
    let (old_name, new_name) = (name(&row.old, "a/", from), name(&row.new, "b/", row.path));
    let (Some(old), Some(new)) = (shown_text(&old), shown_text(&new)) else {
        line!(patch, "Binary files {old_name} and {new_name} differ");
        return;
    };
    line!(patch, "--- {}", ended(&old_name));
    line!(patch, "+++ {}", ended(&new_name));
    write_hunks(patch, &lines(&old), &lines(&new));
}

fn write_hunks(patch: &mut String, old: &[&str], new: &[&str]) {
    for group in similar::group_diff_ops(compare(old, new), CONTEXT) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let old_range = first.old_range().start..last.old_range().end;
        let new_range = first.new_range().start..last.new_range().end;
        line!(patch, "@@ -{} +{} @@", span(&old_range), span(&new_range));
        for change in group.iter().flat_map(|op| op.iter_changes(old, new)) {
            patch.push(match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            });
            patch.push_str(change.value());
            if !change.value().ends_with('\n') {
                patch.push_str("\n\\ No newline at end of file\n");
            }
        }
    }
}

/// A range of lines in a hunk's head: lines count from 1, an empty range names the line before it.
fn span(range: &std::ops::Range<usize>) -> String {
    match range.len() {
        0 => format!("{},0", range.start),
        1 => format!("{}", range.start + 1),
        len => format!("{},{len}", range.start + 1),
    }
}

fn mode(side: &Side<'_>) -> &'static str {
    match side.kind {
        EntryKind::Symlink => "120000",
        _ if side.executable => "100755",
        _ => "100644",
    }
}

/// A path as git writes it: in quotes with C escapes if it contains quotes, control characters or bytes that are not
/// UTF-8.
fn quoted(prefix: &str, path: &WorkspacePath) -> String {
    let is_plain = |text: &str| !text.contains(|c: char| c.is_control() || c == '"' || c == '\\');
    if let Some(text) = path.as_str().filter(|text| is_plain(text)) {
        return format!("{prefix}{text}");
    }
    let mut name = format!("\"{prefix}");
    for byte in path.as_bytes() {
        match byte {
            b'"' | b'\\' => name.extend(['\\', char::from(*byte)]),
            b'\n' => name.push_str("\\n"),
            b'\t' => name.push_str("\\t"),
            b' '..=b'~' => name.push(char::from(*byte)),
            byte => write!(name, "\\{byte:03o}").expect("works because a string takes all"),
        }
    }
    name.push('"');
    name
}

/// A name with a space needs a tab behind it, because a reader would otherwise take the rest for a date.
fn ended(name: &str) -> String {
    let tab = if name.contains(' ') && !name.starts_with('"') { "\t" } else { "" };
    format!("{name}{tab}")
}
