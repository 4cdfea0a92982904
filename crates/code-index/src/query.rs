//! Reads what a text searches for.

use std::collections::HashMap;
use std::ops::Range;

use headstart_overlay_fs::WorkspacePath;

use crate::token::{identifiers, is_cjk, tokens};
use crate::{NearChunk, symbol, whole};

/// Only this many bytes of a query are read, and only this many different terms.
const LONGEST: usize = 32_000;
const MOST_READ: usize = 1_000;
/// The most terms that are compared: those that tell most.
pub(crate) const MOST_TERMS: usize = 64;
/// The most names that are looked up among the definitions.
const MOST_NAMES: usize = 8;

/// The weight of two neighbouring words as the name that they would be together: type adapter is `TypeAdapter`.
const JOINED: f32 = 0.5;

/// Words that say nothing about what is searched for.
const STOP_WORDS: [&str; 61] = [
    "a", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "could", "do", "does", "for",
    "from", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "me", "my", "of", "on", "or",
    "our", "should", "so", "that", "the", "their", "there", "this", "to", "was", "we", "where", "which",
    "with", "why", "what", "when", "who", "whose", "than", "then", "they", "them", "these", "those", "were",
    "will", "would", "you", "your",
];

/// Words around the name of a definition that is asked for.
const AROUND_NAMES: [&str; 13] = [
    "show", "find", "explain", "tell", "look", "up", "go", "locate", "please", "code", "work", "works", "pub",
];

/// Words that ask for a definition, so that the single remaining word is its name: "where is Empty defined".
const DEFINING: [&str; 21] = [
    "function",
    "method",
    "class",
    "struct",
    "enum",
    "trait",
    "interface",
    "type",
    "macro",
    "module",
    "constant",
    "definition",
    "define",
    "defined",
    "declared",
    "implementation",
    "implemented",
    "fn",
    "def",
    "func",
    "const",
];

/// The name of a definition, as it was written: `check`, `Session::check`, `session.check`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) text: String,
    /// What it is said to be in: a type, a module, a file.
    pub(crate) within: Option<String>,
}

/// A parsed query: what is searched for, and where.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Query {
    /// The terms and their weights.
    pub(crate) terms: Vec<(String, f32)>,
    /// Names that may be those of definitions.
    pub(crate) names: Vec<Name>,
    /// Whether the query consists of names only.
    pub(crate) only_names: bool,
    /// Whether it asks for tests, and for texts.
    pub(crate) asks_for_tests: bool,
    pub(crate) asks_for_texts: bool,
    /// Only files at or below this path are searched.
    pub(crate) folder: Option<WorkspacePath>,
    /// Only files with this extension are searched.
    pub(crate) ending: Option<String>,
    /// Chunks of the lowest layer whose vectors are close to the query's, the closest first.
    pub(crate) nearest: Vec<NearChunk>,
}

impl Query {
    /// Parses a query. Any text is one: no character has a special meaning that could be wrong.
    ///
    /// `is_there` says whether something is at or below a path: "in PATH" is only a place if it is, because "in the
    /// tests" usually is none.
    pub fn parse(text: &str, is_there: impl Fn(&WorkspacePath) -> bool) -> Self {
        let mut query = Self::default();
        let beginning = beginning(text).trim();
        let title = beginning.lines().next().filter(|title| title.len() < beginning.len());
        let title = title.map_or(0, |title| title.split_whitespace().map(|word| word.len() + 1).sum());
        let text = query.without_place(beginning, is_there);
        query.read_words(&text, title);
        let asks = |words: &[&str]| words.iter().any(|word| query.terms().any(|term| term == whole(word)));
        let asks_for_tests = asks(&["test", "spec", "fixture", "mock"]);
        let wants_prose = asks(&["docs", "documentation", "readme", "guide", "tutorial", "changelog"]);
        (query.asks_for_tests, query.asks_for_texts) = (asks_for_tests, wants_prose);
        query
    }

    /// Searches only at or below this path, whatever the text says.
    #[must_use]
    pub fn below(mut self, folder: WorkspacePath) -> Self {
        self.folder = Some(folder);
        self
    }

    /// Adds the chunks of a view's lowest index whose meaning is closest, the closest first. They change the order of
    /// files that were found by words, and add a few files. A query for a definition ignores them.
    #[must_use]
    pub fn with_nearest(mut self, nearest: Vec<NearChunk>) -> Self {
        self.nearest = nearest;
        self
    }

