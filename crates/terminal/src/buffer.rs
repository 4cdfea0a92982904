use std::ops::Range;

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

use super::vi::Motion;

/// The edited text with a cursor, which is always between two grapheme clusters.
///
/// Every method that moves the cursor or edits returns whether it changed anything.
#[derive(Debug, Clone, Default)]
pub(super) struct Buffer {
    text: String,
    /// The offset in bytes.
    cursor: usize,
}

impl Buffer {
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn cursor(&self) -> usize {
        self.cursor
    }

    /// Sets the text, with the cursor behind it.
    pub(super) fn set(&mut self, text: String) {
        self.cursor = text.len();
        self.text = text;
    }

    pub(super) fn take(&mut self) -> String {
        self.cursor = 0;
        std::mem::take(&mut self.text)
    }

    /// Inserts text at the cursor. Line ends become line feeds; other control characters except tabs are left out.
    pub(super) fn insert(&mut self, text: &str) -> bool {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let text: String = text.chars().filter(|c| matches!(c, '\n' | '\t') || !c.is_control()).collect();
        self.text.insert_str(self.cursor, &text);
        self.place(self.cursor + text.len());
        !text.is_empty()
    }

    /// Replaces the text between `from` and the cursor.
    pub(super) fn replace_from(&mut self, from: usize, text: &str) -> bool {
        if self.text.get(from..self.cursor).is_none() {
            return false;
        }
        self.remove(from..self.cursor);
        self.insert(text)
    }

    /// Whether a text that follows this one would begin with a grapheme cluster of its own.
    pub(super) fn ends_before(&self, rest: &str) -> bool {
        let joined = [self.text(), rest].concat();
        GraphemeCursor::new(self.text.len(), joined.len(), true)
            .is_boundary(&joined, 0)
            .expect("works because the whole text is given")
    }

    /// Moves the cursor by a motion of vi. Only motions by words leave the line.
    pub(super) fn go(&mut self, motion: Motion) -> bool {
        let to = self.target(motion);
        // The end of a word is its last character, not the position behind it.
        let behind = motion == Motion::WordEnd && self.cursor < to;
        let changed = self.place(to);
        if behind {
            self.place(self.previous());
        }
        changed
    }

    /// Removes the text between the cursor and the target of the motion.
    pub(super) fn cut(&mut self, motion: Motion) -> bool {
        let to = self.target(motion);
        // Cutting the last word of a line keeps the line's end.
        let to = if motion == Motion::NextWord { to.min(self.line().end) } else { to };
        self.remove(self.cursor.min(to)..self.cursor.max(to))
    }

    /// Removes the cursor's line with a line feed.
    pub(super) fn cut_line(&mut self) -> bool {
        let Range { start, end } = self.line();
        let changed = match (self.text.get(end..=end), start.checked_sub(1)) {
            (Some(_), _) => self.remove(start..end + 1),
            (None, Some(feed)) => self.remove(feed..end),
            (None, None) => self.remove(start..end),
        };
        self.place(self.line().start);
        changed
    }

    /// Moves the cursor from behind the last character of a line to that character.
    pub(super) fn stay_in_line(&mut self) {
        let Range { start, end } = self.line();
        if start < end && self.cursor == end {
            self.place(self.previous());
        }
    }

    fn target(&self, motion: Motion) -> usize {
        let Range { start, end } = self.line();
        let rest = &self.text[self.cursor..];
        let blanks = |text: &str| text.find(|c: char| !c.is_whitespace()).unwrap_or(text.len());
        let word = |text: &str| text.find(char::is_whitespace).unwrap_or(text.len());
        match motion {
            Motion::Left => self.previous().max(start),
            Motion::Right => self.next().min(end),
            Motion::LineStart => start,
            Motion::LineEnd => end,
            Motion::PreviousWord => self.word_start(),
            Motion::NextWord => {
                let behind = word(rest);
                self.cursor + behind + blanks(&rest[behind..])
            }
            Motion::WordEnd => {
                let next = self.next();
                let rest = &self.text[next..];
                let begin = blanks(rest);
                next + begin + word(&rest[begin..])
            }
        }
    }

    pub(super) fn left(&mut self) -> bool {
        self.place(self.previous())
    }

    pub(super) fn right(&mut self) -> bool {
        self.place(self.next())
    }

    pub(super) fn word_left(&mut self) -> bool {
        self.place(self.word_start())
    }

    pub(super) fn word_right(&mut self) -> bool {
        let rest = &self.text[self.cursor..];
        let word = rest.find(|c: char| !c.is_whitespace()).unwrap_or(rest.len());
        let end = rest[word..].find(char::is_whitespace).map_or(rest.len(), |length| word + length);
        self.place(self.cursor + end)
    }

