//! Options by their signs: `2`, `option 2`, `b)`, `the second`, `3 and 5`.

use std::collections::BTreeSet;

use super::text::words;
use super::words::{AROUND_SIGN, JOINS_SIGNS, NUMBERS, after_any, meaningful, without_politeness};

/// The most bytes of a sign.
pub(super) const MAX_SIGN_BYTES: usize = 40;
/// The most digits of a number that is a sign.
const MAX_DIGITS: usize = 3;

type Signs = BTreeSet<String>;

/// An option that a guess takes.
pub(super) struct Taken {
    signs: Signs,
    /// The guess's own words before its sign ("fix findings"), and those behind it, which name the option.
    before: Vec<String>,
    after: Vec<String>,
    /// The name alone, if the guess is the sign and then the name.
    pub(super) name: Option<String>,
}

/// A text read as signs, and its words besides.
struct Reading {
    signs: Signs,
    before: Vec<String>,
    after: Vec<String>,
}

impl Taken {
    /// The option that a guess takes by the sign that the model gave; `None` if the guess says another one.
    pub(super) fn new(guess: &str, sign: &str) -> Option<Self> {
        if MAX_SIGN_BYTES < sign.len() {
            return None;
        }
        let signs = read(&words(sign), &Signs::new())?;
        // A sign that is no number is its own word: `B`, `redis`.
        let signs = match (signs.signs.is_empty(), &signs.before[..]) {
            (false, []) if signs.after.is_empty() => signs.signs,
            (true, [word]) => Signs::from([word.clone()]),
            _ => letters(&words(sign))?,
        };
        let (head, tail) = guess.split_once([',', ':', '、']).unwrap_or((guess, ""));
        let said = read(without_politeness(&words(head)), &signs)?;
        let tail = words(tail);
        let named = meaningful(&tail).map(str::to_owned);
        if said.signs.is_empty() {
            let head = said.before.iter().flat_map(|word| meaningful(word)).map(str::to_owned);
            let all: Vec<String> = head.chain(named).collect();
            let says_another = all.iter().any(|word| word.chars().all(char::is_numeric));
            return (!says_another).then(|| Self { signs, before: Vec::new(), after: all, name: None });
        }
        if said.signs != signs {
            return None;
        }
        let is_bare = said.before.is_empty() && said.after.is_empty();
        let name = (is_bare && !tail.is_empty()).then_some(tail.clone());
        Some(Self { signs, before: said.before, after: [said.after, named.collect()].concat(), name })
    }

    /// Whether these words take the same option and nothing else.
    pub(super) fn is_taken_by(&self, typed: &str) -> bool {
        let Some(said) = read(typed, &self.signs) else { return false };
        said.signs == self.signs
            && (holds(&self.before, &said.before) && holds(&self.after, &said.after)
                || said.before == self.after && said.after.is_empty())
    }

    /// Whether the text begins with a sign, the same or another one.
    pub(super) fn is_sign_first(&self, text: &str) -> bool {
        let mut rest = text;
        while let Some(after) = after_any(rest, AROUND_SIGN).filter(|after| !after.is_empty()) {
            rest = after;
        }
        let Some((sign, after)) = next_sign(rest, &self.signs) else { return false };
        // "a note" holds an article, not the option A.
        let is_article = sign == "a" && !after.is_empty() && after_any(after, JOINS_SIGNS).is_none();
        !is_article
    }
}

/// Whether the text is made of numbers that are signs, and of words around them.
pub(super) fn is_only_signs(text: &str) -> bool {
    let signs = read(text, &Signs::new());
    signs.is_some_and(|read| !read.signs.is_empty() && read.before.is_empty() && read.after.is_empty())
}

/// Whether `part` stands in `whole`, in one piece.
fn holds(whole: &[String], part: &[String]) -> bool {
    part.is_empty() || whole.windows(part.len()).any(|window| window == part)
}

/// Single letters that are signs.
fn letters(text: &str) -> Option<Signs> {
    let tokens = text.split(' ').filter(|token| !JOINS_SIGNS.contains(token) && !AROUND_SIGN.contains(token));
    let found: Signs = tokens.map(str::to_owned).collect();
    let are_letters = found.iter().all(|token| token.len() == 1 && token.is_ascii());
    (!found.is_empty() && are_letters).then_some(found)
}

/// Reads a text as signs; `None` if a sign comes twice or something is joined to no sign. `known` are the signs that
/// may be words or letters.
fn read(text: &str, known: &Signs) -> Option<Reading> {
    let mut reading = Reading { signs: Signs::new(), before: Vec::new(), after: Vec::new() };
    let mut rest = text.trim();
    let (mut is_behind_sign, mut is_joined) = (false, false);
    // Alone it is a number; elsewhere "one" is a pronoun.
    if rest == "one" {
        rest = "1";
    }
    while !rest.is_empty() {
        if let Some((sign, after)) = next_sign(rest, known) {
            if !reading.signs.insert(sign) {
                return None;
            }
            (is_behind_sign, is_joined, rest) = (true, false, after);
        } else if is_behind_sign && let Some(after) = after_any(rest, JOINS_SIGNS) {
            (is_behind_sign, is_joined, rest) = (false, true, after);
        } else if let Some(after) = after_any(rest, AROUND_SIGN) {
            rest = after;
        } else {
            let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
            // Before a sign a pronoun means something else: "do that first".
            if reading.signs.is_empty() {
                reading.before.push(word.to_owned());
            } else {
                reading.after.extend(meaningful(word).map(str::to_owned));
            }
            (is_behind_sign, rest) = (false, after);
        }
    }
    (!is_joined).then_some(reading)
}

/// The sign at the start of the text, and what follows it.
fn next_sign<'t>(text: &'t str, known: &Signs) -> Option<(String, &'t str)> {
    let (token, after) = text.split_once(' ').unwrap_or((text, ""));
    let is_letter =
        |token: &str| token.len() == 1 && token.is_ascii() && token.chars().all(char::is_alphabetic);
    if known.contains(token) || is_letter(token) && known.iter().any(|sign| is_letter(sign)) {
        return Some((token.to_owned(), after));
    }
    if token.len() <= MAX_DIGITS && token.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some((token.to_owned(), after));
    }
    let numbers = NUMBERS.iter().filter_map(|(number, list)| Some((*number, after_any(text, *list)?)));
    let (number, after) = numbers.min_by_key(|(_, after)| after.len())?;
    let around = after_any(text, AROUND_SIGN);
    // The longer phrase is meant.
    around.is_none_or(|around| after.len() <= around.len()).then(|| (number.to_owned(), after))
}
