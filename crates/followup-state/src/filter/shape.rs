//! Rules about the outer form of a text: what it is wrapped in, begins with, is marked up with.

use super::clause::{contains_phrase, edge_trimmed, starts_with_phrase};
use super::length::words;
use super::reading::Reading;
use super::script::is_latin;
use crate::lexicon::{self, LANGUAGES};

pub(super) fn is_done(reading: &Reading<'_>) -> bool {
    lexicon::any(|language| language.done, |done| reading.bare() == done)
}

pub(super) fn is_meta_text(reading: &Reading<'_>) -> bool {
    let bare = reading.bare();
    LANGUAGES.iter().any(|language| {
        language.nothing.contains(bare)
            || language.nothing_start.any(|start| reading.folded.starts_with(start))
            || language.nothing_within.any(|part| contains_phrase(bare, part))
    })
}

const BRACKETS: &[(char, char)] =
    &[('(', ')'), ('[', ']'), ('{', '}'), ('<', '>'), ('【', '】'), ('〔', '〕'), ('〈', '〉'), ('〖', '〗')];

const QUOTES: &[(char, char)] = &[
    ('"', '"'),
    ('\'', '\''),
    ('`', '`'),
    ('«', '»'),
    ('»', '«'),
    ('„', '"'),
    ('‹', '›'),
    ('「', '」'),
    ('『', '』'),
    ('《', '》'),
    ('｢', '｣'),
    ('〝', '〞'),
];

/// Whether the whole text is in one pair of brackets; `(a) and (b)` is not.
pub(super) fn is_wrapped(reading: &Reading<'_>) -> bool {
    let text = without_final_mark(&reading.folded);
    BRACKETS.iter().any(|(open, close)| {
        let Some(inner) = text.strip_prefix(*open).and_then(|rest| rest.strip_suffix(*close)) else {
            return false;
        };
        let mut depth = 0_i32;
        inner.chars().all(|c| {
            depth += i32::from(c == *open) - i32::from(c == *close);
            0 <= depth
        })
    })
}

/// Whether the whole text is in one pair of quotes, or has only one half of a pair.
pub(super) fn is_quoted(reading: &Reading<'_>) -> bool {
    let text = without_final_mark(&reading.folded);
    QUOTES.iter().any(|(open, close)| {
        let opens = text.starts_with(*open);
        let closes = text.ends_with(*close);
        if opens && closes {
            let inner = text.trim_start_matches(*open).trim_end_matches(*close);
            return !inner.contains(*open) && !inner.contains(*close);
        }
        // One apostrophe can be part of a word, so it is not half a pair of quotes.
        let marks = text.chars().filter(|c| c == open || c == close).count();
        (opens || closes) && marks == 1 && *open != '\''
    })
}

fn without_final_mark(text: &str) -> &str {
    text.trim_end_matches(['.', '!', '?', ',', ';', '。', '…'])
}

pub(super) fn is_error_message(reading: &Reading<'_>) -> bool {
    lexicon::ERROR_MESSAGES.any(|message| reading.folded.starts_with(message))
}

/// `Suggestion: commit this`; not `fix(parser): typo` and not `npm: run build`.
pub(super) fn has_label(reading: &Reading<'_>) -> bool {
    let text = reading.folded.as_str();
    let text = text.trim_start_matches(|c: char| !c.is_alphanumeric());
    if let Some((head, _)) = [" - ", " – ", " — ", "—", " -> ", " → ", " => "]
        .iter()
        .filter_map(|dash| text.split_once(dash))
        .min_by_key(|(head, _)| head.len())
        && is_known_label(head)
    {
        return true;
    }
    let Some((head, rest)) = text.split_once([':', '\u{A789}', '︰']) else { return false };
    let head = head.trim_matches(|c: char| c == ' ' || c == '*' || c == '_' || c == '`');
    if head.chars().any(|c| matches!(c, '.' | ',' | '!' | '?' | '。' | '，')) {
        return false;
    }
    if is_known_label(head) {
        return !rest.starts_with("//");
    }
    let one_word = !head.is_empty() && head.chars().all(|c| is_latin(c) || c.is_ascii_digit() || c == '_');
    one_word
        && rest.starts_with(' ')
        && !lexicon::COMMIT_TYPES.contains(head)
        && !lexicon::TOOLS.contains(head)
}

/// A label of some language, or English words that are all label words ("next step", "my suggestion").
fn is_known_label(head: &str) -> bool {
    if lexicon::any(|language| language.labels, |label| head == label) {
        return true;
    }
    let mut noun = false;
    let all = words(head).all(|word| {
        let is_noun = lexicon::english::LABEL_NOUNS.contains(word);
        noun |= is_noun;
        is_noun || lexicon::english::LABEL_ADJECTIVES.contains(word)
    });
    all && noun
}

