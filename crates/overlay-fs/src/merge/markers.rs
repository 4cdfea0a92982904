//! A merge that a person has to finish: where both sides changed the same place, markers separate what each made of
//! it.

use super::hunks::{Hunk, hunks};
use super::{Region, Sides, regions};

/// The texts behind the markers.
const LABELS: [&str; 3] = [" yours", " base", " the work"];

/// A text with the edits of both. Where they overlap, it has the lines of `yours`, of `base` and of `work`, between
/// markers in the style that git calls `diff3`. `None` if one of the three is not text.
///
/// If the texts differ too much to tell which lines belong together, everything between their common start and end
/// counts as one overlap.
pub(crate) fn merge_with_markers(base: &[u8], yours: &[u8], work: &[u8]) -> Option<Vec<u8>> {
    let sides = Sides::of(base, yours, work)?;
    let [base, yours, work] = sides.numbers();
    let hunks_of = |side: &[usize]| hunks(&base, side).unwrap_or_else(|| one_hunk(&base, side));
    let mut merged = String::new();
    let mut at = 0;
    for region in regions(&hunks_of(&yours), &hunks_of(&work)) {
        merged.extend(sides.base[at..region.base.start].iter().copied());
        match sides.result(&region) {
            Some(lines) => merged.extend(lines.iter().copied()),
            None => sides.mark(&region, &mut merged),
        }
        at = region.base.end;
    }
    merged.extend(sides.base[at..].iter().copied());
    Some(merged.into_bytes())
}

fn one_hunk(old: &[usize], new: &[usize]) -> Vec<Hunk> {
    let start = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let ends = old[start..].iter().rev().zip(new[start..].iter().rev());
    let end = ends.take_while(|(old, new)| old == new).count();
    vec![Hunk { old: start..old.len() - end, new: start..new.len() - end }]
}

impl Sides<'_> {
    fn mark(&self, region: &Region, merged: &mut String) {
        let line_end = if self.has_carriage_returns(region) { "\r\n" } else { "\n" };
        let parts = [
            &self.ours[region.ours.clone()],
            &self.base[region.base.clone()],
            &self.theirs[region.theirs.clone()],
        ];
        let openings = [("<<<<<<<", LABELS[0]), ("|||||||", LABELS[1]), ("=======", "")];
        for ((marker, label), lines) in openings.into_iter().zip(parts) {
            merged.extend([marker, label, line_end]);
            merged.extend(lines.iter().copied());
            // The last line of a text may have no line end, and a marker must start a line.
            if lines.last().is_some_and(|line| !line.ends_with('\n')) {
                merged.push_str(line_end);
            }
        }
        merged.extend([">>>>>>>", LABELS[2], line_end]);
    }

    /// Whether lines end as on Windows, judged by the lines before the region on both sides and at the start of the
    /// base. A line without an end agrees with either.
    fn has_carriage_returns(&self, region: &Region) -> bool {
        let places = [
            (&self.ours, region.ours.start.saturating_sub(1)),
            (&self.theirs, region.theirs.start.saturating_sub(1)),
            (&self.base, 0),
        ];
        let mut answer = None;
        for (lines, at) in places {
            answer = ends_with_carriage_return(lines, at);
            if answer == Some(false) {
                break;
            }
        }
        answer == Some(true)
    }
}

/// For a last line without an end, the line above it decides; `None` if nothing does.
fn ends_with_carriage_return(lines: &[&str], at: usize) -> Option<bool> {
    let line = lines.get(at)?;
    let line = if line.ends_with('\n') { line } else { lines.get(at.checked_sub(1)?)? };
    Some(line.ends_with("\r\n"))
}
