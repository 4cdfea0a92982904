//! What one side did to a text, as git sees it.

use std::collections::HashMap;
use std::ops::Range;

use super::search::changed_lines;

/// Lines of the old text, and the lines of the new text in their place; either range may be empty. Between two hunks
/// of one side lies at least one line that both texts have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hunk {
    pub(super) old: Range<usize>,
    pub(super) new: Range<usize>,
}

/// Numbers for lines: equal lines have equal numbers.
#[derive(Default)]
pub(super) struct Numbers<'a>(HashMap<&'a str, usize>);

impl<'a> Numbers<'a> {
    pub(super) fn of(&mut self, lines: &[&'a str]) -> Vec<usize> {
        let mut number_of = |line| {
            let next = self.0.len();
            *self.0.entry(line).or_insert(next)
        };
        lines.iter().map(|&line| number_of(line)).collect()
    }
}

/// The hunks in order; `None` if the texts differ too much to tell which lines belong together.
pub(super) fn hunks(old: &[usize], new: &[usize]) -> Option<Vec<Hunk>> {
    let (old_changed, new_changed) = changed_lines(old, new)?;
    let (mut removed, mut added) = (gaps(&old_changed), gaps(&new_changed));
    slide(old, &mut removed, &added);
    slide(new, &mut added, &removed);
    let mut hunks = Vec::new();
    let (mut old_at, mut new_at) = (0, 0);
    for (removed, added) in removed.into_iter().zip(added) {
        if removed + added > 0 {
            hunks.push(Hunk { old: old_at..old_at + removed, new: new_at..new_at + added });
        }
        old_at += removed + 1;
        new_at += added + 1;
    }
    Some(hunks)
}

/// How many changed lines stand before each unchanged line, and behind the last one. Both texts have the same
/// unchanged lines, so the same number of gaps.
fn gaps(changed: &[bool]) -> Vec<usize> {
    changed.split(|changed| !changed).map(<[bool]>::len).collect()
}

/// Moves each group of changed lines to the place that git chooses among the equally good ones.
///
/// A group whose last line equals the line above it may as well start one line higher, and likewise downwards. A
/// group that then touches another one is joined with it. In the end each is as low as possible, or at the lowest
/// place where the other text has changed lines too.
fn slide(lines: &[usize], gaps: &mut [usize], others: &[usize]) {
    let mut group = Group { lines, gaps, gap: 0, end: 0 };
    while group.gap < group.gaps.len() {
        group.end += group.size();
        if group.size() > 0 {
            group.settle(others);
        }
        group.gap += 1;
        group.end += 1;
    }
}

/// The changed lines of one gap.
struct Group<'a> {
    lines: &'a [usize],
    gaps: &'a mut [usize],
    gap: usize,
    /// The index of the line behind the group.
    end: usize,
}

impl Group<'_> {
    fn size(&self) -> usize {
        self.gaps[self.gap]
    }

    fn settle(&mut self, others: &[usize]) {
        loop {
            let size = self.size();
            while self.slide_up() {}
            let mut beside_others = None;
            loop {
                if others[self.gap] > 0 {
                    beside_others = Some(self.gap);
                }
                if !self.slide_down() {
                    break;
                }
            }
            if self.size() > size {
                continue;
            }
            while beside_others.is_some_and(|gap| gap < self.gap) && self.slide_up() {}
            return;
        }
    }

    fn slide_up(&mut self) -> bool {
        let start = self.end - self.size();
        if start == 0 || self.lines[start - 1] != self.lines[self.end - 1] {
            return false;
        }
        let size = std::mem::take(&mut self.gaps[self.gap]);
        self.gap -= 1;
        self.gaps[self.gap] += size;
        self.end -= 1;
        true
    }

    fn slide_down(&mut self) -> bool {
        let start = self.end - self.size();
        if self.end == self.lines.len() || self.lines[start] != self.lines[self.end] {
            return false;
        }
        let size = std::mem::take(&mut self.gaps[self.gap]);
        self.gap += 1;
        self.end += 1 + self.gaps[self.gap];
        self.gaps[self.gap] += size;
        true
    }
}
