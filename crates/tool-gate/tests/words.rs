//! Compares the gate's reading of words with bash's own.

mod support;

use headstart_tool_gate::{Decision, EffectKind, Gate};
use proptest::prelude::*;

/// The text that bash makes of one word of quotes and letters.
#[expect(clippy::disallowed_types, reason = "the reference is a program")]
fn bash(word: &str) -> Option<Vec<u8>> {
    let output = std::process::Command::new("bash")
        .args(["--norc", "--noprofile", "-c", &format!("printf '%s\\0' {word}")])
        .env_clear()
        .stdin(std::process::Stdio::null())
        .output()
        .expect("this test needs bash");
    let text = output.stdout;
    // More than one argument, no argument or an error means that this is not one word.
    let single = output.status.success() && text.iter().filter(|byte| **byte == 0).take(2).count() == 1;
    single.then(|| text[..text.len() - 1].to_vec())
}

/// The text that the gate makes of the word, seen by the file that it says `cat` would read.
fn gate(word: &str) -> Option<Vec<u8>> {
    let verdict = support::judge(&Gate::new(), &format!("cat ./{word}"));
    if verdict.decision == Decision::Allow {
        return Some(support::texts(&verdict.reads).concat().into_bytes());
    }
    assert!(verdict.effects.iter().any(|effect| effect.kind != EffectKind::ReadOnly));
    None
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// The word consists of quoting characters and plain letters only, so nothing in it can run.
    #[test]
    fn a_word_is_read_as_bash_reads_it(parts in proptest::collection::vec(
        prop_oneof![
            "[a-c]{1,2}",
            "'[ab\\\\\"]{0,3}'",
            "\"[ab']{0,3}\"",
            "\"[a]?\\\\[ab\\\\\"'\n]\"",
            "\\\\[abx\\\\\"'\n]",
            "\\$'[ab\"]{0,2}'",
            "\\$'\\\\(n|t|a|\\\\|'|\"|x41|x4|101|60|e|q)'",
            "\\$\"[ab]{0,2}\"",
        ],
        1..6,
    )) {
        let word = parts.concat();
        if let Some(ours) = gate(&word) {
            let theirs = bash(&format!("./{word}"));
            let theirs = theirs.map(|bytes| bytes.strip_prefix(b"./").unwrap_or(&bytes).to_vec());
            let empty = theirs.as_deref() == Some(b"");
            prop_assert_eq!(Some(if empty { b".".to_vec() } else { theirs.clone().unwrap_or_default() }), Some(ours), "{:?}", word);
            prop_assert!(theirs.is_some(), "{:?}", word);
        }
    }
}

/// Assignments that make two variables known in the words below.
const KNOWN: &str = "v=abc; w='a b'; ";

/// The file that `cat` would read after the assignments, if it has exactly one argument.
fn gate_with_values(word: &str) -> Option<Vec<u8>> {
    let verdict = support::judge(&Gate::new(), &format!("{KNOWN}cat ./x{word}"));
    let exact = verdict.reads.len() == 1 && !verdict.reads[0].is_root();
    (verdict.decision == Decision::Allow && exact)
        .then(|| support::texts(&verdict.reads).concat().into_bytes())
}

/// The arguments that bash gives a program for these words, after the assignments.
#[expect(clippy::disallowed_types, reason = "the reference is a program")]
fn bash_arguments(words: &str) -> Option<Vec<Vec<u8>>> {
    let output = std::process::Command::new("bash")
        .args(["--norc", "--noprofile", "-c", &format!("{KNOWN}printf '%s\\0' {words}")])
        .env_clear()
        .env("LC_ALL", "C.UTF-8")
        .stdin(std::process::Stdio::null())
        .output()
        .expect("this test needs bash");
    let arguments = output.stdout.strip_suffix(b"\0")?.split(|byte| *byte == 0).map(<[u8]>::to_vec);
    output.status.success().then(|| arguments.collect())
}

