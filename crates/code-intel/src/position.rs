//! Converts positions in a text: a server counts from 0 and in units of its encoding, a person from 1 and in
//! characters.

use std::ops::Range;

/// The units in which a server counts within a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum PositionEncoding {
    /// Bytes.
    Utf8,
    /// The protocol's default: two units for a character outside the basic plane.
    #[default]
    Utf16,
    /// Unicode scalar values.
    Utf32,
}

impl PositionEncoding {
    /// The encoding with this name in the protocol.
    #[cfg(feature = "servers")]
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name {
            "utf-8" => Some(Self::Utf8),
            "utf-16" => Some(Self::Utf16),
            "utf-32" => Some(Self::Utf32),
            _ => None,
        }
    }

    fn units(self, character: char) -> usize {
        match self {
            Self::Utf8 => character.len_utf8(),
            Self::Utf16 => character.len_utf16(),
            Self::Utf32 => 1,
        }
    }
}

/// A position as a server counts it: both numbers from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Deserialize)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// Units of the encoding from the start of the line.
    pub character: u32,
}

/// The lines of a text. As in the protocol, a line ends with LF, CRLF or CR.
#[derive(Debug, Clone)]
pub struct LineIndex<'a> {
    text: &'a str,
    /// The offset at which each line starts.
    starts: Vec<usize>,
}

impl<'a> LineIndex<'a> {
    /// Finds the lines of a text. The empty text has one.
    pub fn of(text: &'a str) -> Self {
        let bytes = text.as_bytes();
        let mut starts = vec![0];
        for (at, byte) in bytes.iter().enumerate() {
            if *byte == b'\n' || *byte == b'\r' && bytes.get(at + 1) != Some(&b'\n') {
                starts.push(at + 1);
            }
        }
        Self { text, starts }
    }

    /// The number of lines.
    pub fn count(&self) -> usize {
        self.starts.len()
    }

    /// A line without its end; `line` counts from 0.
    pub fn get(&self, line: usize) -> Option<&'a str> {
        self.range(line).map(|range| &self.text[range])
    }

    /// The offset of a position in the text, in bytes.
    ///
    /// As in the protocol, a position behind the end of a line is its end, and one behind the last line the end of
    /// the text. `None` for a position within a character.
    pub fn offset(&self, position: Position, encoding: PositionEncoding) -> Option<usize> {
        let Some(range) = usize::try_from(position.line).ok().and_then(|line| self.range(line)) else {
            return Some(self.text.len());
        };
        let wanted = usize::try_from(position.character).unwrap_or(usize::MAX);
        let mut units = 0;
        for (at, character) in self.text[range.clone()].char_indices() {
            if units == wanted {
                return Some(range.start + at);
            }
            if wanted < units {
                return None;
            }
            units += encoding.units(character);
        }
        (units <= wanted).then_some(range.end)
    }

    /// The position of an offset, which must be between two characters.
    pub fn position(&self, offset: usize, encoding: PositionEncoding) -> Position {
        let line = self.starts.partition_point(|start| *start <= offset) - 1;
        let before = self.text.get(self.starts[line]..offset).unwrap_or_default();
        let units: usize = before.chars().map(|character| encoding.units(character)).sum();
        Position { line: number(line), character: number(units) }
    }

    /// The line and the column as a person counts them: from 1, in characters.
    pub fn for_people(&self, position: Position, encoding: PositionEncoding) -> (u32, u32) {
        let within = Position { line: position.line, character: position.character };
        let column =
            self.offset(within, encoding).map(|offset| self.position(offset, PositionEncoding::Utf32));
        let column = column.filter(|column| column.line == position.line);
        let column = column.map_or(position.character, |column| column.character);
        (position.line.saturating_add(1), column.saturating_add(1))
    }

    fn range(&self, line: usize) -> Option<Range<usize>> {
        let start = *self.starts.get(line)?;
        let end = self.starts.get(line + 1).copied().unwrap_or(self.text.len());
        Some(start..start + self.text[start..end].trim_end_matches(['\n', '\r']).len())
    }
}

fn number(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MIXED: &str = "a = \"👩‍💻e\u{301}\" # ü\r\nb\rc\n";

    #[test]
    fn each_encoding_counts_its_own_units() {
        let lines = LineIndex::of(MIXED);
        let offset = MIXED.find('#').unwrap();
        let cases =
            [(PositionEncoding::Utf8, 21), (PositionEncoding::Utf16, 14), (PositionEncoding::Utf32, 12)];
        for (encoding, character) in cases {
            let position = Position { line: 0, character };
            assert_eq!(lines.position(offset, encoding), position, "{encoding:?}");
            assert_eq!(lines.offset(position, encoding), Some(offset), "{encoding:?}");
            assert_eq!(lines.for_people(position, encoding), (1, 13), "{encoding:?}");
        }
    }

    /// A position in the middle of a character does not exist in the text.
    #[test]
    fn a_position_within_a_character_is_none() {
        let lines = LineIndex::of(MIXED);
        assert_eq!(lines.offset(Position { line: 0, character: 6 }, PositionEncoding::Utf16), None);
        assert_eq!(lines.offset(Position { line: 0, character: 7 }, PositionEncoding::Utf8), None);
    }

    /// A position behind the end of a line or of the text counts as that end.
    #[test]
    fn what_lies_behind_an_end_is_the_end() {
        let lines = LineIndex::of(MIXED);
        let end = |line| lines.offset(Position { line, character: 99 }, PositionEncoding::Utf16);
        assert_eq!(end(0), MIXED.find('\r'));
        assert_eq!(end(3), Some(MIXED.len()));
        assert_eq!(end(1_000), Some(MIXED.len()));
        assert_eq!((0..4).map(|line| lines.get(line).unwrap()).collect::<Vec<_>>()[1..], ["b", "c", ""]);
    }

    proptest! {
        #[test]
        fn offsets_and_positions_are_inverse(text in "[a\u{e9}\u{301}👩\n\r ]{0,24}") {
            let lines = LineIndex::of(&text);
            for encoding in [PositionEncoding::Utf8, PositionEncoding::Utf16, PositionEncoding::Utf32] {
                for (offset, character) in text.char_indices() {
                    if character != '\n' && character != '\r' {
                        prop_assert_eq!(lines.offset(lines.position(offset, encoding), encoding), Some(offset));
                    }
                }
            }
        }
    }
}
