//! Expansions: what starts with `$` or a backquote.

use super::{MAX_EXPANSIONS, Reader, Refusal};
use crate::shell::script::{Operator, Parameter, Piece, Script, Word};

impl Reader<'_> {
    /// Reads the expansion here, at its `$`.
    pub(super) fn dollar(&mut self, pieces: &mut Vec<Piece>, quoted: bool) -> Result<(), Refusal> {
        self.expansions += 1;
        if MAX_EXPANSIONS < self.expansions {
            return Err(self.limit("there are too many expansions to judge"));
        }
        self.peek();
        let start = self.at;
        self.bump();
        if self.raw(0) == Some(b'\\') && self.raw(1) == Some(b'\n') {
            // The second reader ends the word here or goes on with it, depending on what follows.
            return Err(self.refusal("a dollar sign before a continued line"));
        }
        match self.peek() {
            Some(b'(') if self.peek_second() == Some(b'(') => {
                self.take(b"((");
                let arithmetic = self.arithmetic(start, b"))")?;
                pieces.push(Piece::Arithmetic(arithmetic));
            }
            Some(b'(') => {
                self.bump();
                let script = self.substitution_body()?.into();
                pieces.push(Piece::Substitution { script, quoted });
            }
            Some(b'{') => {
                self.bump();
                self.enter()?;
                let parameter = self.parameter(start, quoted)?;
                self.leave();
                pieces.push(Piece::Parameter(Box::new(parameter)));
            }
            Some(b'[') => return Err(self.refusal("the old form of arithmetic")),
            Some(byte) if byte.is_ascii_alphabetic() || byte == b'_' => {
                let name = self.name();
                pieces.push(plain(name, false, quoted, (start, self.at)));
            }
            Some(byte @ (b'@' | b'*' | b'#' | b'?' | b'$' | b'!' | b'-' | b'0'..=b'9')) => {
                self.bump();
                let all = matches!(byte, b'@' | b'*');
                pieces.push(plain(char::from(byte).to_string(), all, quoted, (start, self.at)));
            }
            _ => super::word::push(pieces, b'$', quoted),
        }
        Ok(())
    }

    /// Reads the commands up to the closing parenthesis, and steps over that.
    pub(super) fn substitution_body(&mut self) -> Result<Script, Refusal> {
        self.reading.substitution_count += 1;
        self.enter()?;
        let outer = std::mem::take(&mut self.pending);
        let before = self.at;
        let script = self.script()?;
        if !self.pending.is_empty() {
            return Err(self.refusal("a here-document without its end"));
        }
        self.pending = outer;
        if !self.pending.is_empty() && self.source[before..self.at].contains(&b'\n') {
            return Err(self.refusal("a substitution over several lines on the line of a here-document"));
        }
        self.leave();
        if self.peek() != Some(b')') {
            return Err(self.refusal("a substitution that is not closed"));
        }
        self.bump();
        if script.items.is_empty() {
            return Err(self.refusal("an empty substitution"));
        }
        Ok(script)
    }

    /// Reads the backquoted substitution here.
    pub(super) fn backquoted(&mut self, pieces: &mut Vec<Piece>, quoted: bool) -> Result<(), Refusal> {
        self.bump();
        let rest = &self.source[self.at..self.end];
        let length = rest
            .iter()
            .position(|byte| *byte == b'`')
            .ok_or_else(|| self.refusal("a backquote that is not closed"))?;
        if rest[..length].contains(&b'\\') || (quoted && rest[..length].contains(&b'"')) {
            return Err(self.refusal("an escape or quote inside backquotes"));
        }
        if !self.pending.is_empty() && rest[..length].contains(&b'\n') {
            return Err(self.refusal("a substitution over several lines on the line of a here-document"));
        }
        let (end, close) = (self.end, self.at + length);
        self.reading.substitution_count += 1;
        self.enter()?;
        let outer = std::mem::take(&mut self.pending);
        self.end = close;
        let script = self.script()?;
        self.end = end;
        if self.at != close || !self.pending.is_empty() {
            return Err(self.refusal("backquotes that hold no whole commands"));
        }
        self.pending = outer;
        self.leave();
        self.bump();
        if script.items.is_empty() {
            return Err(self.refusal("an empty substitution"));
        }
        pieces.push(Piece::Substitution { script: script.into(), quoted });
        Ok(())
    }

    /// Reads letters, digits and underscores.
    pub(super) fn name(&mut self) -> String {
        let mut name = String::new();
        while let Some(byte) = self.peek().filter(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
            name.push(char::from(byte));
            self.bump();
        }
        name
    }

    /// Reads what follows `${`, with the closing brace.
    fn parameter(&mut self, start: usize, quoted: bool) -> Result<Parameter, Refusal> {
        let length = self.peek() == Some(b'#') && self.peek_second() != Some(b'}');
        if length {
            self.bump();
        }
        if self.peek() == Some(b'!') {
            return self.places(start, quoted);
        }
        let mut all = false;
        let name = match self.peek() {
            Some(byte) if byte.is_ascii_alphabetic() || byte == b'_' => self.name(),
            Some(byte) if byte.is_ascii_digit() => {
                let name = self.name();
                if !name.bytes().all(|byte| byte.is_ascii_digit()) {
                    return Err(self.refusal("an expansion that is not understood"));
                }
                name
            }
            Some(byte @ (b'@' | b'*' | b'#' | b'?' | b'$' | b'-')) => {
                self.bump();
                all = matches!(byte, b'@' | b'*');
                char::from(byte).to_string()
            }
            _ => return Err(self.refusal("an expansion that is not understood")),
        };
        let mut subscript = None;
        if self.peek() == Some(b'[') {
            self.bump();
            if matches!(self.peek(), Some(b'@' | b'*')) {
                all = true;
                self.bump();
                if !self.take(b"]") {
                    return Err(self.refusal("a subscript that is evaluated"));
                }
            } else {
                subscript = Some(self.arithmetic(self.at, b"]")?);
            }
        }
        let operator = if length { Operator::Length } else { self.operator(quoted)? };
        if self.peek() != Some(b'}') {
            return Err(self.refusal("an expansion that is not understood"));
        }
        self.bump();
        Ok(Parameter { name, all, subscript, operator, quoted, span: (start, self.at) })
    }

    /// Reads `${!name[@]}`: the indices of an array, which are numbers. Other forms use a value as a name and are
    /// refused.
    fn places(&mut self, start: usize, quoted: bool) -> Result<Parameter, Refusal> {
        self.bump();
        let plain = self.peek().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
        let name = self.name();
        if !plain || !(self.take(b"[@]}") || self.take(b"[*]}")) {
            return Err(self.refusal("an expansion that is not understood"));
        }
        let span = (start, self.at);
        Ok(Parameter { name, all: true, subscript: None, operator: Operator::Places, quoted, span })
    }

    fn operator(&mut self, quoted: bool) -> Result<Operator, Refusal> {
        let Some(byte) = self.peek() else { return Err(self.refusal("an expansion that is not closed")) };
        match byte {
            b'}' => Ok(Operator::None),
            b':' => {
                self.bump();
                match self.peek() {
                    Some(b'-' | b'+' | b'?') => {
                        self.bump();
                        Ok(Operator::Default(self.operand(quoted)?))
                    }
                    Some(b'=') => Err(self.refusal("an expansion that assigns")),
                    // An offset is arithmetic, so only plain numbers are certainly not evaluated further.
                    _ => {
                        while self.peek().is_some_and(|byte| byte.is_ascii_digit() || b": -".contains(&byte))
                        {
                            self.bump();
                        }
                        Ok(Operator::Other(Word::default()))
                    }
                }
            }
            b'-' | b'+' | b'?' => {
                self.bump();
                Ok(Operator::Default(self.operand(quoted)?))
            }
            b'%' => {
                self.bump();
                self.take(b"%");
                Ok(Operator::CutEnd(self.operand(quoted)?))
            }
            b'#' | b'/' | b'^' | b',' => {
                self.bump();
                Ok(Operator::Other(self.operand(quoted)?))
            }
            b'@' => {
                self.bump();
                if !matches!(self.peek(), Some(b'Q' | b'U' | b'u' | b'L')) {
                    return Err(self.refusal("an expansion that evaluates its value"));
                }
                self.bump();
                Ok(Operator::Other(Word::default()))
            }
            _ => Err(self.refusal("an expansion that is not understood")),
        }
    }

    /// Reads the word of an operator, up to the closing brace.
    fn operand(&mut self, quoted: bool) -> Result<Word, Refusal> {
        let start = self.at;
        let mut pieces = Vec::new();
        loop {
            let byte = self.peek().ok_or_else(|| self.refusal("an expansion that is not closed"))?;
            match byte {
                b'}' => break,
                b'{' | b'\n' | b'(' | b')' | b'<' | b'>' | b'|' | b'&' | b';'
                    if !(quoted && b"|&;".contains(&byte)) =>
                {
                    return Err(self.refusal("an expansion that is not understood"));
                }
                // Inside double quotes the meaning of these quotes depends on the operator.
                b'\'' | b'"' if quoted => return Err(self.refusal("quotes inside a quoted expansion")),
                b'~' => return Err(self.refusal("an expansion that is not understood")),
                b'*' | b'?' | b'[' => {
                    self.bump();
                    super::word::push(&mut pieces, byte, false);
                }
                byte if byte == b'\\' || !quoted => self.unquoted_piece(byte, &mut pieces)?,
                b'$' => self.dollar(&mut pieces, true)?,
                b'`' => self.backquoted(&mut pieces, true)?,
                byte => {
                    self.bump();
                    super::word::push(&mut pieces, byte, true);
                }
            }
        }
        Ok(Word { pieces, span: (start, self.at) })
    }
}

fn plain(name: String, all: bool, quoted: bool, span: (usize, usize)) -> Piece {
    Piece::Parameter(Box::new(Parameter {
        name,
        all,
        subscript: None,
        operator: Operator::None,
        quoted,
        span,
    }))
}
