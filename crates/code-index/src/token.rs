//! Splits text into tokens. The same function is used for what is indexed and for queries.

use std::borrow::Cow;

use snowball_stemmers_rs::{Algorithm, Stemmer};

/// A longer token is noise, such as encoded data or hashes.
const LONGEST: usize = 100;
/// The most parts of an identifier that become tokens.
const MOST_PARTS: usize = 24;

/// Gives every token of a text, in order, to `each`.
///
/// An identifier gives its parts (`parseHTTPRequest2`, `parse_http_request`: parse, http, request), each in lower
/// case and stemmed, and, if it has several, also itself without `_`. A run of Chinese, Japanese or Korean
/// characters, which has no blanks between words, gives each pair of neighbours. Tokens of one Latin letter or digit
/// are left out.
pub(crate) fn tokens(text: &str, mut each: impl FnMut(&str)) {
    let mut splitter = Splitter::default();
    identifiers(text, |run| splitter.split(run, &mut each));
}

/// The identifier as one token, as it stands behind its parts.
pub fn whole(identifier: &str) -> String {
    let mut last = String::new();
    tokens(identifier, |token| {
        last.clear();
        last.push_str(token);
    });
    last
}

/// Gives every run of letters, digits and `_`.
pub(crate) fn identifiers<'a>(text: &'a str, mut each: impl FnMut(&'a str)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        while at < bytes.len() {
            let byte = bytes[at];
            if byte.is_ascii() {
                if !(byte.is_ascii_alphanumeric() || byte == b'_') {
                    break;
                }
                at += 1;
            } else {
                let Some(sign) = text[at..].chars().next() else { break };
                if !sign.is_alphanumeric() && !is_mark(sign) {
                    break;
                }
                at += sign.len_utf8();
            }
        }
        if start < at {
            each(&text[start..at]);
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
}

/// Whether it is a combining mark, which belongs to the letter before it.
fn is_mark(sign: char) -> bool {
    matches!(sign, '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{20d0}'..='\u{20ff}')
}

/// Whether it belongs to a script that has no blanks between words.
pub(crate) fn is_cjk(sign: char) -> bool {
    matches!(sign,
        '\u{2e80}'..='\u{2fdf}'
        | '\u{3005}'..='\u{3007}'
        | '\u{3040}'..='\u{30ff}'
        | '\u{3100}'..='\u{312f}'
        | '\u{31a0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}'
        | '\u{ff66}'..='\u{ff9f}'
        | '\u{20000}'..='\u{3ffff}')
}

/// The buffers for splitting a text.
#[derive(Default)]
struct Splitter {
    part: String,
    whole: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CharClass {
    Lower,
    Upper,
    Digit,
    Underscore,
}

impl Splitter {
    fn split(&mut self, run: &str, each: &mut impl FnMut(&str)) {
        if run.is_ascii() {
            self.split_word(run, each);
            return;
        }
        // A run may mix scripts: `auth认证`.
        let mut rest = run;
        while let Some(first) = rest.chars().next() {
            let cjk = is_cjk(first);
            let end = rest.find(|sign| is_cjk(sign) != cjk).unwrap_or(rest.len());
            let (part, after) = rest.split_at(end);
            if cjk {
                bigrams(part, each);
            } else {
                self.split_word(part, each);
            }
            rest = after;
        }
    }

    fn split_word(&mut self, word: &str, each: &mut impl FnMut(&str)) {
        // This is encoded data, because a word of any script is far shorter.
        if 4 * LONGEST < word.len() {
            return;
        }
        self.whole.clear();
        let mut parts = 0;
        let mut signs = word.char_indices().peekable();
        let mut start = 0;
        let mut before = CharClass::Underscore;
        while let Some((at, sign)) = signs.next() {
            let sort = sort(sign);
            let next = signs.peek().map(|(_, next)| self::sort(*next));
            // `HTTPServer` is HTTP and Server: the last capital belongs to what follows.
            let ends_capitals =
                before == CharClass::Upper && sort == CharClass::Upper && next == Some(CharClass::Lower);
            let ends = match (before, sort) {
                (CharClass::Underscore, _)
                | (_, CharClass::Underscore)
                | (CharClass::Lower, CharClass::Upper) => true,
                (CharClass::Digit, now) | (now, CharClass::Digit) => now != CharClass::Digit,
                _ => ends_capitals,
            };
            if ends {
                parts += usize::from(self.part(&word[start..at], parts, each));
                start = at;
            }
            before = sort;
        }
        parts += usize::from(self.part(&word[start..], parts, each));
        if 1 < parts && self.whole.len() <= LONGEST {
            stem(&mut self.whole);
            each(&self.whole);
        }
    }

    /// Emits one part; `false` if it is not a token.
    fn part(&mut self, text: &str, parts: usize, each: &mut impl FnMut(&str)) -> bool {
        let text = text.trim_matches('_');
        if text.is_empty() {
            return false;
        }
        self.part.clear();
        if text.is_ascii() {
            self.part.push_str(text);
            self.part.make_ascii_lowercase();
        } else {
            self.part.extend(text.chars().flat_map(char::to_lowercase));
        }
        self.whole.push_str(&self.part);
        if 1 < self.part.len() && self.part.len() <= LONGEST && parts < MOST_PARTS {
            stem(&mut self.part);
            each(&self.part);
        }
        true
    }
}

/// Leaves of an English word what its forms have in common: of "caching" and "caches", "cach".
fn stem(word: &mut String) {
    if word.bytes().all(|byte| byte.is_ascii_lowercase())
        && let Cow::Owned(stem) = Stemmer::create(Algorithm::English).stem(word)
    {
        *word = stem;
    }
}

fn sort(sign: char) -> CharClass {
    match sign {
        'a'..='z' => CharClass::Lower,
        'A'..='Z' => CharClass::Upper,
        '0'..='9' => CharClass::Digit,
        '_' => CharClass::Underscore,
        _ if sign.is_uppercase() => CharClass::Upper,
        _ if sign.is_numeric() => CharClass::Digit,
        _ => CharClass::Lower,
    }
}

fn bigrams(run: &str, each: &mut impl FnMut(&str)) {
    let mut ends = run.char_indices().map(|(at, sign)| at + sign.len_utf8());
    let (Some(first), Some(mut end)) = (ends.next(), ends.next()) else {
        each(run);
        return;
    };
    let (mut start, mut middle) = (0, first);
    loop {
        each(&run[start..end]);
        let Some(next) = ends.next() else { return };
        (start, middle, end) = (middle, end, next);
    }
}

#[cfg(test)]
mod tests;
