//! Finds where in an answer a call may begin.

use super::forms::{MARKERS, OPEN_JSON};

/// Goes through the words of an answer line by line. The words may grow between two steps.
#[derive(Debug, Default)]
pub(super) struct Scanner {
    /// Where the line begins that is looked at.
    line: usize,
    /// Up to where it was looked at.
    done: usize,
    fence: Option<Fence>,
    /// The inside of the last fence, and where the line behind it begins.
    last: Option<(usize, usize, usize)>,
}

#[derive(Debug, Clone, Copy)]
struct Fence {
    letter: char,
    count: usize,
    /// Where its inside begins.
    start: usize,
}

impl Fence {
    fn is_closed_by(self, letter: Option<char>, count: usize, rest: &str) -> bool {
        letter == Some(self.letter) && self.count <= count && rest.trim().is_empty()
    }
}

impl Scanner {
    /// Where the next words begin that may be a call; `is_over`: whether the answer has ended.
    pub(super) fn next(&mut self, text: &str, is_over: bool) -> Option<usize> {
        loop {
            let rest = &text[self.line..];
            let end = rest.find('\n').map(|at| self.line + at + 1);
            let line = &text[self.line..end.unwrap_or(text.len())];
            if end.is_none() && line.is_empty() {
                return None;
            }
            if self.fence.is_none()
                && let Some(at) = self.marker_in_line(text, line)
            {
                self.done = at + 1;
                return Some(at);
            }
            // The JSON may go on in the next line, and then this is its beginning.
            if self.fence.is_none() && !is_over && may_become_json(text, self.line) {
                return None;
            }
            let Some(end) = end.or(is_over.then_some(text.len())) else {
                let mut looked_at = text.len().saturating_sub(longest());
                while !text.is_char_boundary(looked_at) {
                    looked_at -= 1;
                }
                self.done = self.done.max(looked_at);
                return None;
            };
            self.end_line(line, end);
        }
    }

    /// Up to where no call can begin, whatever follows.
    pub(super) fn safe_end(&self, text: &str) -> usize {
        if self.fence.is_some() {
            return text.len();
        }
        if may_become_json(text, self.line) {
            return self.line;
        }
        // The end of the line may be the beginning of a marker.
        let from = text.len().saturating_sub(longest()).max(self.line);
        let may_begin = |at: &usize| MARKERS.iter().any(|marker| marker.starts_with(&text[*at..]));
        (from..text.len()).filter(|at| text.is_char_boundary(*at)).find(may_begin).unwrap_or(text.len())
    }

    /// The words in the fence with which the answer ends, if it ends with one; for an answer that has ended.
    pub(super) fn last_fence<'a>(&self, text: &'a str) -> Option<&'a str> {
        if let Some(fence) = self.fence {
            return text.get(fence.start..);
        }
        let (start, end, behind) = self.last?;
        text[behind..].trim().is_empty().then(|| &text[start..end])
    }

    fn marker_in_line(&self, text: &str, line: &str) -> Option<usize> {
        if is_quoted_line(line) {
            return None;
        }
        let from = self.done.max(self.line);
        let start = self.line + line.len() - line.trim_start().len();
        if from <= start && opens_json(text, self.line) {
            return Some(start);
        }
        let found = MARKERS.iter().filter_map(|marker| {
            let places = text[from..self.line + line.len()].match_indices(marker).map(|(at, _)| from + at);
            places.filter(|at| !is_quoted(&text[self.line..*at])).min()
        });
        found.min()
    }

    fn end_line(&mut self, line: &str, end: usize) {
        let trimmed = line.trim_start_matches(' ');
        let letter = trimmed.chars().next().filter(|letter| matches!(letter, '`' | '~'));
        let count = letter.map_or(0, |letter| trimmed.len() - trimmed.trim_start_matches(letter).len());
        let is_fence = 3 <= count && line.len() - trimmed.len() <= 3;
        match self.fence {
            Some(fence) if is_fence && fence.is_closed_by(letter, count, &trimmed[count..]) => {
                self.last = Some((fence.start, self.line, end));
                self.fence = None;
            }
            None if is_fence && !trimmed[count..].contains('`') => {
                self.fence = letter.map(|letter| Fence { letter, count, start: end });
            }
            _ => {}
        }
        (self.line, self.done) = (end, end);
    }
}

/// Whether the line with which these words begin is a quotation or code.
fn is_quoted_line(words: &str) -> bool {
    let trimmed = words.trim_start_matches([' ', '\t']);
    4 <= words.len() - trimmed.len() || words.starts_with('\t') || trimmed.starts_with('>')
}

/// Whether what follows these words of a line is in quotes or in code.
fn is_quoted(before: &str) -> bool {
    before.matches('`').count() % 2 == 1 || before.ends_with(['"', '\'', '“', '‘', '«', '„', '\\'])
}

/// The length of the longest marker.
fn longest() -> usize {
    MARKERS.iter().map(|marker| marker.len()).max().unwrap_or(0)
}

/// Whether the line here begins as the JSON of a call.
fn opens_json(text: &str, line: usize) -> bool {
    compare_json(text, line) == Some(true)
}

/// Whether the line here may begin as the JSON of a call once there is more of it.
fn may_become_json(text: &str, line: usize) -> bool {
    compare_json(text, line) == Some(false)
}

/// `Some(true)` if it does, `Some(false)` if it may.
fn compare_json(text: &str, line: usize) -> Option<bool> {
    let rest = &text[line..];
    let is_blank = rest.lines().next().is_none_or(|line| line.trim().is_empty());
    if is_blank || is_quoted_line(rest) {
        return None;
    }
    let most = OPEN_JSON.iter().map(|open| open.len()).max().unwrap_or(0);
    let start: String = rest.chars().filter(|letter| !letter.is_whitespace()).take(most).collect();
    if OPEN_JSON.iter().any(|open| start.starts_with(open)) {
        return Some(true);
    }
    OPEN_JSON.iter().any(|open| open.starts_with(&start)).then_some(false)
}
