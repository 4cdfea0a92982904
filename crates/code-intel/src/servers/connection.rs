//! The pipes to one server: frames out, frames in, and the end of its standard error.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use futures::future::select;
use futures::io::{AsyncRead, AsyncWrite};
use serde_json::Value;

use crate::frame::{FrameDecoder, FrameError, encode};
use crate::servers::spawn::Process;

/// The most bytes of its standard error that are kept.
const COMPLAINT_BYTES: usize = 2_000;
/// The most bytes that may wait for a server that does not read them.
const UNSENT_BYTES: usize = 64 << 20;
/// The most bytes that a server may send without being asked, or for one question.
const UNASKED_BYTES: u64 = 256 << 20;
/// After this many messages in a row, other tasks get a turn.
const BURST: usize = 32;

/// Why nothing more can be received.
#[derive(Debug)]
pub(crate) enum ConnectionError {
    /// The program ended, or closed its output.
    Ended,
    /// It does not follow the protocol.
    Frame(FrameError),
    /// It sends, or leaves unread, more than can be kept.
    Flood(&'static str),
}

/// A running server's pipes.
pub(crate) struct Connection {
    process: Process,
    decoder: FrameDecoder,
    buffer: Vec<u8>,
    unsent: Vec<u8>,
    sent: usize,
    stderr: Vec<u8>,
    unsolicited_bytes: u64,
    burst: usize,
}

impl Connection {
    pub(crate) fn new(process: Process) -> Self {
        Self {
            process,
            decoder: FrameDecoder::default(),
            buffer: vec![0; 1 << 16],
            unsent: Vec::new(),
            sent: 0,
            stderr: Vec::new(),
            unsolicited_bytes: 0,
            burst: 0,
        }
    }

    /// Queues a message. It is written while somebody waits for the [`next`](Self::next) one.
    pub(crate) fn send(&mut self, message: &Value) {
        self.unsent.extend_from_slice(&encode(message));
    }

    /// Starts counting again, because what it sends from now on answers a question.
    pub(crate) fn reset_unsolicited(&mut self) {
        self.unsolicited_bytes = 0;
    }

    /// The next message. Dropping this future loses nothing.
    pub(crate) async fn next(&mut self) -> Result<Value, ConnectionError> {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// Reads the rest of the standard error of a server that ended. It may only arrive after the end of its output,
    /// and a program that the server started may hold the pipe open, so this waits until `time` resolves at most.
    pub(crate) async fn drain_stderr(&mut self, time: impl Future<Output = ()>) {
        let all = poll_fn(|context| {
            self.read_stderr(context);
            if self.process.stderr.is_none() { Poll::Ready(()) } else { Poll::Pending }
        });
        select(pin!(all), pin!(time)).await;
    }

    /// The end of its standard error, in one line.
    pub(crate) fn stderr_tail(&self) -> String {
        let text = String::from_utf8_lossy(&self.stderr);
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let last = lines[lines.len().saturating_sub(3)..].join(" / ");
        let skipped = last.chars().count().saturating_sub(300);
        last.chars().filter(|character| !character.is_control()).skip(skipped).collect()
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Result<Value, ConnectionError>> {
        self.burst += 1;
        if BURST < self.burst {
            self.burst = 0;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        loop {
            if let Err(broken) = self.write(context) {
                return Poll::Ready(Err(broken));
            }
            match self.decoder.next_message() {
                Ok(Some(message)) => return Poll::Ready(Ok(message)),
                Ok(None) => {}
                Err(error) => return Poll::Ready(Err(ConnectionError::Frame(error))),
            }
            self.read_stderr(context);
            let read = Pin::new(&mut self.process.stdout).poll_read(context, &mut self.buffer);
            match read {
                Poll::Pending => {
                    self.burst = 0;
                    return Poll::Pending;
                }
                Poll::Ready(Ok(0) | Err(_)) => return Poll::Ready(Err(ConnectionError::Ended)),
                Poll::Ready(Ok(count)) => {
                    self.decoder.push(&self.buffer[..count]);
                    self.unsolicited_bytes += count as u64;
                    if UNASKED_BYTES < self.unsolicited_bytes {
                        return Poll::Ready(Err(ConnectionError::Flood(
                            "it wrote more than 256 MiB that nobody asked for",
                        )));
                    }
                }
            }
        }
    }

    /// Writes as much as is possible without waiting. If the other end is closed, that shows when reading ends.
    fn write(&mut self, context: &mut Context<'_>) -> Result<(), ConnectionError> {
        while self.sent < self.unsent.len() {
            match Pin::new(&mut self.process.stdin).poll_write(context, &self.unsent[self.sent..]) {
                Poll::Pending => break,
                Poll::Ready(Ok(0) | Err(_)) => self.sent = self.unsent.len(),
                Poll::Ready(Ok(count)) => self.sent += count,
            }
        }
        if UNSENT_BYTES < self.unsent.len() - self.sent {
            return Err(ConnectionError::Flood("it left more than 64 MiB unread"));
        }
        if self.sent == self.unsent.len() {
            self.unsent.clear();
            self.sent = 0;
        }
        // An error shows at the next write.
        let _flushed = Pin::new(&mut self.process.stdin).poll_flush(context);
        Ok(())
    }

    fn read_stderr(&mut self, context: &mut Context<'_>) {
        for _ in 0..BURST {
            let Some(stderr) = &mut self.process.stderr else { return };
            match Pin::new(stderr).poll_read(context, &mut self.buffer) {
                Poll::Pending => return,
                Poll::Ready(Ok(0) | Err(_)) => self.process.stderr = None,
                Poll::Ready(Ok(count)) => {
                    self.stderr.extend_from_slice(&self.buffer[..count]);
                    let surplus = self.stderr.len().saturating_sub(COMPLAINT_BYTES);
                    self.stderr.drain(..surplus);
                }
            }
        }
        context.waker().wake_by_ref();
    }
}
