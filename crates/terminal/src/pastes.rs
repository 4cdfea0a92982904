use std::borrow::Cow;

/// A paste of more lines or characters is shown as one label.
const MAX_LINES: usize = 12;
const MAX_CHARS: usize = 1_000;
/// The characters that represent pastes. They are the last ones for private use, for which no font has letters.
const SIGNS: std::ops::RangeInclusive<char> = '\u{10ff00}'..='\u{10fffd}';

/// Long texts that were pasted into a prompt. In the prompt's text each is one private character, so that keys treat it
/// as one letter. It is shown as `[paste 1, 84 lines]` and sent in full.
#[derive(Debug, Clone, Default)]
pub(super) struct PastedTexts(Vec<String>);

impl PastedTexts {
    /// What a pasted text becomes in the prompt: one private character if it is long, otherwise the text. Typed or
    /// pasted text cannot contain such characters itself.
    pub(super) fn take<'a>(&mut self, text: &'a str) -> Cow<'a, str> {
        let text = without_signs(text);
        // Most terminals send a carriage return between lines.
        let text =
            if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n").into() } else { text };
        let is_long = MAX_LINES < text.lines().count() || text.chars().nth(MAX_CHARS).is_some();
        let sign = SIGNS.clone().nth(self.0.len()).filter(|_| is_long);
        match sign {
            Some(sign) => {
                self.0.push(text.into_owned());
                Cow::Owned(sign.to_string())
            }
            None => text,
        }
    }

    /// The text with the pastes in full.
    pub(super) fn whole<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.replaced(text, |_, paste| paste.to_owned())
    }

    /// The text with the labels of the pastes, and an offset in it after that change.
    pub(super) fn shown<'a>(&self, text: &'a str, place: usize) -> (Cow<'a, str>, usize) {
        let label = |index: usize, paste: &str| match paste.lines().count() {
            1 => format!("[paste {}, {} characters]", index + 1, paste.chars().count()),
            lines => format!("[paste {}, {lines} lines]", index + 1),
        };
        let before = self.replaced(text.get(..place).unwrap_or(text), label).len();
        (self.replaced(text, label), before)
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    fn replaced<'a>(&self, text: &'a str, by: impl Fn(usize, &str) -> String) -> Cow<'a, str> {
        if self.0.is_empty() || !text.contains(is_sign) {
            return Cow::Borrowed(text);
        }
        let mut whole = String::with_capacity(text.len());
        for sign in text.chars() {
            let index = is_sign(sign).then(|| sign as usize - *SIGNS.start() as usize);
            match index.and_then(|index| Some((index, self.0.get(index)?))) {
                Some((index, paste)) => whole += &by(index, paste),
                None => whole.push(sign),
            }
        }
        Cow::Owned(whole)
    }
}

/// The text without the private characters, which must only represent pastes.
pub(super) fn without_signs(text: &str) -> Cow<'_, str> {
    if text.contains(is_sign) { Cow::Owned(text.replace(is_sign, "")) } else { Cow::Borrowed(text) }
}

fn is_sign(c: char) -> bool {
    SIGNS.contains(&c)
}
