use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use crossterm::event::{Event, EventStream, KeyCode, KeyModifiers};
use futures::StreamExt;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, BufReader, Stdin};

use super::background::{FilteredEvent, ReplyFilter};
#[cfg(windows)]
use super::fast_keys;
use super::palette::Theme;

/// How long a key that could begin an answer of the terminal is held back. The characters of an answer come together.
const HOLD: Duration = Duration::from_millis(100);
/// The most bytes of a line from a pipe. A longer line is an error.
const MAX_LINE_BYTES: usize = 1024 * 1024;

/// Where the user's input comes from.
pub enum Input {
    /// A terminal in raw mode: keys, pastes, sizes.
    Terminal(Keys),
    /// Anything else: whole lines.
    Lines(Lines<BufReader<Stdin>>),
}

/// The events of a terminal.
#[derive(Default)]
pub struct Keys {
    /// `None` while another program reads the keys.
    stream: Option<EventStream>,
    /// Removes the terminal's answers, even those to a program that has already ended.
    answers: ReplyFilter,
    /// Events that were held back for an answer and turned out not to be one.
    released: VecDeque<Event>,
    /// Keys that may belong to a paste.
    #[cfg(windows)]
    fast: Vec<Event>,
}

/// A piece of input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputEvent {
    /// The theme for the terminal's background, from its answer to any program that asked.
    Background(Theme),
    /// An event for [`LineEditor::handle`](super::LineEditor::handle).
    Terminal(Event),
    /// A line without its end.
    Line(String),
}

impl InputEvent {
    /// Whether this is a letter or a key that removes one.
    pub fn is_typing(&self) -> bool {
        let Self::Terminal(Event::Key(key)) = self else { return false };
        let is_plain = (key.modifiers - KeyModifiers::SHIFT).is_empty();
        is_plain && matches!(key.code, KeyCode::Char(_) | KeyCode::Backspace)
    }
}

impl Input {
    /// The keys of the terminal. There should be a [`TerminalGuard`](super::TerminalGuard).
    pub fn of_terminal() -> Self {
        Self::Terminal(Keys { stream: Some(EventStream::new()), ..Keys::default() })
    }

    /// The lines of standard input.
    ///
    /// A read that waits for a pipe lives longer than the future, so a host that ends before the pipe does leaves its
    /// tokio runtime with `shutdown_background`.
    pub fn of_pipe() -> Self {
        Self::Lines(Lines::new(BufReader::new(tokio::io::stdin())))
    }

    /// Leaves the keys to another program while `run` lasts.
    pub fn pause<T>(&mut self, run: impl FnOnce() -> T) -> T {
        // A stream that still waits would take the first key.
        if let Self::Terminal(keys) = self {
            keys.stream = None;
        }
        let done = run();
        if let Self::Terminal(keys) = self {
            keys.stream = Some(EventStream::new());
        }
        done
    }

    /// The next input; `None` at the end. Nothing is lost if the future is dropped early.
    pub async fn next(&mut self) -> io::Result<Option<InputEvent>> {
        match self {
            Self::Terminal(keys) => keys.next().await,
            Self::Lines(lines) => Ok(lines.next().await?.map(InputEvent::Line)),
        }
    }
}

impl Keys {
    async fn next(&mut self) -> io::Result<Option<InputEvent>> {
        loop {
            if let Some(event) = self.released.pop_front() {
                return Ok(Some(InputEvent::Terminal(event)));
            }
            #[cfg(windows)]
            if !self.fast.is_empty() {
                self.release_fast_keys().await?;
                continue;
            }
            let Some(stream) = &mut self.stream else { return std::future::pending().await };
            let next = if self.answers.holds() {
                tokio::time::timeout(HOLD, stream.next()).await
            } else {
                Ok(stream.next().await)
            };
            let Ok(event) = next else {
                self.released.extend(self.answers.release());
                continue;
            };
            let Some(event) = event.transpose()? else { return Ok(None) };
            #[cfg(windows)]
            if fast_keys::letter(&event).is_some() {
                self.fast.push(event);
                continue;
            }
            match self.answers.push(event) {
                FilteredEvent::Held => {}
                FilteredEvent::Events(events) => self.released.extend(events),
                FilteredEvent::Answer(theme) => return Ok(Some(InputEvent::Background(theme))),
            }
        }
    }
}

