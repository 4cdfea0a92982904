//! Texts that are known except for the value of some words: a line number in a script of sed, or an object's name in
//! a revision.

use super::{Arg, Shape};

/// Templates with more words than this are not followed, because each word has several readings.
const MAX_WORDS: usize = 3;
/// Samples that stand for any number, and for any word that need not be a number.
const NUMBER: &[u8] = b"31";
const WORD: &[u8] = b"4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/// Bytes, with words of unknown value between them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Template {
    bytes: Vec<u8>,
    /// The words, by their offsets in the bytes.
    words: Vec<(usize, UnknownWord)>,
}

#[derive(Debug, Clone, Copy)]
struct UnknownWord {
    number: bool,
    empty: bool,
    signed: bool,
}

impl Template {
    pub(super) fn literal(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(super) fn word(&mut self, shape: Shape) {
        let hole = UnknownWord { number: !shape.not_number, empty: shape.empty, signed: shape.dash_first };
        self.words.push((self.bytes.len(), hole));
    }

    /// Whether it is a single word without bytes around it.
    pub(super) fn is_one_word(&self) -> bool {
        self.bytes.is_empty() && self.words.len() == 1
    }

    /// Sample texts that together stand for all possible ones; `None` if there are too many.
    fn readings(&self, numbers_only: bool) -> Option<Vec<Vec<u8>>> {
        if MAX_WORDS < self.words.len() || (numbers_only && self.words.iter().any(|(_, hole)| !hole.number)) {
            return None;
        }
        let mut readings = vec![Vec::new()];
        let mut at = 0;
        for (place, hole) in &self.words {
            let mut values: Vec<Vec<u8>> = vec![if hole.number { NUMBER } else { WORD }.to_vec()];
            if hole.signed {
                values.push([b"-", NUMBER].concat());
            }
            if hole.empty {
                values.push(Vec::new());
            }
            let between = &self.bytes[at..*place];
            let longer = |reading: &Vec<u8>| -> Vec<Vec<u8>> {
                values.iter().map(|value| [reading, between, value].concat()).collect()
            };
            readings = readings.iter().flat_map(longer).collect();
            at = *place;
        }
        for reading in &mut readings {
            reading.extend_from_slice(&self.bytes[at..]);
        }
        Some(readings)
    }
}

impl Arg {
    /// Sample texts that together stand for all that the argument can be, if it is known except for words in it. The
    /// first sample contains all words.
    pub(crate) fn readings(&self) -> Option<Vec<Vec<u8>>> {
        self.readings_of(false)
    }

    /// As [`readings`](Self::readings), if each of the words is a number.
    pub(crate) fn readings_by_number(&self) -> Option<Vec<Vec<u8>>> {
        self.readings_of(true)
    }

    /// The argument, for a program that rejects a number (with its sign) at the place of an option and does nothing.
    pub(crate) fn with_number_first(&self) -> Self {
        let is_option = |text: &Vec<u8>| match text.as_slice() {
            [b'-', next, ..] => !next.is_ascii_digit(),
            _ => false,
        };
        let readings = self.readings_by_number().filter(|_| !self.many && !self.exact);
        let number = readings.is_some_and(|readings| !readings.iter().any(is_option));
        if number { Self { dash: false, really_dash: false, ..self.clone() } } else { self.clone() }
    }

    fn readings_of(&self, numbers_only: bool) -> Option<Vec<Vec<u8>>> {
        if let Some(bytes) = self.bytes() {
            return Some(vec![bytes.to_vec()]);
        }
        self.template.as_ref()?.readings(numbers_only)
    }
}

/// Whether a text is a plainly written revision, which no program takes for something else.
pub(crate) fn is_plain_word(bytes: &[u8]) -> bool {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_./~^-".contains(byte);
    // `^@`, `^!` and `^-` stand for several revisions.
    let counted =
        |pair: &[u8]| pair[0] == b'^' && !(pair[1].is_ascii_digit() || matches!(pair[1], b'^' | b'~'));
    bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.iter().all(plain)
        && !bytes.ends_with(b".")
        && !bytes.windows(2).any(|pair| pair == b".." || counted(pair))
}
