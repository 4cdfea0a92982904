//! Arithmetic, read as tokens: enough to see what it uses and assigns. Operands and operators must alternate: bash
//! reports an error otherwise, and the second reader would spend its time on repairs.

use super::{MAX_DEPTH, MAX_PENDING, Reader, Refusal};
use crate::shell::script::{Arithmetic, ArithmeticToken};

impl Reader<'_> {
    /// Reads the expression up to `close`, and steps over that.
    pub(super) fn arithmetic(&mut self, start: usize, close: &[u8]) -> Result<Arithmetic, Refusal> {
        self.enter()?;
        let mut tokens = Vec::new();
        let mut open = 0_usize;
        // Whether an operand must come next, and not an operator.
        let mut wanted = true;
        let mut shifts = 0_usize;
        loop {
            let byte = self.peek().ok_or_else(|| self.refusal("arithmetic that is not closed"))?;
            match byte {
                b')' | b';' | b']' if open == 0 && close[0] == byte => {
                    let empty = tokens.is_empty();
                    if (wanted && !empty) || !self.take(close) {
                        return Err(self.refusal("arithmetic that is not understood"));
                    }
                    break;
                }
                b')' if 0 < open && !wanted => {
                    open -= 1;
                    self.bump();
                }
                b'(' if wanted => {
                    open += 1;
                    if MAX_DEPTH < open {
                        return Err(self.limit("the command is nested too deeply to judge"));
                    }
                    self.bump();
                }
                b' ' | b'\t' | b'\n' => self.bump(),
                b'0'..=b'9' if wanted => {
                    // A number in any base, as in `16#ff` and `0x1f`.
                    while self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'#') {
                        self.bump();
                    }
                    tokens.push(ArithmeticToken::Number);
                    wanted = false;
                }
                byte if wanted && (byte.is_ascii_alphabetic() || byte == b'_') => {
                    let name = self.name();
                    if self.peek() == Some(b'$') {
                        return Err(self.refusal("a name in arithmetic that is put together"));
                    }
                    tokens.push(ArithmeticToken::Name(name));
                    wanted = false;
                }
                b'$' if wanted => {
                    let mut pieces = Vec::new();
                    self.dollar(&mut pieces, true)?;
                    tokens.extend(pieces.into_iter().map(ArithmeticToken::Value));
                    wanted = false;
                }
                _ => {
                    let start = self.at;
                    tokens.push(self.arithmetic_operator(byte)?);
                    let text = &self.source[start..self.at];
                    shifts += usize::from(text.starts_with(b"<<"));
                    if MAX_PENDING < shifts {
                        // The second reader takes each shift operator for a here-document.
                        return Err(self.limit("there are too many shifts to judge"));
                    }
                    let beside = matches!(text, b"++" | b"--");
                    if wanted && !beside && !matches!(text, b"+" | b"-" | b"!" | b"~") {
                        return Err(self.refusal("arithmetic that is not understood"));
                    }
                    // An increment directly behind an operand belongs to it.
                    wanted |= !beside;
                }
            }
        }
        self.leave();
        Ok(Arithmetic { tokens, span: (start, self.at) })
    }

    fn arithmetic_operator(&mut self, byte: u8) -> Result<ArithmeticToken, Refusal> {
        const ASSIGNING: [&[u8]; 12] =
            [b"<<=", b">>=", b"++", b"--", b"+=", b"-=", b"*=", b"/=", b"%=", b"&=", b"^=", b"|="];
        const PLAIN: [&[u8]; 9] = [b"==", b"!=", b"<=", b">=", b"<<", b">>", b"**", b"&&", b"||"];
        if ASSIGNING.iter().any(|operator| self.take(operator)) {
            return Ok(ArithmeticToken::Assign);
        }
        if PLAIN.iter().any(|operator| self.take(operator)) {
            return Ok(ArithmeticToken::Operator);
        }
        match byte {
            b'=' => {
                self.bump();
                Ok(ArithmeticToken::Assign)
            }
            b'+' | b'-' | b'*' | b'/' | b'%' | b'<' | b'>' | b'&' | b'|' | b'^' | b'~' | b'!' | b'?'
            | b':' | b',' => {
                self.bump();
                Ok(ArithmeticToken::Operator)
            }
            _ => Err(self.refusal("arithmetic that is not understood")),
        }
    }
}
