use super::clause::{ends_with_phrase, starts_with_phrase};
use super::reading::Reading;
use crate::lexicon::{self, LANGUAGES, Language, List};

pub(super) fn is_question(reading: &Reading<'_>) -> bool {
    has_question_mark(&reading.folded) || has_form_of_question(reading.bare())
}

/// Whether a question mark ends a word, unlike those of `?a=b` and `foo?.bar`.
fn has_question_mark(folded: &str) -> bool {
    let mut chars = folded.chars().peekable();
    while let Some(c) = chars.next() {
        if matches!(c, '¿' | '؟' | '\u{37E}' | '՞' | '፧' | '⁇' | '⁈' | '⁉' | '‽' | '︖' | '﹖')
        {
            return true;
        }
        if c == '?'
            && chars
                .peek()
                .is_none_or(|next| !next.is_ascii_graphic() || matches!(next, '?' | '!' | ')' | '"'))
        {
            return true;
        }
    }
    false
}

fn has_form_of_question(bare: &str) -> bool {
    let bare = lexicon::without_lead_ins(bare);
    LANGUAGES.iter().any(|language| asks(bare, language)) || is_korean_formal_question(bare)
}

fn asks(bare: &str, language: &Language) -> bool {
    let ends = |ends: List| ends.any(|end| ends_with_phrase(bare, end));
    if ends(language.ask_end_always) && !ends(language.ask_end_except) {
        return true;
    }
    let enquires = language.enquire_start.any(|verb| bare.starts_with(verb))
        || language.order_end.any(|end| bare.ends_with(end));
    !enquires && (ends(language.ask_end) || begins_with_question(bare, language))
}

/// Whether the text begins with a question word, possibly after words such as "you" and "now".
fn begins_with_question(mut text: &str, language: &Language) -> bool {
    loop {
        let asks = |starts: List| starts.any(|start| starts_with_phrase(text, start));
        if asks(language.ask_start) {
            return !asks(language.ask_start_except);
        }
        let Some(rest) = language.topics.iter().find_map(|topic| text.strip_prefix(topic)) else {
            return false;
        };
        text = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
    }
}

/// Whether the text ends in -ㅂ니까, or in a -까 that is not part of -니까 ("because").
fn is_korean_formal_question(bare: &str) -> bool {
    let bare = bare.strip_suffix('요').unwrap_or(bare);
    let Some(stem) = bare.strip_suffix('까') else { return false };
    match stem.strip_suffix('니') {
        Some(stem) => stem.chars().next_back().is_some_and(|c| final_consonant(c) == Some(17)),
        None => stem.chars().next_back().is_some_and(|c| final_consonant(c) == Some(8)),
    }
}

/// The number of the final consonant of a Hangul syllable, 0 for none.
pub(super) fn final_consonant(c: char) -> Option<u32> {
    let code = u32::from(c);
    (0xAC00..=0xD7A3).contains(&code).then(|| (code - 0xAC00) % 28)
}
