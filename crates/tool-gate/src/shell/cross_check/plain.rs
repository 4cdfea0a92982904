//! A second reading of a plain text, without the grammar.
//!
//! Most commands are plain: words with quotes and names of variables, redirections to and from files, and `|`, `&&`,
//! `||`, `;` or newlines between simple commands. Such a text has only one meaning in the shell's language, and this
//! reading takes a twentieth of the time of the grammar's. A text with anything else (a keyword, a parenthesis, a
//! comment, a here-document, a backquote, a job in the background) is left to the grammar, even if that would do no
//! harm.

use super::Seen;

/// What a byte means outside quotes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// The text is not plain.
    Other,
    /// Part of any word, including a program's name.
    Name,
    /// Part of any word except a program's name.
    Word,
    Quote,
    Blank,
    /// Ends a word and begins an operator.
    Operator,
}

const CLASSES: [Class; 256] = {
    let mut classes = [Class::Other; 256];
    let mut byte = 0;
    while byte < classes.len() {
        if 0x80 <= byte {
            classes[byte] = Class::Word;
        }
        byte += 1;
    }
    let names = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+";
    let classes = marked(classes, names, Class::Name);
    let classes = marked(classes, b",:@%=^~*?{}!#", Class::Word);
    let classes = marked(classes, b"'\"\\$", Class::Quote);
    let classes = marked(classes, b" \t", Class::Blank);
    marked(classes, b"\n;|&<>", Class::Operator)
};

const fn marked(mut classes: [Class; 256], bytes: &[u8], class: Class) -> [Class; 256] {
    let mut at = 0;
    while at < bytes.len() {
        classes[bytes[at] as usize] = class;
        at += 1;
    }
    classes
}

/// Words that are syntax, or a declaration, where a command may start.
const KEYWORDS: [&[u8]; 25] = [
    b"case",
    b"coproc",
    b"declare",
    b"do",
    b"done",
    b"elif",
    b"else",
    b"esac",
    b"export",
    b"fi",
    b"for",
    b"function",
    b"if",
    b"in",
    b"let",
    b"local",
    b"readonly",
    b"select",
    b"then",
    b"time",
    b"typeset",
    b"unset",
    b"unsetenv",
    b"until",
    b"while",
];

/// The commands and redirections of `text`; `None` if it is not plain.
pub(super) fn read(text: &str) -> Option<Seen> {
    let mut plain = Plain { source: text.as_bytes(), at: 0, seen: Seen::default() };
    plain.lines();
    loop {
        plain.command()?;
        match (plain.here(0), plain.here(1)) {
            (None, _) => return Some(plain.seen),
            (Some(b'&'), Some(b'&')) | (Some(b'|'), Some(b'|')) => {
                plain.at += 2;
                plain.lines();
            }
            (Some(b'|'), next) if next != Some(b'&') => {
                plain.at += 1;
                plain.lines();
            }
            (Some(b';'), Some(b'&')) => return None,
            (Some(b';' | b'\n'), _) => {
                plain.at += 1;
                plain.lines();
                if plain.here(0).is_none() {
                    return Some(plain.seen);
                }
            }
            _ => return None,
        }
    }
}

struct Plain<'a> {
    source: &'a [u8],
    at: usize,
    seen: Seen,
}

