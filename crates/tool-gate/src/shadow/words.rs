//! Splits a command's text into words without any grammar, so that it works for texts that bash would reject.

use crate::shell::DataPart;

/// A word, and where it stands.
pub(super) struct Word<'a> {
    pub(super) text: &'a str,
    /// Byte offsets, the end not included.
    pub(super) span: (usize, usize),
    /// Whether it is the first word of its command, where the gate's reader expects a program.
    pub(super) is_first: bool,
    /// Whether a program can stand here: as the first word, or behind words that start another program.
    may_start: bool,
}

impl<'a> Word<'a> {
    /// The name of the program that it may be, without its folder; empty for an argument.
    pub(super) fn name(&self) -> &'a str {
        if self.may_start { self.text.rsplit('/').next().unwrap_or_default() } else { "" }
    }

    /// Whether some shell may read it: it is not in a part of the text that is data for a program, or an interpreter
    /// has it in quotes, as a command line for a shell.
    pub(super) fn may_run(&self, text: &str, data: &[DataPart]) -> bool {
        let holds = |part: &&DataPart| part.span.0 <= self.span.0 && self.span.1 <= part.span.1;
        data.iter().find(holds).is_none_or(|part| {
            let before = text[part.span.0..self.span.0].bytes().next_back();
            part.is_code && self.span.0 != part.span.0 + 1 && matches!(before, Some(b'"' | b'\'' | b'`'))
        })
    }

    pub(super) fn has_folder(&self) -> bool {
        self.text.contains('/')
    }
}

/// Words of the shell and programs that may be followed by another program.
const STARTERS: &[&str] = &[
    "!", "bash", "builtin", "busybox", "chroot", "command", "coproc", "dash", "do", "elif", "else", "env",
    "eval", "exec", "flock", "if", "ionice", "nice", "nohup", "npx", "parallel", "setsid", "sh", "stdbuf",
    "strace", "taskset", "then", "time", "timeout", "until", "unshare", "watch", "while", "xargs", "zsh",
];

/// All words of a text.
pub(super) fn words(text: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    for part in pieces(text, |letter| matches!(letter, '\n' | ';' | '|' | '&' | '(' | ')' | '{' | '}' | '`'))
    {
        let mut may_start = true;
        let mut is_first = true;
        let mut behind_starter = false;
        for word in
            pieces(part, |letter| letter.is_ascii_whitespace() || matches!(letter, '"' | '\'' | '<' | '>'))
        {
            let start = word.as_ptr() as usize - text.as_ptr() as usize;
            words.push(Word { text: word, span: (start, start + word.len()), is_first, may_start });
            let name = word.rsplit('/').next().unwrap_or_default();
            let is_assignment = word.split_once('=').is_some_and(|(name, _)| is_name(name));
            if may_start && STARTERS.contains(&name) {
                behind_starter = true;
            }
            // Behind such a word come its options and their values, so every word there may be the program.
            may_start &= behind_starter || is_assignment;
            is_first &= is_assignment;
        }
    }
    words
}

fn pieces(text: &str, cuts: impl Fn(char) -> bool) -> impl Iterator<Item = &str> {
    text.split(cuts).filter(|piece| !piece.is_empty())
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_stands_first_or_behind_what_starts_another() {
        let cases = [
            ("docker ps", &["docker"][..]),
            ("X=1 docker ps", &["X=1", "docker"]),
            ("/usr/bin/sudo x", &["sudo"]),
            ("cargo test docker", &["cargo"]),
            ("echo a && ssh b", &["echo", "ssh"]),
            ("bash -c 'kubectl get'", &["bash", "-c", "kubectl", "get"]),
            ("a $(gh pr) `open b`", &["a", "gh", "open"]),
            ("", &[]),
        ];
        for (text, expected) in cases {
            let words = words(text);
            let names: Vec<_> = words.iter().map(Word::name).filter(|name| !name.is_empty()).collect();
            assert_eq!(names, expected, "{text}");
            for word in &words {
                assert_eq!(&text[word.span.0..word.span.1], word.text);
            }
        }
    }
}
