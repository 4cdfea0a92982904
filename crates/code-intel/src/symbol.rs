//! Finds a name on a line, because a model says the line and the name, and not the column.

use crate::position::LineIndex;

/// How many lines above and below an error searches for the name.
const NEAR: usize = 30;

/// Why a name was not found, in words for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SymbolError {
    /// The text has fewer lines.
    #[error("there is no line {line}; the file has {lines}")]
    NoLine {
        /// The line that was asked for, from 1.
        line: usize,
        /// The number of its lines.
        lines: usize,
    },
    /// The line exists, and the name is not on it.
    #[error("{symbol:?} is not on line {line}, which reads {text:?}{}", nearest_line_hint(*.nearest))]
    NotOnLine {
        /// The name.
        symbol: String,
        /// The line, from 1.
        line: usize,
        /// The text of the line.
        text: String,
        /// The nearest line with the name on it, from 1.
        nearest: Option<usize>,
    },
    /// No name was given.
    #[error("the symbol is empty; give the name as it is written on the line")]
    Empty,
}

fn nearest_line_hint(nearest: Option<usize>) -> String {
    nearest.map_or_else(String::new, |line| format!("; it is on line {line}"))
}

/// The offset, in bytes, at which the name starts on a line, which is counted from 1. For a path (`a::b`, `a.b`) the
/// last part counts.
///
/// The name is searched for as a whole word first, and then anywhere.
pub(crate) fn find_symbol(text: &str, line: usize, symbol: &str) -> Result<usize, SymbolError> {
    let symbol = symbol.trim();
    if symbol.is_empty() {
        return Err(SymbolError::Empty);
    }
    let lines = LineIndex::of(text);
    let shown = line.checked_sub(1).and_then(|line| lines.get(line));
    let shown = shown.ok_or(SymbolError::NoLine { line, lines: lines.count() })?;
    let start = shown.as_ptr() as usize - text.as_ptr() as usize;
    if let Some(at) = place_on(shown, symbol) {
        return Ok(start + at);
    }
    let has = |line: &usize| lines.get(line - 1).is_some_and(|text| place_on(text, symbol).is_some());
    let nearest =
        (1..=NEAR).flat_map(|by| [line.saturating_sub(by), line + by]).filter(|line| 0 < *line).find(has);
    let text = shown.trim().chars().take(200).collect();
    Err(SymbolError::NotOnLine { symbol: symbol.to_owned(), line, text, nearest })
}

/// The identifier that starts at an offset of the text.
pub(crate) fn word_at(text: &str, offset: usize) -> &str {
    let rest = text.get(offset..).unwrap_or_default();
    let end = rest.find(|character| !is_word(character)).unwrap_or(rest.len());
    &rest[..end]
}

fn place_on(line: &str, symbol: &str) -> Option<usize> {
    let whole = |at: &usize| {
        let before = line[..*at].chars().next_back();
        let after = line[at + symbol.len()..].chars().next();
        let joins = |inner: Option<char>, outer: Option<char>| {
            inner.is_some_and(is_word) && outer.is_some_and(is_word)
        };
        !joins(symbol.chars().next(), before) && !joins(symbol.chars().next_back(), after)
    };
    let mut places = line.match_indices(symbol).map(|(at, _)| at);
    let at = places.clone().find(whole).or_else(|| places.next())?;
    // A server refers to the part of a path that contains the position.
    let trimmed = symbol.trim_end_matches(|character| !is_word(character));
    let last = trimmed.rfind(|character| !is_word(character));
    let last = last.map_or(0, |at| at + trimmed[at..].chars().next().map_or(0, char::len_utf8));
    Some(at + last)
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_' || character == '$'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, line: usize, symbol: &str) -> String {
        match find_symbol(text, line, symbol) {
            Ok(offset) => format!("{offset} {}", word_at(text, offset)),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn names_are_found_as_whole_words() {
        let text = "let lets = let_it(\"👩‍💻\", e\u{301}t);\nuse a::b::{c};\nself.size.get(x)\n";
        let cases = [
            (1, "lets", "4 lets"),
            (1, "it", "15 it"),
            (1, "t", "36 t"),
            (2, "a::b", "47 b"),
            (3, "self.size", "60 size"),
            (3, "get(x", "69 x"),
            (3, "a::b", "\"a::b\" is not on line 3, which reads \"self.size.get(x)\"; it is on line 2"),
            (9, "x", "there is no line 9; the file has 4"),
            (0, "x", "there is no line 0; the file has 4"),
            (1, " ", "the symbol is empty; give the name as it is written on the line"),
        ];
        for (line, symbol, expected) in cases {
            assert_eq!(found(text, line, symbol), expected, "{symbol} on {line}");
        }
    }
}
