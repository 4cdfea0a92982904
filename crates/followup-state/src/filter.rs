//! The rules, in order. The word lists are data: [`crate::lexicon`].

mod clause;
pub(crate) mod commands;
mod destructive;
pub(crate) mod invisible;
mod length;
mod praise;
mod question;
mod reading;
pub(crate) mod script;
mod sentence;
mod shape;
mod voice;

use crate::{FilterReason, Meaning, Suggestion};
pub(crate) use clause::{after_phrase, contains_phrase, ends_with_phrase};
use reading::Reading;
pub(crate) use reading::plain;
pub(crate) use script::is_unspaced;

/// A longer text (in bytes) is refused before any other rule looks at it, to bound the cost.
pub const MAX_BYTES: usize = 1024;
/// A text of this many characters (Unicode scalar values without combining marks) or more is too long.
pub const MAX_CHARACTERS: usize = 100;
/// At most this many words.
pub const MAX_WORDS: usize = 12;
/// At most this many Chinese, Japanese or Korean characters.
pub(crate) const MAX_UNSPACED: usize = 30;
/// At most this many Thai, Lao, Khmer, Burmese or Tibetan characters, because words are longer there.
pub(crate) const MAX_UNSPACED_LONG: usize = 40;

/// As [`filter`], with what the model said of the text: where the answer offered options or asked a permission, a short
/// answer (`2`, `B`, `y`, `oui`) is a guess, too.
///
/// ```
/// use headstart_followup_state::{GuessKind, Meaning, filter, filter_guess};
///
/// let permission = Meaning { kind: Some(GuessKind::Permission), ..Meaning::default() };
/// assert!(filter("y").is_err());
/// assert!(filter_guess("y", permission.clone()).is_ok());
/// assert!(filter_guess("well", permission).is_err());
/// ```
pub fn filter_guess(text: &str, meaning: Meaning) -> Result<Suggestion, FilterReason> {
    let suggestion = match filter(text) {
        Err(FilterReason::TooFewWords) if meaning.is_short_answer(text) => {
            Suggestion::from_filtered(text.trim())
        }
        judged => judged?,
    };
    Ok(suggestion.with_meaning(meaning))
}

type Rule = fn(&Reading<'_>) -> bool;

/// The rules, in their order: the first one that matches is the reason.
const RULES: &[(FilterReason, Rule)] = &[
    (FilterReason::Destructive, destructive::is_destructive),
    (FilterReason::Done, shape::is_done),
    (FilterReason::MetaText, shape::is_meta_text),
    (FilterReason::MetaWrapped, shape::is_wrapped),
    (FilterReason::ErrorMessage, shape::is_error_message),
    (FilterReason::PrefixedLabel, shape::has_label),
    (FilterReason::Quoted, shape::is_quoted),
    (FilterReason::NotACommand, shape::begins_with_sign),
    (FilterReason::TooFewWords, length::has_too_few_words),
    (FilterReason::TooManyWords, length::has_too_many_words),
    (FilterReason::TooLong, length::is_too_long),
    (FilterReason::MultipleSentences, sentence::has_several),
    (FilterReason::Question, question::is_question),
    (FilterReason::HasFormatting, shape::has_formatting),
    (FilterReason::Evaluative, praise::is_praise),
    (FilterReason::AiVoice, voice::is_assistant),
];

/// Turns the text a model proposed into a [`Suggestion`], or says which rule refused it.
///
/// White space around the text is dropped and nothing else is changed; a kept text filtered again is kept and equal.
/// A text over [`MAX_BYTES`] is `too_long` at once, so that the cost is bounded whatever comes in. Then the rules run in
/// this order and the first that hits is the reason:
///
/// | rule | refuses | notes |
/// |---|---|---|
/// | `empty` | nothing but white space | |
/// | `control_chars` | C0, DEL, C1, line and paragraph separators | |
/// | `invisible_chars` | bidi controls, zero-width, private-use, non-characters, fillers | a joiner is fine inside an emoji and between Arabic or Indic letters; a variation selector after the character it selects |
/// | `destructive` | commands and orders that destroy | quotes, case, spacing and look-alike letters do not hide one |
/// | `done` | "done" | and its like in Chinese, Japanese and Korean, as in every rule below |
/// | `meta_text` | "nothing found", "no suggestion…", "silence" | |
/// | `meta_wrapped` | the whole text in brackets | |
/// | `error_message` | "api error: …" and four more | |
/// | `prefixed_label` | `Suggestion: …` | conventional commits (`fix: …`) and tools (`npm: …`) are no labels |
/// | `quoted` | the whole text in quotes, or one half of a pair | |
/// | `not_a_command` | a text that begins with `/`, `!`, `@` or `?` | as a prompt it would be a command, a mention or a request for help, and only the user gives those |
/// | `too_few_words` | one word, unless it is an order ("yes.", "commit!") | in scripts other than Latin any word of two letters that is no mere hesitation; Chinese, Japanese, Korean, Thai and their like: two characters |
/// | `too_many_words` | over 12 words, 30 CJK or 40 Thai (Lao, Khmer, Burmese, Tibetan) characters | mixed texts: each part has its own limit |
/// | `too_long` | 100 characters | combining marks do not count |
/// | `multiple_sentences` | a sentence end and another sentence | titles, initials, versions and list numbers end nothing |
/// | `question` | a question mark at the end of a word, or the form of a question | |
/// | `has_formatting` | asterisk, backtick, heading, list mark, HTML, link, a mention of an address (`@https://…`) | whoever takes the suggestion would fetch it |
/// | `evaluative` | a clause that praises or thanks | a praise word inside an order is fine |
/// | `ai_voice` | "let me…", "I'll…", "here's…" | |
pub fn filter(text: &str) -> Result<Suggestion, FilterReason> {
    let text = text.trim();
    if text.is_empty() {
        return Err(FilterReason::Empty);
    }
    if MAX_BYTES < text.len() {
        return Err(FilterReason::TooLong);
    }
    if text.chars().any(invisible::is_control) {
        return Err(FilterReason::ControlChars);
    }
    if invisible::has_invisible(text) {
        return Err(FilterReason::InvisibleChars);
    }

    let reading = Reading::new(text);
    match RULES.iter().find(|(_, hits)| hits(&reading)) {
        Some((reason, _)) => Err(*reason),
        None => Ok(Suggestion::from_filtered(reading.text)),
    }
}
