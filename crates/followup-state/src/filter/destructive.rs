//! Texts that ask for destruction: as a command line anywhere in the text, or as an order in words.
//!
//! Quotes, backslashes, case, spacing, full-width letters and Cyrillic look-alikes are removed first. A doubtful text
//! is refused, because losing a good suggestion costs a moment and keeping a bad one may cost a repository.

use super::clause::{contains_phrase, ends_with_phrase};
use super::commands;
use super::length::words;
use super::reading::Reading;
use crate::lexicon::{Destroy, LANGUAGES, List, english};

pub(super) fn is_destructive(reading: &Reading<'_>) -> bool {
    let plain = unquoted(&reading.folded);
    let latin = look_alikes_made_latin(&plain);
    commands::is_destructive(&latin, reading.text)
        || orders_destruction(&latin)
        || LANGUAGES.iter().any(|language| {
            language.destructive.any(|phrase| contains_phrase(&plain, phrase))
                || language.destroy.iter().any(|order| order.matches(&plain))
        })
}

/// The text without quotes and backslashes, and with two hyphens for a long dash before a letter, as in `–force`.
fn unquoted(folded: &str) -> String {
    let mut plain = String::with_capacity(folded.len());
    let mut chars = folded.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' | '\'' | '`' | '\\' => {}
            '–' | '—' if chars.peek().is_some_and(char::is_ascii_alphabetic) => {
                plain.push_str("--");
            }
            _ => plain.push(c),
        }
    }
    plain
}

/// Replaces Cyrillic and Greek letters that look Latin, in words that also hold a Latin letter, a digit or a hyphen.
fn look_alikes_made_latin(text: &str) -> String {
    let parts: Vec<String> = text
        .split(' ')
        .map(|word| {
            let mixed = word.contains(|c: char| c.is_ascii_alphabetic());
            if mixed { word.chars().map(latin_look_alike).collect() } else { word.to_owned() }
        })
        .collect();
    parts.join(" ")
}

fn latin_look_alike(c: char) -> char {
    match c {
        'а' | 'α' => 'a',
        'с' | 'ϲ' => 'c',
        'ԁ' => 'd',
        'е' | 'ё' | 'ε' => 'e',
        'һ' | 'н' => 'h',
        'і' | 'ι' | 'ı' => 'i',
        'ј' => 'j',
        'к' | 'κ' => 'k',
        'м' => 'm',
        'о' | 'ο' => 'o',
        'р' | 'ρ' => 'p',
        'ѕ' => 's',
        'т' | 'τ' => 't',
        'υ' | 'ц' => 'u',
        'ѵ' | 'ν' => 'v',
        'х' | 'χ' => 'x',
        'у' => 'y',
        'г' => 'r',
        _ => c,
    }
}

/// Whether an English text orders destruction: a verb, an object, and no further noun behind the object ("delete the
/// database tests").
fn orders_destruction(plain: &str) -> bool {
    let spaced = plain.replace([',', ';', '|', '&'], " , ");
    let words: Vec<&str> = spaced
        .split(' ')
        .map(|word| {
            if word == "," {
                word
            } else {
                word.trim_start_matches('(').trim_end_matches(['.', '!', ')', ':', '?'])
            }
        })
        .filter(|word| !word.is_empty())
        .collect();
    words.iter().enumerate().any(|(at, verb)| {
        let rest = &words[at + 1..];
        if english::ERASE_DISK_VERBS.contains(verb) && reaches_object(rest, english::DISKS) {
            return true;
        }
        let mild = english::MILD_VERBS.contains(verb);
        let precious = if mild { english::MOST_PRECIOUS } else { english::PRECIOUS };
        let empties =
            *verb == "empty" && rest.first().is_some_and(|next| english::DETERMINERS.contains(next));
        (empties || english::DESTROY_VERBS.contains(verb))
            && (reaches_object(rest, precious) || reaches_all(rest) || destroys_directory(rest))
            || english::DISCARD_VERBS.contains(verb) && reaches_changes(rest)
    })
}

