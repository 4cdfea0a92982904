use headstart_overlay_fs::WorkspacePath;
use memchr::memmem;

/// The most line numbers that a message names.
const LINES_NAMED: usize = 10;

/// A content in which a text was replaced.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Replacement {
    pub(crate) content: Vec<u8>,
    /// The lines, counted from 1, where the replaced texts began.
    pub(crate) lines: Vec<usize>,
}

/// Why nothing was replaced.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ReplacementError {
    /// The text is not in the file. A line that equals its first one except for the space around it may be.
    Missing { similar_line: Option<usize> },
    /// The text occurs several times, beginning in these lines.
    Ambiguous { lines: Vec<usize> },
}

/// Replaces `old`, which is not empty, by `new`: once, or everywhere.
///
/// Line ends are not compared, and stay as the file has them: `\n` in `old` finds `\r\n`, and `\n` in `new` is
/// written as in the replaced text, or as in most lines of the file. They are only taken literally if `old` and `new`
/// differ in nothing else. Bytes that are not UTF-8 stay as they are.
pub(crate) fn replace(
    content: &[u8],
    old: &str,
    new: &str,
    all: bool,
) -> Result<Replacement, ReplacementError> {
    let (flat_old, flat_new) = (old.replace("\r\n", "\n"), new.replace("\r\n", "\n"));
    let literal = flat_old == flat_new;
    let flat = if literal { NormalizedText::literal(content) } else { NormalizedText::of(content) };
    let (needle, new) = if literal { (old, new) } else { (flat_old.as_str(), flat_new.as_str()) };

    let starts: Vec<usize> = memmem::find_iter(&flat.bytes, needle).collect();
    let lines = flat.lines_of(&starts);
    match starts.len() {
        0 => return Err(ReplacementError::Missing { similar_line: similar_line(&flat.bytes, needle) }),
        1 => {}
        _ if all => {}
        _ => return Err(ReplacementError::Ambiguous { lines }),
    }

    let mut replaced = Vec::with_capacity(content.len() + new.len());
    let mut copied = 0;
    for start in starts {
        let region = flat.raw(start)..flat.raw(start + needle.len());
        replaced.extend_from_slice(&content[copied..region.start]);
        let found = &content[region.clone()];
        if !literal && flat.wants_crlf(found) {
            replaced.extend_from_slice(new.replace('\n', "\r\n").as_bytes());
        } else {
            replaced.extend_from_slice(new.as_bytes());
        }
        copied = region.end;
    }
    replaced.extend_from_slice(&content[copied..]);
    Ok(Replacement { content: replaced, lines })
}

/// A content with `\n` for every `\r\n`.
struct NormalizedText {
    bytes: Vec<u8>,
    /// The offsets in `bytes` of each `\n` that was `\r\n`; ascending.
    dropped: Vec<usize>,
}

impl NormalizedText {
    fn literal(content: &[u8]) -> Self {
        Self { bytes: content.to_vec(), dropped: Vec::new() }
    }

    fn of(content: &[u8]) -> Self {
        let mut bytes = Vec::with_capacity(content.len());
        let mut dropped = Vec::new();
        let mut copied = 0;
        for carriage_return in memmem::find_iter(content, b"\r\n") {
            bytes.extend_from_slice(&content[copied..carriage_return]);
            dropped.push(bytes.len());
            copied = carriage_return + 1;
        }
        bytes.extend_from_slice(&content[copied..]);
        Self { bytes, dropped }
    }

    /// The offset in the original for an offset between two bytes here: before a `\r\n`, or behind it.
    fn raw(&self, flat: usize) -> usize {
        flat + self.dropped.partition_point(|newline| *newline < flat)
    }

    fn line_count(&self) -> usize {
        memchr::memchr_iter(b'\n', &self.bytes).count()
    }

    /// Whether to write `\r\n`: if the found text has it, or, if that has no line end, if most lines have it.
    fn wants_crlf(&self, found: &[u8]) -> bool {
        if memchr::memchr(b'\n', found).is_some() {
            return memmem::find(found, b"\r\n").is_some();
        }
        self.line_count() < self.dropped.len() * 2
    }

    fn lines_of(&self, starts: &[usize]) -> Vec<usize> {
        let mut line = 1;
        let mut counted = 0;
        let mut lines = Vec::with_capacity(starts.len());
        for start in starts {
            line += memchr::memchr_iter(b'\n', &self.bytes[counted..*start]).count();
            counted = *start;
            lines.push(line);
        }
        lines
    }
}

fn similar_line(content: &[u8], needle: &str) -> Option<usize> {
    let wanted = needle.lines().map(str::trim).find(|line| !line.is_empty())?;
    let same = |line: &[u8]| line.trim_ascii() == wanted.as_bytes();
    content.split(|byte| *byte == b'\n').position(same).map(|index| index + 1)
}

/// Why nothing was replaced, in words for the model.
pub(crate) fn error_message(path: &WorkspacePath, reason: &ReplacementError) -> String {
    match reason {
        ReplacementError::Missing { similar_line: None } => {
            format!("old_string is not in {path}; read the file and copy the text exactly, spaces included")
        }
        ReplacementError::Missing { similar_line: Some(line) } => format!(
            "old_string is not in {path}; line {line} is like its first line: read the file from there and copy the \
             text exactly, spaces included"
        ),
        ReplacementError::Ambiguous { lines } => format!(
            "old_string is {} times in {path} ({}); add lines around it until it is unique, or set replace_all to \
             true",
            lines.len(),
            list_lines(lines)
        ),
    }
}

/// Line numbers, at most as many as a message names.
pub(crate) fn list_lines(lines: &[usize]) -> String {
    let numbers: Vec<String> = lines.iter().take(LINES_NAMED).map(usize::to_string).collect();
    let more = if LINES_NAMED < lines.len() { ", …" } else { "" };
    let noun = if lines.len() == 1 { "line" } else { "lines" };
    format!("{noun} {}{more}", numbers.join(", "))
}

#[cfg(test)]
mod tests;
