use super::clause::starts_with_phrase;
use super::question::final_consonant;
use super::reading::Reading;
use crate::lexicon::{self, LANGUAGES};

/// Whether the assistant speaks: "let me…", "I'll…", "here's…", and Japanese or Korean endings that make a statement
/// of what would otherwise be an order.
pub(super) fn is_assistant(reading: &Reading<'_>) -> bool {
    let text = reading.folded.as_str();
    let bare = reading.bare();
    let inner = lexicon::without_lead_ins(bare);
    let speaks = LANGUAGES.iter().any(|language| {
        let begins = |text: &str| {
            language.voice.any(|phrase| starts_with_phrase(text, phrase))
                && !language.voice_except.any(|phrase| starts_with_phrase(text, phrase))
        };
        let ends = language.voice_end.any(|end| bare.ends_with(end))
            && !language.voice_end_except.any(|end| bare.ends_with(end));
        begins(bare) || begins(inner) || ends
    });
    speaks
        || starts_with_phrase(text, "sure,")
        || starts_with_phrase(text, "sure!")
        || is_korean_promise(bare)
}

/// "-ㄹ게(요)": I will.
fn is_korean_promise(bare: &str) -> bool {
    let bare = bare.strip_suffix('요').unwrap_or(bare);
    bare.strip_suffix('게')
        .and_then(|stem| stem.chars().next_back())
        .is_some_and(|c| final_consonant(c) == Some(8))
}
