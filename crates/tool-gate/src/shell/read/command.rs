//! Commands: lists, pipelines, compound commands, redirections.

use super::{MAX_COMMANDS, Reader, Refusal};
use crate::shell::script::{
    Assignment, Command, CommandKind, Item, Piece, Pipeline, Redirect, RedirectKind, Script, Word,
};

/// Words that bash reads as syntax where a command may start.
const KEYWORDS: [&str; 22] = [
    "!", "[[", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in",
    "select", "then", "time", "until", "while", "{", "}", "]]",
];

/// For each byte, whether a keyword starts with it: most words are told apart from all keywords by their first
/// letter.
const STARTS_KEYWORD: [bool; 256] = {
    let mut starts = [false; 256];
    let mut number = 0;
    while number < KEYWORDS.len() {
        starts[KEYWORDS[number].as_bytes()[0] as usize] = true;
        number += 1;
    }
    starts
};

/// Keywords that end the list before them.
const CLOSERS: [&str; 8] = ["then", "do", "done", "elif", "else", "fi", "esac", "}"];

impl Reader<'_> {
    /// Reads commands up to the end, a closing parenthesis, `;;` or a closing keyword, none of which it steps over.
    pub(super) fn script(&mut self) -> Result<Script, Refusal> {
        self.enter()?;
        let mut items = Vec::new();
        loop {
            self.newlines()?;
            match self.peek() {
                None | Some(b')') => break,
                Some(b';') if self.peek_second() == Some(b';') => break,
                _ => {}
            }
            if self.keyword().is_some_and(|keyword| CLOSERS.contains(&keyword)) {
                break;
            }
            let mut item = self.item()?;
            self.blanks();
            match (self.peek(), self.peek_second()) {
                (Some(b';'), Some(b';')) | (None | Some(b')' | b'\n'), _) => {}
                // To bash `;&` is one operator, which belongs to `case`.
                (Some(b';'), Some(b'&')) => return Err(self.refusal("text where a command should end")),
                (Some(b';'), _) => self.bump(),
                (Some(b'&'), _) => {
                    item.background = true;
                    self.bump();
                }
                _ => return Err(self.refusal("text where a command should end")),
            }
            items.push(item);
        }
        self.leave();
        Ok(Script { items })
    }

    fn item(&mut self) -> Result<Item, Refusal> {
        let first = self.pipeline()?;
        let mut rest = Vec::new();
        loop {
            self.blanks();
            let and = self.take(b"&&");
            if !and && !self.take(b"||") {
                return Ok(Item { first, rest, background: false });
            }
            self.newlines()?;
            rest.push((and, self.pipeline()?));
        }
    }

    fn pipeline(&mut self) -> Result<Pipeline, Refusal> {
        self.blanks();
        let negated = self.keyword() == Some("!");
        if negated {
            self.bump();
        }
        self.timed_subshell();
        let mut stages = vec![self.command()?];
        loop {
            self.blanks();
            if self.peek() != Some(b'|') || self.peek_second() == Some(b'|') {
                return Ok(Pipeline { stages, negated });
            }
            self.bump();
            if self.peek() == Some(b'&') {
                self.bump();
            }
            self.newlines()?;
            stages.push(self.command()?);
        }
    }

    /// Steps over a `time` before a subshell. Before a simple command it is read as a program's name.
    fn timed_subshell(&mut self) {
        self.blanks();
        if self.keyword() != Some("time") {
            return;
        }
        let start = self.at;
        self.at += 4;
        self.blanks();
        if self.peek() == Some(b'(') {
            self.reading.command_starts.push(start);
        } else {
            self.at = start;
        }
    }

    fn command(&mut self) -> Result<Command, Refusal> {
        self.blanks();
        self.commands += 1;
        if MAX_COMMANDS < self.commands {
            return Err(self.limit("there are too many commands to judge"));
        }
        self.peek();
        let start = self.at;
        self.enter()?;
        let keyword = self.keyword();
        let mut redirects = Vec::new();
        let kind = match keyword {
            Some("{") => {
                self.bump();
                let body = self.body()?;
                self.expect("}")?;
                CommandKind::Group(body)
            }
            Some("if") => self.if_command()?,
            Some(word @ ("while" | "until")) => {
                self.at += word.len();
                let condition = self.body()?;
                self.expect("do")?;
                let body = self.body()?;
                self.expect("done")?;
                CommandKind::While { condition, body }
            }
            Some("for") => self.for_command()?,
            Some("case") => self.case_command()?,
            Some("[[") => self.test_command()?,
            // Here `time` is read as the name of a program that runs another.
            None | Some("time") => match self.peek() {
                Some(b'(') if self.peek_second() == Some(b'(') => {
                    self.take(b"((");
                    CommandKind::Arithmetic(self.arithmetic(start, b"))")?)
                }
                Some(b'(') => {
                    self.bump();
                    let body = self.body()?;
                    if self.peek() != Some(b')') {
                        return Err(self.refusal("a parenthesis that is not closed"));
                    }
                    self.bump();
                    CommandKind::Subshell(body)
                }
                _ => self.simple(&mut redirects)?,
            },
            Some(_) => return Err(self.refusal("a keyword that is not understood here")),
        };
        // The span ends before the blanks and the comment behind the command, so that something can be inserted
        // there.
        let mut end = match &kind {
            CommandKind::Simple { assignments, words } => words
                .last()
                .map(|word| word.span.1)
                .into_iter()
                .chain(assignments.last().map(|assignment| assignment.span.1))
                .chain(redirects.last().map(|redirect| redirect.span.1))
                .max()
                .unwrap_or(start),
            _ => self.at,
        };
        loop {
            self.blanks();
            match self.redirect()? {
                Some(redirect) => {
                    end = redirect.span.1;
                    redirects.push(redirect);
                }
                None => break,
            }
        }
        self.leave();
        Ok(Command { kind, redirects, span: (start, end) })
    }

    /// Reads at least one command.
    fn body(&mut self) -> Result<Script, Refusal> {
        let script = self.script()?;
        if script.items.is_empty() {
            return Err(self.refusal("a list without a command"));
        }
        Ok(script)
    }

    /// The keyword here, if the whole word is one.
    fn keyword(&mut self) -> Option<&'static str> {
        self.peek();
        let rest = &self.source[self.at.min(self.end)..self.end];
        rest.first().filter(|first| STARTS_KEYWORD[usize::from(**first)])?;
        KEYWORDS.into_iter().find(|keyword| {
            rest.strip_prefix(keyword.as_bytes()).is_some_and(|after| match after.first() {
                None | Some(b' ' | b'\t' | b'\n') => true,
                Some(b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>') => *keyword != "!",
                Some(_) => false,
            })
        })
    }

    fn expect(&mut self, keyword: &'static str) -> Result<(), Refusal> {
        if self.keyword() != Some(keyword) {
            return Err(self.refusal("a compound command that is not complete"));
        }
        self.at += keyword.len();
        Ok(())
    }

    fn if_command(&mut self) -> Result<CommandKind, Refusal> {
        self.at += 2;
        let mut branches = Vec::new();
        loop {
            let condition = self.body()?;
            self.expect("then")?;
            branches.push((condition, self.body()?));
            match self.keyword() {
                Some("elif") => self.at += 4,
                Some("else") => {
                    self.at += 4;
                    let otherwise = Some(self.body()?);
                    self.expect("fi")?;
                    return Ok(CommandKind::If { branches, otherwise });
                }
                _ => {
                    self.expect("fi")?;
                    return Ok(CommandKind::If { branches, otherwise: None });
                }
            }
        }
    }

    fn for_command(&mut self) -> Result<CommandKind, Refusal> {
        self.at += 3;
        self.blanks();
        if self.take(b"((") {
            return self.counted_loop();
        }
        let name = self.name();
        if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
            return Err(self.refusal("a loop that is not understood"));
        }
        self.newlines()?;
        self.expect("in")?;
        let mut words = Vec::new();
        loop {
            self.blanks();
            match self.word()? {
                Some(word) => words.push(word),
                None => break,
            }
        }
        if !matches!(self.peek(), Some(b';' | b'\n')) {
            return Err(self.refusal("a loop that is not understood"));
        }
        if self.peek() == Some(b';') {
            self.bump();
        }
        self.newlines()?;
        self.expect("do")?;
        let body = self.body()?;
        self.expect("done")?;
        Ok(CommandKind::For { name, words, body })
    }

    fn counted_loop(&mut self) -> Result<CommandKind, Refusal> {
        let start = self.arithmetic(self.at, b";")?;
        let condition = self.arithmetic(self.at, b";")?;
        let step = self.arithmetic(self.at, b"))")?;
        self.blanks();
        if self.peek() == Some(b';') {
            self.bump();
        }
        self.newlines()?;
        self.expect("do")?;
        let body = self.body()?;
        self.expect("done")?;
        Ok(CommandKind::Counted { start, condition, step, body })
    }

    fn case_command(&mut self) -> Result<CommandKind, Refusal> {
        self.at += 4;
        self.blanks();
        let subject = self.word()?.ok_or_else(|| self.refusal("a case without a word"))?;
        self.newlines()?;
        self.expect("in")?;
        let mut arms = Vec::new();
        loop {
            self.newlines()?;
            if self.keyword() == Some("esac") {
                self.at += 4;
                return Ok(CommandKind::Case { subject, arms });
            }
            if self.peek() == Some(b'(') {
                self.bump();
            }
            let mut patterns = Vec::new();
            loop {
                self.blanks();
                patterns.push(self.word()?.ok_or_else(|| self.refusal("a case without a pattern"))?);
                self.blanks();
                match self.peek() {
                    Some(b'|') => self.bump(),
                    Some(b')') => break,
                    _ => return Err(self.refusal("a case that is not understood")),
                }
            }
            self.bump();
            let body = self.script()?;
            arms.push((patterns, body));
            if !self.take(b";;") && self.keyword() != Some("esac") {
                return Err(self.refusal("a case that is not complete"));
            }
        }
    }

    fn test_command(&mut self) -> Result<CommandKind, Refusal> {
        self.reading.command_starts.push(self.at);
        self.at += 2;
        let mut tokens = Vec::new();
        // The number of open parentheses, and whether an operand that an operator can join stands before.
        let (mut open, mut joinable) = (0_usize, false);
        loop {
            self.newlines()?;
            if self.keyword() == Some("]]") {
                if open != 0 || !joinable {
                    return Err(self.refusal("a test that is not complete"));
                }
                self.at += 2;
                return Ok(CommandKind::Test(tokens));
            }
            let operator =
                [&b"&&"[..], b"||", b"(", b")", b"<", b">"].into_iter().find(|text| self.take(text));
            if let Some(text) = operator {
                match text {
                    b"(" => open += 1,
                    b")" if open == 0 || !joinable => {
                        return Err(self.refusal("a test that is not complete"));
                    }
                    b")" => open -= 1,
                    _ if !joinable => return Err(self.refusal("a test that is not complete")),
                    _ => {}
                }
                joinable = text == b")";
                let bytes = text.to_vec();
                let span = (self.at - bytes.len(), self.at);
                tokens.push(Word { pieces: vec![Piece::Literal { bytes, quoted: false }], span });
                continue;
            }
            if matches!(&self.source[self.at..self.end], [b'=', b'~', b' ', ..]) {
                let span = (self.at, self.at + 2);
                let bytes = b"=~".to_vec();
                tokens.push(Word { pieces: vec![Piece::Literal { bytes, quoted: false }], span });
                self.at += 2;
                self.blanks();
                tokens.push(self.pattern()?);
                joinable = true;
                continue;
            }
            tokens.push(self.word()?.ok_or_else(|| self.refusal("a test that is not closed"))?);
            joinable = true;
        }
    }

    /// Reads a regular expression: a word in which parentheses and bars stand for themselves.
    fn pattern(&mut self) -> Result<Word, Refusal> {
        let start = self.at;
        let mut pieces = Vec::new();
        let mut open = 0_usize;
        loop {
            match self.peek() {
                Some(byte @ (b'(' | b'|' | b')')) => {
                    open += usize::from(byte == b'(');
                    if byte == b')' {
                        open = open
                            .checked_sub(1)
                            .ok_or_else(|| self.refusal("a pattern whose parentheses do not match"))?;
                    }
                    pieces.push(Piece::Literal { bytes: vec![byte], quoted: false });
                    self.bump();
                }
                Some(b' ' | b'\n' | b'\t') if open == 0 && !pieces.is_empty() => {
                    return Ok(Word { pieces, span: self.span_from(start) });
                }
                Some(b'#') => return Err(self.refusal("a pattern that is not understood")),
                Some(b'\\') => {
                    self.bump();
                    let escaped = self.raw(0).filter(u8::is_ascii_graphic);
                    let byte = escaped.ok_or_else(|| self.refusal("a pattern that is not understood"))?;
                    pieces.push(Piece::Literal { bytes: vec![byte], quoted: true });
                    self.bump();
                }
                Some(byte) if byte.is_ascii_alphanumeric() || b"^.*+?_/,:=%@-[]{}".contains(&byte) => {
                    pieces.push(Piece::Literal { bytes: vec![byte], quoted: false });
                    self.bump();
                }
                Some(b'$') if matches!(self.peek_second(), Some(b' ' | b'\n' | b')' | b'|')) => {
                    pieces.push(Piece::Literal { bytes: vec![b'$'], quoted: false });
                    self.bump();
                }
                _ => {
                    let word = self.word()?;
                    pieces
                        .extend(word.ok_or_else(|| self.refusal("a pattern that is not understood"))?.pieces);
                }
            }
        }
    }

    fn simple(&mut self, redirects: &mut Vec<Redirect>) -> Result<CommandKind, Refusal> {
        let (mut assignments, mut words) = (Vec::new(), Vec::new());
        loop {
            self.blanks();
            if self.peek() == Some(b'(') {
                return Err(self.refusal("a function, or a parenthesis where none can be"));
            }
            if let Some(redirect) = self.redirect()? {
                redirects.push(redirect);
                continue;
            }
            if words.is_empty()
                && let Some(assignment) = self.assignment()?
            {
                assignments.push(assignment);
                continue;
            }
            let Some(word) = self.word()? else { break };
            if matches!(self.peek(), Some(b'<' | b'>'))
                && word.bare().is_some_and(|text| text.starts_with('{'))
            {
                return Err(self.refusal("a redirection to a named descriptor"));
            }
            if words.is_empty() {
                self.reading.command_starts.push(word.span.0);
            }
            words.push(word);
        }
        if assignments.is_empty() && words.is_empty() && redirects.is_empty() {
            return Err(self.refusal("a command is missing"));
        }
        Ok(CommandKind::Simple { assignments, words })
    }

    fn assignment(&mut self) -> Result<Option<Assignment>, Refusal> {
        self.peek();
        let start = self.at;
        let rest = &self.source[start..self.end];
        let length = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
        if length == 0 || rest[0].is_ascii_digit() {
            return Ok(None);
        }
        let append = rest.get(length) == Some(&b'+');
        if rest.get(length + usize::from(append)) != Some(&b'=') {
            return Ok(None);
        }
        let name = String::from_utf8_lossy(&rest[..length]).into_owned();
        self.at = start + length + usize::from(append) + 1;
        if self.raw(0) == Some(b'(') {
            let values = self.array()?;
            let span = self.span_from(start);
            return Ok(Some(Assignment { name, append, values, array: true, span }));
        }
        let value = self.word()?.unwrap_or(Word { pieces: Vec::new(), span: (self.at, self.at) });
        Ok(Some(Assignment { name, append, values: vec![value], array: false, span: self.span_from(start) }))
    }

    fn array(&mut self) -> Result<Vec<Word>, Refusal> {
        self.bump();
        let mut values = Vec::new();
        loop {
            self.newlines()?;
            if self.peek() == Some(b')') {
                self.bump();
                return Ok(values);
            }
            let word = self.word()?.ok_or_else(|| self.refusal("an array that is not understood"))?;
            if self.source[word.span.0] == b'[' {
                return Err(self.refusal("a subscript that is evaluated"));
            }
            values.push(word);
        }
    }

    /// Reads the redirection here, if there is one.
    fn redirect(&mut self) -> Result<Option<Redirect>, Refusal> {
        self.peek();
        let start = self.at;
        while self.raw(0).is_some_and(|byte| byte.is_ascii_digit()) {
            self.bump();
        }
        let numbered = start < self.at;
        let (first, second) =
            if numbered { (self.raw(0), self.raw(1)) } else { (self.peek(), self.peek_second()) };
        let both = !numbered && first == Some(b'&') && second == Some(b'>');
        if !(both || matches!(first, Some(b'<' | b'>')))
            || (first == Some(b'<') && second == Some(b'(') && !numbered)
        {
            self.at = start;
            return Ok(None);
        }
        self.reading.redirect_count += 1;
        let input = if numbered { self.source[start..].starts_with(b"0") } else { first == Some(b'<') };
        let kind = match self.redirect_kind()? {
            RedirectKind::Duplicate if input || first == Some(b'<') => RedirectKind::DuplicateInput,
            kind => kind,
        };
        let errors = self.source[start..].starts_with(b"2>");
        Ok(Some(Redirect { kind, errors, span: self.span_from(start) }))
    }

    fn redirect_kind(&mut self) -> Result<RedirectKind, Refusal> {
        if self.take(b"<<<") {
            return Ok(RedirectKind::Text(self.target()?));
        }
        if self.take(b"<<-") {
            return self.document_operator(true);
        }
        if self.take(b"<<") {
            return self.document_operator(false);
        }
        if self.take(b"<&") || self.take(b">&") {
            let word = self.target()?;
            let number = |text: &str| {
                text == "-" || (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()))
            };
            return Ok(if word.bare().is_some_and(number) {
                RedirectKind::Duplicate
            } else {
                RedirectKind::Other
            });
        }
        if self.take(b"<>") {
            self.target()?;
            return Ok(RedirectKind::Other);
        }
        if self.take(b"<") {
            return Ok(RedirectKind::Read(self.target()?));
        }
        for operator in [&b"&>>"[..], b"&>", b">>", b">|", b">"] {
            if self.take(operator) {
                return Ok(RedirectKind::Write(self.target()?));
            }
        }
        Err(self.refusal("a redirection that is not understood"))
    }

    fn target(&mut self) -> Result<Word, Refusal> {
        self.blanks();
        self.word()?.ok_or_else(|| self.refusal("a redirection without a target"))
    }
}