/// Paths as a verdict names them: without `.` and doubled slashes, and as text.
fn tidy(path: &[u8]) -> Vec<u8> {
    let names = path.split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b"."));
    String::from_utf8_lossy(&names.collect::<Vec<_>>().join(&b'/')).into_owned().into_bytes()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Escapes of every form, continued lines, and expansions of known values.
    #[test]
    fn a_word_with_escapes_and_known_values_is_read_as_bash_reads_it(parts in proptest::collection::vec(
        prop_oneof![
            "[a-c/.]{1,2}",
            "\\$'\\\\x[4-7][0-9a-f]'",
            "\\$'\\\\x[4-7][0-9a-f]?[a-g]'",
            "\\$'\\\\[01][0-7]{1,3}'",
            "\\$'\\\\[0-7]{1,3}[ab89]'",
            "\\$'\\\\u00[4-6][1-9a-f]'",
            "\\$'\\\\u[4-6][1-9a-f]'",
            "\\$'\\\\U000000[4-6][1-9a-f]'",
            "\\$'\\\\u(e9|6f22|00e9)'",
            "\\$'\\\\U0001f980'",
            "\\$'\\\\c[a-z]'",
            "\\$'[a-c]\\\\(a|b|e|E|f|n|r|t|v|\\\\|\'|\"|\\?|z|8)[a-c]'",
            "\\$\"[a-c]?(\\\\[ab\"\\\\]|')[a-c]?\"",
            "\\$\"\\$v\"",
            "\\\\\n",
            "\"[ab]\\\\\n[ab]\"",
            "'[ab]\\\\\n[ab]'",
            "\\$\\{v\\}",
            "\"\\$\\{v\\}\"",
            "\"\\$w\"",
            "\\$\\{v:-[de]\\}",
            "\"\\$\\{none:-[de]\\}\"",
            "\\$\\{#v\\}",
            "\\$\\(\\([1-3] ?[+*] ?[1-3]\\)\\)",
            "\\$\\(\\(0x1f\\)\\)",
            "\\{[a-c]\\}",
            "a~b",
            "'é'",
            "漢",
        ],
        1..5,
    )) {
        let word = parts.concat();
        if let Some(ours) = gate_with_values(&word) {
            let theirs = bash_arguments(&format!("./x{word}"));
            let theirs: Option<Vec<Vec<u8>>> =
                theirs.map(|arguments| arguments.iter().map(|argument| tidy(argument)).collect());
            // If the last name is not known, a folder stands for everything below it.
            let below = |path: &Vec<u8>| *path == ours || path.starts_with(&[&ours[..], b"/"].concat());
            let same = theirs.as_deref().is_some_and(|theirs| theirs.len() == 1 && below(&theirs[0]));
            prop_assert!(same, "{word:?}: {theirs:?}, not {ours:?}");
        }
    }

    /// The gate spells out a brace expansion of plain alternatives, so that it names each file.
    #[test]
    fn braces_are_spelled_out_as_bash_does(
        before in "(x|x'a'|x\"\\$v\"|)",
        list in proptest::collection::vec("([a-c]|'[a-c]'|\\\\[a-c]|\"\"[a-c])", 2..5),
        after in "(|y|'y'|\\.y)",
    ) {
        let word = format!("./x{before}{{{}}}{after}", list.join(","));
        let verdict = support::judge(&Gate::new(), &format!("{KNOWN}cat {word}"));
        // If another expansion is next to it, the alternatives are not spelled out.
        if verdict.decision == Decision::Allow && support::texts(&verdict.reads) != ["."] {
            let mut theirs: Vec<Vec<u8>> =
                bash_arguments(&word).unwrap_or_default().iter().map(|argument| tidy(argument)).collect();
            theirs.sort();
            theirs.dedup();
            let ours: Vec<Vec<u8>> = verdict.reads.iter().map(|path| path.as_bytes().to_vec()).collect();
            prop_assert_eq!(ours, theirs, "{:?}", word);
        }
    }

    /// A tilde or a wildcard that is quoted is part of a name. One that is not quoted is never taken for part of a
    /// name.
    #[test]
    fn what_is_quoted_is_a_name(parts in proptest::collection::vec("([a-c]|'[~*?{]'|\\\\[~*?{]|\"[~*?{]\")", 1..5)) {
        let word = format!("x{}", parts.concat());
        let theirs = bash_arguments(&word).map(|arguments| arguments.concat());
        let verdict = support::judge(&Gate::new(), &format!("cat {word}"));
        prop_assert_eq!(verdict.decision, Decision::Allow, "{}", word);
        prop_assert_eq!(Some(support::texts(&verdict.reads).concat().into_bytes()), theirs, "{}", word);
    }
}

#[test]
fn words_with_known_values_are_understood() {
    for (word, expected) in [
        ("${v}", "xabc"),
        ("\"$w\"", "xa b"),
        ("$'\\x41\\x7'", "xA\u{7}"),
        ("$'\\u41\\U00000042'", "xAB"),
        ("$'\\101\\61'", "xA1"),
        ("\\\n'a'", "xa"),
    ] {
        assert_eq!(gate_with_values(word).as_deref(), Some(expected.as_bytes()), "{word}");
        assert_eq!(bash_arguments(&format!("x{word}")), Some(vec![expected.as_bytes().to_vec()]), "{word}");
    }
}

#[test]
fn most_words_are_understood() {
    for (word, expected) in [
        ("a", "a"),
        ("a'b'\"c\"", "abc"),
        ("a\\b", "ab"),
        ("'a b'", "a b"),
        ("$'\\x41\\102\\''", "AB'"),
        ("\"a\\\"b\\c\"", "a\"b\\c"),
        ("a\\\nb", "ab"),
        ("\"a\\\nb\"", "ab"),
        ("$\"a\"", "a"),
        ("''a\"\"", "a"),
    ] {
        assert_eq!(gate(word), Some(expected.as_bytes().to_vec()), "{word}");
        let theirs = bash(&format!("./{word}"));
        assert_eq!(theirs, Some(format!("./{expected}").into_bytes()), "{word}");
    }
}
