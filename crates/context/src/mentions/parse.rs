use super::HostMention;

/// What a mention names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mention {
    /// `@src/lib.rs`, `@src/`, `@"a file.txt"`, `@src/lib.rs:10-20`.
    Path {
        /// The path as it is written.
        path: String,
        /// The first and the last line, counted from 1.
        lines: Option<(usize, usize)>,
        /// Whether it can be nothing but a path. Otherwise it is a path if such a file exists, and text if not.
        is_sure: bool,
    },
    /// `@diff` and the other mentions that only the program around the conversation can resolve.
    Host(HostMention),
    /// `@rule:NAME`.
    Rule(String),
    /// `@https://example.org/page`.
    Page(String),
    /// `@docs:file:///guide.md`: what a server of this name has at this address.
    Resource {
        /// The server.
        server: String,
        /// The address.
        uri: String,
        /// Whether it is written in quotes.
        is_quoted: bool,
    },
}

impl Mention {
    /// The text behind the `@`.
    pub(super) fn source_text(&self) -> String {
        match self {
            Self::Path { path, lines: Some((first, last)), .. } => format!("{path}:{first}-{last}"),
            Self::Path { path, .. } => path.clone(),
            Self::Host(what) => what.name().to_owned(),
            Self::Rule(name) => format!("rule:{name}"),
            Self::Page(address) => address.clone(),
            Self::Resource { server, uri, .. } => format!("{server}:{uri}"),
        }
    }
}

/// What a prompt names, in order, without repetitions. A mention stands at the beginning of a word: an email address
/// (`a@b.c`) is none, and neither is text with a backslash before its `@`, nor anything in a fenced block of code,
/// which was probably pasted. A web address needs the `@`, and quotes if it contains a comma, a semicolon or a
/// bracket.
///
/// ```
/// use headstart_context::{Mention, mentions};
///
/// let found = mentions("mend @src/lib.rs:3-9, as ada@example.org said (\\@me)");
/// let lines = Some((3, 9));
/// assert_eq!(found, [Mention::Path { path: "src/lib.rs".into(), lines, is_sure: true }]);
/// ```
pub fn mentions(prompt: &str) -> Vec<Mention> {
    let mut found = Vec::new();
    for part in outside_of_fences(prompt) {
        for (_, mention) in in_part(part) {
            if !found.contains(&mention) {
                found.push(mention);
            }
        }
    }
    found
}

/// The same text with a backslash before each mention, for text of others that a user is to send: it must not name
/// anything by itself.
///
/// ```
/// assert_eq!(headstart_context::escape_mentions("see @src/lib.rs, a@b.c"), "see \\@src/lib.rs, a@b.c");
/// ```
pub fn escape_mentions(text: &str) -> String {
    let mut escaped = text.to_owned();
    loop {
        let mut places: Vec<usize> = Vec::new();
        for part in outside_of_fences(&escaped) {
            let start = part.as_ptr() as usize - escaped.as_ptr() as usize;
            places.extend(in_part(part).into_iter().map(|(at, _)| start + at));
        }
        if places.is_empty() {
            return escaped;
        }
        for place in places.into_iter().rev() {
            escaped.insert(place, '\\');
        }
        // A backslash within quotes can make a mention of what was none, as of `@"@a"`.
    }
}

/// The parts of a text outside fenced blocks. As in Markdown, a block that is not closed goes to the end.
fn outside_of_fences(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut open: Option<(char, usize)> = None;
    let (mut start, mut at) = (0, 0);
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        match (open, fence(line)) {
            (None, Some((sign, length, _))) => {
                parts.push(&text[start..at]);
                open = Some((sign, length));
            }
            (Some((sign, length)), Some((found, long, is_bare)))
                if sign == found && length <= long && is_bare =>
            {
                (open, start) = (None, end);
            }
            _ => {}
        }
        at = end;
    }
    if open.is_none() {
        parts.push(&text[start..]);
    }
    parts
}