impl Plain<'_> {
    fn here(&self, ahead: usize) -> Option<u8> {
        self.source.get(self.at + ahead).copied()
    }

    fn class(&self) -> Option<Class> {
        self.here(0).map(|byte| CLASSES[usize::from(byte)])
    }

    fn skip(&mut self, of: impl Fn(u8) -> bool) {
        let rest = &self.source[self.at..];
        self.at += rest.iter().take_while(|byte| of(**byte)).count();
    }

    fn blanks(&mut self) {
        self.skip(|byte| matches!(byte, b' ' | b'\t'));
    }

    /// Blanks, newlines and comments.
    fn lines(&mut self) {
        loop {
            self.skip(|byte| matches!(byte, b' ' | b'\t' | b'\n'));
            if self.here(0) != Some(b'#') {
                return;
            }
            self.comment();
        }
    }

    /// One simple command, up to the operator that ends it.
    fn command(&mut self) -> Option<()> {
        // The grammar may read redirections alone, or a redirection with a number before the program's name, as a
        // command.
        let (mut assigned, mut named) = (false, false);
        loop {
            self.blanks();
            if self.redirect(named)? {
                continue;
            }
            self.comment();
            if matches!(self.class(), None | Some(Class::Operator)) {
                return (assigned || named).then_some(());
            }
            if named {
                self.word()?;
            } else {
                named = self.name_or_assignment()?;
                assigned |= !named;
            }
        }
    }

    /// Steps over a comment, where a word may start.
    fn comment(&mut self) {
        if self.here(0) == Some(b'#') {
            self.skip(|byte| byte != b'\n');
        }
    }

    /// Reads `NAME=value`, or the name of a program, for which the result is `true`.
    fn name_or_assignment(&mut self) -> Option<bool> {
        let start = self.at;
        self.skip(|byte| CLASSES[usize::from(byte)] == Class::Name);
        let name = &self.source[start..self.at];
        if self.here(0) == Some(b'=') {
            let variable = name.strip_suffix(b"+").unwrap_or(name);
            let is_variable = variable.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
                && variable.first().is_some_and(|first| !first.is_ascii_digit());
            self.at += 1;
            // The grammar reads `_=` without a value as a command.
            if !is_variable || variable == b"_" {
                return None;
            }
            self.value()?;
            return Some(false);
        }
        if name.is_empty() || KEYWORDS.contains(&name) {
            return None;
        }
        self.word_ends()?;
        self.seen.command_starts.push(start);
        Some(true)
    }

    /// Reads the value of a variable, which may be empty, or the target of a redirection. It must be of one piece,
    /// because the grammar sometimes reads several pieces as several words.
    fn value(&mut self) -> Option<()> {
        if self.class() == Some(Class::Quote) {
            self.piece()?;
        } else {
            self.skip(|byte| CLASSES[usize::from(byte)] == Class::Name);
        }
        self.word_ends()
    }

    /// Reads a word of at least one byte.
    fn word(&mut self) -> Option<()> {
        loop {
            self.skip(|byte| matches!(CLASSES[usize::from(byte)], Class::Name | Class::Word));
            if self.class() != Some(Class::Quote) {
                return self.word_ends();
            }
            self.piece()?;
        }
    }

    /// Reads `'…'`, `"…"`, an escaped character or a variable.
    fn piece(&mut self) -> Option<()> {
        match self.here(0)? {
            b'\'' => {
                self.at += 1;
                self.skip(|byte| byte != b'\'');
                self.take(b'\'')
            }
            b'"' => self.quoted(),
            b'\\' => self.escape(),
            _ => self.variable(),
        }
    }

    /// Checks that no redirection follows directly, because the word may then be its descriptor, or the grammar may
    /// read it as one.
    fn word_ends(&self) -> Option<()> {
        match (self.here(0), self.here(1)) {
            (Some(b'&'), Some(b'>')) => None,
            (None | Some(b' ' | b'\t' | b'\n' | b';' | b'|' | b'&'), _) => Some(()),
            _ => None,
        }
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.here(0) == Some(byte)).then(|| self.at += 1)
    }

    /// Reads `"…"`.
    fn quoted(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            self.skip(|byte| !matches!(byte, b'"' | b'$' | b'`' | b'\\'));
            match self.here(0)? {
                b'"' => return self.take(b'"'),
                b'\\' => self.escape()?,
                b'$' => self.variable()?,
                _ => return None,
            }
        }
    }

    /// Reads a backslash and the character behind it, which must not be a newline.
    fn escape(&mut self) -> Option<()> {
        matches!(self.here(1), Some(b' '..=b'~')).then(|| self.at += 2)
    }

    /// Reads `$name`, `${name}` or `$?`.
    fn variable(&mut self) -> Option<()> {
        self.at += 1;
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        match self.here(0)? {
            b'?' => self.at += 1,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => self.skip(is_name),
            b'{' if matches!(self.here(1), Some(b'a'..=b'z' | b'A'..=b'Z' | b'_')) => {
                self.at += 1;
                self.skip(is_name);
                self.take(b'}')?;
            }
            _ => return None,
        }
        Some(())
    }

    /// Reads `>x`, `2>x`, `>>x`, `&>x`, `<x` or `2>&1`; the result says whether there is one.
    fn redirect(&mut self, named: bool) -> Option<bool> {
        let ahead = match (self.here(0), self.here(1)) {
            (Some(b'<' | b'>'), _) => 0,
            (Some(b'0'..=b'9'), Some(b'<' | b'>')) if named => 1,
            (Some(b'&'), Some(b'>')) => 1,
            _ => return Some(false),
        };
        self.at += ahead;
        match (self.here(0), self.here(1)) {
            (Some(b'>'), Some(b'&')) if matches!(self.here(2), Some(b'0'..=b'9')) => {
                self.at += 3;
                self.seen.redirects += 1;
                return self.word_ends().map(|()| true);
            }
            (Some(b'>'), Some(b'>')) => self.at += 2,
            (Some(b'>' | b'<'), Some(next)) if !matches!(next, b'<' | b'>' | b'&' | b'|' | b'(') => {
                self.at += 1;
            }
            _ => return None,
        }
        self.blanks();
        if matches!(self.class(), None | Some(Class::Operator)) {
            return None;
        }
        self.value()?;
        self.seen.redirects += 1;
        Some(true)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Strategy, proptest};

    use super::super::{CrossCheck, Seen, check_plain};
    use super::read;
    use crate::shell::read::read as ours;

    #[test]
    fn a_plain_text_is_read_as_the_grammar_reads_it() {
        let texts: [(&str, &[usize], usize); 20] = [
            ("ls", &[0], 0),
            ("  ls -la\n\n", &[2], 0),
            ("git log --oneline -3 | head -n 2", &[0, 23], 0),
            ("a=1 b+=\"$x\" ls; pwd", &[12, 16], 0),
            ("x=3", &[], 0),
            ("x= ls", &[3], 0),
            ("ls && pwd ||\n\n cat a", &[0, 6, 15], 0),
            ("find . -name '*.rs' ! -path \"./a b\" -exec grep -l x {} \\;", &[0], 0),
            ("cat a\\ b \"c \\\" $d ${e}\" $?", &[0], 0),
            ("grep -rn x src 2>/dev/null | sort >>out 2>&1", &[0, 29], 3),
            ("sort < a.txt &>b", &[0], 2),
            (">x ls", &[3], 1),
            ("a=${b} ls >$x", &[7], 1),
            ("ls # a; b", &[0], 0),
            ("ls {a,b}/*.md ~/x ?", &[0], 0),
            ("echo '; rm | && x' \"# y; z\" a#b", &[0], 0),
            ("cat 'größe.txt' é漢", &[0], 0),
            ("sed -n '/a/,/b/p' a.txt;", &[0], 0),
            ("env a=1 ls", &[0], 0),
            ("test -f a && echo yes", &[0, 13], 0),
        ];
        for (text, starts, redirects) in texts {
            let expected = Seen { command_starts: starts.to_vec(), redirects, substitutions: 0 };
            assert_eq!(read(text), Some(expected), "{text}");
            let seen = CrossCheck::default().read(text).expect("the grammar reads it without doubt");
            assert_eq!(read(text), Some(seen), "{text}");
        }
    }

    #[test]
    fn what_has_a_choice_or_hides_a_command_is_left_to_the_grammar() {
        for text in [
            "",
            "\n",
            "ls &",
            "ls & pwd",
            "ls;; pwd",
            "ls;&>x pwd",
            "; ls",
            "ls && ; pwd",
            "ls |& cat",
            "_=",
            "_= ls",
            "ls | | cat",
            "ls &&",
            "ls |",
            "$(ls)",
            "cat \"$(ls)\"",
            "cat `ls`",
            "cat \"`ls`\"",
            "(ls)",
            "{ ls; }",
            "! ls",
            "if ls",
            "while ls",
            "time ls",
            "a=1 if x",
            "function f",
            "f() { ls; }",
            "[ -f a ]",
            "[[ -f a ]]",
            "ls [a-z]",
            "a=(b c)",
            "a[1]=2",
            "1=2 ls",
            "a-b=c",
            "$x",
            "\"ls\"",
            "'ls'",
            "\\ls",
            "l\\s",
            "l'rm'",
            "cat <<A\nx\nA",
            "cat <<<x",
            "cat <(ls)",
            "cat >(ls)",
            "ls >|x",
            "ls <>x",
            "ls >&x",
            "ls 2>&1x",
            "ls 12>x",
            "ls {fd}>x",
            "ls a>x",
            "ls>x",
            "ls >",
            "ls > ;",
            "cat 'a",
            "cat \"a",
            "cat a\\\nb",
            "cat a\\",
            ">x",
            "2>x ls",
            "ls a&>x",
            "cat $'a'",
            "cat $\"a\"",
            "cat ${x:-a}",
            "cat ${!x}",
            "cat $((1))",
            "cat $[1]",
            "cat a$",
            "cat $1",
            "cat \"a$\"",
            "cat $!",
            "cat a(b)",
            "cat !(a)",
            "declare a",
            "export a",
            "let a=1",
            "cat \\é",
            "ls\r",
            "ls \u{b}x",
            "cat ${x",
            "for f in a; do ls; done",
        ] {
            assert_eq!(read(text), None, "{text:?}");
        }
    }

    /// Texts made of parts that mean something to a shell, in any order.
    fn texts() -> impl Strategy<Value = String> {
        let part = proptest::sample::select(vec![
            " ", " ", " ", " ", "\n", "\t", ";", "|", "||", "&&", "&", ">", ">>", "<", "2>", "2>&1", "&>",
            "'", "\"", "\\", "$", "$x", "${y}", "$1", "$?", "$_", "\"a\nb\"", " # c", "$(", "`", "(", ")",
            "{", "}", "[", "]", "[[", "!", "#", "*", "?", "~", "=", "+=", "a=", "ls", "cat", "a", "b.txt",
            "-n", "'b c'", "\"d $e\"", "1", "12", "if", "do", "then", "in", "time", "export", "é", ",", ":",
            "%", "@", "^", "-", "/", ".", "{a,b}", "{}", "\\;", "[a-z]", "x+=1", "<<", "<(", "test", "env",
        ]);
        proptest::collection::vec(part, 1..14).prop_map(|parts| parts.concat())
    }

    proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(20_000))]
        #[test]
        fn any_plain_text_is_read_as_our_reader_and_the_grammar_read_it(text in texts()) {
            match ours(&text) {
                Ok(reading) => check_plain(&text, &reading),
                // Our reader reads every plain text, unless a limit stops it.
                Err(refusal) => assert!(read(&text).is_none(), "{text:?}: {refusal:?}"),
            }
        }
    }
}
