//! Words: quotes, escapes and what they contain.

use super::{MAX_WORDS, Reader, Refusal, braces};
use crate::shell::script::{Piece, Word};

impl Reader<'_> {
    /// Reads the word that starts here, if one does.
    pub(super) fn word(&mut self) -> Result<Option<Word>, Refusal> {
        self.peek();
        let start = self.at;
        let mut pieces = Vec::new();
        let mut any = false;
        while let Some(byte) = self.peek() {
            match byte {
                b'<' | b'>' if any => {
                    if self.peek_second() == Some(b'(') {
                        return Err(self.refusal("a process substitution inside a word"));
                    }
                    break;
                }
                b'<' if self.peek_second() == Some(b'(') => {
                    self.take(b"<(");
                    let script = self.substitution_body()?;
                    pieces.push(Piece::ProcessInput(script.into()));
                    any = true;
                    if !matches!(self.peek(), None | Some(b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b')')) {
                        return Err(self.refusal("text right after a process substitution"));
                    }
                    break;
                }
                b'(' => return Err(self.refusal("a parenthesis inside a word")),
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b')' | b'<' | b'>' => break,
                _ => {
                    any = true;
                    self.unquoted_piece(byte, &mut pieces)?;
                }
            }
        }
        if !any {
            return Ok(None);
        }
        self.count_word()?;
        braces::mark(&mut pieces);
        Ok(Some(Word { pieces, span: (start, self.at) }))
    }

    pub(super) fn count_word(&mut self) -> Result<(), Refusal> {
        self.words += 1;
        if MAX_WORDS < self.words {
            return Err(self.limit("the command has too many words to judge"));
        }
        Ok(())
    }

    /// Reads one piece outside quotes, which starts with `byte`.
    pub(super) fn unquoted_piece(&mut self, byte: u8, pieces: &mut Vec<Piece>) -> Result<(), Refusal> {
        match byte {
            b'\\' => {
                self.bump();
                let escaped = self.raw(0).ok_or_else(|| self.refusal("a backslash at the end"))?;
                self.bump();
                push(pieces, escaped, true);
            }
            b'\'' => {
                self.bump();
                let start = self.at;
                while self.raw(0).ok_or_else(|| self.refusal("a quote that is not closed"))? != b'\'' {
                    self.bump();
                }
                let bytes = self.source[start..self.at].to_vec();
                self.refuse_newline_with_pending(&bytes)?;
                pieces.push(Piece::Literal { bytes, quoted: true });
                self.bump();
            }
            b'"' => {
                self.bump();
                self.double_quoted(pieces)?;
            }
            b'$' if self.peek_second() == Some(b'\'') => {
                self.take(b"$'");
                let bytes = self.ansi_c()?;
                self.refuse_newline_with_pending(&bytes)?;
                pieces.push(Piece::Literal { bytes, quoted: true });
            }
            b'$' if self.peek_second() == Some(b'"') => {
                self.take(b"$\"");
                self.double_quoted(pieces)?;
            }
            b'$' => self.dollar(pieces, false)?,
            b'`' => self.backquoted(pieces, false)?,
            b'*' | b'?' | b'[' => {
                self.bump();
                pieces.push(Piece::Glob(byte));
            }
            b'~' if tilde_expands(pieces) => {
                self.bump();
                pieces.push(Piece::Tilde);
            }
            byte => {
                self.bump();
                push(pieces, byte, false);
                if let Some(Piece::Literal { bytes, .. }) = pieces.last_mut() {
                    // A run of bytes without any special meaning is taken at once.
                    let plain =
                        |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
                    let rest = &self.source[self.at.min(self.end)..self.end];
                    let run = &rest[..rest.iter().take_while(plain).count()];
                    bytes.extend_from_slice(run);
                    self.at += run.len();
                }
            }
        }
        Ok(())
    }

    /// Reads the rest of a double-quoted string, with its closing quote.
    fn double_quoted(&mut self, pieces: &mut Vec<Piece>) -> Result<(), Refusal> {
        let start = self.at;
        // An empty string is an argument too, so it needs a piece.
        pieces.push(Piece::Literal { bytes: Vec::new(), quoted: true });
        self.quoted_pieces(pieces, Some(b'"'))?;
        self.refuse_newline_with_pending(&self.source[start..self.at])?;
        self.bump();
        Ok(())
    }

    /// Reads text as between double quotes, up to `close` (which is not stepped over) or the end.
    pub(super) fn quoted_pieces(
        &mut self,
        pieces: &mut Vec<Piece>,
        close: Option<u8>,
    ) -> Result<(), Refusal> {
        loop {
            let Some(byte) = self.peek() else {
                if close.is_some() {
                    return Err(self.refusal("a quote that is not closed"));
                }
                return Ok(());
            };
            match byte {
                byte if Some(byte) == close => return Ok(()),
                b'\\' => {
                    self.bump();
                    match self.raw(0) {
                        Some(escaped @ (b'$' | b'`' | b'\\')) => {
                            self.bump();
                            push(pieces, escaped, true);
                        }
                        Some(b'"') if close.is_some() => {
                            self.bump();
                            push(pieces, b'"', true);
                        }
                        _ => push(pieces, b'\\', true),
                    }
                }
                b'$' => self.dollar(pieces, true)?,
                b'`' => self.backquoted(pieces, true)?,
                byte => {
                    self.bump();
                    push(pieces, byte, true);
                }
            }
        }
    }

    /// Refuses a newline inside quotes while a here-document waits for its body, because readers disagree there.
    fn refuse_newline_with_pending(&self, bytes: &[u8]) -> Result<(), Refusal> {
        if !self.pending.is_empty() && bytes.contains(&b'\n') {
            return Err(self.refusal("a quoted newline on the line of a here-document"));
        }
        Ok(())
    }

    /// Reads and decodes the rest of `$'…'`, with its closing quote.
    fn ansi_c(&mut self) -> Result<Vec<u8>, Refusal> {
        let mut bytes = Vec::new();
        loop {
            let byte = self.raw(0).ok_or_else(|| self.refusal("a quote that is not closed"))?;
            self.bump();
            match byte {
                b'\'' => return Ok(bytes),
                b'\\' => {
                    let decoded = self.ansi_c_escape()?;
                    // A NUL would end the string early.
                    if decoded.is_empty() || decoded.contains(&0) {
                        return Err(self.refusal("an escape in $'…' that is not understood"));
                    }
                    bytes.extend(decoded);
                }
                byte => bytes.push(byte),
            }
        }
    }

    fn ansi_c_escape(&mut self) -> Result<Vec<u8>, Refusal> {
        let byte = self.raw(0).ok_or_else(|| self.refusal("a quote that is not closed"))?;
        self.bump();
        Ok(match byte {
            b'a' => vec![7],
            b'b' => vec![8],
            b'e' | b'E' => vec![27],
            b'f' => vec![12],
            b'n' => vec![b'\n'],
            b'r' => vec![b'\r'],
            b't' => vec![b'\t'],
            b'v' => vec![11],
            b'\\' | b'\'' | b'"' | b'?' => vec![byte],
            b'0'..=b'7' => {
                self.at -= 1;
                vec![self.digits(8, 3).and_then(|value| u8::try_from(value & 0xff).ok()).unwrap_or(0)]
            }
            b'x' => self
                .digits(16, 2)
                .and_then(|value| u8::try_from(value).ok())
                .map_or(Vec::new(), |byte| vec![byte]),
            // Beyond ASCII the bytes depend on the locale.
            b'u' => self
                .digits(16, 4)
                .filter(|value| *value < 0x80)
                .and_then(|value| u8::try_from(value).ok())
                .map_or(Vec::new(), |byte| vec![byte]),
            b'U' => self
                .digits(16, 8)
                .filter(|value| *value < 0x80)
                .and_then(|value| u8::try_from(value).ok())
                .map_or(Vec::new(), |byte| vec![byte]),
            b'c' => Vec::new(),
            other => vec![b'\\', other],
        })
    }

    /// Reads up to `most` digits; `None` if there is none.
    fn digits(&mut self, radix: u32, most: usize) -> Option<u32> {
        let mut value = None;
        for _ in 0..most {
            let Some(digit) = self.raw(0).and_then(|byte| char::from(byte).to_digit(radix)) else { break };
            value = Some(value.unwrap_or(0u32).wrapping_mul(radix).wrapping_add(digit));
            self.bump();
        }
        value
    }
}

/// Whether bash may expand an unquoted `~` after `pieces`: at the start of a word, and after `=` or `:`.
fn tilde_expands(pieces: &[Piece]) -> bool {
    match pieces.last() {
        None => true,
        Some(Piece::Literal { bytes, quoted: false }) => {
            matches!(bytes.last(), Some(b'=' | b':' | b'{' | b','))
        }
        Some(_) => false,
    }
}

/// Adds a byte to the literal at the end, or starts a literal.
pub(super) fn push(pieces: &mut Vec<Piece>, byte: u8, quoted: bool) {
    if let Some(Piece::Literal { bytes, quoted: before }) = pieces.last_mut()
        && *before == quoted
    {
        bytes.push(byte);
        return;
    }
    pieces.push(Piece::Literal { bytes: vec![byte], quoted });
}
