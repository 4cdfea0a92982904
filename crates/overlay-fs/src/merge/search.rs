//! The smallest edit between two lists of lines; if there are several, the one that git finds.
//!
//! The algorithm is Myers' ("An O(ND) difference algorithm and its variations", 1986), in linear space. From both
//! ends of an area it looks for the furthest points that 1, 2, 3 … edits reach, until both searches meet; that point
//! splits the area in two. If several edits are equally small, the order of the search decides which one is found. So
//! the order is git's, and so is what is left out of the search (`compared`): with the same hunks as git, a merge
//! cannot differ from git's.

/// The most edits that the search from each end of an area makes. Beyond this, git takes short cuts and finds some
/// edit that is not the smallest.
const MOST_EDITS: usize = 256;
/// A line that occurs less often than this is never left out of a search, however long the text.
const MOST_FREQUENT: usize = 1024;
/// How many lines on each side are looked at to find out whether a frequent line stands among new ones.
const NEIGHBOURS: usize = 100;

/// Which lines of both texts differ; `None` if they differ so much that git would not find the smallest edit.
pub(super) fn changed_lines(old: &[usize], new: &[usize]) -> Option<(Vec<bool>, Vec<bool>)> {
    let start = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let ends = old[start..].iter().rev().zip(new[start..].iter().rev());
    let end = ends.take_while(|(old, new)| old == new).count();
    let mut old_changed = vec![false; old.len()];
    let mut new_changed = vec![false; new.len()];
    let old_compared = compared(old, new, start..old.len() - end, &mut old_changed);
    let new_compared = compared(new, old, start..new.len() - end, &mut new_changed);
    let mut search = Search {
        old: old_compared.iter().map(|&index| old[index]).collect(),
        new: new_compared.iter().map(|&index| new[index]).collect(),
        forward: vec![0; old_compared.len() + new_compared.len() + 3],
        backward: vec![0; old_compared.len() + new_compared.len() + 3],
    };
    let mut areas = vec![search.whole()];
    while let Some(area) = areas.pop() {
        let area = search.without_equal_ends(area);
        if area.old_start == area.old_end || area.new_start == area.new_end {
            let places = |from: isize, to: isize| from.cast_unsigned()..to.cast_unsigned();
            let removed = &old_compared[places(area.old_start, area.old_end)];
            let added = &new_compared[places(area.new_start, area.new_end)];
            mark(&mut old_changed, removed);
            mark(&mut new_changed, added);
            continue;
        }
        let (old_middle, new_middle) = search.middle(area)?;
        areas.push(Area { old_end: old_middle, new_end: new_middle, ..area });
        areas.push(Area { old_start: old_middle, new_start: new_middle, ..area });
    }
    Some((old_changed, new_changed))
}

/// How often a line occurs in the other text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Frequency {
    Never,
    Seldom,
    Often,
}

/// The lines of one text that the search compares. The others are marked as changed: lines that the other text does
/// not have, and frequent lines (blank ones, brackets) that stand among such lines, because matching those would only
/// cut a new piece of text into many.
fn compared(
    lines: &[usize],
    other: &[usize],
    range: std::ops::Range<usize>,
    changed: &mut [bool],
) -> Vec<usize> {
    let mut counts = vec![0_usize; lines.iter().chain(other).max().map_or(0, |last| last + 1)];
    for &line in other {
        counts[line] += 1;
    }
    let often = rough_square_root(lines.len()).min(MOST_FREQUENT);
    let found: Vec<_> = lines[range.clone()]
        .iter()
        .map(|&line| match counts[line] {
            0 => Frequency::Never,
            count if count < often => Frequency::Seldom,
            _ => Frequency::Often,
        })
        .collect();
    let (out, compared): (Vec<_>, Vec<_>) = (0..found.len()).partition(|&at| match found[at] {
        Frequency::Never => true,
        Frequency::Seldom => false,
        Frequency::Often => is_among_new(&found, at),
    });
    let places = |found: Vec<usize>| -> Vec<usize> { found.iter().map(|at| range.start + at).collect() };
    mark(changed, &places(out));
    places(compared)
}

fn mark(changed: &mut [bool], lines: &[usize]) {
    for &line in lines {
        changed[line] = true;
    }
}

/// Whether most of the lines around a frequent one are new, on both sides of it.
fn is_among_new(found: &[Frequency], at: usize) -> bool {
    let count = |side: &mut dyn Iterator<Item = &Frequency>| {
        let mut counts = (0, 1);
        for found in side.take(NEIGHBOURS).take_while(|found| **found != Frequency::Seldom) {
            if *found == Frequency::Never {
                counts.0 += 1;
            } else {
                counts.1 += 1;
            }
        }
        counts
    };
    let (new_before, often_before) = count(&mut found[..at].iter().rev());
    let (new_after, often_after) = count(&mut found[at + 1..].iter());
    let (new, often) = (new_before + new_after, often_before + often_after);
    new_before > 0 && new_after > 0 && often * 3 < new
}

