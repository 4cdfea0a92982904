use std::mem;

use serde_json::json;

/// The most bytes of one event: far more than a call that writes a large file needs, and far less than what would
/// fill the memory.
pub const MAX_EVENT_BYTES: usize = 8 * 1024 * 1024;

/// How events are separated in the bytes of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Server-sent events.
    Events,
    /// One JSON document on each line.
    Lines,
    /// One document as the whole body.
    Document,
    /// Binary messages with checksums.
    #[cfg(feature = "bedrock")]
    Messages,
}

/// Why bytes are not a stream of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrameError {
    TooLong,
    NotUtf8,
    /// A checksum is wrong.
    #[cfg(feature = "bedrock")]
    Damaged,
}

/// Splits bytes that arrive in pieces of any size into the data of events.
///
/// A framing is expected, but the first character decides, because some servers answer with a whole document although
/// a stream was requested, and some gateways send events with the media type of a document.
#[derive(Debug)]
pub(crate) struct Frames {
    framing: Framing,
    /// The bytes before the first character.
    begun: Option<Vec<u8>>,
    /// The unfinished line.
    line: Vec<u8>,
    /// The data of the unfinished event, if one of its data lines has come.
    data: Option<String>,
    /// Whether the unfinished event has the name `error`.
    is_error: bool,
    /// Whether the last byte was a carriage return, to which a following line feed belongs.
    after_return: bool,
    /// Whether nothing has come yet, so that a byte order mark may follow.
    at_start: bool,
    #[cfg(feature = "bedrock")]
    messages: crate::bedrock::MessageDecoder,
}

impl Frames {
    pub(crate) fn new(framing: Framing) -> Self {
        Self {
            framing,
            begun: Some(Vec::new()),
            line: Vec::new(),
            data: None,
            is_error: false,
            after_return: false,
            at_start: true,
            #[cfg(feature = "bedrock")]
            messages: crate::bedrock::MessageDecoder::default(),
        }
    }

    pub(crate) fn framing(&self) -> Framing {
        self.framing
    }

