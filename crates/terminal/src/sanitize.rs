use std::borrow::Cow;
use std::fmt::Write;

/// Makes text from a model, a file or a repository safe for a terminal and honest for its reader. Characters that would
/// move the cursor, change colors or the title, or hide or reorder text are shown as an escape (`\u{1b}`) instead of
/// being dropped. Line feeds and tabs stay, and so do the joiners and variation selectors that emoji and scripts need;
/// a carriage return before a line feed is removed.
pub fn sanitize(text: &str) -> Cow<'_, str> {
    let Some((start, _)) = text.char_indices().find(|(_, c)| is_harmful(*c)) else {
        return Cow::Borrowed(text);
    };
    let mut shown = String::with_capacity(text.len() + 16);
    shown.push_str(&text[..start]);
    let mut characters = text[start..].chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\r' if characters.peek() == Some(&'\n') => {}
            c if is_harmful(c) => {
                write!(shown, "{}", c.escape_unicode())
                    .expect("works because writing to a String cannot fail");
            }
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// Whether a character must not reach a terminal unchanged.
fn is_harmful(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        c => c.is_control() || is_invisible(c),
    }
}

/// Zero-width and direction-changing characters, fillers, tags, and line ends that are not line feeds.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e00ff}' | '\u{e01f0}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_a_model_writes_cannot_drive_the_terminal() {
        let cases = [
            ("plain ü 漢\n\tx", "plain ü 漢\n\tx"),
            ("\x1b[31mred\x1b[0m", "\\u{1b}[31mred\\u{1b}[0m"),
            ("\x1b]0;title\x07", "\\u{1b}]0;title\\u{7}"),
            ("\u{9b}2J", "\\u{9b}2J"),
            ("\u{7f}\u{8}\0", "\\u{7f}\\u{8}\\u{0}"),
            ("over\rwritten", "over\\u{d}written"),
            ("dos\r\nlines\r\n", "dos\nlines\n"),
            ("\r\r\n", "\\u{d}\n"),
            ("txt.\u{202e}exe", "txt.\\u{202e}exe"),
            ("\u{2066}a\u{2069}", "\\u{2066}a\\u{2069}"),
            ("zero\u{200b}width", "zero\\u{200b}width"),
            ("tag\u{e0041}", "tag\\u{e0041}"),
            ("👩‍👩‍👧 می‌خواهم ❤️", "👩‍👩‍👧 می‌خواهم ❤️"),
        ];
        for (text, expected) in cases {
            assert_eq!(sanitize(text), expected, "{text:?}");
        }
    }

    #[test]
    fn harmless_text_is_borrowed() {
        assert!(matches!(sanitize("cargo test\n"), Cow::Borrowed(_)));
    }

    proptest! {
        #[test]
        fn nothing_harmful_is_left_and_twice_is_once(text in "\\PC*|[\\x00-\\x9f\u{202e}\u{200b}a]{0,24}|(?s).{0,24}") {
            let shown = sanitize(&text);
            prop_assert!(!shown.chars().any(is_harmful));
            let again = sanitize(&shown);
            prop_assert_eq!(&again, &shown);
        }
    }
}
