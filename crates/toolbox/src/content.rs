//! The content of text files: which encoding it has, and how a change keeps that.

use std::borrow::Cow;

use headstart_overlay_fs::{EntryKind, Tree, WorkspacePath};

use crate::{ToolContext, ToolError};

/// The UTF-8 byte order mark.
pub(crate) const BOM: &[u8] = b"\xEF\xBB\xBF";

/// How many bytes of a file are looked at to tell text from binary.
const SNIFFED_BYTES: usize = 8_000;

/// A text file in UTF-8, and how it is stored.
pub(crate) struct FileText {
    /// The text, with its byte order mark and with its line ends. Bytes whose encoding is not known are as they are.
    pub(crate) bytes: Vec<u8>,
    encoding: Encoding,
}

/// How a text file is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Utf8,
    /// With a byte order mark; nothing else tells it from binary data.
    Utf16 {
        big_endian: bool,
    },
    /// Not UTF-8, and without a NUL: some encoding of which ASCII is a part, such as Latin-1.
    Unknown,
}

impl FileText {
    /// The text of a content; `None` if it is binary: if it has a NUL among the first bytes, which is git's rule, and
    /// is not UTF-16 with a byte order mark.
    pub(crate) fn of(content: Vec<u8>) -> Option<Self> {
        if let Some((big_endian, text)) = utf16(&content) {
            return Some(Self { bytes: text.into_bytes(), encoding: Encoding::Utf16 { big_endian } });
        }
        if content[..content.len().min(SNIFFED_BYTES)].contains(&0) {
            return None;
        }
        let is_utf8 = std::str::from_utf8(&content).is_ok();
        Some(Self { bytes: content, encoding: if is_utf8 { Encoding::Utf8 } else { Encoding::Unknown } })
    }

    /// The bytes of the file with another text, in the same encoding.
    pub(crate) fn encoded(&self, text: Vec<u8>) -> Vec<u8> {
        let Encoding::Utf16 { big_endian } = self.encoding else { return text };
        let text = String::from_utf8_lossy(&text);
        let units = text.encode_utf16();
        units.flat_map(|unit| if big_endian { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
    }

    /// An error if the file cannot hold this text in its encoding.
    pub(crate) fn check_holds(&self, path: &WorkspacePath, text: &str) -> Result<(), ToolError> {
        if self.encoding != Encoding::Unknown || text.is_ascii() {
            return Ok(());
        }
        Err(ToolError::failed(format!(
            "{path} is not UTF-8 (it may be Latin-1), and the new text has characters outside ASCII that would be \
             stored in another encoding; write those parts in ASCII, or convert the file first, for example with \
             iconv -f LATIN1 -t UTF-8"
        )))
    }

    /// What an error about a text that is not in the file has to add.
    pub(crate) fn missing_hint(&self, text: &str) -> &'static str {
        if self.encoding == Encoding::Unknown && !text.is_ascii() {
            "; the file is not UTF-8, and only text in ASCII can be found in it"
        } else {
            ""
        }
    }

    /// What of the encoding a replaced text keeps, in words.
    pub(crate) fn kept(&self) -> &'static str {
        match self.encoding {
            Encoding::Utf16 { .. } => "; UTF-16 kept",
            Encoding::Utf8 | Encoding::Unknown => "",
        }
    }
}

/// The text of a content in UTF-16 that begins with a byte order mark, with that mark, and whether the high byte comes
/// first. `None` if it is not valid, because it could not be written back.
fn utf16(content: &[u8]) -> Option<(bool, String)> {
    let (big_endian, rest) = match content {
        // This is also how UTF-32 begins.
        [0xFF, 0xFE, 0, 0, ..] => return None,
        [0xFF, 0xFE, rest @ ..] => (false, rest),
        [0xFE, 0xFF, rest @ ..] => (true, rest),
        _ => return None,
    };
    let (pairs, odd) = rest.as_chunks::<2>();
    if !odd.is_empty() {
        return None;
    }
    let units = pairs
        .iter()
        .map(|pair| if big_endian { u16::from_be_bytes(*pair) } else { u16::from_le_bytes(*pair) });
    let text: String =
        char::decode_utf16(std::iter::once(0xFEFF).chain(units)).collect::<Result<_, _>>().ok()?;
    (!text.contains('\0')).then_some((big_endian, text))
}

/// A content as the text to search in; `None` if it is binary.
pub(crate) fn searchable(content: Vec<u8>) -> Option<Vec<u8>> {
    FileText::of(content).map(|text| text.bytes)
}

/// The text file at a path.
pub(crate) async fn read_text(path: &WorkspacePath, context: ToolContext<'_>) -> Result<FileText, ToolError> {
    let metadata = context.view.metadata(path).await?;
    let refused = |message: String| Err(ToolError::failed(message));
    match metadata.kind {
        EntryKind::File => {}
        EntryKind::Directory => return refused(format!("{path} is a directory; ls shows what is in it")),
        EntryKind::Symlink | EntryKind::Other => {
            return refused(format!("{path} is not a regular file (a device, socket or pipe)"));
        }
    }
    let limit = context.limits.file_bytes;
    if metadata.len > limit {
        return refused(format!(
            "{path} has {} bytes, more than the limit of {limit}; a command such as sed -n '1,100p' shows a part",
            metadata.len
        ));
    }
    let bytes = context.view.read(path).await?;
    let len = bytes.len();
    FileText::of(bytes).ok_or_else(|| ToolError::failed(format!("{path} is a binary file ({len} bytes)")))
}

