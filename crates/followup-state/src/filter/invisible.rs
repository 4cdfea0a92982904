use super::script::{is_mark, is_pictograph, joins_letters};

/// Whether `c` is a C0 control, DEL, a C1 control, or one of the two Unicode separators that break a line.
pub(super) fn is_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Whether any character is one that a reader cannot see, or that reorders what a reader sees.
pub(super) fn has_invisible(text: &str) -> bool {
    let mut before = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if is_invisible(c, before, chars.peek().copied()) {
            return true;
        }
        before = Some(c);
    }
    false
}

pub(crate) fn is_invisible(c: char, before: Option<char>, after: Option<char>) -> bool {
    match u32::from(c) {
        // ZWNJ shapes Persian and Indic words; ZWJ also ties emoji together.
        0x200C => !between(before, after, joins_letters),
        0x200D => !between(before, after, joins_letters) && !ties_emoji(before, after),
        // A variation selector is visible once, after a character that it selects (digits too, as in keycaps).
        0xFE0E | 0xFE0F => !before.is_some_and(|c| is_pictograph(c) || matches!(c, '0'..='9' | '#')),
        0x180B..=0x180D | 0x180F => !before.is_some_and(|c| matches!(u32::from(c), 0x1820..=0x18AA)),
        0xAD
        | 0x34F
        | 0x61C
        | 0x115F
        | 0x1160
        | 0x17B4
        | 0x17B5
        | 0x180E
        | 0x200B..=0x200F
        | 0x202A..=0x202E
        | 0x2060..=0x206F
        | 0x2800
        | 0x3164
        | 0xE000..=0xF8FF
        | 0xFDD0..=0xFDEF
        | 0xFE00..=0xFE0D
        | 0xFEFF
        | 0xFFA0
        | 0xFFF0..=0xFFFD
        | 0x1BCA0..=0x1BCA3
        | 0x1D173..=0x1D17A
        | 0xE0000..=0x10_FFFF => true,
        code => code & 0xFFFE == 0xFFFE,
    }
}

fn between(before: Option<char>, after: Option<char>, accepts: fn(char) -> bool) -> bool {
    before.is_some_and(accepts) && after.is_some_and(accepts)
}

fn ties_emoji(before: Option<char>, after: Option<char>) -> bool {
    before.is_some_and(|c| is_pictograph(c) || (is_mark(c) && c != '\u{200D}'))
        && after.is_some_and(is_pictograph)
}
