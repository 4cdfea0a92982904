//! What a server may refuse of a request.

/// A part of a request that can be left out, or written differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parameter {
    /// Its name in this crate.
    pub(crate) name: &'static str,
    /// Other names by which servers refuse it.
    pub(crate) also: &'static [&'static str],
}

impl Parameter {
    /// A parameter with only one name.
    pub(crate) const fn named(name: &'static str) -> Self {
        Self { name, also: &[] }
    }

    pub(crate) fn is_named_in(self, text: &str) -> bool {
        std::iter::once(&self.name).chain(self.also).any(|name| has_word(text, name))
    }
}

/// Whether the text contains this word, without characters of an identifier directly before or behind it.
fn has_word(text: &str, word: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(word).any(|(start, _)| {
        let before = text[..start].chars().next_back().filter(|_| word.starts_with(is_letter));
        let after = text[start + word.len()..].chars().next();
        !before.is_some_and(is_letter) && !after.is_some_and(is_letter)
    })
}
