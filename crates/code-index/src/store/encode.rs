//! Encodes values of the database: numbers, the definitions of a content, the counted tokens of a document.

use std::fmt::Write as _;

use xxhash_rust::xxh3::xxh3_64;

use crate::catalogue::ChunkEntry;
use crate::fields::Field;
use crate::{Symbol, SymbolKind};

/// Stands before each count of a token. No token contains it, and it sorts before all characters of tokens.
const COUNT: char = '!';

/// Encodes numbers with seven bits in each byte, the lowest first.
pub(super) fn numbers(list: impl IntoIterator<Item = u32>) -> Vec<u8> {
    let mut bytes = Vec::new();
    list.into_iter().for_each(|number| push(&mut bytes, number));
    bytes
}

/// Decodes what [`numbers`] wrote. Other bytes give wrong numbers or fewer, never a panic.
pub(super) fn read_numbers(mut bytes: &[u8]) -> Vec<u32> {
    let mut list = Vec::with_capacity(bytes.len());
    while let Some(number) = take(&mut bytes) {
        list.push(number);
    }
    list
}

fn push(bytes: &mut Vec<u8>, mut number: u32) {
    loop {
        let [low, ..] = number.to_le_bytes();
        number >>= 7;
        if number == 0 && low < 0x80 {
            bytes.push(low);
            break;
        }
        bytes.push(low | 0x80);
    }
}

