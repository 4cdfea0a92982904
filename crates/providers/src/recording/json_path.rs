//! Finds the value of a JSON text at a line and a column.

/// An open object or list.
enum OpenContainer {
    /// The key that was read last.
    Object(Option<String>),
    /// How many values have begun, and whether another one follows.
    List(usize, bool),
}

/// The path of the value in a JSON text that a deserializer did not accept, as in `turns[3].toolCalls[0].name`; empty
/// for the top level.
///
/// A deserializer that tracks its path would be compiled a second time for each type, just for an error message.
pub fn json_path(text: &str, error: &serde_json::Error) -> String {
    path_at(text, error.line(), error.column())
}

fn path_at(text: &str, line: usize, column: usize) -> String {
    let start = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum::<usize>();
    let (text, rest) = text.as_bytes().split_at(text.len().min(start + column));
    // A parser that expects something other than a list or an object stops at the opening bracket.
    let is_before_bracket = matches!(rest, [b'[' | b'{', ..]);
    let mut open: Vec<OpenContainer> = Vec::new();
    let mut key_follows = false;
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        let from = at;
        at += 1;
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' | b':' => {}
            b'}' | b']' => {
                open.pop();
                key_follows = false;
            }
            b',' => match open.last_mut() {
                Some(OpenContainer::List(_, follows)) => *follows = true,
                _ => key_follows = true,
            },
            _ => {
                if let Some(OpenContainer::List(begun, follows @ true)) = open.last_mut() {
                    *begun += 1;
                    *follows = false;
                }
                match byte {
                    b'{' => open.push(OpenContainer::Object(None)),
                    b'[' => open.push(OpenContainer::List(0, true)),
                    b'"' => at = end_of_string(text, at),
                    _ => {}
                }
                if let (b'"', true, Some(OpenContainer::Object(key))) = (byte, key_follows, open.last_mut()) {
                    *key = serde_json::from_slice(&text[from..at]).ok();
                }
                key_follows = *byte == b'{';
            }
        }
    }
    let mut path = String::new();
    for open in open {
        match open {
            OpenContainer::Object(Some(key)) if path.is_empty() => path = key,
            OpenContainer::Object(Some(key)) => path.extend([".", &key]),
            OpenContainer::List(begun, follows) if 0 < begun || is_before_bracket => {
                path.extend(["[", &(begun - usize::from(!follows)).to_string(), "]"]);
            }
            _ => {}
        }
    }
    path
}

/// The offset behind the quote that closes the string which began before `at`.
fn end_of_string(text: &[u8], mut at: usize) -> usize {
    while let Some(byte) = text.get(at) {
        at += match byte {
            b'"' => return at + 1,
            b'\\' => 2,
            _ => 1,
        };
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::path_at;

    /// The place of an error is the value that was read last, or in a list the one that should follow.
    #[test]
    fn a_place_is_the_value_that_was_read_last_or_is_to_come_in_a_list() {
        let text = "{\"a\": [1, {\"b \\\" c\": [[]],\n \"d\":\"],{\"}, \"x\"] , \"e\" : 3}";
        let cases = [
            (1, 0, ""),
            (1, 1, ""),
            (1, 4, "a"),
            (1, 7, "a"),
            (1, 8, "a[0]"),
            (1, 11, "a[1]"),
            (1, 19, "a[1].b \" c"),
            (1, 22, "a[1].b \" c[0]"),
            (1, 23, "a[1].b \" c[0]"),
            (2, 4, "a[1].d"),
            (2, 10, "a[1].d"),
            (2, 11, "a[1]"),
            (2, 16, "a[2]"),
            (2, 17, "a"),
            (2, 23, "e"),
            (2, 27, "e"),
            (9, 9, ""),
        ];
        for (line, column, path) in cases {
            assert_eq!(path_at(text, line, column), path, "{line}:{column}");
        }
    }

    #[test]
    fn no_text_and_no_place_panics() {
        for text in ["", "\"", "\"\\", "]]", "}", ",", "[\u{e9}\"\u{e9}", "{\"a\\", ":\n\n"] {
            for (line, column) in (0..4).flat_map(|line| (0..12).map(move |column| (line, column))) {
                path_at(text, line, column);
            }
        }
    }
}