/// Whether determiners and qualifiers follow, and then one of `objects` as the last word of its phrase.
fn reaches_object(rest: &[&str], objects: List) -> bool {
    let skipped = rest.iter().take(6).take_while(|word| english::DETERMINERS.contains(word)).count();
    (0..=skipped)
        .any(|at| rest.get(at).is_some_and(|word| objects.contains(word)) && phrase_ends(&rest[at + 1..]))
}

/// "all (of) (the) files", "everything".
fn reaches_all(rest: &[&str]) -> bool {
    let skipped = rest.iter().take(6).take_while(|word| english::DETERMINERS.contains(word)).count();
    let quantified = rest[..skipped].iter().any(|word| english::QUANTIFIERS.contains(word));
    let object = rest.get(skipped).is_some_and(|word| english::WHEN_ALL.contains(word));
    let everything =
        (0..skipped).any(|at| english::EVERYTHING.contains(rest[at]) && phrase_ends(&rest[at + 1..]));
    everything || (quantified && object && phrase_ends(&rest[skipped + 1..]))
}

/// "the home directory", "the .git folder".
fn destroys_directory(rest: &[&str]) -> bool {
    rest.iter()
        .take(5)
        .any(|word| matches!(*word, ".git" | "~" | "/" | "/*" | "~/" | "$home" | "/etc" | "/home" | "/usr"))
        || rest.windows(2).take(4).any(|pair| {
            matches!(
                pair[0],
                "home" | "root" | "entire" | "whole" | "system" | "source" | "src" | "working" | "project"
            ) && matches!(pair[1], "directory" | "folder" | "dir" | "tree" | "partition")
        })
}

fn reaches_changes(rest: &[&str]) -> bool {
    let skipped = rest.iter().take(6).take_while(|word| english::DETERMINERS.contains(word)).count();
    rest.get(skipped)
        .is_some_and(|word| matches!(*word, "changes" | "work" | "edits" | "everything" | "modifications"))
        && (0 < skipped || rest.get(skipped).is_some_and(|word| *word == "everything"))
        && phrase_ends(&rest[skipped + 1..])
}

fn phrase_ends(rest: &[&str]) -> bool {
    rest.first().is_none_or(|next| {
        english::AFTER_AN_OBJECT.contains(next) || !next.starts_with(char::is_alphanumeric)
    })
}

impl Destroy {
    fn matches(&self, plain: &str) -> bool {
        self.orders(plain, self.objects, false) || self.orders(plain, self.alone, true)
    }

    /// Whether the text orders one of these objects to be destroyed; with `is_alone`, if nothing follows the object.
    fn orders(&self, plain: &str, objects: List, is_alone: bool) -> bool {
        objects.any(|object| {
            plain.match_indices(object).any(|(at, _)| {
                let tail = &plain[at + object.len()..];
                let before = self.skip_back(plain[..at].trim_end());
                let after = self.skip(tail);
                if is_alone && after.starts_with(char::is_alphanumeric) && !object.contains(' ') {
                    return false;
                }
                // Scripts without spaces have no word boundary, so the text must end here: this tells "delete the
                // database" from "delete the database connection code".
                let ends = tail.len() != after.len() || !tail.starts_with(char::is_alphanumeric);
                let verb_before = self.verbs.any(|verb| before_ends_with(before, verb));
                let verb_after = self.verbs.any(|verb| after.starts_with(verb));
                verb_after || (verb_before && ends)
            })
        })
    }

    fn skip<'t>(&self, text: &'t str) -> &'t str {
        let mut text = text.trim_start();
        while let Some(rest) = self.between.iter().find_map(|word| text.strip_prefix(word)) {
            text = rest.trim_start();
        }
        text
    }

    fn skip_back<'t>(&self, mut text: &'t str) -> &'t str {
        while let Some(rest) = self.between.iter().find_map(|word| text.strip_suffix(word)) {
            text = rest.trim_end();
        }
        text
    }
}

/// Whether `before` ends with the verb, or its last word begins with the verb as its stem.
fn before_ends_with(before: &str, verb: &str) -> bool {
    ends_with_phrase(before, verb)
        || words(before).last().is_some_and(|last| 3 < verb.len() && last.starts_with(verb))
}