fn take(bytes: &mut &[u8]) -> Option<u32> {
    let (mut number, mut shift) = (0_u32, 0);
    while let Some((byte, rest)) = bytes.split_first() {
        *bytes = rest;
        number |= u32::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
        shift += 7;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// Encodes the first line, the last line and the lengths of each chunk.
pub(super) fn chunks(list: impl Iterator<Item = [u32; 4]>) -> Vec<u8> {
    numbers(list.flatten())
}

/// Decodes what [`chunks`] wrote.
pub(super) fn read_chunks(bytes: &[u8]) -> Vec<ChunkEntry> {
    let entry = |of: &[u32]| ChunkEntry { content: 0, first: of[0], last: of[1], lengths: [of[2], of[3]] };
    read_numbers(bytes).chunks_exact(4).map(entry).collect()
}

/// Encodes the kind, lines and name of each definition; its first line as the distance from that of the one before.
pub(super) fn symbols(list: &[Symbol]) -> Vec<u8> {
    let (mut bytes, mut line) = (Vec::new(), 0_u32);
    for symbol in list {
        let length = u32::try_from(symbol.name.len()).unwrap_or(u32::MAX);
        for number in [
            symbol.kind.number(),
            symbol.first.wrapping_sub(line),
            symbol.last.wrapping_sub(symbol.first),
            length,
        ] {
            push(&mut bytes, number);
        }
        bytes.extend_from_slice(symbol.name.as_bytes());
        line = symbol.first;
    }
    bytes
}

/// Decodes what [`symbols`] wrote. Other bytes give fewer definitions, never a panic.
pub(super) fn read_symbols(mut bytes: &[u8]) -> impl Iterator<Item = Symbol> {
    let mut line = 0_u32;
    std::iter::from_fn(move || {
        let mut number = || take(&mut bytes);
        let (kind, distance, lines, length) = (number()?, number()?, number()?, number()?);
        let (name, rest) = bytes.split_at_checked(length as usize)?;
        bytes = rest;
        let name = std::str::from_utf8(name).ok()?.to_owned();
        line = line.wrapping_add(distance);
        Some(Symbol {
            name,
            kind: SymbolKind::from_number(kind),
            first: line,
            last: line.wrapping_add(lines),
        })
    })
}

/// A number for a name, as [`whole`](crate::whole) gives it. Few names share one.
pub(super) fn name(whole: &str) -> i64 {
    i64::try_from(xxh3_64(whole.as_bytes()) >> 32).unwrap_or(0)
}

/// A document for the full-text index: each token once, with the counts in each of the fields. So a posting is only
/// the number of a document, and reading it costs the same however often the token occurs.
pub(super) fn counted<const N: usize>(fields: [&Field; N]) -> String {
    let mut tokens = Vec::with_capacity(fields.iter().map(|field| field.len as usize).sum());
    for (at, field) in fields.into_iter().enumerate() {
        tokens.extend(field.iter().map(|token| (start(token), token, at)));
    }
    // Most tokens differ in this number, which is quicker to compare than their texts.
    tokens.sort_unstable();
    let bytes = fields.iter().map(|field| field.tokens.len()).sum::<usize>();
    let mut text = String::with_capacity(bytes + 4 * tokens.len());
    for same in tokens.chunk_by(|one, other| one.0 == other.0 && one.1 == other.1) {
        let mut counts = [0_u32; N];
        for (_, _, at) in same {
            counts[*at] += 1;
        }
        let fields = counts.iter().rposition(|count| *count != 0).map_or(0, |last| last + 1);
        text.push_str(same[0].1);
        for count in &counts[..fields] {
            text.push(COUNT);
            match count {
                0 => {}
                1 => text.push('1'),
                _ => drop(write!(text, "{count}")),
            }
        }
        text.push(' ');
    }
    text
}

/// The first bytes of a token as a number that sorts like the token.
fn start(token: &str) -> u64 {
    let mut bytes = [0; 8];
    bytes.iter_mut().zip(token.as_bytes()).for_each(|(byte, of)| *byte = *of);
    u64::from_be_bytes(bytes)
}

/// The first and the last word that belong to a token, whatever its counts.
pub(super) fn words_of(token: &str) -> [String; 2] {
    [format!("{token}{COUNT}"), format!("{token}{COUNT}~")]
}

/// Decodes the counts in a word that [`counted`] wrote.
pub(super) fn read_counts<const N: usize>(word: &str) -> [u32; N] {
    let mut counts = [0; N];
    let written = word.split(COUNT).skip(1).map(|digits| digits.parse().unwrap_or(0));
    counts.iter_mut().zip(written).for_each(|(count, written)| *count = written);
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_they_were_written() {
        let lists =
            [[1, 2, 3, 4], [0, 127, 128, 129], [255, 256, 16_383, 16_384], [u32::MAX, 1 << 28, 1 << 31, 0]];
        let read = read_chunks(&chunks(lists.into_iter()));
        let numbers: Vec<_> =
            read.iter().map(|it| [it.first, it.last, it.lengths[0], it.lengths[1]]).collect();
        assert_eq!(numbers, lists);
    }

    #[test]
    fn definitions_are_read_as_they_were_written() {
        use SymbolKind::{Constant, Function, Macro, Module, Scope, Type};
        let mut list = Vec::new();
        for (kind, first) in
            [Function, Type, Module, Constant, Macro, Scope].into_iter().zip([7, 9, 9, 400, 3, u32::MAX])
        {
            for name in ["x", "größe", "a name\nof two lines"] {
                list.push(Symbol { name: name.to_owned(), kind, first, last: first.saturating_add(200) });
            }
        }
        assert_eq!(read_symbols(&symbols(&list)).collect::<Vec<_>>(), list);
    }

    #[test]
    fn counts_are_read_as_they_were_written() {
        let text = counted([&Field::of("cat cat leaf"), &Field::of(""), &Field::of("cat auth认证 认证")]);
        let words: Vec<_> = text.split(' ').filter(|word| !word.is_empty()).collect();
        assert_eq!(words, ["auth!!!1", "cat!2!!1", "leaf!1", "认证!!!2"]);
        assert_eq!(read_counts(words[1]), [2, 0, 1]);
        assert_eq!(read_counts(words[2]), [1, 0, 0]);
        let [from, to] = words_of("cat");
        let inside = |word: &str| from.as_str() <= word && word <= to.as_str();
        assert!(inside("cat!2!!1") && inside("cat!!99999"));
        assert!(!inside("ca!1") && !inside("cats!1") && !inside("cat1!1") && !inside("cat认!1"));
    }

    /// Bytes that a damaged database returns may be wrong, but reading them must not panic.
    #[test]
    fn other_bytes_are_no_harm() {
        for bytes in [&[0xff; 40][..], &[0x80], &[1, 2, 3], &[], &[0, 0, 0, 200, 1], &[9, 9, 9, 1, 0xff]] {
            let _ = (read_chunks(bytes), read_symbols(bytes).count());
        }
        assert!(read_chunks(&[1, 2, 3]).is_empty());
        for word in ["", "!", "!x!!99999999999", "a!1!2!3!4!5"] {
            let _: [u32; 2] = read_counts(word);
        }
    }
}
