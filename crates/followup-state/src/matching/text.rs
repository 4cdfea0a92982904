//! A prompt in the forms in which it is compared: softened (lower case, no accents, punctuation still there), and as
//! words (no punctuation, single blanks).

use crate::filter::{is_unspaced, plain};

/// A softened text, which knows where in the original each of its bytes was.
pub(super) struct Soft {
    pub(super) text: String,
    places: Vec<usize>,
}

impl Soft {
    pub(super) fn new(original: &str) -> Self {
        let mut soft = Self { text: String::with_capacity(original.len()), places: Vec::new() };
        for (place, c) in original.char_indices() {
            soft.push(c);
            soft.places.resize(soft.text.len(), place);
        }
        soft
    }

    /// Where in the original the byte `at` of the softened text was.
    pub(super) fn place(&self, at: usize) -> usize {
        self.places.get(at).copied().unwrap_or(usize::MAX)
    }

    fn push(&mut self, c: char) {
        match c {
            // A new line separates as a semicolon does.
            '\n' | '\r' => self.text.push(';'),
            '¿' | '؟' | '⁇' | '⁈' | '⁉' | '‽' | '︖' | '﹖' => self.text.push('?'),
            '\u{300}'..='\u{36F}' => {}
            '①'..='⑨' => self.text.extend(char::from_digit(u32::from(c) - 0x245F, 10)),
            _ => {
                for lower in plain(c).to_lowercase() {
                    match lower {
                        '\'' => {}
                        'ß' => self.text.push_str("ss"),
                        'œ' => self.text.push_str("oe"),
                        'æ' => self.text.push_str("ae"),
                        _ => self.text.push(without_accent(lower)),
                    }
                }
            }
        }
    }
}

/// Letters by the letter that they are compared as.
const ACCENTS: &[(&str, char)] = &[
    ("àáâãäåāăą", 'a'),
    ("çćĉčċ", 'c'),
    ("ďđ", 'd'),
    ("èéêëēĕėęě", 'e'),
    ("ğĝġģ", 'g'),
    ("ìíîïĩīĭįı", 'i'),
    ("łľĺļ", 'l'),
    ("ñńňņ", 'n'),
    ("òóôõöøōŏő", 'o'),
    ("řŕ", 'r'),
    ("śšşŝș", 's'),
    ("ťţț", 't'),
    ("ùúûüũūŭůűų", 'u'),
    ("ýÿŷ", 'y'),
    ("źżž", 'z'),
    ("ё", 'е'),
];

fn without_accent(c: char) -> char {
    if c.is_ascii() {
        return c;
    }
    ACCENTS.iter().find(|(letters, _)| letters.contains(c)).map_or(c, |(_, plain)| *plain)
}

/// The words of a softened text, separated by single blanks. Marks that could be part of a name, a path, an option, a
/// number or a range stay, so that a text with one equals none without it; a question mark is a word.
pub(super) fn words(soft: &str) -> String {
    let chars: Vec<char> = soft.chars().collect();
    let mut words = String::with_capacity(soft.len() + 8);
    for (at, c) in chars.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| chars[before]);
        let after = chars.get(at + 1).copied();
        match c {
            '?' => words.push_str(" ? "),
            '&' | '+' => words.push_str(" & "),
            '-' | '–' | '—' | '…' if is_range(&chars, at) => words.push('-'),
            '-' if after.is_some_and(|after| after.is_alphanumeric() || after == '-') => words.push('-'),
            '.' if is_inner_dot(before, after) => words.push('.'),
            ':' if before.is_some_and(char::is_numeric) && after.is_some_and(char::is_numeric) => {
                words.push(':');
            }
            '#' if after.is_some_and(char::is_numeric) => {}
            '-' | '–' | '—' | '…' | '.' | ':' | ',' | ';' | '!' | '(' | ')' | '[' | ']' | '{' | '}' | '"'
            | '`' | '*' | '。' | '｡' | '、' | '・' | '·' | '「' | '」' | '『' | '』' | '«' | '»' | '„'
            | '،' | '।' => {
                words.push(' ');
            }
            _ => {
                let joins = before.is_some_and(|before| {
                    before.is_alphanumeric() && c.is_alphanumeric() && is_unspaced(before) != is_unspaced(*c)
                });
                if joins {
                    words.push(' ');
                }
                words.push(*c);
            }
        }
    }
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a dash stands between two numbers, as in `3-5` and `3 – 5`.
fn is_range(chars: &[char], at: usize) -> bool {
    let is_number = |c: Option<&char>| c.is_some_and(|c| c.is_numeric());
    is_number(chars[..at].iter().rfind(|c| !c.is_whitespace()))
        && is_number(chars[at + 1..].iter().find(|c| !c.is_whitespace()))
}

/// Whether a dot belongs to a word: `main.rs`, `.env`, `3.5`, `2..4`.
fn is_inner_dot(before: Option<char>, after: Option<char>) -> bool {
    let joins = |c: char| c.is_alphanumeric() && !is_unspaced(c);
    match (before, after) {
        (Some(before), Some('.')) => before.is_numeric(),
        (None | Some(' ' | '.' | '/'), Some(after)) => joins(after),
        (Some(before), Some(after)) => joins(before) && joins(after),
        _ => false,
    }
}

/// Whether two texts in words are the same; blanks inside a script without spaces do not count.
pub(super) fn same(one: &str, other: &str) -> bool {
    let mut one = squeezed(one);
    let mut other = squeezed(other);
    loop {
        match (one.next(), other.next()) {
            (None, None) => return true,
            (a, b) if a == b => {}
            _ => return false,
        }
    }
}

fn squeezed(words: &str) -> impl Iterator<Item = char> {
    let mut before = None;
    let mut chars = words.chars().peekable();
    std::iter::from_fn(move || {
        loop {
            let c = chars.next()?;
            let splits = |side: Option<char>| side.is_some_and(is_unspaced);
            if c == ' ' && splits(before) && splits(chars.peek().copied()) {
                continue;
            }
            before = Some(c);
            return Some(c);
        }
    })
}