#[cfg(windows)]
impl Keys {
    /// Releases the keys in `fast` together with those that follow at once, as a paste if they are one: no code of the
    /// terminal marks a paste here.
    async fn release_fast_keys(&mut self) -> io::Result<()> {
        let next = loop {
            let Some(stream) = &mut self.stream else { break None };
            match tokio::time::timeout(fast_keys::APART, stream.next()).await {
                Ok(Some(Ok(next))) if fast_keys::letter(&next).is_some() => self.fast.push(next),
                Ok(Some(Ok(next))) if fast_keys::is_release(&next) => {}
                Ok(Some(next)) => break Some(next?),
                Ok(None) | Err(_) => break None,
            }
        };
        self.released.extend(fast_keys::together(std::mem::take(&mut self.fast)));
        self.released.extend(next);
        Ok(())
    }
}

/// The lines of a reader.
pub struct Lines<R> {
    reader: R,
    /// The bytes of the next line so far.
    partial: Vec<u8>,
    /// The number of that line, counted from 1.
    number: usize,
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    fn new(reader: R) -> Self {
        Self { reader, partial: Vec::new(), number: 1 }
    }

    async fn next(&mut self) -> io::Result<Option<String>> {
        loop {
            let chunk = self.reader.fill_buf().await?;
            if chunk.is_empty() {
                return if self.partial.is_empty() { Ok(None) } else { self.finish().map(Some) };
            }
            let feed = chunk.iter().position(|byte| *byte == b'\n');
            self.partial.extend_from_slice(&chunk[..feed.unwrap_or(chunk.len())]);
            let used = feed.map_or(chunk.len(), |feed| feed + 1);
            self.reader.consume(used);
            if MAX_LINE_BYTES < self.partial.len() {
                return Err(
                    self.invalid(&format!("is longer than {MAX_LINE_BYTES} bytes; break it into lines"))
                );
            }
            if feed.is_some() {
                return self.finish().map(Some);
            }
        }
    }

    fn finish(&mut self) -> io::Result<String> {
        let mut line = std::mem::take(&mut self.partial);
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        let line = String::from_utf8(line).map_err(|_| self.invalid("is not valid UTF-8"))?;
        self.number += 1;
        Ok(line)
    }

    fn invalid(&self, what: &str) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, format!("line {} of standard input {what}", self.number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(bytes: &[u8], chunk: usize) -> Result<Vec<String>, String> {
        let mut lines = Lines::new(BufReader::with_capacity(chunk, bytes));
        let mut found = Vec::new();
        while let Some(line) = lines.next().await.map_err(|error| error.to_string())? {
            found.push(line);
        }
        Ok(found)
    }

    #[tokio::test]
    async fn lines_are_the_same_however_the_bytes_come() {
        let cases: [(&[u8], &[&str]); 5] = [
            (b"", &[]),
            (b"one", &["one"]),
            (b"one\ntwo\n", &["one", "two"]),
            (b"one\r\n\r\ntwo", &["one", "", "two"]),
            ("gr\u{fc}n\n漢\n".as_bytes(), &["gr\u{fc}n", "漢"]),
        ];
        for (bytes, expected) in cases {
            for chunk in [1, 2, 3, 64] {
                assert_eq!(all(bytes, chunk).await.unwrap(), expected, "{bytes:?} in chunks of {chunk}");
            }
        }
    }

    #[tokio::test]
    async fn a_line_that_is_no_text_is_named() {
        assert_eq!(all(b"one\n\xff\n", 64).await.unwrap_err(), "line 2 of standard input is not valid UTF-8");
        let long = vec![b'a'; MAX_LINE_BYTES + 1];
        let error = all(&long, 4096).await.unwrap_err();
        assert!(error.starts_with("line 1 of standard input is longer than 1048576 bytes"), "{error}");
    }
}
