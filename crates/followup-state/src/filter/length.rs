use super::clause::edge_trimmed;
use super::reading::Reading;
use super::script::{is_cjk, is_latin, is_long_unspaced, is_mark, is_unspaced};
use super::{MAX_CHARACTERS, MAX_UNSPACED, MAX_UNSPACED_LONG, MAX_WORDS};
use crate::lexicon;

/// What is counted of a text: words in scripts with spaces, characters in scripts without.
#[derive(Default)]
struct Count {
    words: usize,
    cjk: usize,
    long_unspaced: usize,
}

fn count(text: &str) -> Count {
    let mut count = Count::default();
    let mut in_word = false;
    for c in text.chars() {
        if c.is_whitespace() {
            in_word = false;
        } else if is_mark(c) {
            // belongs to the character before it
        } else if is_cjk(c) {
            count.cjk += 1;
            in_word = false;
        } else if is_long_unspaced(c) {
            count.long_unspaced += usize::from(c.is_alphanumeric());
            in_word = false;
        } else if c.is_alphanumeric() && !in_word {
            count.words += 1;
            in_word = true;
        }
    }
    count
}

pub(super) fn has_too_few_words(reading: &Reading<'_>) -> bool {
    let count = count(reading.text);
    match (count.words, count.cjk + count.long_unspaced) {
        (1, 0) => !is_order(reading.bare()),
        (words, characters) => words + characters < 2,
    }
}

/// Whether one word alone is an order.
fn is_order(word: &str) -> bool {
    if lexicon::any(|language| language.one_word, |order| word == order) {
        return true;
    }
    let letters = word.chars().filter(|c| c.is_alphabetic()).count();
    let other_script = word.chars().all(|c| !is_latin(c) && !is_unspaced(c) && !c.is_ascii_digit());
    other_script && 2 <= letters
}

pub(super) fn has_too_many_words(reading: &Reading<'_>) -> bool {
    let count = count(reading.text);
    MAX_WORDS < count.words || MAX_UNSPACED < count.cjk || MAX_UNSPACED_LONG < count.long_unspaced
}

pub(super) fn is_too_long(reading: &Reading<'_>) -> bool {
    MAX_CHARACTERS <= reading.text.chars().filter(|c| !is_mark(*c)).count()
}

/// The words of a folded text, punctuation at their edges dropped.
pub(super) fn words(folded: &str) -> impl Iterator<Item = &str> {
    folded.split(' ').map(edge_trimmed).filter(|word| !word.is_empty())
}
