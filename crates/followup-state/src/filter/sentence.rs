use super::reading::Reading;
use super::script::is_unspaced;
use crate::lexicon;

/// Whether the text has more than one sentence.
pub(super) fn has_several(reading: &Reading<'_>) -> bool {
    let text = reading.text;
    text.char_indices().any(|(at, c)| {
        let before = &text[..at];
        let after = &text[at + c.len_utf8()..];
        match c {
            '。' | '｡' | '．' | '！' | '？' | '।' | '॥' | '۔' | '؟' | '։' | '።' | '។' | '။' => {
                starts_sentence(after)
            }
            '.' | '!' | '?' | '…' => ends_sentence(c, before, after),
            _ => false,
        }
    })
}

fn ends_sentence(mark: char, before: &str, after: &str) -> bool {
    let next = after.trim_start_matches(is_closing).chars().next();
    let Some(next) = next else { return false };
    if !next.is_whitespace() {
        // Without a space, a sentence ends only between letters of a script without spaces, or before a capital that
        // is not Latin.
        let last = before.chars().next_back();
        let unspaced = is_unspaced(next) && last.is_some_and(is_unspaced);
        return unspaced || (next.is_uppercase() && !next.is_ascii() && last.is_some_and(char::is_lowercase));
    }
    let rest = after.trim_start_matches(is_closing).trim_start_matches(|c: char| !c.is_alphanumeric());
    let Some(first) = rest.chars().next() else { return false };
    let caseless = first.is_alphabetic() && !first.is_lowercase() && !first.is_uppercase();
    let opens =
        first.is_uppercase() || (caseless && before.chars().any(|c| c.is_alphabetic() && !c.is_ascii()));
    opens && !(mark == '.' && is_abbreviation(before, rest))
}

fn starts_sentence(after: &str) -> bool {
    after.chars().any(char::is_alphanumeric)
}

fn is_closing(c: char) -> bool {
    matches!(c, ')' | ']' | '}' | '"' | '\'' | '”' | '’' | '»' | '」' | '』' | '）' | '】')
        || matches!(c, '.' | '!' | '?' | '…')
}

/// Whether the dot after `before` belongs to its word, with `rest` the text that follows.
fn is_abbreviation(before: &str, rest: &str) -> bool {
    let token = before.rsplit(char::is_whitespace).next().unwrap_or_default();
    let token = token.trim_start_matches(|c: char| !c.is_alphanumeric());
    if token.is_empty() {
        return false;
    }
    if lexicon::TITLES.contains(token) || lexicon::ABBREVIATIONS.contains(&token.to_lowercase()) {
        return true;
    }
    // The number of a list item ("1. Run the tests") ends no sentence; the formatting rule refuses it.
    if token.len() == before.len() && token.chars().all(|c| c.is_ascii_digit()) {
        return true;
    }
    let word: String = rest.chars().take_while(|c| c.is_alphabetic() || *c == '\'').collect();
    if lexicon::SENTENCE_STARTERS.contains(&word.to_lowercase()) {
        return false;
    }
    is_initials(token) || is_version(token)
}

/// `U.S`, `J`, `Ph.D`.
fn is_initials(token: &str) -> bool {
    token == "Ph.D"
        || token.split('.').all(|part| {
            let mut chars = part.chars();
            chars.next().is_some_and(char::is_alphabetic) && chars.next().is_none()
        })
}

/// `2.0`, `v1.2`, `1.0.0-rc1`.
fn is_version(token: &str) -> bool {
    let digits = token.trim_start_matches(['v', 'V']);
    digits.starts_with(|c: char| c.is_ascii_digit())
        && (digits.contains('.') || digits.len() < token.len())
        && digits.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+'))
}