    /// Moves to the start of the cursor's line.
    pub(super) fn home(&mut self) -> bool {
        self.place(self.line().start)
    }

    pub(super) fn end(&mut self) -> bool {
        self.place(self.line().end)
    }

    /// Moves to the line above, at the same column counted in grapheme clusters.
    pub(super) fn up(&mut self) -> bool {
        let line = self.line();
        let Some(above) = line.start.checked_sub(1) else { return false };
        let start = self.text[..above].rfind('\n').map_or(0, |feed| feed + 1);
        self.place(self.same_column(start..above))
    }

    /// Moves to the line below, as [`up`](Self::up) does.
    pub(super) fn down(&mut self) -> bool {
        let line = self.line();
        if line.end == self.text.len() {
            return false;
        }
        let start = line.end + 1;
        let end = self.text[start..].find('\n').map_or(self.text.len(), |length| start + length);
        self.place(self.same_column(start..end))
    }

    pub(super) fn backspace(&mut self) -> bool {
        self.remove(self.previous()..self.cursor)
    }

    pub(super) fn delete(&mut self) -> bool {
        self.remove(self.cursor..self.next())
    }

    /// Removes the rest of the line behind the cursor, or the line feed at the end of a line.
    pub(super) fn kill_to_end(&mut self) -> bool {
        let end = self.line().end;
        if end == self.cursor { self.delete() } else { self.remove(self.cursor..end) }
    }

    /// Removes the part of the line before the cursor.
    pub(super) fn kill_to_start(&mut self) -> bool {
        self.remove(self.line().start..self.cursor)
    }

    /// Removes the word before the cursor and the white space behind it.
    pub(super) fn kill_word(&mut self) -> bool {
        self.remove(self.word_start()..self.cursor)
    }

    /// Removes the word behind the cursor and the white space before it.
    pub(super) fn kill_word_right(&mut self) -> bool {
        let start = self.cursor;
        self.word_right();
        self.remove(start..self.cursor)
    }

    /// Restores an earlier text and cursor.
    pub(super) fn restore(&mut self, text: String, cursor: usize) {
        self.text = text;
        self.place(cursor);
    }

    fn remove(&mut self, range: Range<usize>) -> bool {
        if range.is_empty() {
            return false;
        }
        let start = range.start;
        self.text.drain(range);
        self.place(start);
        true
    }

    /// Moves the cursor to `offset`, or behind the cluster that contains `offset`, because the text on both sides of an
    /// edit may have joined into one cluster.
    fn place(&mut self, offset: usize) -> bool {
        let old = self.cursor;
        let mut boundary = GraphemeCursor::new(offset, self.text.len(), true);
        let on_boundary = boundary.is_boundary(&self.text, 0).expect("works because the whole text is given");
        self.cursor = if on_boundary { offset } else { self.boundary_after(offset) };
        self.cursor != old
    }

    fn next(&self) -> usize {
        self.boundary_after(self.cursor)
    }

    fn previous(&self) -> usize {
        GraphemeCursor::new(self.cursor, self.text.len(), true)
            .prev_boundary(&self.text, 0)
            .expect("works because the whole text is given")
            .unwrap_or(0)
    }

    fn boundary_after(&self, offset: usize) -> usize {
        GraphemeCursor::new(offset, self.text.len(), true)
            .next_boundary(&self.text, 0)
            .expect("works because the whole text is given")
            .unwrap_or(self.text.len())
    }

    fn word_start(&self) -> usize {
        let before = self.text[..self.cursor].trim_end();
        before
            .char_indices()
            .rev()
            .find(|(_, c)| c.is_whitespace())
            .map_or(0, |(at, space)| at + space.len_utf8())
    }

    /// The range of the cursor's line, without its line feed.
    fn line(&self) -> Range<usize> {
        let start = self.text[..self.cursor].rfind('\n').map_or(0, |feed| feed + 1);
        let end = self.text[self.cursor..].find('\n').map_or(self.text.len(), |length| self.cursor + length);
        start..end
    }

