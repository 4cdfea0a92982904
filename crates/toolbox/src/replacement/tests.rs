use proptest::prelude::*;

use super::*;

/// The new content, or the refusal as a word and the lines.
fn replaced_or_error(content: &[u8], old: &str, new: &str, all: bool) -> Result<Vec<u8>, String> {
    match replace(content, old, new, all) {
        Ok(replaced) => Ok(replaced.content),
        Err(ReplacementError::Missing { similar_line }) => Err(format!("missing {similar_line:?}")),
        Err(ReplacementError::Ambiguous { lines }) => Err(format!("ambiguous {lines:?}")),
    }
}

#[test]
fn line_ends_stay_as_the_file_has_them() {
    let cases: &[(&str, &str, &str, &str)] = &[
        // The file, the old text, the new text, the resulting file.
        ("a\nb\n", "a\nb", "c\nd", "c\nd\n"),
        ("a\r\nb\r\n", "a\nb", "c\nd", "c\r\nd\r\n"),
        ("a\r\nb\r\n", "a\r\nb", "c\nd", "c\r\nd\r\n"),
        ("a\r\nb\r\n", "a\r\nb\r\n", "c\r\n", "c\r\n"),
        ("a\r\nb\r\n", "b", "c\nd", "a\r\nc\r\nd\r\n"),
        ("a\nb\n", "b", "c\r\nd", "a\nc\nd\n"),
        ("a\r\nb\nc\nd\n", "c", "x\ny", "a\r\nb\nx\ny\nd\n"),
        ("a\r\nb\nc\nd\n", "a\n", "x\n", "x\r\nb\nc\nd\n"),
        ("a\r\nb\nc", "a\nb\nc", "z", "z"),
        ("a\r\nb\r\n", "\n", ";", "error: ambiguous [1, 2]"),
        ("a\r\nb", "\nb", "\nc", "a\r\nc"),
        ("a\r\nb", "a\n", "a\n\n", "a\r\n\r\nb"),
        // The old and the new text differ only in line ends.
        ("a\r\nb", "a\r\n", "a\n", "a\nb"),
        ("a\nb", "a\n", "a\r\n", "a\r\nb"),
        // A carriage return by itself is an ordinary character.
        ("a\rb\n", "a\rb", "c", "c\n"),
        ("a\r\r\nb", "a\r\nb", "c", "error: missing Some(1)"),
    ];
    for (content, old, new, expected) in cases {
        let shown = match replaced_or_error(content.as_bytes(), old, new, false) {
            Ok(content) => String::from_utf8(content).unwrap(),
            Err(reason) => format!("error: {reason}"),
        };
        assert_eq!(shown, *expected, "{content:?}: {old:?} -> {new:?}");
    }
}

#[test]
fn every_match_is_named_by_its_line() {
    let content = b"x\r\na x\r\n\r\nx x\r\n";
    assert_eq!(replaced_or_error(content, "x", "y", false), Err("ambiguous [1, 2, 4, 4]".to_owned()));
    assert_eq!(replaced_or_error(content, "x", "y", true), Ok(b"y\r\na y\r\n\r\ny y\r\n".to_vec()));
    assert_eq!(replaced_or_error(b"aaa", "aa", "b", true), Ok(b"ba".to_vec()));
}

/// A text of at least `length` parts.
fn text(length: usize) -> impl Strategy<Value = String> {
    proptest::collection::vec(prop::sample::select(vec!["a", "b", "\n", "é"]), length..12)
        .prop_map(|parts| parts.concat())
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(b"ab\r\n\xff".to_vec()), 0..20)
}

proptest! {
    /// The reference is std's replacement, for texts with one kind of line end.
    #[test]
    fn replacing_is_what_std_does(content in text(0), old in text(1), new in text(0), all: bool, crlf: bool) {
        prop_assume!(old != new);
        let in_file = |text: &str| if crlf { text.replace('\n', "\r\n") } else { text.to_owned() };
        let count = content.matches(&old).count();
        let file = in_file(&content);
        let done = replaced_or_error(file.as_bytes(), &old, &new, all);
        if count == 1 || (all && 1 < count) {
            // A file without line ends has no kind of line end to keep.
            let expected = if content.contains('\n') { in_file(&content.replace(&old, &new)) } else { content.replace(&old, &new) };
            prop_assert_eq!(done, Ok(expected.into_bytes()));
        } else {
            prop_assert!(done.is_err());
        }
    }

    /// For arbitrary bytes: if a text is replaced by nothing, it is missing, and nothing else.
    #[test]
    fn what_is_not_replaced_is_not_touched(before in bytes(), after in bytes(), old in text(1)) {
        let marked = [before.as_slice(), b"<".as_slice(), old.as_bytes(), b">", after.as_slice()].concat();
        let done = replaced_or_error(&marked, &format!("<{old}>"), "", false);
        prop_assert_eq!(done, Ok([before, after].concat()));
    }
}
