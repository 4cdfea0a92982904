//! Patterns of paths: a table of what they match, and random ones that are compared with a library for the same
//! language.

use headstart_workspace_path::{Glob, GlobError};
use proptest::prelude::*;

#[test]
fn a_pattern_means_what_it_says() {
    let cases: &[(&str, &str, bool)] = &[
        ("a", "a", true),
        ("a", "a/b", false),
        ("*.rs", "lib.rs", true),
        ("*.rs", ".rs", true),
        ("*.rs", "src/lib.rs", false),
        ("?.rs", "é.rs", true),
        ("?.rs", ".rs", false),
        ("a?b", "a/b", false),
        ("**", "a/b/c", true),
        ("**/a", "a", true),
        ("**/a", "x/y/a", true),
        ("**/a", "x/ya", false),
        ("a/**", "a", false),
        ("a/**", "a/b/c", true),
        ("a/**/**", "a", false),
        ("a/**/z", "a/z", true),
        ("a/**/z", "a/b/c/z", true),
        ("a/**/z", "a/b/c/zz", false),
        ("**/x/**/y", "x/x/b/y", true),
        ("**/a*/b", "a1/a2/b", true),
        ("a**b", "axyb", true),
        ("a**b", "a/b", false),
        ("[a-c]x", "bx", true),
        ("[!a-c]x", "bx", false),
        ("[^a-c]x", "dx", true),
        ("[!a]", "/", false),
        ("[]a]", "]", true),
        ("[a-]", "-", true),
        ("[\\]]", "]", true),
        ("[[:digit:][:upper:]]*", "7x", true),
        ("[[:digit:]]", "x", false),
        ("[[:nothing:]", "n", true),
        ("[é-ü]", "ö", true),
        ("{a,b}/c", "b/c", true),
        ("{a,b}/c", "c/c", false),
        ("{a/b,c}/**/d", "a/b/x/d", true),
        ("x{,.bak}", "x", true),
        ("x{1,{2,3}4}", "x34", true),
        ("x{1,{2,3}4}", "x3", false),
        ("a,b", "a,b", true),
        ("\\*", "*", true),
        ("\\*", "x", false),
        ("!a", "!a", true),
        ("", "", true),
        ("", "a", false),
    ];
    for (pattern, path, expected) in cases {
        assert_eq!(Glob::new(pattern).unwrap().is_match(path.as_bytes()), *expected, "{pattern} {path}");
    }
}

#[test]
fn braces_can_stand_for_themselves() {
    let glob = Glob::without_braces("{a,b}*").unwrap();
    assert!(glob.is_match(b"{a,b}c") && !glob.is_match(b"ac"));
}

#[test]
fn a_byte_that_is_no_character_is_matched_by_wildcards() {
    for (pattern, expected) in
        [("?x", true), ("*", true), ("[!a]x", true), ("[a-\u{ffff}]x", false), ("??x", false)]
    {
        assert_eq!(Glob::new(pattern).unwrap().is_match(b"\xffx"), expected, "{pattern}");
    }
    assert!(Glob::new("???x").unwrap().is_match(b"\xe2\x82\xffx"));
}

#[test]
fn what_is_no_pattern_says_why() {
    let cases = [
        ("a[", GlobError::OpenClass),
        ("[]", GlobError::OpenClass),
        ("[a\\", GlobError::OpenClass),
        ("[z-a]", GlobError::EmptyRange),
        ("{a", GlobError::OpenBrace),
        ("a}", GlobError::OpenBrace),
        ("a\\", GlobError::OpenEscape),
        ("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", GlobError::TooManyAlternatives),
    ];
    for (pattern, error) in cases {
        assert_eq!(Glob::new(pattern), Err(error), "{pattern}");
    }
}

#[test]
fn many_stars_are_not_slow() {
    // This would take years if every way to divide the name among the stars were tried.
    let stars = Glob::new(&"*a".repeat(200)).unwrap();
    assert!(!stars.is_match(&[b'a'; 10_000][..9_999].iter().chain(b"b").copied().collect::<Vec<_>>()));
    let folders = Glob::new(&format!("{}b", "**/a/".repeat(200))).unwrap();
    assert!(!folders.is_match("a/".repeat(5_000).as_bytes()));
}

/// The matcher of globset, whose stars stay within a name.
fn reference(pattern: &str) -> Option<globset::GlobMatcher> {
    let glob = globset::GlobBuilder::new(pattern).literal_separator(true).backslash_escape(true).build();
    glob.ok().map(|glob| glob.compile_matcher())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn it_agrees_with_a_library(
        pattern in "(\\*\\*/|/\\*\\*|[ab.?*/]|\\[[ab]-?[b.]\\]|\\[!/[ab.]\\]|\\{[ab]{1,2},[ab]{1,2}\\}|\\\\\\*){0,6}",
        paths in prop::collection::vec("([ab.]{1,2}|\\*)(/([ab.]{1,2}|\\*)){0,3}", 8),
    ) {
        // Here an empty name does not count, and a class never stands for a slash. The library reads bytes as
        // characters, so all characters are ASCII. Beside a brace it reads `**` as two stars, so no `**` is special in
        // braces.
        let names: Vec<_> = pattern.split('/').filter(|name| !name.is_empty()).collect();
        let pattern = names.join("/");
        let Some(reference) = reference(&pattern) else { return Ok(()) };
        let glob = Glob::new(&pattern).unwrap();
        for path in paths {
            prop_assert_eq!(glob.is_match(path.as_bytes()), reference.is_match(&path), "{} {}", pattern, path);
        }
    }

    #[test]
    fn any_text_is_a_pattern_or_an_error(pattern in "\\PC{0,12}", path in prop::collection::vec(any::<u8>(), 0..12)) {
        if let Ok(glob) = Glob::new(&pattern) {
            glob.is_match(&path);
        }
    }
}
