//! The few facts about scripts that the rules need, as short range tables, because a full Unicode table would be
//! larger than the rest of this crate in a browser bundle.

use std::ops::RangeInclusive;

/// Chinese, Japanese and Korean, whose words are counted by characters.
pub(crate) fn is_cjk(c: char) -> bool {
    matches!(u32::from(c),
        0x1100..=0x11FF | 0x3005..=0x3007 | 0x3031..=0x3035 | 0x3040..=0x30FA | 0x30FC..=0x318F | 0x31A0..=0x31BF
        | 0x31F0..=0x31FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xA960..=0xA97F | 0xAC00..=0xD7FF
        | 0xF900..=0xFAFF | 0xFF66..=0xFF9F | 0x1B000..=0x1B16F | 0x20000..=0x3FFFD)
}

/// Thai, Lao, Tibetan, Burmese, Khmer: no spaces, longer words.
pub(crate) fn is_long_unspaced(c: char) -> bool {
    matches!(u32::from(c), 0x0E01..=0x0FFF | 0x1000..=0x109F | 0x1780..=0x17FF | 0x19E0..=0x19FF | 0xA9E0..=0xA9FF
        | 0xAA60..=0xAA7F)
}

/// A letter of a script that puts no spaces between words.
pub(crate) fn is_unspaced(c: char) -> bool {
    is_cjk(c) || is_long_unspaced(c)
}

/// A letter of the Latin script.
pub(crate) fn is_latin(c: char) -> bool {
    c.is_alphabetic()
        && matches!(u32::from(c), 0x41..=0x24F | 0x250..=0x2AF | 0x1E00..=0x1EFF | 0x2C60..=0x2C7F
        | 0xA720..=0xA7FF | 0xAB30..=0xAB6F)
}

/// A letter of a script that joins letters with ZWJ and ZWNJ: Arabic, Syriac, the scripts of India, Sinhala, Burmese,
/// Khmer, Mongolian.
pub(crate) fn joins_letters(c: char) -> bool {
    matches!(u32::from(c), 0x0620..=0x07FF | 0x0860..=0x0DFF | 0x1000..=0x109F | 0x1780..=0x17DD | 0x1820..=0x18AA
        | 0xFB50..=0xFDFF | 0xFE70..=0xFEFC)
}

/// A pictograph that can stand in an emoji sequence.
pub(crate) fn is_pictograph(c: char) -> bool {
    matches!(u32::from(c), 0xA9 | 0xAE | 0x203C | 0x2049 | 0x2122 | 0x2139 | 0x2190..=0x2BFF | 0x3030 | 0x303D | 0x3297
        | 0x3299 | 0x1F000..=0x1FAFF)
}

const MARKS: &[RangeInclusive<u32>] = &[
    0x0300..=0x036F,
    0x0483..=0x0489,
    0x0591..=0x05BD,
    0x05BF..=0x05BF,
    0x05C1..=0x05C7,
    0x0610..=0x061A,
    0x064B..=0x065F,
    0x0670..=0x0670,
    0x06D6..=0x06ED,
    0x0DCA..=0x0DDF,
    0x0E31..=0x0E31,
    0x0E34..=0x0E3A,
    0x0E47..=0x0E4E,
    0x0EB1..=0x0EB1,
    0x0EB4..=0x0EBC,
    0x0EC8..=0x0ECE,
    0x0F71..=0x0F84,
    0x0F8D..=0x0FBC,
    0x102B..=0x103E,
    0x1056..=0x1059,
    0x17B4..=0x17D3,
    0x1AB0..=0x1AFF,
    0x1DC0..=0x1DFF,
    0x200C..=0x200D,
    0x20D0..=0x20FF,
    0xFE00..=0xFE0F,
    0xFE20..=0xFE2F,
    0x1F3FB..=0x1F3FF,
];

/// A character drawn onto the one before it: accents, vowel signs, joiners, selectors, skin tones.
pub(crate) fn is_mark(c: char) -> bool {
    let code = u32::from(c);
    if code < 0x300 {
        return false;
    }
    is_indic_mark(code) || MARKS.iter().any(|range| range.contains(&code))
}

/// The ten blocks from Devanagari to Malayalam have one layout, so one test covers their vowel signs.
fn is_indic_mark(code: u32) -> bool {
    matches!(code, 0x0900..=0x0D7F)
        && matches!(code & 0x7F, 0x00..=0x03 | 0x3C | 0x3E..=0x4D | 0x51..=0x57 | 0x62 | 0x63)
}
