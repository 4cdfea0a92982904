//! Merges two edits of one text as `git merge-file` does.

#[cfg(test)]
mod against_git;
mod hunks;
mod markers;
mod search;
#[cfg(test)]
mod tests;

use std::iter::Peekable;
use std::ops::Range;
use std::slice::Iter;

use self::hunks::{Hunk, Numbers, hunks};
pub(crate) use self::markers::merge_with_markers;
use crate::text::{as_text, lines};

/// `base` with the edits of both sides, if they did not touch the same place; `None` if a person has to decide.
///
/// Two edits touch if no unchanged line of the base lies between them; the same edit on both sides counts once. Which
/// lines an edit touched is often a matter of choice (if one of two equal lines was removed, it could be either), and
/// so is then whether two edits touch. So this makes git's choice, line by line: with another choice, an edit may
/// look the same on both sides and be dropped. Where that choice would be too costly, there is no result, nor is
/// there one for what is not text, unless one side left it unchanged.
pub(crate) fn merge(base: &[u8], ours: &[u8], theirs: &[u8]) -> Option<Vec<u8>> {
    if ours == theirs || ours == base {
        return Some(theirs.to_vec());
    }
    if theirs == base {
        return Some(ours.to_vec());
    }
    let sides = Sides::of(base, ours, theirs)?;
    let [base, ours, theirs] = sides.numbers();
    let mut merged = String::new();
    let mut at = 0;
    for region in regions(&hunks(&base, &ours)?, &hunks(&base, &theirs)?) {
        merged.extend(sides.base[at..region.base.start].iter().copied());
        merged.extend(sides.result(&region)?.iter().copied());
        at = region.base.end;
    }
    merged.extend(sides.base[at..].iter().copied());
    Some(merged.into_bytes())
}

/// The lines of all three texts.
struct Sides<'a> {
    base: Vec<&'a str>,
    ours: Vec<&'a str>,
    theirs: Vec<&'a str>,
}

/// A part of the base that at least one side changed, and what each side made of it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Region {
    base: Range<usize>,
    ours: Range<usize>,
    theirs: Range<usize>,
    changed_by: ChangedBy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChangedBy {
    Us,
    Them,
    Both,
}

impl<'a> Sides<'a> {
    fn of(base: &'a [u8], ours: &'a [u8], theirs: &'a [u8]) -> Option<Self> {
        let lines_of = |content| as_text(content).map(lines);
        Some(Self { base: lines_of(base)?, ours: lines_of(ours)?, theirs: lines_of(theirs)? })
    }

    fn numbers(&self) -> [Vec<usize>; 3] {
        let mut numbers = Numbers::default();
        [&self.base, &self.ours, &self.theirs].map(|lines| numbers.of(lines))
    }

    /// The lines that a merge has for a region; `None` if the two sides made different things of it.
    fn result(&self, region: &Region) -> Option<&[&'a str]> {
        let (ours, theirs) = (&self.ours[region.ours.clone()], &self.theirs[region.theirs.clone()]);
        match region.changed_by {
            ChangedBy::Us => Some(ours),
            ChangedBy::Them => Some(theirs),
            ChangedBy::Both => (ours == theirs).then_some(ours),
        }
    }
}

/// The regions in order, with at least one unchanged line between two of them. Hunks of either side that touch are
/// one region.
fn regions(ours: &[Hunk], theirs: &[Hunk]) -> Vec<Region> {
    let (mut ours, mut theirs) = (Side::of(ours), Side::of(theirs));
    let mut regions = Vec::new();
    while let Some(start) = [ours.next_start(), theirs.next_start()].into_iter().flatten().min() {
        let (our_start, their_start) = (ours.place(start), theirs.place(start));
        let mut end = start;
        let (mut is_ours, mut is_theirs) = (false, false);
        loop {
            if let Some(hunk_end) = ours.take_until(end) {
                is_ours = true;
                end = end.max(hunk_end);
            } else if let Some(hunk_end) = theirs.take_until(end) {
                is_theirs = true;
                end = end.max(hunk_end);
            } else {
                break;
            }
        }
        let changed_by = match (is_ours, is_theirs) {
            (true, true) => ChangedBy::Both,
            (true, false) => ChangedBy::Us,
            (false, _) => ChangedBy::Them,
        };
        regions.push(Region {
            base: start..end,
            ours: our_start..ours.place(end),
            theirs: their_start..theirs.place(end),
            changed_by,
        });
    }
    regions
}

/// The remaining hunks of one side, and by how much a line behind the earlier ones moved.
struct Side<'a> {
    hunks: Peekable<Iter<'a, Hunk>>,
    base_end: usize,
    end: usize,
}

impl<'a> Side<'a> {
    fn of(hunks: &'a [Hunk]) -> Self {
        Self { hunks: hunks.iter().peekable(), base_end: 0, end: 0 }
    }

    fn next_start(&mut self) -> Option<usize> {
        self.hunks.peek().map(|hunk| hunk.old.start)
    }

    /// Takes the next hunk if it starts at `place` or before, and returns where it ends in the base.
    fn take_until(&mut self, place: usize) -> Option<usize> {
        let hunk = self.hunks.next_if(|hunk| hunk.old.start <= place)?;
        (self.base_end, self.end) = (hunk.old.end, hunk.new.end);
        Some(hunk.old.end)
    }

    /// Where a line of the base is now, if it lies behind the hunks that were taken and before the others.
    fn place(&self, base: usize) -> usize {
        base - self.base_end + self.end
    }
}
