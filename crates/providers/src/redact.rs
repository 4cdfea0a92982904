use std::collections::HashSet;
use std::error::Error;
use std::{fmt, iter};

use headstart_forked_query::Cause;

use crate::provider_error::{cut, one_line};

/// How many consecutive bytes of a key are enough to be removed.
const PIECE_BYTES: usize = 8;

/// How many characters of a message are searched: many more than are shown, so that a key at the cut is removed
/// completely.
const MAX_CHARS: usize = 4 * 1024;

const PLACEHOLDER: &str = "***";

/// Removes a key, and every larger piece of it, from what a server says. The default removes nothing.
///
/// Servers show the key that they refuse, sometimes only half of it, and a message may end in the middle of one.
#[derive(Clone, Default)]
pub(crate) struct Redactor {
    /// Every piece of the key with `piece_bytes` bytes, without JSON escapes.
    pieces: HashSet<Vec<u8>>,
    piece_bytes: usize,
}

impl Redactor {
    pub(crate) fn new(key: &str) -> Self {
        let key: Vec<u8> = UnescapedChars(key).flat_map(|unit| unit.bytes()).collect();
        let piece_bytes = PIECE_BYTES.min(key.len());
        if piece_bytes == 0 {
            return Self::default();
        }
        Self { pieces: key.windows(piece_bytes).map(<[u8]>::to_vec).collect(), piece_bytes }
    }

    /// Also removes this text, if it is long enough to be a secret.
    #[cfg(feature = "http")]
    pub(crate) fn with_secret(mut self, secret: &str) -> Self {
        const MIN_BYTES: usize = 16;
        let bytes: Vec<u8> = UnescapedChars(secret).flat_map(|unit| unit.bytes()).collect();
        // All pieces have the same length, and a shorter key has no pieces.
        if MIN_BYTES <= bytes.len() && matches!(self.piece_bytes, 0 | PIECE_BYTES) {
            self.piece_bytes = PIECE_BYTES;
            self.pieces.extend(bytes.windows(PIECE_BYTES).map(<[u8]>::to_vec));
        }
        self
    }

    /// One line of at most a few hundred characters. The key is removed before the line is cut.
    pub(crate) fn shorten(&self, text: &str) -> String {
        cut(&self.redact(&one_line(text, MAX_CHARS)))
    }

    /// The error, as the [`source`](std::error::Error::source) of another one; `None` if it, or one below it, shows a
    /// key, because its words cannot be changed.
    pub(crate) fn cause(&self, error: impl Into<Cause>) -> Option<Cause> {
        let cause = error.into();
        let shows_nothing = |text: String| self.redact(&text) == text;
        let mut chain = iter::successors(Some(&*cause as &dyn Error), |error: &&dyn Error| (*error).source());
        let is_plain =
            chain.all(|error| shows_nothing(error.to_string()) && shows_nothing(format!("{error:?}")));
        is_plain.then_some(cause)
    }

    /// The text without the key, whether or not it is escaped as in JSON.
    pub(crate) fn redact(&self, text: &str) -> String {
        if self.pieces.is_empty() {
            return text.to_owned();
        }
        // Each byte of the text without escapes, and the offset of the character in the text to which it belongs.
        let (mut unescaped, mut offsets) = (Vec::new(), Vec::new());
        for unit in UnescapedChars(text) {
            let start = text.len() - unit.rest.len() - unit.escaped_len;
            unescaped.extend(unit.bytes());
            offsets.resize(unescaped.len(), (start, start + unit.escaped_len));
        }
        let mut shown = String::new();
        let (mut end, mut hidden_end) = (0, 0);
        for (index, window) in unescaped.windows(self.piece_bytes).enumerate() {
            if !self.pieces.contains(window) {
                continue;
            }
            let (start, stop) = (offsets[index].0, offsets[index + self.piece_bytes - 1].1);
            if hidden_end < start || hidden_end == 0 {
                shown.push_str(&text[end..start]);
                shown.push_str(PLACEHOLDER);
            }
            (end, hidden_end) = (stop, stop);
        }
        shown.push_str(&text[end..]);
        shown
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redactor(***)")
    }
}

