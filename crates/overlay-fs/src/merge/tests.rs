use proptest::prelude::*;

use super::*;

fn merged(base: &str, ours: &str, theirs: &str) -> Option<String> {
    merge(base.as_bytes(), ours.as_bytes(), theirs.as_bytes()).map(|text| String::from_utf8(text).unwrap())
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
        // It is a matter of choice which of two equal lines was removed or added; the choice is that of git.
        ("a\nb\nb\n", "a\nb\n", "a\nb\nb\nc\n", None),
        ("b\nb\na\nb\nb\nc\n", "b\nb\nb\nc\n", "b\nb\na\nb\nb\nC\n", Some("b\nb\nb\nC\n")),
        ("x\na\na\nb\n", "x\na\na\na\nb\n", "X\na\na\nb\n", Some("X\na\na\na\nb\n")),
        // One side's edit can be read in two ways, and read in the other way it would seem to remove what the other
        // side removes.
        ("0\n0\n0\n1\n2\n", "0\n0\n0\n2\n", "0\n0\n1\n0\n2\n", None),
        ("a\r\nb\r\nc\r\n", "a\nb\nc\n", "a\r\nb\r\nC\r\n", None),
    ];
    for (base, ours, theirs, expected) in cases {
        assert_eq!(merged(base, ours, theirs).as_deref(), expected, "{base:?} {ours:?} {theirs:?}");
        assert_eq!(merged(base, theirs, ours).as_deref(), expected, "{base:?} {theirs:?} {ours:?}");
    }
}

/// Binary files have no lines, so if both sides changed one, there is no merge.
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

    /// All lines are different, so that it is unambiguous what each side did.
    #[test]
    fn every_edit_of_both_sides_is_in_the_result(ours in edits(), theirs in edits()) {
        let base: Vec<_> = (0..20).map(|line| format!("line {line}\n")).collect();
        let meet = ours.iter().any(|&(at, _)| theirs.iter().any(|&(other, _)| at.abs_diff(other) < 2));
        let both = edited(&edited(&base, &ours, "ours"), &theirs, "theirs").concat();
        let (ours, theirs) = (edited(&base, &ours, "ours"), edited(&base, &theirs, "theirs"));
        let result = merged(&base.concat(), &ours.concat(), &theirs.concat());
        prop_assert_eq!(result, (!meet).then_some(both));
    }

    /// Both sides are equal: if they are exchanged, the merge has the same result.
    #[test]
    fn a_merge_does_not_depend_on_the_side(base in text(), ours in text(), theirs in text()) {
        prop_assert_eq!(merged(&base, &ours, &theirs), merged(&base, &theirs, &ours));
        prop_assert_eq!(merged(&base, &ours, &base), Some(ours.clone()));
        prop_assert_eq!(merged(&base, &ours, &ours), Some(ours));
    }
}

/// The lines that are replaced, each by one line or (`true`) by two.
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