    /// Whether the query searches for nothing.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The names of code in it, as they were written.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|name| name.text.as_str())
    }

    /// The words, for looking them up by other means.
    pub fn terms(&self) -> impl Iterator<Item = &str> {
        self.terms.iter().map(|(term, _)| term.as_str())
    }

    /// The words in a text that the query asks for.
    pub fn marks(&self, text: &str) -> Vec<Range<usize>> {
        let mut marks = Vec::new();
        identifiers(text, |run| {
            let start = run.as_ptr() as usize - text.as_ptr() as usize;
            if 0.0 < self.words_in(run) {
                marks.push(start..start + run.len());
            }
        });
        marks
    }

    /// How much of the query is in a text.
    pub(crate) fn words_in(&self, name: &str) -> f32 {
        let mut found = 0.0;
        tokens(name, |token| {
            found += self.terms.iter().find(|(term, _)| term == token).map_or(0.0, |(_, weight)| *weight);
        });
        found
    }

    /// Removes `in PATH` and `*.rs files`.
    fn without_place(&mut self, text: &str, is_there: impl Fn(&WorkspacePath) -> bool) -> String {
        let words: Vec<&str> = text.split_whitespace().collect();
        let mut rest = Vec::with_capacity(words.len());
        let mut at = 0;
        while at < words.len() {
            let next = words.get(at + 1).copied();
            if words[at].eq_ignore_ascii_case("in")
                && self.folder.is_none()
                && let Some(path) = next.and_then(place).filter(|path| is_there(path))
            {
                self.folder = Some(path);
                at += 2;
                if words.get(at).is_some_and(|word| ["folder", "directory"].contains(word)) {
                    at += 1;
                }
                continue;
            }
            if next.is_some_and(|next| next.trim_end_matches(['.', ',', '?']).eq_ignore_ascii_case("files"))
                && let Some(ending) = ending(words[at])
            {
                self.ending = Some(ending);
                at += 2;
                continue;
            }
            if let Some((path, after)) = words[at].strip_prefix('在').and_then(|word| word.split_once("目录"))
                && let Some(path) = place(path).filter(|path| is_there(path))
            {
                self.folder = Some(path);
                rest.push(after);
                at += 1;
                continue;
            }
            rest.push(words[at]);
            at += 1;
        }
        rest.join(" ")
    }

    /// The first `title` bytes are the title of a longer text, such as an issue's.
    fn read_words(&mut self, text: &str, title: usize) {
        let mut terms = Terms::default();
        let scope_end = scope_end(text).max(title);
        let paths = qualified(text);
        let head = symbol::head(text);
        let mut names: Vec<(&str, Option<&str>)> =
            paths.iter().map(|path| (path.name, Some(path.within))).collect();
        let mut only_names = true;
        // Words that could be a name according to the words around them.
        let (mut plain, mut asks_for_definition): (Vec<&str>, bool) = (Vec::new(), false);
        let (mut before, mut joined): (Option<&str>, Vec<String>) = (None, Vec::new());
        let quoted = text.split('`').zip([false, true].into_iter().cycle());
        let mut at = 0;
        for (part, in_backticks) in quoted {
            let part_at = at;
            at += part.len() + 1;
            identifiers(part, |run| {
                // The offset of the run, to know whether it stands before the first colon.
                let place = part_at + (run.as_ptr() as usize - part.as_ptr() as usize);
                let scope = if place < scope_end { 1.5 } else { 1.0 };
                let lower = run.to_lowercase();
                let is_call = text[place + run.len()..].starts_with("()");
                let in_path = paths.iter().any(|path| path.bytes.contains(&place));
                let like_code = in_path || is_call || looks_like_code(run);
                if !in_backticks && !like_code {
                    if STOP_WORDS.contains(&lower.as_str()) {
                        terms.stopped.push(lower);
                        return;
                    }
                    let defines = DEFINING.contains(&lower.as_str());
                    asks_for_definition |= defines;
                    if !defines && !AROUND_NAMES.contains(&lower.as_str()) {
                        only_names = false;
                        plain.push(run);
                    }
                }
                if !in_path && (in_backticks || like_code) {
                    names.push((run, None));
                }
                let own = whole(run);
                if !own.is_empty()
                    && let Some(before) = before.replace(run)
                    && let end = before.as_ptr() as usize - text.as_ptr() as usize + before.len()
                    && [" ", "-"].contains(&&text[end..place])
                    && ![String::new(), own.clone()].contains(&whole(before))
                {
                    joined.push(whole(&format!("{}{lower}", before.to_lowercase())));
                }
                tokens(run, |token| {
                    let is_whole = token == own && like_code;
                    let weight = match (in_backticks, is_whole) {
                        (true, _) => 1.8,
                        (false, true) => 1.2,
                        (false, false) => 1.0,
                    };
                    terms.add(token, weight * scope);
                });
            });
        }
        for name in joined.iter().filter(|name| !name.is_empty()) {
            terms.add(name, JOINED);
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        if let [name] = plain[..]
            && names.is_empty()
            && asks_for_definition
        {
            names.push((name, None));
            only_names = true;
        }
        if names.is_empty()
            && let [word] = words[..]
        {
            // A single word is a name, whatever it looks like.
            names.push((word.trim_matches(|sign: char| !sign.is_alphanumeric() && sign != '_'), None));
            only_names = true;
        }
        if let Some(name) = head {
            names = vec![(name, None)];
            only_names = true;
        }
        names.truncate(MOST_NAMES);
        names.retain(|(name, _)| !name.is_empty() && !name.contains(is_cjk));
        self.only_names = only_names && !names.is_empty();
        let name = |(text, within): (&str, Option<&str>)| Name {
            text: text.to_owned(),
            within: within.map(str::to_owned),
        };
        self.names = names.into_iter().map(name).collect();
        self.terms = terms.finish();
    }
}

