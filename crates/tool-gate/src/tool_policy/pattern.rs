use crate::Declaration;

/// The most words of a command's pattern.
const MAX_WORDS: usize = 64;

/// A text in which `*` stands for any text.
#[derive(Debug, Clone)]
pub(super) struct Pattern(Vec<u8>);

impl Pattern {
    pub(super) fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// Whether it contains a `*`.
    pub(super) fn is_open(&self) -> bool {
        self.0.contains(&b'*')
    }

    /// Takes at most the time of comparing each byte of the pattern with each of the text.
    pub(super) fn fits(&self, text: &[u8]) -> bool {
        let (mut at, mut from) = (0, 0);
        // The offset of the last star, and how much of the text it takes.
        let mut star: Option<(usize, usize)> = None;
        while from < text.len() {
            if self.0.get(at) == Some(&b'*') {
                star = Some((at, from));
                at += 1;
            } else if self.0.get(at) == text.get(from) {
                (at, from) = (at + 1, from + 1);
            } else if let Some((place, taken)) = star {
                star = Some((place, taken + 1));
                (at, from) = (place + 1, taken + 1);
            } else {
                return false;
            }
        }
        self.0[at..].iter().all(|sign| *sign == b'*')
    }
}

/// Patterns for the words of a simple command, one for each word; a single `*` at the end stands for any further
/// words.
#[derive(Debug, Clone)]
pub(super) struct Words {
    words: Vec<Pattern>,
    open: bool,
}

impl Words {
    pub(super) fn new(pattern: &str) -> Result<Self, String> {
        let mut words: Vec<_> = pattern.split_whitespace().collect();
        if words.is_empty() || MAX_WORDS < words.len() {
            return Err(format!("command: give a program and its words, at most {MAX_WORDS}"));
        }
        let open = words.last() == Some(&"*");
        if open {
            words.pop();
        }
        if let Some(sign) = pattern.chars().find(|sign| "|&;<>()$`\"'\\".contains(*sign)) {
            return Err(format!(
                "command: {pattern:?} has {sign:?}; it is one simple command, compared word by word when quotes are resolved"
            ));
        }
        Ok(Self { words: words.into_iter().map(Pattern::new).collect(), open })
    }

    /// Whether a command consists of such words.
    pub(super) fn fit(&self, command: &[Vec<u8>]) -> bool {
        let enough =
            if self.open { self.words.len() <= command.len() } else { self.words.len() == command.len() };
        enough && self.words.iter().zip(command).all(|(pattern, word)| pattern.fits(word))
    }

    /// Whether a command may come to run these words indirectly: by the program's path, or because another program
    /// starts it.
    pub(super) fn may_fit(&self, command: &[Vec<u8>]) -> bool {
        let Some((program, rest)) = command.split_first() else { return false };
        let base = program.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let plain = [&[base.to_vec()], rest].concat();
        if self.fit(&plain) {
            return true;
        }
        let Some(first) = self.words.first() else { return true };
        if first.is_open() {
            return false;
        }
        let name = &first.0;
        rest.iter().any(|word| word.windows(name.len()).any(|part| part == name))
    }
}

/// Why a name is no tool's; `None` if it may be one.
pub(super) fn unknown_tool(name: &str, known: &[&str]) -> Option<String> {
    let is_known = Declaration::built_in(name).is_some()
        || known.contains(&name)
        // A configuration file of another program may name a tool that is not here.
        || Declaration::in_files(name).is_some_and(|tool| tool.name != name)
        || name.contains('*')
        || name.starts_with("mcp__");
    if is_known {
        return None;
    }
    let built_in = Declaration::all_built_in().iter().map(|tool| &*tool.name);
    let nearest = built_in.chain(known.iter().copied()).min_by_key(|known| distance(name, known));
    Some(format!("there is no tool of this name; the nearest is {}", nearest.unwrap_or("none")))
}

/// The number of letters to insert, remove or replace.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<_> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, sign) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for (place, known) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(sign != *known);
            diagonal = row[place + 1];
            row[place + 1] = replaced.min(row[place] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        let cases = [
            ("", "", true),
            ("*", "", true),
            ("a*c", "abc", true),
            ("a*c", "ac", true),
            ("a*c", "acb", false),
            ("*.rs", "a.rs.rs", true),
            ("a*b*c", "a-b-b-c", true),
            ("a", "ab", false),
            ("ab", "a", false),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(Pattern::new(pattern).fits(text.as_bytes()), expected, "{pattern} {text}");
        }
        let evil = Pattern::new(&"*a".repeat(200));
        assert!(!evil.fits(&[b'a'; 150]), "and it takes no time");
    }

    #[test]
    fn words_are_compared_one_by_one() {
        let words = |text: &str| text.split(' ').map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>();
        let cases = [
            ("cargo test *", "cargo test", true),
            ("cargo test *", "cargo test --lib x", true),
            ("cargo test *", "cargo testing", false),
            ("cargo test", "cargo test --lib", false),
            ("npm run test:*", "npm run test:unit", true),
            ("npm * build", "npm run build", true),
            ("npm * build", "npm build", false),
        ];
        for (pattern, command, expected) in cases {
            assert_eq!(Words::new(pattern).unwrap().fit(&words(command)), expected, "{pattern} {command}");
        }
        let push = Words::new("git push *").unwrap();
        for (command, expected) in [
            ("git push", true),
            ("/usr/bin/git push", true),
            ("env git status", true),
            ("git status", false),
            ("cargo test", false),
        ] {
            assert_eq!(push.may_fit(&words(command)), expected, "{command}");
        }
    }

    #[test]
    fn a_pattern_of_a_line_is_none() {
        for pattern in ["", "ls; rm", "a | b", "echo $x", "echo 'a'", "a > b"] {
            assert!(Words::new(pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn the_nearest_name_is_said() {
        let say = |name: &str| unknown_tool(name, &["codebase"]).unwrap();
        assert!(say("reed_file").ends_with("read_file") && say("code_base").ends_with("codebase"));
        assert!(unknown_tool("mcp__github__x", &[]).is_none() && unknown_tool("Bash", &[]).is_none());
    }
}
