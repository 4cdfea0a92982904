//! Words that add to a guess, and words that turn it into something else.

use super::Prepared;
use super::sign::Taken;
use super::text::{Soft, words};
use super::words::{
    ADDS, ADDS_ALWAYS, ADDS_AT_END, NUMBERS, TURNS, TURNS_AT_START, TURNS_UNSPACED, YES, after_any,
    before_any, is_made_of, meaningful, without_politeness,
};
use crate::filter::{contains_phrase, is_unspaced};
use crate::lexicon::List;

/// How many places of a text are looked at.
const MAX_PLACES: usize = 12;
/// What is added as a sentence of its own has at least this many words, or twice as many characters without spaces.
const LEAST_WORDS: usize = 2;

/// Whether the text holds a phrase of the list.
fn holds_any(words: &str, list: List) -> bool {
    list.any(|phrase| contains_phrase(words, phrase))
}

/// Whether words in a script without spaces narrow an order or turn it.
pub(super) fn has_unspaced_turn(words: &str) -> bool {
    // A Korean word that ends in this particle is narrowed by it.
    TURNS_UNSPACED.any(|part| words.contains(part)) || words.split(' ').any(|word| word.ends_with('만'))
}

/// Whether a guess asks for more than a yes or an option: it adds to one, or turns it.
pub(super) fn is_more(guess: &str, is_choice: bool) -> bool {
    let is_number = |word: &str| is_choice && NUMBERS.iter().any(|(_, list)| list.contains(word));
    let turned = guess.split(' ').filter(|word| !is_number(word)).any(|word| TURNS.contains(word));
    !is_made_of(guess, YES) && (turned || guess.contains('?') || has_unspaced_turn(guess))
        || holds_any(guess, ADDS_ALWAYS)
}

/// Whether the text is a yes and something that is added to it.
pub(super) fn adds_to_a_yes(soft: &str) -> bool {
    // "go ahead and do it" adds nothing.
    let soft = soft.trim_start().strip_prefix("go ahead and ").unwrap_or(soft);
    first_parts(soft).any(|first| is_made_of(&first, YES))
}

/// Whether the text is a sign and something that is added to it.
pub(super) fn adds_to_a_sign(soft: &str, taken: &Taken) -> bool {
    first_parts(soft).any(|first| taken.is_taken_by(without_politeness(&first)))
}

/// What stands before each word of [`ADDS`].
fn first_parts(soft: &str) -> impl Iterator<Item = String> {
    let divisions = divisions(soft).into_iter().filter(|division| division.how == How::Word);
    divisions.map(|division| words(&soft[..division.end])).filter(|first| !first.is_empty())
}

/// A place at which a text may be divided into a guess and what is added to it.
struct Division {
    /// The end of the first part, in bytes of the softened text.
    end: usize,
    /// The beginning of what is added, without what joins it.
    start: usize,
    how: How,
}

#[derive(Clone, Copy, PartialEq)]
enum How {
    /// A word of [`ADDS`].
    Word,
    /// A comma, with a word of [`ADDS_AT_END`] at the end.
    AtEnd,
    /// The end of a sentence.
    Sentence,
}

/// The bytes of `typed` at which the words for the guess end and what is added to it begins, if something is.
pub(super) fn added_at(prepared: &Prepared, typed: &str) -> Option<(usize, usize)> {
    let soft = Soft::new(typed);
    let division = divisions(&soft.text).into_iter().find(|division| {
        let first = words(&soft.text[..division.end]);
        !first.is_empty() && prepared.same_work(&first).is_some() && adds(prepared, &soft.text, division)
    })?;
    Some((soft.place(division.end), soft.place(division.start)))
}

fn divisions(soft: &str) -> Vec<Division> {
    let mut found = Vec::new();
    let mut before = None;
    for (at, c) in soft.char_indices() {
        if MAX_PLACES <= found.len() {
            break;
        }
        let begins = before.is_none_or(|before: char| !before.is_alphanumeric() || is_unspaced(c));
        let joined = begins.then(|| joined_at(soft, at)).flatten();
        let behind = at + c.len_utf8();
        if 0 < at
            && let Some(start) = joined
        {
            found.push(Division { end: at, start, how: How::Word });
        } else if c == ',' && before_any(soft.trim_end_matches(['.', '!', ' ']), ADDS_AT_END).is_some() {
            found.push(Division { end: at, start: behind, how: How::AtEnd });
        } else if matches!(c, '.' | '!' | ';' | '。') {
            let blanks = soft[behind..].len() - soft[behind..].trim_start().len();
            let (start, how) = match joined_at(soft, behind + blanks) {
                Some(start) => (start, How::Word),
                None => (behind, How::Sentence),
            };
            found.push(Division { end: at, start, how });
        }
        before = Some(c);
    }
    found
}

/// Where what is added begins, if words of [`ADDS`] stand here.
fn joined_at(soft: &str, at: usize) -> Option<usize> {
    let mut rest = after_any(&soft[at..], ADDS)?;
    while let Some(after) = after_any(rest, ADDS) {
        rest = after;
    }
    Some(soft.len() - rest.len())
}

/// Whether what stands behind the division only adds.
fn adds(prepared: &Prepared, soft: &str, division: &Division) -> bool {
    let with_joint = words(&soft[division.end..]);
    let added = words(&soft[division.start..]);
    let Some(first) = meaningful(&added).next() else { return false };
    let own = |word: &str| prepared.words.split(' ').any(|own| own == word);
    let turned = added.split(' ').any(|word| TURNS.contains(word) && !own(word));
    let begins = |turn: &str| first == turn || turn.starts_with(is_unspaced) && first.starts_with(turn);
    let asks = added.contains('?') || TURNS_AT_START.any(begins) && !own(first);
    let is_sign_first = prepared.taken.as_ref().is_some_and(|taken| taken.is_sign_first(&added));
    if turned || asks || has_unspaced_turn(&with_joint) || is_sign_first {
        return false;
    }
    let is_long = LEAST_WORDS <= meaningful(&added).count()
        || 2 * LEAST_WORDS <= added.chars().filter(|c| is_unspaced(*c)).count();
    // A sentence that speaks of the same things may narrow it.
    division.how != How::Sentence || is_long && !meaningful(&added).any(own)
}
