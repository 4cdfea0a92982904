//! Compares the diagnostics before and after an edit: which are new, which are gone, which stayed.

use std::collections::BTreeMap;
use std::ops::Range;

use headstart_workspace_path::WorkspacePath;
use serde::{Deserialize, Serialize};
use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::diagnostic::{Diagnostic, Severity};

/// The most diagnostics of each kind in an answer.
pub const SHOWN: usize = 20;

/// Texts with more changed lines than this are not compared line by line.
const COMPARED_LINES: usize = 4_000;

/// The edit of one file.
#[derive(Debug, Clone)]
pub struct FileEdit<'a> {
    /// The path before.
    pub old_path: &'a WorkspacePath,
    /// The path after the edit; `None` if the file was removed.
    pub new_path: Option<&'a WorkspacePath>,
    /// The text before.
    pub old: &'a str,
    /// The text after.
    pub new: &'a str,
}

/// The difference between the diagnostics of two states.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Delta {
    /// Diagnostics of the new state only: errors first, then by path and line; at most [`SHOWN`].
    pub new: Vec<Diagnostic>,
    /// Diagnostics of the old state only, with the lines of the old text; at most [`SHOWN`].
    pub gone: Vec<Diagnostic>,
    /// Diagnostics of both states, with the lines of the new text; at most [`SHOWN`].
    pub old: Vec<Diagnostic>,
    /// The number of new ones, including those that are not listed.
    pub new_count: usize,
    /// How many of the new ones are errors.
    pub new_errors: usize,
    /// The number of those that are gone.
    pub gone_count: usize,
    /// The number of those in both states.
    pub old_count: usize,
    /// Why there may be more, because a server had not finished or was cut off; `None` if this is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<String>,
    /// Whether a server had not finished, so that the same question may have more of an answer later.
    #[serde(skip)]
    pub unfinished: bool,
}

/// Compares the diagnostics before an edit with those after it.
///
/// Two are the same if their file, code, source, severity and message agree, and also their line, once it is moved by
/// the hunks of the edit. A line within a hunk may be any line of the new hunk, because nobody can say which of them
/// it became.
pub fn compare(before: &[Diagnostic], after: &[Diagnostic], edits: &[FileEdit<'_>]) -> Delta {
    let carriers: BTreeMap<&WorkspacePath, (Option<&WorkspacePath>, LineMap)> = edits
        .iter()
        .map(|edit| (edit.old_path, (edit.new_path, LineMap::between(edit.old, edit.new))))
        .collect();
    let mut open: Vec<Option<&Diagnostic>> = after.iter().map(Some).collect();
    let mut by_path: BTreeMap<&WorkspacePath, Vec<usize>> = BTreeMap::new();
    for (index, diagnostic) in after.iter().enumerate() {
        by_path.entry(&diagnostic.path).or_default().push(index);
    }
    let place = |diagnostic: &Diagnostic| match carriers.get(&diagnostic.path) {
        None => Some((diagnostic.path.clone(), diagnostic.line..diagnostic.line + 1)),
        Some((None, _)) => None,
        Some((Some(path), lines)) => Some(((*path).clone(), lines.carry(diagnostic.line))),
    };
    let mut left: Vec<&Diagnostic> = before.iter().collect();
    // Exact lines are matched first, so that a line within a hunk does not take the match of another one.
    for exact in [true, false] {
        left.retain(|old| {
            let Some((path, lines)) = place(old) else { return true };
            if exact && lines.len() != 1 {
                return true;
            }
            let candidates = by_path.get(&path).map(Vec::as_slice).unwrap_or_default();
            let partner = candidates.iter().find(|index| {
                open[**index].is_some_and(|new| lines.contains(&new.line) && old.says_same(new))
            });
            partner.inspect(|index| open[**index] = None).is_none()
        });
    }
    let old = after.iter().zip(&open).filter(|(_, open)| open.is_none()).map(|(old, _)| old).collect();
    let new: Vec<&Diagnostic> = open.iter().copied().flatten().collect();
    Delta {
        new_count: new.len(),
        new_errors: new.iter().filter(|new| new.severity == Severity::Error).count(),
        gone_count: left.len(),
        old_count: before.len() - left.len(),
        new: limited(new),
        gone: limited(left),
        old: limited(old),
        partial: None,
        unfinished: false,
    }
}

impl Delta {
    /// This delta joined with that of another server.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let both = |one: &[Diagnostic], other: &[Diagnostic]| limited(one.iter().chain(other).collect());
        Self {
            new: both(&self.new, &other.new),
            gone: both(&self.gone, &other.gone),
            old: both(&self.old, &other.old),
            new_count: self.new_count + other.new_count,
            new_errors: self.new_errors + other.new_errors,
            gone_count: self.gone_count + other.gone_count,
            old_count: self.old_count + other.old_count,
            partial: self.partial.or(other.partial),
            unfinished: self.unfinished || other.unfinished,
        }
    }
}