/// A text with the line ends that a file has: all of one kind, or, where they are mixed, those of the lines that stay,
/// and for other lines those of most. A text that has CRLF itself is left as it is. Also what was kept, in words.
pub(crate) fn with_line_ends_of<'a>(before: &[u8], text: &'a str) -> (Cow<'a, str>, &'static str) {
    let old: Vec<&[u8]> = before.split_inclusive(|byte| *byte == b'\n').collect();
    let crlf = old.iter().filter(|line| line.ends_with(b"\r\n")).count();
    let ended = old.iter().filter(|line| line.ends_with(b"\n")).count();
    if text.contains('\r') || !text.contains('\n') {
        return (text.into(), "");
    }
    if ended == 0 && before.contains(&b'\r') {
        return (text.replace('\n', "\r").into(), "; CR line ends kept");
    }
    if crlf == 0 {
        return (text.into(), "");
    }
    if crlf == ended {
        return (text.replace('\n', "\r\n").into(), "; CRLF line ends kept");
    }
    let new: Vec<&str> = text.split_inclusive('\n').collect();
    let same = same_lines(&old, &new);
    let mostly = ended < crlf * 2;
    let mut result = String::with_capacity(text.len() + crlf);
    for (line, same) in new.iter().zip(same) {
        let has_crlf = same.map_or(mostly, |at| old[at].ends_with(b"\r\n"));
        match line.strip_suffix('\n') {
            Some(body) if has_crlf => result.extend([body, "\r\n"]),
            _ => result.push_str(line),
        }
    }
    let kept = match result.split_inclusive('\n').filter(|line| line.ends_with("\r\n")).count() {
        0 => "",
        crlf if crlf == result.matches('\n').count() => "; CRLF line ends kept",
        _ => "; mixed line ends kept, line by line",
    };
    (result.into(), kept)
}

/// For each new line, the old one that it is, apart from its end.
fn same_lines(old: &[&[u8]], new: &[&str]) -> Vec<Option<usize>> {
    /// Beyond as many lines that differ on both sides the search takes too long, and these count as changed.
    const COMPARED: usize = 5_000;
    let bare = |line: &[u8]| -> Vec<u8> {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        line.strip_suffix(b"\r").unwrap_or(line).to_vec()
    };
    let old: Vec<_> = old.iter().map(|line| bare(line)).collect();
    let new: Vec<_> = new.iter().map(|line| bare(line.as_bytes())).collect();
    let start = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let ends = old[start..].iter().rev().zip(new[start..].iter().rev());
    let end = ends.take_while(|(old, new)| old == new).count();
    let (old_end, new_end) = (old.len() - end, new.len() - end);
    let mut same = vec![None; new.len()];
    (0..start).for_each(|at| same[at] = Some(at));
    (0..end).for_each(|at| same[new_end + at] = Some(old_end + at));
    if (old_end - start).max(new_end - start) <= COMPARED {
        let between = similar::capture_diff_slices(
            similar::Algorithm::Myers,
            &old[start..old_end],
            &new[start..new_end],
        );
        for op in between.iter().filter(|op| op.tag() == similar::DiffTag::Equal) {
            for (old, new) in op.old_range().zip(op.new_range()) {
                same[start + new] = Some(start + old);
            }
        }
    }
    same
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utf_16_is_written_back_as_it_was() {
        for big_endian in [false, true] {
            let encode = |text: &str| -> Vec<u8> {
                text.encode_utf16()
                    .flat_map(|unit| if big_endian { unit.to_be_bytes() } else { unit.to_le_bytes() })
                    .collect()
            };
            for text in ["\u{feff}", "\u{feff}a\r\nb", "\u{feff}日本語\n", "\u{feff}x 😀\n"] {
                let file = FileText::of(encode(text)).unwrap();
                assert_eq!(file.bytes, text.as_bytes());
                assert_eq!(file.encoded(text.as_bytes().to_vec()), encode(text));
            }
        }
    }

    #[test]
    fn what_could_not_be_written_back_is_binary() {
        let cases: [&[u8]; 4] = [
            // UTF-32, half a pair, half a unit, and a NUL.
            b"\xff\xfe\0\0a\0\0\0",
            b"\xff\xfe\0\xd8a\0",
            b"\xff\xfea\0b\0\0",
            b"\xfe\xff\0\0",
        ];
        for content in cases {
            assert!(FileText::of(content.to_vec()).is_none(), "{content:?}");
        }
        // Latin-1 may begin with the same bytes.
        assert!(FileText::of(b"\xff\xfeab\xff".to_vec()).is_some());
    }

    #[test]
    fn lines_that_stay_keep_their_ends() {
        let cases = [
            ("a\r\nb\nc\r\n", "a\nb\nx\nc\n", "a\r\nb\nx\r\nc\r\n"),
            ("a\r\n\nb\n\r\nc\n", "new\na\n\nb\n\nc", "new\na\r\n\nb\n\r\nc"),
            ("a\nb\nc\r\n", "c\nx\n", "c\r\nx\n"),
            ("a\r\nb", "a\nb\nc\n", "a\r\nb\r\nc\r\n"),
            ("a\nb\n", "b\n", "b\n"),
            ("a\r\nb\n", "x\r\ny\n", "x\r\ny\n"),
            ("a\rb\r", "a\nx\n", "a\rx\r"),
            ("a\rb\n", "a\nx\n", "a\nx\n"),
            ("", "x\n", "x\n"),
        ];
        for (before, text, after) in cases {
            assert_eq!(with_line_ends_of(before.as_bytes(), text).0, after, "{before:?} and {text:?}");
        }
    }
}