/// Whether a prompt of this text would be something else than a prompt: a command of the agent, a command of the shell,
/// a mention or a request for help. A model must not choose those.
pub(super) fn begins_with_sign(reading: &Reading<'_>) -> bool {
    reading.folded.starts_with(['/', '!', '@', '?'])
}

pub(super) fn has_formatting(reading: &Reading<'_>) -> bool {
    let text = reading.folded.as_str();
    text.contains(['*', '`', '＊', '∗'])
        || has_line_mark(text)
        || has_list_number(text)
        || has_html(reading.text)
        || has_inline_mark(text)
        || mentions_address(reading)
}

/// Whether the text mentions a web address: whoever takes the suggestion would fetch it, and only the user may choose
/// what is requested from the web.
fn mentions_address(reading: &Reading<'_>) -> bool {
    ["@https:", "@http:"].iter().any(|mention| reading.folded.as_str().contains(mention))
}

/// Heading, bullet, block quote, table, rule.
fn has_line_mark(text: &str) -> bool {
    let heading = text.trim_start_matches('#');
    let is_heading = heading.len() < text.len() && (heading.starts_with(' ') || text.starts_with("##"));
    let bullet = ["- ", "+ ", "– ", "— ", "> ", "| ", "--- ", "=> ", "-> ", "→ ", "✓ ", "✔ ", "☐ "];
    let sign =
        ['•', '‣', '◦', '▪', '▫', '■', '□', '●', '○', '·', '・', '⁃', '∙', '➤', '▶', '►', '◆', '◇', '❯', '※'];
    is_heading
        || bullet.iter().any(|mark| text.starts_with(mark))
        || text.starts_with(sign)
        || text.starts_with('|')
}

/// `1. `, `2) `, `(3) `, `a) `, `１、`, `①`.
fn has_list_number(text: &str) -> bool {
    if text.starts_with(|c: char| matches!(u32::from(c), 0x2460..=0x24FF | 0x2776..=0x2793)) {
        return true;
    }
    let open = text.starts_with('(');
    let rest = text.trim_start_matches('(');
    let digits = rest.trim_start_matches(|c: char| c.is_numeric());
    let numbered = rest.len() - digits.len();
    let after = if 0 < numbered {
        digits
    } else if rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
        &rest[1..]
    } else {
        let chinese = rest.trim_start_matches(['一', '二', '三', '四', '五', '六', '七', '八', '九', '十']);
        return chinese.len() < rest.len() && chinese.starts_with(['、', '.', '．']);
    };
    let mut chars = after.chars();
    match chars.next() {
        Some('、') => 0 < numbered,
        Some('.') => {
            0 < numbered && chars.next().is_some_and(|c| c == ' ' || !c.is_ascii() && c.is_alphabetic())
        }
        Some(')') => open || chars.next().is_none_or(|c| c == ' ' || !c.is_ascii()),
        _ => false,
    }
}

/// A tag, a comment or an entity; the angle brackets of `Vec<String>` are none.
fn has_html(text: &str) -> bool {
    if text.contains("</") || text.contains("<!--") || text.contains("/>") {
        return true;
    }
    let entity = text.match_indices('&').any(|(at, _)| {
        let rest = &text[at + 1..];
        rest.find(';').is_some_and(|end| {
            (2..=8).contains(&end) && rest[..end].chars().all(|c| c.is_ascii_alphanumeric() || c == '#')
        })
    });
    entity
        || text.match_indices('<').any(|(at, _)| {
            let rest = &text[at + 1..];
            let Some(end) = rest.find('>') else { return false };
            let name: String = rest[..end].chars().take_while(char::is_ascii_alphanumeric).collect();
            let glued = text[..at].ends_with(|c: char| c.is_alphanumeric() || c == ':' || c == '_');
            rest.starts_with(|c: char| c.is_ascii_alphabetic())
                && (!glued || lexicon::HTML_TAGS.contains(&name))
        })
}

/// Link, image, strike-through, bold or italic by underscores, checkbox.
fn has_inline_mark(text: &str) -> bool {
    let italic = text.len() > 2 && text.starts_with('_') && text.ends_with('_') && !text.starts_with("__");
    let bold = text.split("__").collect::<Vec<_>>();
    let bold = 3 <= bold.len()
        && bold.iter().skip(1).step_by(2).any(|inner| inner.trim() == *inner && inner.contains(' '));
    let strike = 2 <= text.matches("~~").count();
    let checkbox = ["[ ] ", "[x] "].iter().any(|mark| starts_with_phrase(text, mark));
    text.contains("](")
        || text.contains("![")
        || italic
        || bold
        || strike
        || checkbox
        || edge_trimmed(text).is_empty()
}
