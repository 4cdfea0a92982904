/// Finds the end of the JSON object that an answer consists of, while the answer comes piece by piece.
///
/// White space and the beginning of a code fence may stand before the object. If the answer begins with anything
/// else, no end is ever found.
#[derive(Debug, Default)]
pub struct ObjectEnd {
    state: State,
    /// The characters before the object.
    before: String,
    depth: usize,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Before,
    Inside,
    String,
    Escape,
    Closed,
    None,
}

impl ObjectEnd {
    /// Takes the next piece; returns how many of its bytes belong to the answer.
    pub fn take(&mut self, text: &str) -> usize {
        for (place, letter) in text.char_indices() {
            match self.state {
                State::Closed => return place,
                State::None => return text.len(),
                _ => self.state = self.next(letter),
            }
        }
        text.len()
    }

    /// Whether the object has ended.
    pub fn has_closed(&self) -> bool {
        self.state == State::Closed
    }

    fn next(&mut self, letter: char) -> State {
        match (self.state, letter) {
            (State::Before | State::Inside, '{') => {
                self.depth += 1;
                State::Inside
            }
            (State::Before, letter) => self.before(letter),
            (State::Inside, '}') => {
                self.depth -= 1;
                if self.depth == 0 { State::Closed } else { State::Inside }
            }
            (State::Inside, '"') | (State::Escape, _) => State::String,
            (State::String, '\\') => State::Escape,
            (State::String, '"') => State::Inside,
            (state, _) => state,
        }
    }

    fn before(&mut self, letter: char) -> State {
        const FENCE: &str = "```json";
        if !letter.is_whitespace() {
            self.before.push(letter.to_ascii_lowercase());
        }
        if FENCE.starts_with(&self.before) { State::Before } else { State::None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_ends_with_its_own_bracket_in_whatever_pieces_it_comes() {
        let cases = [
            (r#"{"a":1} and more"#, Some(7)),
            (r#"{"a":{"b":"}\"}{"}} x"#, Some(19)),
            ("\n```json\n{\"a\":[]}\n```", Some(17)),
            ("``` {}", Some(6)),
            (r#"{"a":"ü}"}"#, Some(11)),
            (r#"{"a":{}"#, None),
            (r#"{"a":"}"#, None),
            (r#"[{"a":1}]"#, None),
            (r#"Here: {"a":1}"#, None),
            ("", None),
        ];
        for (text, expected) in cases {
            for length in 1..=text.chars().count().max(1) {
                let letters: Vec<char> = text.chars().collect();
                let mut end = ObjectEnd::default();
                let mut taken = 0;
                for piece in letters.chunks(length) {
                    taken += end.take(&piece.iter().collect::<String>());
                }
                assert_eq!(end.has_closed().then_some(taken), expected, "{text} by {length}");
            }
        }
    }
}