/// If a line is a fence: its character, how many of them, and whether nothing stands behind them.
fn fence(line: &str) -> Option<(char, usize, bool)> {
    let line = line.trim();
    let sign = line.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
    let rest = line.trim_start_matches(sign);
    let length = line.len() - rest.len();
    // Three or more backquotes that are closed in the same line are code within a sentence.
    let is_fence = 3 <= length && !(sign == '`' && rest.contains('`'));
    is_fence.then_some((sign, length, rest.is_empty()))
}

/// The mentions in a text without blocks of code, each with the offset of its `@`.
fn in_part(text: &str) -> Vec<(usize, Mention)> {
    let mut found = Vec::new();
    let mut before = None;
    for (at, sign) in text.char_indices() {
        let begins_word = may_stand_before(before);
        before = Some(sign);
        if sign != '@' || !begins_word {
            continue;
        }
        let (word, is_quoted) = word(&text[at + 1..]);
        found.extend(mention(word, is_quoted).map(|mention| (at, mention)));
    }
    found
}

/// Whether a mention may begin behind this character.
pub(super) fn may_stand_before(before: Option<char>) -> bool {
    before.is_none_or(|before| before.is_whitespace() || "([{<\"'`,;".contains(before))
}

/// Whether a mention without quotes ends before this character.
pub(super) fn ends_word(sign: char) -> bool {
    sign.is_whitespace() || "\"'`,;()[]{}<>|".contains(sign)
}

/// The word behind an `@`, and whether it is in quotes.
fn word(text: &str) -> (&str, bool) {
    if let Some((word, _)) = text.strip_prefix('"').and_then(|text| text.split_once('"')) {
        return (word, true);
    }
    let end = text.find(ends_word);
    let word = &text[..end.unwrap_or(text.len())];
    (word.trim_end_matches(['.', ':', '!', '?']), false)
}

fn mention(word: &str, is_quoted: bool) -> Option<Mention> {
    if word.is_empty() || word.starts_with('@') || word.contains(char::is_control) {
        return None;
    }
    if let Some((server, uri)) = resource(word) {
        let (server, uri) = (server.to_owned(), uri.to_owned());
        return Some(Mention::Resource { server, uri, is_quoted });
    }
    if word.contains("://") {
        let is_page = word.starts_with("https://") || word.starts_with("http://");
        return is_page.then(|| Mention::Page(word.to_owned()));
    }
    if let Some(what) = HostMention::of_name(word).filter(|_| !is_quoted) {
        return Some(Mention::Host(what));
    }
    if let Some(name) = word.strip_prefix("rule:") {
        return Some(Mention::Rule(name.to_owned()));
    }
    let with_lines = word.rsplit_once(':').and_then(|(path, lines)| Some((path, line_range(lines)?)));
    let (path, lines) = with_lines.map_or((word, None), |(path, lines)| (path, Some(lines)));
    // `@scope/name` may also be a package, but with an extension or a slash at its end it can only be a path.
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let is_sure = is_quoted
        || (path.contains('/') && (folder.starts_with('.') || name.is_empty() || name.contains('.')));
    (!path.is_empty()).then(|| Mention::Path { path: path.to_owned(), lines, is_sure })
}

/// A server, and an address with its scheme: `docs:file:///guide.md`.
fn resource(word: &str) -> Option<(&str, &str)> {
    let (server, uri) = word.split_once(':')?;
    let (scheme, behind) = uri.split_once(':')?;
    let is_name = |name: &str, others: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || others.contains(c))
    };
    (is_name(server, "-_") && is_name(scheme, "+-.") && !behind.is_empty()).then_some((server, uri))
}

