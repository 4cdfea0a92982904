//! Clauses and phrases: where one begins and ends, in scripts with and without spaces.

use super::script::is_unspaced;

/// The parts between commas, full stops and dashes, trimmed, without empty ones.
pub(super) fn clauses(folded: &str) -> impl Iterator<Item = &str> {
    let mut rest = folded;
    std::iter::from_fn(move || {
        while !rest.is_empty() {
            let (clause, tail) = cut(rest);
            rest = tail;
            let clause = edge_trimmed(clause);
            if !clause.is_empty() {
                return Some(clause);
            }
        }
        None
    })
}

fn cut(text: &str) -> (&str, &str) {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        if ends_clause(c, next) {
            return (&text[..at], &text[at + c.len_utf8()..]);
        }
    }
    (text, "")
}

/// An ASCII mark ends a clause before a space, at the end and before a script without spaces; the dot of `main.rs`
/// ends none.
fn ends_clause(c: char, next: Option<char>) -> bool {
    match c {
        '.' | ',' | ';' | ':' | '!' | '?' | ')' | '(' => {
            next.is_none_or(|next| next == ' ' || is_unspaced(next))
        }
        '—' | '–' | '…' | '。' | '、' | '，' | '；' | '｡' | '،' | '؛' | '۔' | '।' | '॥' | '~' | '～' => {
            true
        }
        _ => false,
    }
}

/// The text without punctuation, symbols and spaces at both ends.
pub(super) fn edge_trimmed(text: &str) -> &str {
    text.trim_matches(|c: char| !c.is_alphanumeric() && !super::script::is_mark(c))
}

/// Whether `text` begins with `phrase` as whole words.
pub(super) fn starts_with_phrase(text: &str, phrase: &str) -> bool {
    after_phrase(text, phrase).is_some()
}

/// What follows `phrase` at the start of `text`, when the phrase is whole words there.
pub(crate) fn after_phrase<'t>(text: &'t str, phrase: &str) -> Option<&'t str> {
    let rest = text.strip_prefix(phrase)?;
    let last = phrase.chars().next_back()?;
    let next = rest.chars().next();
    let ends = !last.is_alphanumeric() || is_unspaced(last) || next.is_none_or(|next| !continues_word(next));
    ends.then_some(rest)
}

/// Whether `text` ends with `phrase` as whole words.
pub(crate) fn ends_with_phrase(text: &str, phrase: &str) -> bool {
    let Some(rest) = text.strip_suffix(phrase) else { return false };
    let Some(first) = phrase.chars().next() else { return false };
    is_unspaced(first) || rest.chars().next_back().is_none_or(|last| !continues_word(last))
}

/// Whether `text` contains `phrase` as whole words.
pub(crate) fn contains_phrase(text: &str, phrase: &str) -> bool {
    text.match_indices(phrase).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let first = phrase.chars().next();
        let opens = first.is_none_or(is_unspaced) || before.is_none_or(|before| !continues_word(before));
        opens && starts_with_phrase(&text[at..], phrase)
    })
}

fn continues_word(c: char) -> bool {
    (c.is_alphanumeric() && !is_unspaced(c)) || c == '_' || c == '-' || super::script::is_mark(c)
}
