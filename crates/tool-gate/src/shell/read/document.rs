//! Here-documents.

use super::{MAX_PENDING, Pending, Reader, Refusal};
use crate::shell::script::{Piece, RedirectKind, Word};

impl Reader<'_> {
    /// Reads the delimiter behind `<<` or `<<-`.
    pub(super) fn document_operator(&mut self, strip_tabs: bool) -> Result<RedirectKind, Refusal> {
        self.blanks();
        let word = self.word()?.ok_or_else(|| self.refusal("a here-document without a delimiter"))?;
        let delimiter =
            word.literal().ok_or_else(|| self.refusal("a here-document's delimiter is not plain"))?;
        if delimiter.contains(&b'\n') {
            return Err(self.refusal("a here-document's delimiter spans lines"));
        }
        let quoted = word.pieces.is_empty()
            || word.pieces.iter().any(|piece| matches!(piece, Piece::Literal { quoted: true, .. }));
        let source = &self.source[word.span.0..word.span.1];
        // Versions of bash disagree about the delimiter that `$'…'` is.
        if source.contains(&b'$') || (!quoted && source != delimiter.as_slice()) {
            return Err(self.refusal("a here-document's delimiter is not plain"));
        }
        if MAX_PENDING <= self.pending.len() {
            return Err(self.limit("there are too many here-documents on one line to judge"));
        }
        let document = self.reading.documents.len();
        self.reading.documents.push(Word::default());
        self.pending.push(Pending { document, delimiter, strip_tabs, quoted });
        Ok(RedirectKind::Document(document))
    }

    /// Reads the bodies that follow a newline.
    pub(super) fn documents(&mut self) -> Result<(), Refusal> {
        for (count, pending) in std::mem::take(&mut self.pending).into_iter().enumerate() {
            if 0 < count && self.raw(0) == Some(b'\n') {
                self.bump();
            }
            self.document(&pending)?;
        }
        Ok(())
    }

    fn document(&mut self, pending: &Pending) -> Result<(), Refusal> {
        let start = self.at;
        let body_end = loop {
            let line_start = self.at;
            if self.end <= line_start {
                return Err(self.refusal("a here-document without its end"));
            }
            let rest = &self.source[line_start..self.end];
            let length = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
            let mut line = &rest[..length];
            self.at = (line_start + length + 1).min(self.end);
            if pending.strip_tabs {
                line = &line[line.iter().take_while(|byte| **byte == b'\t').count()..];
            }
            if line == pending.delimiter {
                // The newline behind the delimiter ends a command, so it is left for the caller.
                self.at = line_start + length;
                break line_start;
            }
        };
        let body = if pending.quoted {
            let bytes = self.source[start..body_end].to_vec();
            Word { pieces: vec![Piece::Literal { bytes, quoted: true }], span: (start, body_end) }
        } else {
            self.expanded_document(start, body_end)?
        };
        self.reading.documents[pending.document] = body;
        Ok(())
    }

    /// Reads the body of a here-document without quotes around its delimiter, in which expansions happen as between
    /// double quotes.
    fn expanded_document(&mut self, start: usize, body_end: usize) -> Result<Word, Refusal> {
        if self.source[start..body_end].windows(2).any(|pair| pair == b"\\\n") {
            return Err(self.refusal("a continued line in a here-document"));
        }
        let (after, end) = (self.at, self.end);
        (self.at, self.end) = (start, body_end);
        self.enter()?;
        let mut pieces = Vec::new();
        self.quoted_pieces(&mut pieces, None)?;
        self.leave();
        (self.at, self.end) = (after, end);
        Ok(Word { pieces, span: (start, body_end) })
    }
}