fn limited(mut diagnostics: Vec<&Diagnostic>) -> Vec<Diagnostic> {
    diagnostics.sort_by(|one, other| one.rank().cmp(&other.rank()));
    diagnostics.into_iter().take(SHOWN).cloned().collect()
}

/// Where the lines of a text are in another one. Lines count from 1.
struct LineMap {
    /// Ranges of the old text with the ranges that replace them, in order. All other lines are the same in both.
    hunks: Vec<(Range<u32>, Range<u32>)>,
}

impl LineMap {
    fn between(old: &str, new: &str) -> Self {
        let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
        let same_start = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
        let rests = old[same_start..].iter().rev().zip(new[same_start..].iter().rev());
        let same_end = rests.take_while(|(old, new)| old == new).count();
        let old_rest = &old[same_start..old.len() - same_end];
        let new_rest = &new[same_start..new.len() - same_end];
        let line = |at: usize| u32::try_from(at + same_start + 1).unwrap_or(u32::MAX);
        let range = |range: Range<usize>| line(range.start)..line(range.end);
        if COMPARED_LINES < old_rest.len().max(new_rest.len()) {
            return Self { hunks: vec![(range(0..old_rest.len()), range(0..new_rest.len()))] };
        }
        let operations = capture_diff_slices(Algorithm::Myers, old_rest, new_rest);
        let changed = operations.iter().filter(|operation| !matches!(operation, DiffOp::Equal { .. }));
        Self {
            hunks: changed.map(|changed| (range(changed.old_range()), range(changed.new_range()))).collect(),
        }
    }

