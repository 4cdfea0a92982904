use super::clause::{ends_with_phrase, starts_with_phrase};
use super::length::words;
use super::reading::Reading;
use crate::lexicon::{self, LANGUAGES, english};

/// Whether a clause praises or thanks. A praise word in the middle of an order ("fix the perfect hash") does not.
pub(super) fn is_praise(reading: &Reading<'_>) -> bool {
    let is_praising = |clause: &&str| praises(clause) || praises_in_english(clause);
    ends_in_thanks(reading.bare())
        || reading.clauses().any(|clause| is_praising(&clause))
            && !reading.clauses().last().is_some_and(|last| !is_praising(&last) && orders(last))
}

/// Whether a clause is an order: "commit it" behind "looks good".
fn orders(clause: &str) -> bool {
    let inner = lexicon::without_lead_ins(clause);
    LANGUAGES.iter().any(|language| {
        language.orders.any(|order| starts_with_phrase(inner, order))
            || language.order_end.any(|end| ends_with_phrase(inner, end))
    })
}

fn praises(clause: &str) -> bool {
    let inner = lexicon::without_lead_ins(clause);
    LANGUAGES.iter().any(|language| {
        let order = language.order_marks.any(|mark| inner.contains(mark));
        let whole = language.praise.any(|praise| inner == praise || clause == praise);
        let start = language
            .praise_start
            .any(|praise| starts_with_phrase(inner, praise) || starts_with_phrase(clause, praise));
        let end = !order && language.praise_end.any(|praise| ends_with_phrase(clause, praise));
        whole || start || end
    })
}

fn praises_in_english(clause: &str) -> bool {
    let all: Vec<&str> = words(clause).collect();
    let skipped = all.iter().take_while(|word| english::PRAISE_LEAD_INS.contains(word)).count();
    let words = &all[skipped..];
    let Some((first, rest)) = words.split_first() else { return false };
    if english::PRAISE_WORDS.contains(first) {
        return !rest.first().is_some_and(|next| {
            english::PRAISE_COMPOUNDS.any(|term| term.split_once(' ') == Some((*first, *next)))
        });
    }
    if english::WEAK_PRAISE_WORDS.contains(first) {
        return rest.first().is_none_or(|next| english::PRAISED_NOUNS.contains(next));
    }
    english::SUBJECTS.contains(first) && says_it_is_good(words)
}

/// "the fix (really) looks (very) good", "that's a great start", "it works (well)".
fn says_it_is_good(words: &[&str]) -> bool {
    let contracted = words[0].ends_with("'s") || words[0].ends_with("'re");
    let verb = if contracted {
        Some(0)
    } else {
        words.iter().take(7).position(|word| english::COPULAS.contains(word))
    };
    let praised = verb.is_some_and(|at| {
        let mut after = words[at + 1..].iter().skip_while(|word| english::ADVERBS.contains(word));
        after.next().is_some_and(|word| {
            english::PRAISE_WORDS.contains(word)
                || english::WEAK_PRAISE_WORDS.contains(word)
                || english::PREDICATES.contains(word)
        })
    });
    let runs = words.iter().take(5).position(|word| matches!(*word, "works" | "worked" | "work"));
    praised
        || runs.is_some_and(|at| words[at + 1..].first().is_none_or(|next| english::WORKS_HOW.contains(next)))
}

/// "run the tests thanks", but not "add a thank you".
fn ends_in_thanks(bare: &str) -> bool {
    let Some(head) = ["thanks", "thank you", "thx"]
        .iter()
        .find_map(|end| ends_with_phrase(bare, end).then(|| bare.strip_suffix(end)).flatten())
    else {
        return false;
    };
    let before = words(head).last();
    !before.is_some_and(|word| english::BEFORE_A_NOUN.contains(word))
}
