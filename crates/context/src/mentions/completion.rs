use super::parse::{ends_word, may_stand_before};
use super::{Mention, mentions};

/// A mention that is being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MentionStart<'a> {
    /// The offset of its `@` in bytes.
    pub at: usize,
    /// What is written of it so far, without `@` and quotes.
    pub word: &'a str,
}

/// The mention at the end of a text, which may still grow.
///
/// ```
/// use headstart_context::mention_start;
///
/// let start = mention_start("mend @src/li").unwrap();
/// assert_eq!((start.at, start.word), (5, "src/li"));
/// assert_eq!(mention_start("mend @src/lib.rs "), None);
/// ```
pub fn mention_start(text: &str) -> Option<MentionStart<'_>> {
    let at = text.rfind('@')?;
    let (before, behind) = (&text[..at], &text[at + 1..]);
    let is_open = |word: &str| !word.contains(['"', '\n']);
    let (before, word) = match behind.strip_prefix('"') {
        Some(word) if is_open(word) => (before, word),
        _ if behind.contains(ends_word) => return None,
        _ => (before, behind),
    };
    may_stand_before(before.chars().next_back()).then_some(MentionStart { at, word })
}

/// How a path of the workspace is mentioned, with the `@`, and in quotes if necessary. `None` if no mention would be
/// read as this path.
pub fn mention_of_path(path: &str) -> Option<String> {
    // A name that means something else is a path if it begins with `./`.
    let forms = [path.to_owned(), format!("\"{path}\""), format!("./{path}"), format!("\"./{path}\"")];
    let is_read = |mention: &String| match mentions(mention).as_slice() {
        [Mention::Path { path: read, lines: None, .. }] => read.trim_start_matches("./") == path,
        _ => false,
    };
    forms.into_iter().map(|form| format!("@{form}")).find(is_read)
}

/// How a resource of a server is mentioned; `None` if no mention would be read as it.
pub fn mention_of_resource(server: &str, uri: &str) -> Option<String> {
    let forms = [format!("@{server}:{uri}"), format!("@\"{server}:{uri}\"")];
    forms.into_iter().find(|mention| match mentions(mention).as_slice() {
        [Mention::Resource { server: read, uri: address, .. }] => read == server && address == uri,
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The mention that is being written begins at the last `@` that begins a word and is not finished.
    #[test]
    fn what_is_written_on_is_known_by_its_at() {
        let cases = [
            ("@", Some((0, ""))),
            ("mend @", Some((5, ""))),
            ("mend (@src/li", Some((6, "src/li"))),
            ("@\"my no", Some((0, "my no"))),
            ("@a.rs and @b", Some((10, "b"))),
            ("@a.rs and", None),
            ("@\"my notes.txt\"", None),
            ("@\"my\nnotes", None),
            ("ada@example", None),
            ("\\@me", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(mention_start(text).map(|start| (start.at, start.word)), expected, "{text}");
        }
    }

    #[test]
    fn a_path_is_mentioned_so_that_it_is_read_again() {
        let cases = [
            ("src/lib.rs", Some("@src/lib.rs")),
            ("Makefile", Some("@Makefile")),
            ("my notes.txt", Some("@\"my notes.txt\"")),
            ("(old).txt", Some("@\"(old).txt\"")),
            ("what?", Some("@\"what?\"")),
            ("diff", Some("@\"diff\"")),
            ("rule:x", Some("@./rule:x")),
            ("a:7", None),
            ("a\"b c", None),
        ];
        for (path, expected) in cases {
            assert_eq!(mention_of_path(path).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn a_resource_is_mentioned_so_that_it_is_read_again() {
        let cases = [
            ("file:///a.md", Some("@docs:file:///a.md")),
            ("memo://my notes", Some("@\"docs:memo://my notes\"")),
            ("x://end.", Some("@\"docs:x://end.\"")),
            ("no address", None),
            ("x://a\"b c", None),
            ("x://a\nb", None),
        ];
        for (uri, expected) in cases {
            assert_eq!(mention_of_resource("docs", uri).as_deref(), expected, "{uri}");
        }
    }

    proptest! {
        /// Every mention that is offered for a path is read as exactly that path.
        #[test]
        fn whatever_is_offered_is_read_as_that_path(path in r#"[@"\\/:. a-z0-9()日]{1,20}"#) {
            if let Some(mention) = mention_of_path(&path) {
                let text = format!("mend {mention} now");
                let [Mention::Path { path: read, .. }] = &mentions(&text)[..] else { panic!("{text}") };
                prop_assert_eq!(read.trim_start_matches("./"), path);
            }
        }
    }
}
