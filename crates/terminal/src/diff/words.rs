//! Finds the words that changed within lines.

use std::collections::BTreeMap;

use similar::{ChangeTag, TextDiff};

use super::super::row::{Span, Style};
use super::{CHANGED, DiffLine, READABLE_CHARS};

/// Lines with less in common count as different lines, not as one changed line.
const MIN_RATIO: f32 = 0.5;

/// The kept, removed and added words of a line, in order.
type WordDiff = Vec<(ChangeTag, String)>;

/// For each line of a hunk, its words and which of them changed, if a removed line is similar to the added line in its
/// place.
pub(super) fn changed(hunk: &[DiffLine]) -> Vec<Option<Vec<(bool, String)>>> {
    let mut words = vec![None; hunk.len()];
    for (old, new, changes) in pairs(hunk) {
        let side = |left_out: ChangeTag| {
            let side_changes = changes.iter().filter(|(tag, _)| *tag != left_out);
            Some(side_changes.map(|(tag, word)| (*tag != ChangeTag::Equal, word.clone())).collect())
        };
        (words[old], words[new]) = (side(ChangeTag::Insert), side(ChangeTag::Delete));
    }
    words
}

/// The lines of a hunk, with one line in place of two similar ones.
pub(super) fn merged(hunk: Vec<DiffLine>) -> Vec<DiffLine> {
    // A line without a line end is not merged, because the missing end is shown for each line.
    let is_ended = |place: usize| !hunk[place].is_unended;
    let mut pairs: BTreeMap<usize, WordDiff> = pairs(&hunk)
        .into_iter()
        .filter(|(old, new, _)| is_ended(*old) && is_ended(*new))
        .map(|(old, _, words)| (old, words))
        .collect();
    let runs = runs(&hunk);
    let mut left: Vec<Option<DiffLine>> = hunk.into_iter().map(Some).collect();
    let mut lines = Vec::with_capacity(left.len());
    for ChangeRun { start, removed, added } in runs {
        if removed + added == 0 {
            lines.extend(left[start].take());
        }
        // Between two merged lines, removed lines come before added ones.
        let (mut removed_lines, mut added_lines) = (Vec::new(), Vec::new());
        for place in 0..removed.max(added) {
            let old = if place < removed { left[start + place].take() } else { None };
            let new = if place < added { left[start + removed + place].take() } else { None };
            match (pairs.remove(&(start + place)), new) {
                (Some(words), Some(new)) => {
                    lines.append(&mut removed_lines);
                    lines.append(&mut added_lines);
                    lines.push(DiffLine { sign: CHANGED, words, ..new });
                }
                (_, new) => {
                    removed_lines.extend(old);
                    added_lines.extend(new);
                }
            }
        }
        lines.append(&mut removed_lines);
        lines.append(&mut added_lines);
    }
    lines
}

/// The words of a line that replaces two. Signs mark what was removed and what was added, because colours must not be
/// the only difference.
pub(super) fn spans(words: &[(ChangeTag, String)]) -> Vec<Span> {
    let same = words.chunk_by(|(before, _), (after, _)| before == after);
    let words =
        same.map(|words| (words[0].0, words.iter().map(|(_, word)| word.as_str()).collect::<String>()));
    let span = |(tag, word)| match tag {
        ChangeTag::Equal => Span::new(word, Style::Plain),
        ChangeTag::Delete => Span::new(format!("[-{word}-]"), Style::RemovedWord),
        ChangeTag::Insert => Span::new(format!("{{+{word}+}}"), Style::AddedWord),
    };
    words.map(span).collect()
}

/// Pairs of a removed line and a similar added line in its place, by their places in the hunk.
fn pairs(hunk: &[DiffLine]) -> Vec<(usize, usize, WordDiff)> {
    let mut pairs = Vec::new();
    for ChangeRun { start, removed, added } in runs(hunk) {
        for pair in 0..removed.min(added) {
            let (old, new) = (start + pair, start + removed + pair);
            if READABLE_CHARS < hunk[old].text.len().max(hunk[new].text.len()) {
                continue;
            }
            let diff = TextDiff::from_words(hunk[old].text.as_str(), hunk[new].text.as_str());
            if diff.ratio() < MIN_RATIO {
                continue;
            }
            let changes = diff.iter_all_changes().map(|change| (change.tag(), change.value().to_owned()));
            pairs.push((old, new, changes.collect()));
        }
    }
    pairs
}

/// Removed lines and the added lines in their place, or a kept line if there are neither.
struct ChangeRun {
    start: usize,
    removed: usize,
    added: usize,
}

fn runs(hunk: &[DiffLine]) -> Vec<ChangeRun> {
    let mut runs = Vec::new();
    let mut start = 0;
    while start < hunk.len() {
        let run = |from: usize, sign| hunk[from..].iter().take_while(|line| line.sign == sign).count();
        let removed = run(start, '-');
        let added = run(start + removed, '+');
        runs.push(ChangeRun { start, removed, added });
        start += (removed + added).max(1);
    }
    runs
}
