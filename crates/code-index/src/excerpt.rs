//! The lines of a place that are worth reading: for a model, and for a person.

use std::fmt::Write as _;
use std::ops::Range;

use crate::outline::is_comment;
use crate::{Hit, Query};

/// A line that is longer is cut.
const LONGEST_LINE: usize = 400;
/// The most bytes of text of one place, of all places that define a name, and of all places.
const MAX_PLACE: usize = 1_500;
const MAX_ASKED: usize = 1_700;
const MAX_TEXT: usize = 6 << 10;
/// The most lines of a comment above a definition that are shown with it.
const MOST_ABOVE: usize = 12;
/// What follows is left out if a place has less than this share of the score of the one before.
const GAP: f32 = 0.6;
/// The most places that are shown without a gap in their scores.
const MOST_PLACES: usize = 10;

impl Hit {
    /// How many of these hits answer the query: where a definition was asked for by its name, the places that define
    /// it, and otherwise those before a gap in the scores.
    pub fn telling(hits: &[Self]) -> usize {
        let asked = hits.iter().take_while(|hit| hit.is_asked).count();
        if 0 < asked {
            return asked.min(MOST_PLACES);
        }
        let gap = hits.windows(2).position(|pair| pair[1].score < GAP * pair[0].score);
        gap.map_or(hits.len(), |at| at + 1).min(MOST_PLACES)
    }

    /// How many bytes a model is shown of this place, after so many of others: a name that is asked for needs little.
    pub fn room(&self, shown: usize) -> usize {
        let most = if self.is_asked { MAX_ASKED } else { MAX_TEXT };
        if self.lines == (0, 0) { 0 } else { most.saturating_sub(shown).min(MAX_PLACE) }
    }

    /// The lines of the place in the text of its file, each as `number: line`, in about `bytes` at most: a definition
    /// with the comment above it and its head, and where that is too long, what has most of the query's words.
    pub fn excerpt(&self, text: &str, query: &Query, bytes: usize) -> String {
        let lines: Vec<&str> = text.lines().collect();
        let whole = self.whole(&lines);
        let size = |range: &Range<usize>| lines[range.clone()].iter().map(|line| shown(line).len() + 6).sum();
        let mut parts: Vec<Range<usize>> = Vec::new();
        let head = self.head(&lines).filter(|head| whole.contains(head));
        if size(&whole) <= bytes {
            parts.push(whole.clone());
        } else {
            let start = head.map_or(whole.start, |head| head + 1);
            let head = head.map(|head| whole.start.max(head.saturating_sub(2))..head + 1);
            let left = bytes.saturating_sub(head.as_ref().map_or(0, &size));
            parts.extend(head);
            let body = if self.is_asked { start..whole.end } else { self.range(&lines) };
            parts.push(densest(&lines, body.start.max(start)..body.end.max(start), query, left));
        }
        let (mut shown_lines, mut next) = (String::new(), whole.start);
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            if next < part.start {
                let _ = writeln!(shown_lines, "[{} lines]", part.start - next);
            }
            for number in part.clone() {
                let _ = writeln!(shown_lines, "{}: {}", number + 1, shown(lines[number]));
            }
            next = part.end;
        }
        if next < whole.end {
            let _ = writeln!(shown_lines, "[{} lines]", whole.end - next);
        }
        shown_lines
    }

    /// The two lines that tell most of the place, with their numbers: the head of its definition, and those with the
    /// query's words.
    pub fn preview<'a>(&self, text: &'a str, query: &Query) -> Vec<(usize, &'a str)> {
        let lines: Vec<&str> = text.lines().collect();
        let head = self.head(&lines);
        let mut rated: Vec<(f32, usize)> = self
            .range(&lines)
            .filter(|at| !lines[*at].trim().is_empty())
            .map(|at| (query.words_in(lines[at]) + if Some(at) == head { 100.0 } else { 0.0 }, at))
            .collect();
        rated.sort_by(|one, other| other.0.total_cmp(&one.0));
        let mut best: Vec<usize> = rated.into_iter().take(2).map(|(_, at)| at).collect();
        best.sort_unstable();
        best.into_iter().map(|at| (at + 1, lines[at])).collect()
    }

    /// The place's own lines.
    fn range(&self, lines: &[&str]) -> Range<usize> {
        let (first, last) = self.lines;
        (first as usize).saturating_sub(1).min(lines.len())..(last as usize).min(lines.len())
    }

    /// The line in which the definition of the place begins.
    fn head(&self, lines: &[&str]) -> Option<usize> {
        let head = (self.symbol.as_ref()?.first as usize).checked_sub(1)?;
        (head < lines.len()).then_some(head)
    }

    /// The place with the head of the definition that it is in, and the comment above that.
    fn whole(&self, lines: &[&str]) -> Range<usize> {
        let mut range = self.range(lines);
        let Some(head) = self.head(lines) else { return range };
        range.start = range.start.min(head);
        if range.start == head {
            let is_part = |at: &usize| is_comment(lines[*at]);
            range.start -= (0..head).rev().take_while(is_part).take(MOST_ABOVE).count();
        }
        range
    }
}