/// A power of two between the square root of a number and twice that root.
fn rough_square_root(number: usize) -> usize {
    1 << (usize::BITS - number.leading_zeros()).div_ceil(2)
}

/// A range of each list.
#[derive(Debug, Clone, Copy)]
struct Area {
    old_start: isize,
    old_end: isize,
    new_start: isize,
    new_end: isize,
}

/// The state of a search. A diagonal is the difference between a position in the old list and one in the new list;
/// for each diagonal, the furthest position in the old list that was reached on it.
struct Search {
    old: Vec<usize>,
    new: Vec<usize>,
    forward: Vec<isize>,
    backward: Vec<isize>,
}

impl Search {
    fn whole(&self) -> Area {
        let (old_end, new_end) = (self.old.len().cast_signed(), self.new.len().cast_signed());
        Area { old_start: 0, old_end, new_start: 0, new_end }
    }

    fn equal(&self, old: isize, new: isize) -> bool {
        self.old[old.cast_unsigned()] == self.new[new.cast_unsigned()]
    }

    /// The index at which a diagonal is kept. The lowest one that is ever written is one below the lowest of the
    /// whole area.
    fn place(&self, diagonal: isize) -> usize {
        (diagonal + self.new.len().cast_signed() + 1).cast_unsigned()
    }

    fn without_equal_ends(&self, mut area: Area) -> Area {
        let is_empty = |area: &Area| area.old_start == area.old_end || area.new_start == area.new_end;
        while !is_empty(&area) && self.equal(area.old_start, area.new_start) {
            area.old_start += 1;
            area.new_start += 1;
        }
        while !is_empty(&area) && self.equal(area.old_end - 1, area.new_end - 1) {
            area.old_end -= 1;
            area.new_end -= 1;
        }
        area
    }

    /// A pair of positions that a smallest edit of the area passes.
    fn middle(&mut self, area: Area) -> Option<(isize, isize)> {
        let bounds = (area.old_start - area.new_end, area.old_end - area.new_start);
        let (first, last) = (area.old_start - area.new_start, area.old_end - area.new_end);
        let meets_forward = (first - last) % 2 != 0;
        let (mut forward, mut backward) = ((first, first), (last, last));
        let place = self.place(first);
        self.forward[place] = area.old_start;
        let place = self.place(last);
        self.backward[place] = area.old_end;
        for _ in 0..MOST_EDITS {
            forward = self.widened(forward, bounds, SearchDirection::Forward);
            for diagonal in (forward.0..=forward.1).rev().step_by(2) {
                let reached = self.further(diagonal, area);
                let place = self.place(diagonal);
                self.forward[place] = reached;
                let is_met = backward.0 <= diagonal && diagonal <= backward.1;
                if meets_forward && is_met && self.backward[place] <= reached {
                    return Some((reached, reached - diagonal));
                }
            }
            backward = self.widened(backward, bounds, SearchDirection::Backward);
            for diagonal in (backward.0..=backward.1).rev().step_by(2) {
                let reached = self.further_back(diagonal, area);
                let place = self.place(diagonal);
                self.backward[place] = reached;
                let is_met = forward.0 <= diagonal && diagonal <= forward.1;
                if !meets_forward && is_met && reached <= self.forward[place] {
                    return Some((reached, reached - diagonal));
                }
            }
        }
        None
    }

    /// Widens the range by one diagonal on each side, which counts as not reached. At the border of the area it
    /// shrinks by one instead, because with a given number of edits only every other diagonal can be reached.
    fn widened(
        &mut self,
        (low, high): (isize, isize),
        bounds: (isize, isize),
        way: SearchDirection,
    ) -> (isize, isize) {
        let wider = (
            if low > bounds.0 { low - 1 } else { low + 1 },
            if high < bounds.1 { high + 1 } else { high - 1 },
        );
        for (is_wider, beyond) in [(wider.0 < low, wider.0 - 1), (wider.1 > high, wider.1 + 1)] {
            let place = self.place(beyond);
            match way {
                _ if !is_wider => {}
                SearchDirection::Forward => self.forward[place] = -1,
                SearchDirection::Backward => self.backward[place] = isize::MAX,
            }
        }
        wider
    }

    /// The position that is reached by one more edit and by skipping equal lines from there.
    fn further(&self, diagonal: isize, area: Area) -> isize {
        let place = self.place(diagonal);
        let mut old = (self.forward[place - 1] + 1).max(self.forward[place + 1]);
        while old < area.old_end && old - diagonal < area.new_end && self.equal(old, old - diagonal) {
            old += 1;
        }
        old
    }

    fn further_back(&self, diagonal: isize, area: Area) -> isize {
        let place = self.place(diagonal);
        let mut old = self.backward[place - 1].min(self.backward[place + 1] - 1);
        while old > area.old_start
            && old - diagonal > area.new_start
            && self.equal(old - 1, old - diagonal - 1)
        {
            old -= 1;
        }
        old
    }
}

#[derive(Debug, Clone, Copy)]
enum SearchDirection {
    Forward,
    Backward,
}