    /// The lines on which a line of the old text may be now.
    fn carry(&self, line: u32) -> Range<u32> {
        let mut moved = i64::from(line);
        for (old, new) in &self.hunks {
            if line < old.start {
                break;
            }
            if old.contains(&line) {
                return new.clone();
            }
            moved += i64::from(new.end) - i64::from(new.start) - (i64::from(old.end) - i64::from(old.start));
        }
        let moved = u32::try_from(moved).unwrap_or(0);
        moved..moved.saturating_add(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(path: &str) -> WorkspacePath {
        WorkspacePath::parse(path).unwrap()
    }

    fn diagnostic(file: &str, line: u32, severity: Severity, message: &str) -> Diagnostic {
        Diagnostic {
            path: path(file),
            line,
            column: 1,
            severity,
            code: None,
            source: Some("test".to_owned()),
            message: message.to_owned(),
        }
    }

    fn lines(diagnostics: &[Diagnostic]) -> Vec<String> {
        diagnostics.iter().map(|one| format!("{}:{} {}", one.path, one.line, one.message)).collect()
    }

    /// A diagnostic on a line that only moved is old, not new.
    #[test]
    fn lines_are_carried_through_the_hunks() {
        let old = "a\nb\nc\nd\ne\n";
        let new = "new\na\nB\nB2\nc\ne\n";
        let file = path("f");
        let edit = FileEdit { old_path: &file, new_path: Some(&file), old, new };
        let error = |line, message| diagnostic("f", line, Severity::Error, message);
        let before =
            [error(1, "on a"), error(2, "on b"), error(3, "on c"), error(4, "on d"), error(5, "on e")];
        let after =
            [error(2, "on a"), error(4, "on b"), error(5, "on c"), error(6, "on e"), error(1, "on a")];
        let delta = compare(&before, &after, &[edit]);
        assert_eq!(lines(&delta.new), ["f:1 on a"]);
        assert_eq!(lines(&delta.gone), ["f:4 on d"]);
        assert_eq!((delta.new_count, delta.gone_count, delta.old_count), (1, 1, 4));
    }

    /// Each occurrence of a message counts, so a second one is new.
    #[test]
    fn the_same_message_twice_counts_twice() {
        let one = diagnostic("f", 3, Severity::Error, "twice");
        let delta = compare(std::slice::from_ref(&one), &[one.clone(), one.clone()], &[]);
        assert_eq!((delta.new_count, delta.old_count), (1, 1));
        let delta = compare(&[one.clone(), one.clone()], std::slice::from_ref(&one), &[]);
        assert_eq!((delta.gone_count, delta.old_count), (1, 1));
    }

    #[test]
    fn a_moved_file_takes_its_diagnostics_along_and_a_removed_one_does_not() {
        let (old, new) = (path("old"), path("new"));
        let text = "a\nb\n";
        let before = [diagnostic("old", 2, Severity::Warning, "unused")];
        let after = [diagnostic("new", 2, Severity::Warning, "unused")];
        let moved = FileEdit { old_path: &old, new_path: Some(&new), old: text, new: text };
        assert_eq!(compare(&before, &after, &[moved]).old_count, 1);
        let removed = FileEdit { old_path: &old, new_path: None, old: text, new: "" };
        let delta = compare(&before, &after, &[removed]);
        assert_eq!((delta.new_count, delta.gone_count), (1, 1));
    }

    /// The list of new diagnostics is short, so errors are not pushed out by warnings. The counts are complete.
    #[test]
    fn errors_come_first_and_the_list_is_short() {
        let mut after: Vec<Diagnostic> =
            (1..=30).map(|line| diagnostic("a", line, Severity::Warning, "w")).collect();
        after.push(diagnostic("z", 9, Severity::Error, "e"));
        let delta = compare(&[], &after, &[]);
        assert_eq!(delta.new.len(), SHOWN);
        assert_eq!(delta.new[0].message, "e");
        assert_eq!((delta.new_count, delta.new_errors), (31, 1));
    }

    /// A diagnostic with another severity, text or file is a new one.
    #[test]
    fn what_says_something_else_is_new() {
        let before = [diagnostic("a", 1, Severity::Warning, "w")];
        for after in [
            diagnostic("a", 1, Severity::Error, "w"),
            diagnostic("a", 1, Severity::Warning, "v"),
            diagnostic("b", 1, Severity::Warning, "w"),
        ] {
            let delta = compare(&before, &[after], &[]);
            assert_eq!((delta.new_count, delta.gone_count), (1, 1));
        }
    }

    /// Very large edits are not compared line by line: everything between the equal ends counts as one hunk.
    #[test]
    fn large_texts_are_one_hunk() {
        let numbers =
            |from: u32| (from..from + 50_000).map(|n| n.to_string()).collect::<Vec<_>>().join("\n") + "\n";
        let (old, new) = (numbers(0), numbers(100_000));
        let (old, new) = (format!("same\n{old}end\n"), format!("same\n{new}more\nend\n"));
        let map = LineMap::between(&old, &new);
        assert_eq!(map.carry(1), 1..2);
        assert_eq!(map.carry(7), 2..50_003);
        assert_eq!(map.carry(50_002), 50_003..50_004);
    }
}
