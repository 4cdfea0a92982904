use super::*;

const CONTENT: &str = "fn main() {\n    let answer = 42;\r\n}\n\n// TODO: foo.bar(1, 2)\nfoo_bar\nfooXbar\nfoobar\nFOO-bar\nüber\na\tb\n[x] (y) {z}\nlast";

/// Patterns in the syntax that both engines share.
const PATTERNS: [&str; 34] = [
    "",
    "^",
    "$",
    "^$",
    ".",
    "fn",
    "^fn",
    r"\}$",
    r";$",
    "answer = [0-9]+",
    r"\bfoo\b",
    r"\Bbar",
    r"foo.bar",
    r"foo\.bar",
    "foo[_-]bar",
    "(?i)foo[^X]bar",
    "foo(_|X)bar",
    "(?:a|b)\\s+(?:b|c)",
    r"\d{2}",
    r"\d{2,}",
    r"\w+_\w+",
    r"\W{3}",
    "o{2}",
    "o{1,2}?b",
    r"\(y\)",
    r"\[x\]",
    r"[\[({]",
    "[^\\n]x",
    "ü",
    ".ber",
    "(?x) fn \\s main",
    "TODO|last",
    r"\x66oo",
    r"(?P<name>let) \w+",
];

fn lines(search: &dyn LineSearch, content: &str) -> Vec<(u64, String)> {
    let mut found = Vec::new();
    let flow = search.search(content.as_bytes(), &mut |number, line| {
        found.push((number, String::from_utf8(line.to_vec()).unwrap()));
        ControlFlow::Continue(())
    });
    assert!(flow.is_continue());
    found
}

/// What a loop over the lines finds, for the few patterns that are plain text.
#[test]
fn lines_are_found_with_their_numbers() {
    let search = compile("foo").unwrap();
    let expected: Vec<(u64, String)> = (1..)
        .zip(CONTENT.lines())
        .filter(|(_, line)| line.contains("foo"))
        .map(|(number, line)| (number, line.to_owned()))
        .collect();
    assert_eq!(expected.len(), 4);
    assert_eq!(lines(&*search, CONTENT), expected);
    // There is no line behind the last line end, and no line end in what is shown.
    let all = compile("").unwrap();
    assert_eq!(lines(&*all, "a\r\nb\n"), [(1, "a".to_owned()), (2, "b".to_owned())]);
    assert_eq!(lines(&*all, ""), []);
}

#[test]
fn a_search_stops_when_told() {
    let mut count = 0;
    let flow = compile("o").unwrap().search(CONTENT.as_bytes(), &mut |_, _| {
        count += 1;
        if count == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!((count, flow), (2, ControlFlow::Break(())));
}

#[test]
fn a_pattern_that_cannot_work_is_refused() {
    for pattern in
        ["(", "[", "a{2", "*a", r"\", "(?<n", r"a\nb", "a\nb", r"(?=a)", r"(a)\1", "(?P<n>a)(?P<n>b)"]
    {
        assert!(compile(pattern).is_err(), "{pattern}");
    }
    for pattern in [r"[^\n]", r"\\n", r"a\\nb"] {
        assert!(compile(pattern).is_ok(), "{pattern}");
    }
}

#[cfg(feature = "ripgrep")]
#[test]
fn both_engines_find_the_same_lines() {
    for pattern in PATTERNS {
        let ripgrep = ripgrep::compile(pattern).unwrap();
        let lite = lite::compile(pattern).unwrap();
        assert_eq!(lines(&*ripgrep, CONTENT), lines(&*lite, CONTENT), "{pattern}");
    }
}

#[cfg(feature = "ripgrep")]
mod random {
    use proptest::prelude::*;

    use super::*;

    // Only ASCII letters, because the engines differ in which other characters belong to words.
    fn pattern() -> impl Strategy<Value = String> {
        let pieces = vec![
            "a", "b", "€", ".", "^", "$", "*", "+?", "{2}", "|", "(?:", "(", ")", "[ab]", "[^a]", r"\b",
            r"\d", r"\.", " ",
        ];
        prop::collection::vec(prop::sample::select(pieces), 0..6).prop_map(|pieces| pieces.concat())
    }

    fn content() -> impl Strategy<Value = String> {
        let pieces = vec!["a", "b", "aa", "€", " ", "7", ".", "\n", "\r\n"];
        prop::collection::vec(prop::sample::select(pieces), 0..20).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn both_engines_agree(pattern in pattern(), content in content()) {
            match (ripgrep::compile(&pattern), lite::compile(&pattern)) {
                (Ok(ripgrep), Ok(lite)) => prop_assert_eq!(lines(&*ripgrep, &content), lines(&*lite, &content)),
                (Err(_), Err(_)) => {}
                (ripgrep, lite) => prop_assert!(false, "ripgrep {:?}, lite {:?}", ripgrep.err(), lite.err()),
            }
        }
    }
}

#[cfg(not(feature = "ripgrep"))]
#[test]
fn the_shared_syntax_is_understood() {
    for pattern in PATTERNS {
        let search = compile(pattern).unwrap();
        assert!(pattern == "^$" || !lines(&*search, CONTENT).is_empty(), "{pattern}");
    }
}