/// `10`, `10-20`.
fn line_range(text: &str) -> Option<(usize, usize)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some((first.parse().ok()?, last.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(prompt: &str) -> Vec<String> {
        mentions(prompt).iter().map(Mention::source_text).collect()
    }

    #[test]
    fn mentions_begin_a_word() {
        let cases: [(&str, &[&str]); 18] = [
            ("look at @src/lib.rs.", &["src/lib.rs"]),
            ("(@src/) and @Makefile, please", &["src/", "Makefile"]),
            ("@\"my notes.txt\" twice @\"my notes.txt\"", &["my notes.txt"]),
            ("what is in @diff? ask @codebase", &["diff", "codebase"]),
            ("by @rule:style", &["rule:style"]),
            ("mail ada@example.org, a@b", &[]),
            ("\\@src/lib.rs is text", &[]),
            ("see @https://example.org/x?y=1. https://example.org", &["https://example.org/x?y=1"]),
            ("@a.rs:10-20 @a.rs:7 @a.rs:x", &["a.rs:10-20", "a.rs:7-7", "a.rs:x"]),
            ("@ @. @: @\"", &[]),
            ("`@src/日本.rs`", &["src/日本.rs"]),
            ("@ssh://host/x @file:///etc/passwd @@a/b", &[]),
            ("mend\n```ts\nimport x from '@a/b.ts'; // @https://example.org\n```\nas in @c.ts", &["c.ts"]),
            ("````\n```\n@a.rs\n```\n````\n@b.rs", &["b.rs"]),
            ("~~~\n@a.rs", &[]),
            ("```@a.rs``` and ```", &["a.rs"]),
            ("as in @docs:file:///a.md, @docs:urn:x:y.", &["docs:file:///a.md", "docs:urn:x:y"]),
            ("@\"docs:file:///my notes.md\"", &["docs:file:///my notes.md"]),
        ];
        for (prompt, expected) in cases {
            assert_eq!(written(prompt), expected, "{prompt}");
        }
    }

    /// A mention of the form `@server:uri` is a resource; paths with lines and addresses of pages are not.
    #[test]
    fn what_a_server_has_is_no_path_and_no_page() {
        let is_resource = |prompt: &str| matches!(mentions(prompt).as_slice(), [Mention::Resource { .. }]);
        for resource in ["@docs:file:///a.md", "@\"my-docs:memo://x\"", "@d_1:test://static/1"] {
            assert!(is_resource(resource), "{resource}");
        }
        for other in [
            "@https://a.b/c:d",
            "@a.rs:10-20",
            "@src/a:b:c",
            "@docs:a.md",
            "@1:b:c",
            "@docs:file:",
            "@ssh://h:22/x",
        ] {
            assert!(!is_resource(other), "{other}");
        }
    }

    /// A word such as `@types/node` may be the name of a package, so it is no error if there is no such file.
    #[test]
    fn the_name_of_a_package_need_not_be_a_file() {
        let sure = |prompt: &str| match mentions(prompt).as_slice() {
            [Mention::Path { is_sure, .. }] => *is_sure,
            other => panic!("{prompt}: {other:?}"),
        };
        for package in ["upgrade @types/node", "\"@angular/core\": \"^20\"", "@Makefile"] {
            assert!(!sure(package), "{package}");
        }
        for path in ["@src/lib.rs", "@src/", "@src/bin/", "@\"types/node\"", "@../x.y", "@src/lib.rs:3"] {
            assert!(sure(path), "{path}");
        }
    }

    #[test]
    fn an_escaped_text_mentions_nothing_also_where_one_mention_is_in_the_quotes_of_another() {
        for text in ["@\"@a\"", "see @\"@\"@b\" and @c", "@\"@docs:file:///x\""] {
            assert_eq!(mentions(&escape_mentions(text)), [], "{text}");
        }
        assert_eq!(escape_mentions("@\"@a\""), "\\@\"\\@a\"");
    }

    proptest! {
        #[test]
        fn any_prompt_is_read(prompt in r#"[@"\\/:. a-z0-9()\-日`~\n]{0,40}"#) {
            for mention in mentions(&prompt) {
                prop_assert!(!mention.source_text().is_empty());
            }
            prop_assert_eq!(mentions(&escape_mentions(&prompt)), []);
        }
    }
}
