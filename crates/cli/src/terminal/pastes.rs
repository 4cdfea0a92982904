use std::borrow::Cow;

/// A longer paste stands as one sign, in lines and in characters.
const MOST_LINES: usize = 12;
const MOST_CHARS: usize = 1_000;
/// The signs that stand for pastes: the last ones that are for private use, which no font has letters at.
const SIGNS: std::ops::RangeInclusive<char> = '\u{10ff00}'..='\u{10fffd}';

/// Long texts that were pasted into a prompt. In its text each is one sign, so that keys treat it as one letter; it is shown as
/// `[paste 1, 84 lines]`, and goes out whole.
#[derive(Debug, Clone, Default)]
pub(super) struct Pastes(Vec<String>);

impl Pastes {
    /// What stands for a text that was pasted: a sign for a long one, else the text. Text that is typed or pasted brings no such sign along.
    pub(super) fn take<'a>(&mut self, text: &'a str) -> Cow<'a, str> {
        let text = without_signs(text);
        let is_long = MOST_LINES < text.lines().count() || text.chars().nth(MOST_CHARS).is_some();
        let sign = SIGNS.clone().nth(self.0.len()).filter(|_| is_long);
        match sign {
            Some(sign) => {
                self.0.push(text.replace("\r\n", "\n").replace('\r', "\n"));
                Cow::Owned(sign.to_string())
            }
            None => text,
        }
    }

    /// A text with what its signs stand for.
    pub(super) fn whole<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.replaced(text, |_, paste| paste.to_owned())
    }

    /// A text with its signs as they are shown, and where a place in it is then.
    pub(super) fn shown<'a>(&self, text: &'a str, place: usize) -> (Cow<'a, str>, usize) {
        let label =
            |index: usize, paste: &str| format!("[paste {}, {} lines]", index + 1, paste.lines().count());
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

/// A text without the signs, which only stand for pastes.
pub(super) fn without_signs(text: &str) -> Cow<'_, str> {
    if text.contains(is_sign) { Cow::Owned(text.replace(is_sign, "")) } else { Cow::Borrowed(text) }
}

fn is_sign(c: char) -> bool {
    SIGNS.contains(&c)
}
