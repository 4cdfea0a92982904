//! Two edits of one text made one. No markers: where the edits meet, there is no result.

use std::ops::Range;

use similar::{DiffOp, DiffTag};

use crate::text::{as_text, compare, lines};

/// Lines of the base that one side replaced.
struct Hunk<'a> {
    old: Range<usize>,
    new: Vec<&'a str>,
    /// Where among equal lines it may as well have been: which of two equal lines is new, or gone, nobody can tell.
    reach: Range<usize>,
}

impl Hunk<'_> {
    fn is_same(&self, other: &Self) -> bool {
        self.old == other.old && self.new == other.new
    }

    fn meets(&self, other: &Self) -> bool {
        self.reach.start <= other.reach.end && other.reach.start <= self.reach.end
    }
}

/// What both sides made of `base`, if they did not touch the same place; `None`: a person has to decide.
///
/// Two edits meet when no line of the base lies between them, as git sees it too; the same edit on both sides is one
/// edit. What is not text has no places: there it is merged only if one side left it as it was.
pub(crate) fn merge(base: &[u8], ours: &[u8], theirs: &[u8]) -> Option<Vec<u8>> {
    if ours == theirs || ours == base {
        return Some(theirs.to_vec());
    }
    if theirs == base {
        return Some(ours.to_vec());
    }
    let (base, ours, theirs) = (as_text(base)?, as_text(ours)?, as_text(theirs)?);
    let (base, ours, theirs) = (lines(base), lines(ours), lines(theirs));
    let (ours, theirs) = (hunks(&base, &ours), hunks(&base, &theirs));
    if ours.iter().any(|ours| theirs.iter().any(|theirs| !ours.is_same(theirs) && ours.meets(theirs))) {
        return None;
    }
    let mut hunks = in_order(ours, theirs);
    hunks.dedup_by(|a, b| a.is_same(b));
    let mut merged = String::new();
    let mut at = 0;
    for hunk in hunks {
        merged.extend(base[at..hunk.old.start].iter().copied());
        merged.extend(hunk.new);
        at = hunk.old.end;
    }
    merged.extend(base[at..].iter().copied());
    Some(merged.into_bytes())
}

/// The hunks of both sides, each of which is in order, by their places.
fn in_order<'a>(ours: Vec<Hunk<'a>>, theirs: Vec<Hunk<'a>>) -> Vec<Hunk<'a>> {
    let mut hunks = Vec::with_capacity(ours.len() + theirs.len());
    let mut theirs = theirs.into_iter().peekable();
    let place = |hunk: &Hunk<'_>| (hunk.old.start, hunk.old.end);
    for hunk in ours {
        while let Some(first) = theirs.next_if(|other| place(other) < place(&hunk)) {
            hunks.push(first);
        }
        hunks.push(hunk);
    }
    hunks.extend(theirs);
    hunks
}

/// Neighbours are one hunk, so that hunks of one side never meet.
fn hunks<'a>(base: &[&str], side: &[&'a str]) -> Vec<Hunk<'a>> {
    let mut hunks: Vec<Hunk<'a>> = Vec::new();
    let differs = |op: &DiffOp| op.tag() != DiffTag::Equal;
    for op in compare(base, side).iter().filter(|op| differs(op)) {
        let (old, new) = (op.old_range(), &side[op.new_range()]);
        match hunks.last_mut().filter(|last| old.start <= last.old.end) {
            Some(last) => {
                last.old.end = old.end;
                last.new.extend(new);
            }
            None => hunks.push(Hunk { reach: old.clone(), old, new: new.to_vec() }),
        }
    }
    for hunk in &mut hunks {
        hunk.reach = reach(base, &hunk.old, &hunk.new);
    }
    hunks
}