    /// The data of the events that are complete with these bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<Vec<String>, FrameError> {
        #[cfg(feature = "bedrock")]
        if self.framing == Framing::Messages {
            return self.messages.push(bytes);
        }
        let Some(mut begun) = self.begun.take() else { return self.cut(bytes) };
        begun.extend_from_slice(bytes);
        match begun.iter().find(|byte| !is_before_a_letter(**byte)) {
            None if begun.len() < LONGEST_BEGINNING => {
                self.begun = Some(begun);
                return Ok(Vec::new());
            }
            letter => self.framing = self.framing.as_begun_with(letter.copied()),
        }
        if self.framing == Framing::Lines {
            // Empty lines do not count.
            let start = begun.iter().position(|byte| !is_before_a_letter(*byte));
            begun.drain(..start.unwrap_or(begun.len()));
        }
        self.cut(&begun)
    }

    fn cut(&mut self, mut bytes: &[u8]) -> Result<Vec<String>, FrameError> {
        let mut events = Vec::new();
        if self.framing == Framing::Document {
            self.buffer_line(bytes)?;
            return Ok(events);
        }
        if mem::take(&mut self.after_return) {
            bytes = match bytes {
                [] => {
                    self.after_return = true;
                    return Ok(events);
                }
                [b'\n', rest @ ..] => rest,
                all => all,
            };
        }
        while let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let is_return = bytes[end] == b'\r';
            self.buffer_line(&bytes[..end])?;
            if self.opens_a_document() {
                self.framing = Framing::Document;
                self.buffer_line(&bytes[end..])?;
                return Ok(events);
            }
            events.extend(self.end_line()?);
            bytes = &bytes[end + 1..];
            if is_return {
                match bytes.first() {
                    Some(b'\n') => bytes = &bytes[1..],
                    Some(_) => {}
                    None => self.after_return = true,
                }
            }
        }
        self.buffer_line(bytes)?;
        Ok(events)
    }

    /// Ends the stream: returns the data of an event that only lacks its end. It may have been cut.
    pub(crate) fn end(&mut self) -> Result<Option<String>, FrameError> {
        if let Some(begun) = self.begun.take() {
            // Only white space, which makes no event.
            self.cut(&begun)?;
        }
        if self.framing == Framing::Document {
            let document = text(mem::take(&mut self.line))?;
            return Ok(Some(document.trim_start_matches('\u{feff}').to_owned()));
        }
        let line = self.end_line()?;
        Ok(line.or_else(|| self.end_event()))
    }

    /// Whether the first line is only a brace: the beginning of a document over several lines.
    fn opens_a_document(&self) -> bool {
        self.framing == Framing::Lines && self.at_start && matches!(self.line.trim_ascii(), b"{" | b"[")
    }

    fn buffer_line(&mut self, bytes: &[u8]) -> Result<(), FrameError> {
        let begun = self.data.as_ref().map_or(0, String::len);
        if MAX_EVENT_BYTES < begun + self.line.len() + bytes.len() {
            return Err(FrameError::TooLong);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) -> Result<Option<String>, FrameError> {
        let mut line = text(mem::take(&mut self.line))?;
        if mem::take(&mut self.at_start) && line.starts_with('\u{feff}') {
            line.remove(0);
        }
        if self.framing == Framing::Lines {
            return Ok(Some(line).filter(|line| !line.trim().is_empty()));
        }
        if line.is_empty() {
            return Ok(self.end_event());
        }
        if let Some(name) = line.strip_prefix("event:") {
            self.is_error = name.trim() == "error";
        }
        // Other fields of an event, and comments, add nothing to its data.
        let Some(value) = line.strip_prefix("data") else { return Ok(None) };
        let value = match value.strip_prefix(':') {
            Some(value) => value.strip_prefix(' ').unwrap_or(value),
            None if value.is_empty() => value,
            None => return Ok(None),
        };
        match &mut self.data {
            Some(data) => data.extend(["\n", value]),
            None => self.data = Some(value.to_owned()),
        }
        Ok(None)
    }

    /// The data of the event that ends here. That of an error may be a plain text.
    fn end_event(&mut self) -> Option<String> {
        let is_error = mem::take(&mut self.is_error);
        let data = self.data.take()?;
        if is_error && !data.trim_start().starts_with(['{', '[']) && !data.trim().is_empty() {
            return Some(json!({ "error": data.trim() }).to_string());
        }
        Some(data)
    }
}

/// The most white space before the first character that is kept.
const LONGEST_BEGINNING: usize = 1024;

/// Whether it is white space, or a byte of a byte order mark.
fn is_before_a_letter(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, 0xef | 0xbb | 0xbf)
}

impl Framing {
    /// The framing of a stream that begins with this character.
    fn as_begun_with(self, letter: Option<u8>) -> Self {
        match (letter, self) {
            (Some(b'{' | b'['), Self::Events) => Self::Document,
            // No document begins with these characters, and events do: data, event, id, retry, a comment.
            (Some(b'd' | b'e' | b'i' | b'r' | b':'), _) => Self::Events,
            _ => self,
        }
    }
}

