//! The framing of the protocol: `Content-Length`, an empty line, JSON. Turns bytes into messages.

use headstart_forked_query::Cause;

/// The most bytes of one message.
const MESSAGE_BYTES: usize = 32 << 20;
/// The most bytes of the header lines before a message.
const HEADER_BYTES: usize = 4 << 10;
/// How many bytes of an invalid frame an error shows.
const SHOWN_BYTES: usize = 120;

/// Why bytes are not a frame.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// What stands before a message is not a header.
    #[error("it wrote {shown:?} where a message was expected; only messages belong on its standard output")]
    Header {
        /// The beginning of those bytes.
        shown: String,
    },
    /// A message is longer than any that makes sense.
    #[error("a message of {bytes} bytes is over the limit of {limit}", limit = MESSAGE_BYTES)]
    TooLarge {
        /// The length in its header.
        bytes: u64,
    },
    /// A message is not JSON.
    #[error("a message is no JSON: {message}")]
    Json {
        /// What is wrong with it.
        message: String,
        /// The parser's error.
        source: Cause,
    },
}

/// A message with its header.
pub fn encode(message: &serde_json::Value) -> Vec<u8> {
    let body = message.to_string();
    let mut frame = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    frame.extend_from_slice(body.as_bytes());
    frame
}

/// Splits what a server writes into messages, in whatever pieces the bytes arrive.
#[derive(Debug, Default)]
pub struct FrameDecoder {
    bytes: Vec<u8>,
    /// The index of the first byte that was not returned yet.
    start: usize,
    /// The length of the message whose header was read.
    body: Option<usize>,
}

impl FrameDecoder {
    /// Adds bytes that were read.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.start == self.bytes.len() {
            self.bytes.clear();
            self.start = 0;
        } else if 1 << 16 < self.start {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The next complete message; `None` if more bytes are needed. After an error nothing can be read any more.
    pub fn next_message(&mut self) -> Result<Option<serde_json::Value>, FrameError> {
        let length = match self.body {
            Some(length) => length,
            None => match self.header()? {
                Some(length) => length,
                None => return Ok(None),
            },
        };
        self.body = Some(length);
        let Some(body) = self.bytes.get(self.start..self.start + length) else { return Ok(None) };
        let message = serde_json::from_slice(body)
            .map_err(|error| FrameError::Json { message: error.to_string(), source: error.into() });
        self.start += length;
        self.body = None;
        message.map(Some)
    }

    fn header(&mut self) -> Result<Option<usize>, FrameError> {
        let rest = &self.bytes[self.start..];
        let window = &rest[..rest.len().min(HEADER_BYTES)];
        let Some(end) = window.windows(4).position(|four| four == b"\r\n\r\n") else {
            // Bytes that cannot become a header are reported at once, because a program that printed a line may wait
            // for an answer.
            let broken = rest.len() >= HEADER_BYTES || !could_be_header(window);
            return if broken { Err(not_a_header(rest)) } else { Ok(None) };
        };
        let lines = std::str::from_utf8(&window[..end]).map_err(|_| not_a_header(rest))?;
        let mut length = None;
        for line in lines.split("\r\n") {
            let (name, value) = line.split_once(':').ok_or_else(|| not_a_header(rest))?;
            if name.eq_ignore_ascii_case("content-length") && length.is_none() {
                length = Some(value.trim().parse::<u64>().map_err(|_| not_a_header(rest))?);
            } else if !name.eq_ignore_ascii_case("content-type") {
                return Err(not_a_header(rest));
            }
        }
        let bytes = length.ok_or_else(|| not_a_header(rest))?;
        let length = usize::try_from(bytes).ok().filter(|length| *length <= MESSAGE_BYTES);
        let length = length.ok_or(FrameError::TooLarge { bytes })?;
        self.start += end + 4;
        Ok(Some(length))
    }
}

/// Whether the bytes can be the beginning of one of the two header lines.
fn could_be_header(bytes: &[u8]) -> bool {
    let name = bytes.iter().take_while(|byte| **byte != b':').map(u8::to_ascii_lowercase).collect::<Vec<_>>();
    let whole = name.len() < bytes.len();
    [&b"content-length"[..], b"content-type"]
        .iter()
        .any(|known| if whole { *known == name } else { known.starts_with(&name) })
}

fn not_a_header(bytes: &[u8]) -> FrameError {
    let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN_BYTES)]).into_owned();
    FrameError::Header { shown }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn decode(bytes: &[u8], step: usize) -> (Vec<Value>, Option<FrameError>) {
        let mut decoder = FrameDecoder::default();
        let mut messages = Vec::new();
        for part in bytes.chunks(step.max(1)) {
            decoder.push(part);
            loop {
                match decoder.next_message() {
                    Ok(Some(message)) => messages.push(message),
                    Ok(None) => break,
                    Err(error) => return (messages, Some(error)),
                }
            }
        }
        (messages, None)
    }

    #[test]
    fn the_error_of_the_parser_is_below_that_of_the_frame() {
        let (_, error) = decode(b"Content-Length: 3\r\n\r\n{]}", 200);
        let error = error.unwrap();
        let below =
            std::error::Error::source(&error).and_then(|below| below.downcast_ref::<serde_json::Error>());
        assert!(below.is_some_and(serde_json::Error::is_syntax), "{error:?}");
    }

    /// Output that is not of the protocol is reported at once with its first bytes.
    #[test]
    fn what_is_no_frame_is_told_at_once() {
        let cases: [(&[u8], &str); 9] = [
            (b"Starting server\n", "it wrote \"Starting server\\n\""),
            (b"{\"jsonrpc\":\"2.0\"}", "it wrote \"{"),
            (b"Content-Length 5\r\n\r\nabcde", "it wrote \"Content-Length 5"),
            (b"Content-Length: -5\r\n\r\n", "it wrote \"Content-Length: -5"),
            (b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "it wrote"),
            (b"Content-Type: x\r\n\r\n", "it wrote"),
            (b"Content-Length: 99999999999\r\n\r\n", "a message of 99999999999 bytes is over the limit"),
            (b"Content-Length: 99999999999999999999999\r\n\r\n", "it wrote"),
            (b"Content-Length: 3\r\n\r\n{]}", "a message is no JSON"),
        ];
        for (bytes, expected) in cases {
            let (messages, error) = decode(bytes, 200);
            let error = error.map(|error| error.to_string()).unwrap_or_default();
            assert!(messages.is_empty() && error.starts_with(expected), "{error} for {bytes:?}");
        }
        let endless = format!("Content-Length: {}", "0".repeat(10_000));
        assert!(matches!(decode(endless.as_bytes(), 100).1, Some(FrameError::Header { .. })));
        assert_eq!(
            decode(b"content-length: 2\r\nContent-Type: utf8\r\n\r\n{}Cont", 3),
            (vec![json!({})], None)
        );
    }

    proptest! {
        /// Messages are read in whatever pieces they arrive.
        #[test]
        fn messages_come_back_however_they_are_cut(texts in proptest::collection::vec(".{0,40}", 0..5), step in 1usize..60) {
            let messages: Vec<Value> = texts.iter().map(|text| json!({ "text": text })).collect();
            let bytes: Vec<u8> = messages.iter().flat_map(encode).collect();
            prop_assert_eq!(decode(&bytes, step), (messages, None));
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), step in 1usize..60) {
            decode(&bytes, step);
            decode(&[b"Content-Length: 5\r\n".to_vec(), bytes].concat(), step);
        }
    }
}