/// The lines around the one with most of the query's words, as many as these bytes hold.
fn densest(lines: &[&str], range: Range<usize>, query: &Query, bytes: usize) -> Range<usize> {
    let cost = |at: usize| shown(lines[at]).len() + 6;
    let words: Vec<f32> = range.clone().map(|at| query.words_in(lines[at])).collect();
    let (mut start, mut end, mut size, mut sum) = (range.start, range.start, 0, 0.0);
    let mut best = (f32::MIN, range.start..range.start);
    while end < range.end {
        size += cost(end);
        sum += words[end - range.start];
        end += 1;
        while bytes < size && start + 1 < end {
            size -= cost(start);
            sum -= words[start - range.start];
            start += 1;
        }
        if best.0 + 1e-3 < sum || best.1.start == start {
            best = (sum, start..end);
        }
    }
    best.1
}

fn shown(line: &str) -> &str {
    let end = (0..=LONGEST_LINE.min(line.len())).rev().find(|end| line.is_char_boundary(*end));
    line[..end.unwrap_or(0)].trim_end()
}

#[cfg(test)]
mod tests {
    use headstart_overlay_fs::WorkspacePath;

    use super::*;
    use crate::{Budget, MemoryIndex, View, Weights, search};

    fn hits(text: &str, asked: &str) -> (Vec<Hit>, Query) {
        let path = WorkspacePath::parse("a.kt").unwrap();
        let index = MemoryIndex::of([(&path, text.as_bytes())]);
        let view = View::new(&index, []);
        let query = Query::parse(asked, |path| view.has(path));
        (search(&view, &query, Budget::default(), &[], &Weights::default()).unwrap(), query)
    }

    #[test]
    fn a_definition_is_shown_whole_with_its_comment_and_numbers() {
        let text = "fun one() {\n}\n\n// Counts.\nfun count() {\n    1\n}\n\nfun two() {}\n";
        let (hits, query) = hits(text, "count");
        assert_eq!((hits[0].lines, Hit::telling(&hits)), ((5, 7), 1));
        let shown = hits[0].excerpt(text, &query, 1_000);
        assert_eq!(shown, "4: // Counts.\n5: fun count() {\n6:     1\n7: }\n");
        assert_eq!(hits[0].preview(text, &query), [(5, "fun count() {"), (6, "    1")]);
    }

    /// Of a long definition the head is shown, and what has the words of the query.
    #[test]
    fn what_is_too_long_is_shown_by_its_head_and_the_words_that_were_asked_for() {
        let filler = "    val some = thing\n".repeat(30);
        let text = format!("fun long() {{\n{filler}    retryPayment()\n{filler}}}\n");
        let (hits, query) = hits(&text, "where are payments retried in long things");
        let shown = hits[0].excerpt(&text, &query, 300);
        assert!(
            shown.starts_with("1: fun long() {\n[") && shown.contains("32:     retryPayment()"),
            "{shown}"
        );
        assert!(shown.len() < 400 && shown.ends_with(" lines]\n"), "{shown}");
    }

    /// No text, no place and no limit is too odd to be shown.
    #[test]
    fn a_place_that_is_not_there_is_no_panic() {
        let (mut hits, query) = hits("fun count() {\n    1\n}\n", "count");
        for text in ["", "\n", "x", "fun count() {\n    1\n}\n"] {
            for lines in [(0, 0), (1, 1), (2, 900), (900, 901)] {
                for bytes in [0, 1, 10_000] {
                    hits[0].lines = lines;
                    let _ = hits[0].excerpt(text, &query, bytes);
                    let _ = hits[0].preview(text, &query);
                }
            }
        }
        assert!(hits[0].excerpt(&"é".repeat(900), &query, 10_000).len() < 900);
    }
}