/// The characters of a text without JSON escapes, at any depth of quotation: backslashes before a character belong to
/// it, and `\u006b` is a `k`.
struct UnescapedChars<'a>(&'a str);

struct UnescapedChar<'a> {
    unescaped: Option<char>,
    /// Its length in the text in bytes.
    escaped_len: usize,
    rest: &'a str,
}

impl UnescapedChar<'_> {
    fn bytes(&self) -> Vec<u8> {
        self.unescaped.map(|c| c.to_string().into_bytes()).unwrap_or_default()
    }
}

impl<'a> Iterator for UnescapedChars<'a> {
    type Item = UnescapedChar<'a>;

    fn next(&mut self) -> Option<UnescapedChar<'a>> {
        let text = self.0;
        if text.is_empty() {
            return None;
        }
        let bare = text.trim_start_matches('\\');
        let code = bare.strip_prefix('u').filter(|_| bare.len() < text.len());
        let escaped = code.and_then(|code| {
            let (digits, rest) = code.split_at_checked(4)?;
            Some((char::from_u32(u32::from_str_radix(digits, 16).ok()?)?, rest))
        });
        let (unescaped, rest) = escaped.map_or_else(
            || {
                let mut characters = bare.chars();
                (characters.next(), characters.as_str())
            },
            |(unescaped, rest)| (Some(unescaped), rest),
        );
        self.0 = rest;
        Some(UnescapedChar { unescaped, escaped_len: text.len() - rest.len(), rest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "sk-proj-Ab/Cd+Ef9_0123456789\"xyz";

    /// Servers repeat keys in many spellings and cut them, so a part of a key is hidden too.
    #[test]
    fn a_key_is_hidden_in_every_spelling_and_half_of_one_too() {
        let redactor = Redactor::new(KEY);
        let unicode = KEY.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect::<Vec<_>>().concat();
        let json = serde_json::to_string(KEY).unwrap();
        let twice = serde_json::to_string(&json).unwrap();
        let cases = [
            (format!("bad key {KEY}!"), "bad key ***!"),
            (format!("{KEY}{KEY} and 語{KEY}語"), "*** and 語***語"),
            (format!("a {unicode} b"), "a *** b"),
            (format!("a {} b", KEY.replace('/', "\\/")), "a *** b"),
            (format!("a {json} b"), "a \"***\" b"),
            (format!("a {twice} b"), "a \"\\\"***\\\"\" b"),
            (format!("half of it: {}", &KEY[..20]), "half of it: ***"),
            (format!("the end of it: {}…", &KEY[20..]), "the end of it: ***…"),
            ("no key, \\u00e9\\n \\ud83d \\u12 \\".into(), "no key, \\u00e9\\n \\ud83d \\u12 \\"),
            (String::new(), ""),
        ];
        for (text, expected) in cases {
            assert_eq!(redactor.redact(&text), expected, "{text}");
        }
        assert_eq!(Redactor::new("").redact("abc"), "abc");
        assert_eq!(Redactor::new("abc").redact("xabcabc abx"), "x*** abx");
        assert_eq!(Redactor::new("schlüssel-wört").redact("der schlüssel-wört!"), "der ***!");
        assert!(!format!("{redactor:?}").contains("proj"));
    }

    /// A text is cut only after keys were hidden in it, because a part of a key at the cut might not be recognised.
    #[test]
    fn it_is_hidden_before_the_text_is_cut() {
        let redactor = Redactor::new(KEY);
        for padding in (200..330).chain(4_000..4_120) {
            let shown = redactor.shorten(&format!("{} {KEY} {KEY}", "x".repeat(padding)));
            for piece in KEY.as_bytes().windows(PIECE_BYTES) {
                assert!(!shown.contains(str::from_utf8(piece).unwrap()), "{padding}: {shown}");
            }
            assert!(shown.chars().count() <= 301, "{padding}");
        }
    }
}