/// A name with what it is in: `Session::check`, `session.check()`, `Session#check`.
struct Path<'a> {
    /// Where it is in the text.
    bytes: Range<usize>,
    within: &'a str,
    name: &'a str,
}

/// The names that are written with what they are in. A dot only joins two of them where nothing else is asked for, or
/// in backticks, because in a sentence it also ends file names and abbreviations.
fn qualified(text: &str) -> Vec<Path<'_>> {
    let is_alone = text.split_whitespace().nth(1).is_none();
    let mut runs: Vec<Range<usize>> = Vec::new();
    identifiers(text, |run| {
        let start = run.as_ptr() as usize - text.as_ptr() as usize;
        runs.push(start..start + run.len());
    });
    let joins = |one: &Range<usize>, other: &Range<usize>| {
        let in_backticks = text[..one.start].matches('`').count() % 2 == 1;
        match &text[one.end..other.start] {
            "::" | "->" | "#" => true,
            "." => is_alone || in_backticks || text[other.end..].starts_with("()"),
            _ => false,
        }
    };
    let mut paths: Vec<Path<'_>> = Vec::new();
    for pair in runs.windows(2).filter(|pair| joins(&pair[0], &pair[1])) {
        let (within, name) = (&text[pair[0].clone()], &text[pair[1].clone()]);
        match paths.last_mut().filter(|path| path.bytes.end == pair[0].end) {
            Some(path) => {
                // `View.prototype.render` is in View.
                let within = if within == "prototype" { path.within } else { within };
                *path = Path { bytes: path.bytes.start..pair[1].end, within, name };
            }
            None => paths.push(Path { bytes: pair[0].start..pair[1].end, within, name }),
        }
    }
    paths
}

/// The beginning of a long text, without cutting a word.
fn beginning(text: &str) -> &str {
    if text.len() <= LONGEST {
        return text;
    }
    let end = (0..=LONGEST).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    &text[..text[..end].rfind(char::is_whitespace).unwrap_or(end)]
}

/// Terms in the order in which they came, without repetitions.
#[derive(Default)]
struct Terms {
    list: Vec<(String, f32)>,
    places: HashMap<String, usize>,
    /// Stop words, which only count if there are no other words.
    stopped: Vec<String>,
}

impl Terms {
    fn add(&mut self, token: &str, weight: f32) {
        if let Some(place) = self.places.get(token) {
            let (_, known) = &mut self.list[*place];
            *known = known.max(weight);
        } else if self.list.len() < MOST_READ {
            self.places.insert(token.to_owned(), self.list.len());
            self.list.push((token.to_owned(), weight));
        }
    }

    fn finish(mut self) -> Vec<(String, f32)> {
        if self.list.is_empty() {
            for word in std::mem::take(&mut self.stopped) {
                tokens(&word, |token| self.add(token, 1.0));
            }
        }
        self.list
    }
}

/// The end of the first word if a colon follows it: `grep: …`, `fix(parser): …`.
fn scope_end(text: &str) -> usize {
    match text.find(": ") {
        Some(colon) if !text[..colon].trim().contains(char::is_whitespace) => colon,
        _ => 0,
    }
}

/// Whether an identifier is spelled as only code is: `snake_case`, `camelCase`, `CamelCase`, `v2x`.
fn looks_like_code(run: &str) -> bool {
    let mut signs = run.chars();
    let first_is_upper = signs.next().is_some_and(char::is_uppercase);
    let rest = signs.as_str();
    let has_lower = run.chars().any(char::is_lowercase);
    let inner_capital = rest.contains(char::is_uppercase) && has_lower;
    let inner_underscore = run.trim_matches('_').contains('_');
    // `API` and `TODO` may be words; `MAX_SIZE` contains an underscore.
    inner_underscore || inner_capital && (!first_is_upper || rest.contains(char::is_lowercase))
}

fn place(word: &str) -> Option<WorkspacePath> {
    let word = word.trim_matches(['`', '"', '\'', ',', '?', ':', ';']).trim_end_matches('.');
    if word.is_empty() || word.starts_with('/') {
        return None;
    }
    WorkspacePath::parse(word).ok().filter(|path| !path.is_root())
}

/// The extension in `*.rs` or `.rs`.
fn ending(word: &str) -> Option<String> {
    let ending = word.strip_prefix("*.").or_else(|| word.strip_prefix('.'))?;
    let plain =
        !ending.is_empty() && ending.len() <= 12 && ending.bytes().all(|byte| byte.is_ascii_alphanumeric());
    plain.then(|| ending.to_ascii_lowercase())
}

#[cfg(test)]
mod tests;
