//! Notices an answer that does nothing but repeat the same words, as small models do.

/// How much of the end of an answer is looked at, in bytes.
const LOOKED_AT: usize = 8 * 1024;
/// How long an end must be that is nothing but repetition. Somebody may well ask for a hundred short lines.
const LEAST: usize = 4 * 1024;
/// How often the same words must follow each other.
const LEAST_COPIES: usize = 5;
/// After so many new bytes the end is looked at again.
const STEP: usize = 256;

/// Watches the end of an answer while it is written. Its memory and its time are limited, however long the answer is.
#[derive(Debug, Default)]
pub(crate) struct RepetitionWatch {
    tail: Vec<u8>,
    unchecked: usize,
}

impl RepetitionWatch {
    /// Takes the next piece. If the answer ends with nothing but copies of the same words, returns the bytes of one copy.
    pub(crate) fn push(&mut self, piece: &str) -> Option<usize> {
        self.tail.extend_from_slice(piece.as_bytes());
        self.unchecked += piece.len();
        if self.unchecked < STEP {
            return None;
        }
        self.unchecked = 0;
        let excess = self.tail.len().saturating_sub(LOOKED_AT);
        self.tail.drain(..excess);
        period_of_end(&self.tail)
    }
}

/// The bytes of the words that the end of a text repeats.
fn period_of_end(text: &[u8]) -> Option<usize> {
    // For each end of the text, its longest border: words with which it begins and ends. What it is longer than that is
    // the length of the words that it repeats.
    let backwards: Vec<u8> = text.iter().rev().copied().collect();
    let mut borders = vec![0_usize; backwards.len()];
    let mut found = None;
    for end in 1..backwards.len() {
        let mut border = borders[end - 1];
        while 0 < border && backwards[border] != backwards[end] {
            border = borders[border - 1];
        }
        if backwards[border] == backwards[end] {
            border += 1;
        }
        borders[end] = border;
        let (length, period) = (end + 1, end + 1 - border);
        if LEAST <= length && LEAST_COPIES * period <= length {
            found = Some(period);
        }
    }
    found
}

/// Shortens a text whose end repeats words of this many bytes: the first copy stays.
pub(crate) fn remove_copies(text: &mut String, period: usize) {
    let bytes = text.as_bytes();
    let mut end = bytes.len();
    while period < end && bytes[end - 1] == bytes[end - 1 - period] {
        end -= 1;
    }
    while !text.is_char_boundary(end) {
        end += 1;
    }
    text.truncate(end);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text until it is cut off, and what stays of it; `None` if it is not.
    fn cut<'a>(pieces: impl IntoIterator<Item = &'a str>) -> Option<(String, String)> {
        let (mut watch, mut text) = (RepetitionWatch::default(), String::new());
        for piece in pieces {
            text.push_str(piece);
            if let Some(period) = watch.push(piece) {
                let whole = text.clone();
                remove_copies(&mut text, period);
                return Some((whole, text));
            }
        }
        None
    }

    #[test]
    fn an_answer_that_repeats_itself_is_noticed_soon_and_its_beginning_stays() {
        let paragraph = "It is not clear what to do. Nobody said it; ".repeat(3) + &"and so on, ".repeat(40);
        for copy in ["I am sorry. ", "a", "ü\n", "| 0 | 0 |\n", paragraph.as_str()] {
            let begins = "First I say something else.\n";
            let (whole, kept) = cut([begins].into_iter().chain(vec![copy; 20_000])).expect(copy);
            assert!(whole.len() < LOOKED_AT + 2 * STEP, "{copy:?}: {}", whole.len());
            assert!(kept.starts_with(begins), "{kept}");
            assert!(kept.len() <= begins.len() + 2 * copy.len(), "{copy:?}: {kept}");
        }
    }

    /// A server that does not stream sends the whole answer as one piece.
    #[test]
    fn one_piece_of_any_length_is_cut_to_its_first_copy() {
        let whole = format!("At first.\n{}", "I am not sure about that. ".repeat(3_000));
        let (_, kept) = cut([whole.as_str()]).unwrap();
        assert_eq!(kept, "At first.\nI am not sure about that. ");
    }

    #[test]
    fn what_is_merely_alike_is_not_cut() {
        let numbered: Vec<String> = (0..2_000).map(|number| format!("{number}. Check the door.\n")).collect();
        let long = numbered[..400].concat();
        assert_eq!(cut(numbered.iter().map(String::as_str)), None, "a numbered list");
        assert_eq!(cut(vec!["I will not shout in class. "; 100]), None, "a hundred lines");
        assert_eq!(cut(vec![long.as_str(); 3]), None, "few long copies");
    }
}