fn text(bytes: Vec<u8>) -> Result<String, FrameError> {
    String::from_utf8(bytes).map_err(|_| FrameError::NotUtf8)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(framing: Framing, pieces: &[&[u8]]) -> (Vec<String>, Option<String>) {
        let mut frames = Frames::new(framing);
        let events = pieces.iter().flat_map(|piece| frames.push(piece).unwrap()).collect();
        (events, frames.end().unwrap())
    }

    #[test]
    fn events_and_lines() {
        let cases: &[(Framing, &str, &[&str], Option<&str>)] = &[
            (Framing::Events, "data: a\n\ndata: b\n\n", &["a", "b"], None),
            (Framing::Events, "event: x\r\nid: 1\r\ndata:a\r\n\r\n", &["a"], None),
            (Framing::Events, "data: a\rdata:  b\r\r", &["a\n b"], None),
            (Framing::Events, ": still here\n\n\n\nretry: 3\n\ndata\n\n", &[""], None),
            (Framing::Events, "\u{feff}data: a\n\ndatas: b\n\nlimit\n\n", &["a"], None),
            (Framing::Events, "data: a\n\ndata: b\n", &["a"], Some("b")),
            (Framing::Events, "data: a\n\ndata: b", &["a"], Some("b")),
            (
                Framing::Events,
                "event: error\ndata: too busy\n\ndata: b\n\n",
                &[r#"{"error":"too busy"}"#, "b"],
                None,
            ),
            (Framing::Events, "event: error\ndata: {\"a\":1}\n\n", &[r#"{"a":1}"#], None),
            (Framing::Events, "event:error\ndata:busy", &[], Some(r#"{"error":"busy"}"#)),
            (Framing::Lines, "{}\r\n\n[1]\n", &["{}", "[1]"], None),
            // What was expected, and what came.
            (Framing::Events, "\r\n {\n \"a\": 1\n}", &[], Some("\r\n {\n \"a\": 1\n}")),
            (Framing::Document, "\ndata: a\n\ndata: b\n\n", &["a", "b"], None),
            (Framing::Lines, ": wait\n\ndata: a\n\n", &["a"], None),
            (Framing::Lines, "{\n \"a\": 1\n}\n", &[], Some("{\n \"a\": 1\n}\n")),
            (Framing::Lines, "{}\n{\"a\"", &["{}"], Some("{\"a\"")),
            (Framing::Document, "{\n}\n", &[], Some("{\n}\n")),
        ];
        for (framing, bytes, events, rest) in cases {
            let (found, end) = cut(*framing, &[bytes.as_bytes()]);
            assert_eq!(
                (found.iter().map(String::as_str).collect::<Vec<_>>(), end.as_deref()),
                (events.to_vec(), *rest),
                "{bytes:?}"
            );
        }
    }

    /// A server could fill the memory with an event that never ends, so the length of an event is limited.
    #[test]
    fn what_is_too_long_or_no_text_is_refused() {
        let mebibyte = vec![b'x'; 1024 * 1024];
        for framing in [Framing::Events, Framing::Lines, Framing::Document] {
            let mut frames = Frames::new(framing);
            let pushed: Vec<_> = (0..9).map(|_| frames.push(&mebibyte)).collect();
            assert!(pushed[..8].iter().all(Result::is_ok));
            assert_eq!(pushed[8], Err(FrameError::TooLong));
        }
        let mut many_lines = Frames::new(Framing::Events);
        let line = [&b"data: "[..], &mebibyte, b"\n"].concat();
        assert!((0..9).map(|_| many_lines.push(&line)).any(|pushed| pushed == Err(FrameError::TooLong)));
        assert_eq!(Frames::new(Framing::Events).push(b"data: \xff\n"), Err(FrameError::NotUtf8));
    }

    proptest! {
        #[test]
        fn any_pieces_give_the_same_events(bytes in "(data:? ?[aü☾]{0,3}|event: error|\\{|\u{feff}|:|\r|\n|\n\n|\r\n\r\n){0,20}", places in proptest::collection::vec(0..60_usize, 0..5)) {
            let bytes = bytes.as_bytes();
            let mut places: Vec<usize> = places.into_iter().map(|place| place.min(bytes.len())).collect();
            places.extend([0, bytes.len()]);
            places.sort_unstable();
            let pieces: Vec<&[u8]> = places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            for framing in [Framing::Events, Framing::Lines, Framing::Document] {
                prop_assert_eq!(cut(framing, &pieces), cut(framing, &[bytes]));
            }
        }
    }
}
