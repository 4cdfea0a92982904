use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Greeting, VERSION};

/// The longest message in bytes.
pub const MAX_LINE_BYTES: usize = 16 << 20;
/// How many bytes of an invalid line an error shows.
const MAX_SHOWN: usize = 200;

/// Why a stream of bytes does not follow the protocol.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExchangeError {
    /// A line has no end within the limit.
    #[error("a message is longer than {MAX_LINE_BYTES} bytes")]
    TooLong,
    /// A line is not a message.
    #[error("{line:?} is no message: {message}")]
    NoMessage {
        /// The start of the line.
        line: String,
        /// What is wrong with it.
        message: String,
    },
    /// The first line is not a greeting.
    #[error("it began with {line:?}, which is no greeting; does a shell print something when it starts?")]
    NoGreeting {
        /// The start of the line.
        line: String,
    },
    /// The other side uses another version.
    #[error(
        "it speaks version {theirs} of the exchange, and this side version {VERSION}; install the same headstart on both"
    )]
    Version {
        /// The version of the other side.
        theirs: u32,
    },
}

/// Splits a stream of bytes into lines.
#[derive(Debug, Default)]
pub struct LineBuffer {
    /// The bytes behind the last complete line.
    rest: Vec<u8>,
    /// How many of these bytes are known to contain no line end.
    searched: usize,
}

impl LineBuffer {
    /// Adds received bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
    }

    /// The next complete line, without its end; `None` if more bytes are needed.
    pub fn next_line(&mut self) -> Result<Option<Vec<u8>>, ExchangeError> {
        let end = memchr::memchr(b'\n', &self.rest[self.searched..]).map(|at| self.searched + at);
        if MAX_LINE_BYTES < end.unwrap_or(self.rest.len()) {
            return Err(ExchangeError::TooLong);
        }
        let Some(end) = end else {
            self.searched = self.rest.len();
            return Ok(None);
        };
        let after = self.rest.split_off(end + 1);
        let mut line = std::mem::replace(&mut self.rest, after);
        line.truncate(end);
        self.searched = 0;
        Ok(Some(line))
    }
}

/// A message as it is sent, with a line end.
pub fn encode_line(message: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(message).expect("works because no map in a message has odd keys");
    line.push(b'\n');
    line
}

/// The message in a line.
pub fn decode_line<T: DeserializeOwned>(line: &[u8]) -> Result<T, ExchangeError> {
    serde_json::from_slice(line)
        .map_err(|error| ExchangeError::NoMessage { line: start(line), message: error.to_string() })
}

/// The first message of the other side, if it uses this version.
pub fn decode_greeting<T: DeserializeOwned>(line: &[u8]) -> Result<T, ExchangeError> {
    let no_greeting = || ExchangeError::NoGreeting { line: start(line) };
    let greeting: Greeting = serde_json::from_slice(line).map_err(|_| no_greeting())?;
    if greeting.r#type != "hello" {
        return Err(no_greeting());
    }
    if greeting.version != VERSION {
        return Err(ExchangeError::Version { theirs: greeting.version });
    }
    decode_line(line)
}

fn start(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(&line[..line.len().min(MAX_SHOWN)]).into_owned();
    if MAX_SHOWN < line.len() { format!("{text}…") } else { text }
}
