use super::clause::{clauses, edge_trimmed};

/// A text in the forms in which it is compared with the word lists.
pub(super) struct Reading<'a> {
    /// The text as the user would see it.
    pub(super) text: &'a str,
    /// The text in lower case, with full-width forms, curly quotes and unusual spaces replaced by their ASCII
    /// counterparts.
    pub(super) folded: String,
}

impl<'a> Reading<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, folded: fold(text) }
    }

    /// The folded text without punctuation at its ends.
    pub(super) fn bare(&self) -> &str {
        edge_trimmed(&self.folded)
    }

    /// The folded clauses, without punctuation at their ends.
    pub(super) fn clauses(&self) -> impl Iterator<Item = &str> {
        clauses(&self.folded)
    }
}

/// Lower case, with look-alike punctuation replaced by ASCII and each run of white space by one space.
fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for c in text.chars() {
        let plain = plain(c);
        if plain == ' ' && folded.ends_with(' ') {
            continue;
        }
        folded.extend(plain.to_lowercase());
    }
    folded
}

/// The ASCII counterpart of a full-width form, a curly quote or an unusual space.
pub(crate) fn plain(c: char) -> char {
    match c {
        '\u{2018}' | '\u{2019}' | '\u{201A}' | '\u{201B}' | '\u{2032}' | '\u{02BC}' => '\'',
        '\u{201C}'..='\u{201F}' | '\u{2033}' => '"',
        '\u{2010}' | '\u{2011}' | '\u{2012}' | '\u{2212}' => '-',
        // The full-width forms ！ to ～ are the ASCII characters, 0xFEE0 code points higher.
        '\u{FF01}'..='\u{FF5E}' => char::from_u32(u32::from(c) - 0xFEE0).unwrap_or(c),
        _ if c.is_whitespace() => ' ',
        _ => c,
    }
}
