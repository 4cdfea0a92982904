//! Reads a text as bash would, as far as we know exactly how. Everything else is refused, with a name for it.

mod arithmetic;
mod braces;
mod command;
mod document;
mod expansion;
mod word;

pub(crate) use braces::expand as expand_braces;

use super::script::{Script, Span, Word};

/// The longest text that is judged, in bytes.
const MAX_BYTES: usize = 32 * 1024;
/// The deepest nesting of commands, substitutions and expansions.
const MAX_DEPTH: usize = 40;
/// The most commands in one text.
const MAX_COMMANDS: usize = 512;
/// The most words in one text.
const MAX_WORDS: usize = 4 * 1024;

/// The most expansions in one text: the time of the second reader grows with their square.
const MAX_EXPANSIONS: usize = 512;

/// The most here-documents whose bodies follow one newline: the second reader carries all of them along from token to
/// token.
const MAX_PENDING: usize = 16;

/// Why a text was not read.
#[derive(Debug, Clone)]
pub(crate) struct Refusal {
    pub(crate) detail: &'static str,
    pub(crate) at: usize,
    /// Whether a limit was the reason, and not the text's meaning.
    pub(crate) limit: bool,
}

/// What was read.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    pub(crate) script: Script,
    /// The bodies of here-documents, in the order of their operators.
    pub(crate) documents: Vec<Word>,
    /// The offset of each simple command's first word, for the second reader.
    pub(crate) command_starts: Vec<usize>,
    /// The number of redirections, for the second reader.
    pub(crate) redirect_count: usize,
    /// The number of command substitutions, for the second reader.
    pub(crate) substitution_count: usize,
}

/// Reads a whole text.
pub(crate) fn read(text: &str) -> Result<Reading, Refusal> {
    if MAX_BYTES < text.len() {
        return Err(Refusal { detail: "the command is too long to judge", at: MAX_BYTES, limit: true });
    }
    refuse_strange_bytes(text)?;
    let mut reader = Reader {
        source: text.as_bytes(),
        end: text.len(),
        at: 0,
        depth: 0,
        commands: 0,
        words: 0,
        expansions: 0,
        pending: Vec::new(),
        reading: Reading::default(),
    };
    let script = reader.script()?;
    if reader.at < reader.end {
        return Err(reader.refusal("a word that closes nothing"));
    }
    if !reader.pending.is_empty() {
        return Err(reader.refusal("a here-document without its end"));
    }
    if script.items.is_empty() {
        return Err(reader.refusal("there is no command"));
    }
    reader.reading.script = script;
    Ok(reader.reading)
}

/// Refuses bytes that bash, a terminal and a person may read differently.
fn refuse_strange_bytes(text: &str) -> Result<(), Refusal> {
    if text.bytes().all(|byte| matches!(byte, b'\n' | b'\t' | b' '..=b'~')) {
        return Ok(());
    }
    for (at, character) in text.char_indices() {
        let strange = match character {
            '\n' | '\t' | ' '..='~' => false,
            '\0'..='\x7f' => true,
            _ => is_invisible(character),
        };
        if strange {
            return Err(Refusal { detail: "a control or invisible character", at, limit: false });
        }
    }
    Ok(())
}

fn is_invisible(character: char) -> bool {
    character.is_whitespace()
        || character.is_control()
        || matches!(
            character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
                | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
                | '\u{fff0}'..='\u{ffff}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
        )
}

/// A here-document whose body comes after the next newline.
struct Pending {
    document: usize,
    delimiter: Vec<u8>,
    strip_tabs: bool,
    quoted: bool,
}

struct Reader<'a> {
    source: &'a [u8],
    end: usize,
    at: usize,
    depth: usize,
    commands: usize,
    words: usize,
    expansions: usize,
    pending: Vec<Pending>,
    reading: Reading,
}

impl Reader<'_> {
    fn refusal(&self, detail: &'static str) -> Refusal {
        Refusal { detail, at: self.at.min(self.source.len()), limit: false }
    }

    fn limit(&self, detail: &'static str) -> Refusal {
        Refusal { detail, at: self.at, limit: true }
    }

    /// The byte here. Steps over a backslash and newline before it, as bash does outside quotes.
    fn peek(&mut self) -> Option<u8> {
        while self.raw(0) == Some(b'\\') && self.raw(1) == Some(b'\n') {
            self.at += 2;
        }
        self.raw(0)
    }

    /// The byte after the one here, continuations stepped over.
    fn peek_second(&mut self) -> Option<u8> {
        self.peek()?;
        let mut next = self.at + 1;
        while next + 1 < self.end && self.source[next] == b'\\' && self.source[next + 1] == b'\n' {
            next += 2;
        }
        self.source.get(next).copied().filter(|_| next < self.end)
    }

    fn raw(&self, ahead: usize) -> Option<u8> {
        let at = self.at + ahead;
        if at < self.end { self.source.get(at).copied() } else { None }
    }

    fn bump(&mut self) {
        self.at += 1;
    }

    /// Steps over `text` if it is here.
    fn take(&mut self, text: &[u8]) -> bool {
        let before = self.at;
        for byte in text {
            if self.peek() != Some(*byte) {
                self.at = before;
                return false;
            }
            self.bump();
        }
        true
    }

    fn enter(&mut self) -> Result<(), Refusal> {
        self.depth += 1;
        if MAX_DEPTH < self.depth {
            return Err(self.limit("the command is nested too deeply to judge"));
        }
        Ok(())
    }

    fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Steps over blanks, continuations and a comment.
    fn blanks(&mut self) {
        let start = self.at;
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.bump();
        }
        let at_word_start = start < self.at
            || start == 0
            || matches!(
                self.source.get(start - 1),
                Some(b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b' ' | b'\t' | b'`')
            );
        if at_word_start && self.peek() == Some(b'#') {
            while !matches!(self.raw(0), None | Some(b'\n')) {
                self.bump();
            }
        }
    }

    /// Steps over blanks and newlines. The bodies of here-documents follow a newline.
    fn newlines(&mut self) -> Result<(), Refusal> {
        loop {
            self.blanks();
            if self.peek() != Some(b'\n') {
                return Ok(());
            }
            self.newline()?;
        }
    }

    fn newline(&mut self) -> Result<(), Refusal> {
        self.bump();
        self.documents()
    }

    fn span_from(&self, start: usize) -> Span {
        (start, self.at)
    }
}