/// Lines that were only taken out, or only put in, can be moved along while the line that they leave behind is the
/// line that they come to.
fn reach(base: &[&str], old: &Range<usize>, new: &[&str]) -> Range<usize> {
    let (mut start, mut end) = (old.start, old.end);
    let moved: Vec<_> = match (old.is_empty(), new.is_empty()) {
        (false, true) => base[old.clone()].to_vec(),
        (true, false) => new.to_vec(),
        _ => return old.clone(),
    };
    let up = moved.iter().rev().cycle().zip(base[..start].iter().rev());
    start -= up.take_while(|(moved, above)| moved == above).count();
    let down = moved.iter().cycle().zip(&base[end..]);
    end += down.take_while(|(moved, below)| moved == below).count();
    start..end
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn merged(base: &str, ours: &str, theirs: &str) -> Option<String> {
        merge(base.as_bytes(), ours.as_bytes(), theirs.as_bytes())
            .map(|text| String::from_utf8(text).unwrap())
    }

    #[test]
    fn edits_in_different_places_are_merged_and_those_that_meet_are_not() {
        let cases = [
            ("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n", Some("A\nb\nC\n")),
            ("a\nb\nc\n", "A\nb\nc\n", "a\nB\nc\n", None),
            ("a\nb\nc\n", "A\nb\nc\n", "A\nb\nc\n", Some("A\nb\nc\n")),
            ("a\nb\nc\n", "A\nb\nC\n", "A\nb\nc\n", Some("A\nb\nC\n")),
            ("a\nb\nc\n", "A\nb\nc\n", "X\nb\nc\n", None),
            ("a\nb\nc\n", "a\nb\nc\nd\n", "0\na\nb\nc\n", Some("0\na\nb\nc\nd\n")),
            ("a\nb\nc\n", "a\nb\nc\nd\n", "a\nb\nc\ne\n", None),
            ("a\nb\nc\n", "a\nb\nc\nd\n", "a\nb\nC\n", None),
            ("a\nb\nc\n", "b\nc\n", "a\nb\n", Some("b\n")),
            ("a\nb\nc", "A\nb\nc", "a\nb\nc\n", Some("A\nb\nc\n")),
            ("a\nb\n", "", "a\nB\n", None),
            ("", "a\n", "b\n", None),
            // Which of two equal lines is gone, or new, nobody can tell.
            ("a\nb\nb\n", "a\nb\n", "a\nb\nb\nc\n", None),
            ("b\nb\na\nb\nb\nc\n", "b\nb\nb\nc\n", "b\nb\na\nb\nb\nC\n", Some("b\nb\nb\nC\n")),
            ("x\na\na\nb\n", "x\na\na\na\nb\n", "X\na\na\nb\n", None),
            ("a\r\nb\r\nc\r\n", "a\nb\nc\n", "a\r\nb\r\nC\r\n", None),
        ];
        for (base, ours, theirs, expected) in cases {
            assert_eq!(merged(base, ours, theirs).as_deref(), expected, "{base:?} {ours:?} {theirs:?}");
            assert_eq!(merged(base, theirs, ours).as_deref(), expected, "{base:?} {theirs:?} {ours:?}");
        }
    }

    #[test]
    fn binary_content_is_merged_only_if_one_side_left_it() {
        let (base, other, third) = (&b"\0a\nb\nc\n"[..], &b"\0A\nb\nc\n"[..], &b"\0a\nb\nC\n"[..]);
        assert_eq!(merge(base, other, third), None);
        assert_eq!(merge(base, base, third).as_deref(), Some(third));
        assert_eq!(merge(base, other, base).as_deref(), Some(other));
        assert_eq!(merge(base, other, other).as_deref(), Some(other));
    }

    fn text() -> impl Strategy<Value = String> {
        let line = proptest::sample::select(&["a\n", "b\n", "c\n", "d\n", "\n", "e"][..]);
        proptest::collection::vec(line, 0..10).prop_map(|lines| lines.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

        /// Lines with names of their own, so that there is one way only to see what each side did.
        #[test]
        fn every_edit_of_both_sides_is_in_the_result(ours in edits(), theirs in edits()) {
            let base: Vec<_> = (0..20).map(|line| format!("line {line}\n")).collect();
            let meet = ours.iter().any(|&(at, _)| theirs.iter().any(|&(other, _)| at.abs_diff(other) < 2));
            let both = edited(&edited(&base, &ours, "ours"), &theirs, "theirs").concat();
            let (ours, theirs) = (edited(&base, &ours, "ours"), edited(&base, &theirs, "theirs"));
            let result = merged(&base.concat(), &ours.concat(), &theirs.concat());
            prop_assert_eq!(result, (!meet).then_some(both));
        }

        #[test]
        fn a_merge_does_not_depend_on_the_side(base in text(), ours in text(), theirs in text()) {
            prop_assert_eq!(merged(&base, &ours, &theirs), merged(&base, &theirs, &ours));
            prop_assert_eq!(merged(&base, &ours, &base), Some(ours.clone()));
            prop_assert_eq!(merged(&base, &ours, &ours), Some(ours));
        }
    }

    /// Lines that are replaced, by one line or (`true`) by two.
    fn edits() -> impl Strategy<Value = Vec<(usize, bool)>> {
        proptest::collection::btree_map(0..20_usize, any::<bool>(), 0..4)
            .prop_map(|edits| edits.into_iter().collect())
    }

    fn edited(base: &[String], edits: &[(usize, bool)], by: &str) -> Vec<String> {
        let mut lines = base.to_vec();
        for &(at, twice) in edits {
            lines[at] = format!("{by} {at}\n").repeat(1 + usize::from(twice));
        }
        lines
    }
}
