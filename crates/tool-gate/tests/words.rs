//! Our reading of words, compared with bash's own.

mod support;

use headstart_tool_gate::{Decision, EffectKind, Gate};
use proptest::prelude::*;

/// What bash makes of one word of quotes and letters.
#[expect(clippy::disallowed_types, reason = "the reference is a program")]
fn bash(word: &str) -> Option<Vec<u8>> {
    let output = std::process::Command::new("bash")
        .args(["--norc", "--noprofile", "-c", &format!("printf '%s\\0' {word}")])
        .env_clear()
        .stdin(std::process::Stdio::null())
        .output()
        .expect("this test needs bash");
    let text = output.stdout;
    // More than one argument, or none, or an error: not a word.
    let single = output.status.success() && text.iter().filter(|byte| **byte == 0).take(2).count() == 1;
    single.then(|| text[..text.len() - 1].to_vec())
}

/// What the gate makes of it: it names the file that `cat` would read.
fn gate(word: &str) -> Option<Vec<u8>> {
    let verdict = support::judge(&Gate::new(), &format!("cat ./{word}"));
    if verdict.decision == Decision::Allow {
        return Some(verdict.reads.concat().into_bytes());
    }
    assert!(verdict.effects.iter().any(|effect| effect.kind != EffectKind::ReadOnly));
    None
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Quoting characters and plain letters only: nothing in such a word can run.
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
