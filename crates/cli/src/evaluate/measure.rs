//! Compares a suggestion with what the user typed. Only the text is compared, so the same files always give the same
//! figures, and the result is stricter than a person's judgement. The rules are described in docs/evaluate.md.

use std::collections::BTreeSet;

use headstart_followup_state::Suggestion;
use serde::Serialize;

/// How close a suggestion is to what was typed, from the least to the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Match {
    /// The words indicate another request.
    None,
    /// The words indicate the same request.
    Words,
    /// One text is the beginning of the other.
    Start,
    /// The texts are the same except for capitals, punctuation around them and white space.
    Same,
    /// A chat accepts the suggestion when this is typed.
    Exact,
}

/// The least share of words that both texts must have. Two of three words in three and four in five are enough; three
/// of four in four are not.
const ENOUGH: f64 = 0.8;

/// Words that do not matter for what is requested.
const FILLERS: [&str; 52] = [
    "a",
    "all",
    "also",
    "an",
    "and",
    "are",
    "at",
    "be",
    "can",
    "changes",
    "could",
    "do",
    "does",
    "everything",
    "for",
    "i",
    "in",
    "is",
    "it",
    "its",
    "just",
    "let",
    "lets",
    "me",
    "my",
    "now",
    "of",
    "on",
    "or",
    "our",
    "please",
    "pls",
    "s",
    "should",
    "so",
    "some",
    "that",
    "the",
    "them",
    "then",
    "these",
    "this",
    "those",
    "to",
    "up",
    "us",
    "we",
    "will",
    "with",
    "would",
    "you",
    "your",
];

/// Words that tell the agent to continue with what it proposed.
const GO_ON: [&str; 14] = [
    "absolutely",
    "ahead",
    "continue",
    "go",
    "going",
    "keep",
    "next",
    "ok",
    "okay",
    "proceed",
    "sure",
    "yeah",
    "yep",
    "yes",
];

/// Words that turn a request into its opposite, so both texts must have them.
const NEGATIONS: [&str; 8] = ["not", "no", "never", "without", "dont", "cannot", "except", "stop"];

impl Match {
    pub(crate) fn of(suggestion: &Suggestion, typed: &str) -> Self {
        if suggestion.is_same_as(typed) {
            return Self::Exact;
        }
        let (one, other) = (words(suggestion.as_str()), words(typed));
        if one.is_empty() || other.is_empty() || negations(&one) != negations(&other) {
            return Self::None;
        }
        if normal(suggestion.as_str()) == normal(typed) {
            return Self::Same;
        }
        let (short, long) = if one.len() <= other.len() { (&one, &other) } else { (&other, &one) };
        if long.starts_with(short) && long.len() <= 2 * short.len() {
            return Self::Start;
        }
        if is_same_request(&one, &other) { Self::Words } else { Self::None }
    }

    /// Whether the suggestion is the prompt itself.
    pub(crate) fn is_hit(self) -> bool {
        Self::Same <= self
    }
}

/// Whether enough words are in both texts, compared with all words of both, each counted once (the coefficient of
/// Dice). Two texts that only say to go on are the same request.
fn is_same_request(one: &[String], other: &[String]) -> bool {
    let (one, other) = (meaning(one), meaning(other));
    let goes_on = |words: &BTreeSet<String>| {
        !words.is_empty() && words.iter().all(|word| GO_ON.contains(&word.as_str()))
    };
    if goes_on(&one) && goes_on(&other) {
        return true;
    }
    let shared = one.intersection(&other).count();
    #[expect(clippy::cast_precision_loss, reason = "a prompt has few words")]
    let share = 2.0 * shared as f64 / (one.len() + other.len()).max(1) as f64;
    ENOUGH <= share
}

/// The words in lower case, in order.
fn words(text: &str) -> Vec<String> {
    let text = text.to_lowercase().replace("n't", " not").replace("n\u{2019}t", " not");
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

/// The words that matter for what is requested, without the `s` of a plural.
fn meaning(words: &[String]) -> BTreeSet<String> {
    let words = words.iter().filter(|word| !FILLERS.contains(&word.as_str()));
    words
        .map(|word| match word.strip_suffix('s') {
            Some(one) if 3 <= one.len() && !one.ends_with('s') => one.to_owned(),
            _ => word.clone(),
        })
        .collect()
}

fn negations(words: &[String]) -> BTreeSet<&str> {
    words.iter().map(String::as_str).filter(|word| NEGATIONS.contains(word)).collect()
}

/// The text in lower case, with single blanks, and without anything around it that is neither letter nor digit.
fn normal(text: &str) -> String {
    let text = text.to_lowercase();
    let blank = text.split_whitespace().collect::<Vec<_>>().join(" ");
    // Punctuation within the text counts: `a-b` is not `a b`.
    blank.trim_matches(|c: char| !c.is_alphanumeric()).to_owned()
}

#[cfg(test)]
mod tests {
    use headstart_followup_state::filter;

    use super::*;

    #[test]
    fn a_suggestion_is_as_much_of_the_prompt_as_its_words_are() {
        let cases = [
            ("run the tests", "run the tests", Match::Exact),
            ("run the tests", " run the tests. ", Match::Exact),
            ("run the tests", "Run the  tests!", Match::Same),
            ("commit this", "`Commit this`", Match::Same),
            ("run the tests", "run the tests again, please", Match::Start),
            ("run the tests again", "run the tests", Match::Start),
            ("run the tests", "please run all tests", Match::Words),
            ("commit this", "now commit the changes", Match::Words),
            ("run the unit tests", "run the tests", Match::Words),
            ("go on", "yes, go ahead", Match::Words),
            ("continue with it", "ok", Match::Words),
            ("führe die Tests aus", "Führe die Tests aus!", Match::Same),
            // A text that goes on much longer after the same beginning is another request.
            ("run the tests", "run the tests and fix whatever fails in the parser", Match::None),
            ("add tests for the parser module", "add docs for the parser module", Match::None),
            ("fix the typo", "fix the bug", Match::None),
            ("go on", "yes, and add a test for it", Match::None),
            // The opposite request has nearly the same words.
            ("commit this", "don't commit this", Match::None),
            ("push it now", "do not push it now", Match::None),
            ("commit this now", "commit this, but without the lock file", Match::None),
            ("run the tests", "", Match::None),
            ("run the tests", "…", Match::None),
        ];
        for (suggestion, typed, expected) in cases {
            let suggestion = filter(suggestion).unwrap();
            assert_eq!(Match::of(&suggestion, typed), expected, "{} / {typed}", suggestion.as_str());
        }
    }
}