    fn same_column(&self, line: Range<usize>) -> usize {
        let column = self.text[self.line().start..self.cursor].graphemes(true).count();
        let found = self.text[line.clone()].grapheme_indices(true).nth(column);
        found.map_or(line.end, |(offset, _)| line.start + offset)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A simple model of what a buffer does with ASCII letters, blanks and line feeds.
    #[derive(Default)]
    struct Model {
        before: Vec<char>,
        after: Vec<char>,
    }

    impl Model {
        fn step(&mut self, operation: usize) {
            match operation {
                0 => self.before.push('a'),
                1 => self.before.push(' '),
                2 => self.before.push('\n'),
                3 => {
                    if let Some(c) = self.before.pop() {
                        self.after.insert(0, c);
                    }
                }
                4 => {
                    if !self.after.is_empty() {
                        self.before.push(self.after.remove(0));
                    }
                }
                5 => {
                    self.before.pop();
                }
                6 => {
                    if !self.after.is_empty() {
                        self.after.remove(0);
                    }
                }
                7 => {
                    while self.before.last().is_some_and(|c| *c != '\n') {
                        self.step(3);
                    }
                }
                8 => {
                    while self.after.first().is_some_and(|c| *c != '\n') {
                        self.step(4);
                    }
                }
                9 => {
                    let feed = self.after.iter().position(|c| *c == '\n').unwrap_or(self.after.len());
                    self.after.drain(..if feed == 0 { 1.min(self.after.len()) } else { feed });
                }
                10 => {
                    while self.before.last().is_some_and(|c| *c != '\n') {
                        self.before.pop();
                    }
                }
                _ => {
                    while self.before.last().is_some_and(|c| c.is_whitespace()) {
                        self.before.pop();
                    }
                    while self.before.last().is_some_and(|c| !c.is_whitespace()) {
                        self.before.pop();
                    }
                }
            }
        }
    }

    fn step(buffer: &mut Buffer, operation: usize) -> bool {
        match operation {
            0 => buffer.insert("a"),
            1 => buffer.insert(" "),
            2 => buffer.insert("\n"),
            3 => buffer.left(),
            4 => buffer.right(),
            5 => buffer.backspace(),
            6 => buffer.delete(),
            7 => buffer.home(),
            8 => buffer.end(),
            9 => buffer.kill_to_end(),
            10 => buffer.kill_to_start(),
            _ => buffer.kill_word(),
        }
    }

    proptest! {
        #[test]
        fn a_buffer_does_what_its_model_does(operations in proptest::collection::vec(0_usize..12, 0..60)) {
            let (mut model, mut buffer) = (Model::default(), Buffer::default());
            for operation in operations {
                let old = (buffer.text().to_owned(), buffer.cursor());
                model.step(operation);
                let changed = step(&mut buffer, operation);
                let expected: String = model.before.iter().chain(&model.after).collect();
                prop_assert_eq!(buffer.text(), expected);
                prop_assert_eq!(buffer.cursor(), model.before.len());
                prop_assert_eq!(changed, old != (buffer.text().to_owned(), buffer.cursor()));
            }
        }
    }

    #[test]
    fn a_cluster_is_one_step() {
        let mut buffer = Buffer::default();
        buffer.insert("e\u{301}👩‍👩‍👧🇫🇷");
        for expected in ["e\u{301}👩‍👩‍👧".len(), "e\u{301}".len(), 0, 0] {
            buffer.left();
            assert_eq!(buffer.cursor(), expected);
        }
        buffer.delete();
        assert_eq!(buffer.text(), "👩‍👩‍👧🇫🇷");
    }

    #[test]
    fn an_edit_that_joins_two_clusters_leaves_the_cursor_between_clusters() {
        let mut buffer = Buffer::default();
        buffer.insert("ab\u{301}");
        buffer.home();
        buffer.right();
        // Once `b` is gone, the cursor cannot be between `a` and the accent.
        buffer.text.remove(1);
        buffer.place(1);
        assert_eq!(buffer.cursor(), "a\u{301}".len());
    }

    #[test]
    fn a_line_is_changed_at_the_same_column() {
        let mut buffer = Buffer::default();
        // The lines begin at bytes 0, 13 and 16.
        buffer.insert("漢字漢字\nab\nabcd");
        for expected in [(true, 15), (true, 6), (false, 6)] {
            assert_eq!((buffer.up(), buffer.cursor()), expected);
        }
        for expected in [(true, 15), (true, 18), (false, 18)] {
            assert_eq!((buffer.down(), buffer.cursor()), expected);
        }
    }

    #[test]
    fn words_are_parted_by_white_space() {
        let mut buffer = Buffer::default();
        buffer.insert("fix  the-test\nnow");
        for expected in [14, 5, 0] {
            buffer.word_left();
            assert_eq!(buffer.cursor(), expected);
        }
        for expected in [3, 13, 17] {
            buffer.word_right();
            assert_eq!(buffer.cursor(), expected);
        }
    }
}
