//! Reads lines from one side, and writes lines to the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;

/// The most lines that were read and wait to be handled.
const READ_AHEAD: usize = 256;
/// While so many lines wait for a side that reads slowly, nothing more is read for it.
const WAITING: usize = 256;

/// The lines of a stream, without line ends. Their length is not limited, because it would not be without the proxy.
/// The channel ends with the stream.
pub(super) fn lines(stream: impl AsyncRead + Unpin + Send + 'static) -> mpsc::Receiver<Vec<u8>> {
    let (tell, lines) = mpsc::channel(READ_AHEAD);
    tokio::spawn(async move {
        let mut stream = BufReader::with_capacity(64 * 1024, stream);
        loop {
            let mut line = Vec::new();
            match stream.read_until(b'\n', &mut line).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            if line.last() == Some(&b'\n') {
                line.pop();
            }
            if tell.send(line).await.is_err() {
                return;
            }
        }
    });
    lines
}

/// Sends lines to a side. Sending never waits, so that a side that reads slowly does not delay another one;
/// [`QueueDepth`] tells when to stop reading for it.
#[derive(Clone)]
pub(super) struct LineWriter {
    lines: mpsc::UnboundedSender<Vec<u8>>,
    depth: QueueDepth,
}

/// The number of lines that wait for a side.
#[derive(Clone, Default)]
pub(super) struct QueueDepth {
    waiting: Arc<AtomicUsize>,
    drained: Arc<Notify>,
}

impl QueueDepth {
    pub(super) fn has_room(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) < WAITING
    }

    /// Completes when some of the waiting lines have been written.
    pub(super) async fn drained(&self) {
        self.drained.notified().await;
    }
}

impl LineWriter {
    /// The writer, and the task that writes. The task ends when the last clone of the writer is dropped, or when the
    /// side no longer reads.
    pub(super) fn new(mut stream: impl AsyncWrite + Unpin + Send + 'static) -> (Self, JoinHandle<()>) {
        let (lines, mut waits) = mpsc::unbounded_channel::<Vec<u8>>();
        let depth = QueueDepth::default();
        let writer = Self { lines, depth: depth.clone() };
        let writing = tokio::spawn(async move {
            let mut text = Vec::new();
            while let Some(line) = waits.recv().await {
                text.clear();
                let mut count = 0;
                let mut next = Some(line);
                while let Some(line) = next {
                    text.extend_from_slice(&line);
                    text.push(b'\n');
                    count += 1;
                    next = if count < WAITING { waits.try_recv().ok() } else { None };
                }
                let written = stream.write_all(&text).await.is_ok() && stream.flush().await.is_ok();
                depth.waiting.fetch_sub(count, Ordering::Relaxed);
                depth.drained.notify_one();
                if !written {
                    return;
                }
            }
        });
        (writer, writing)
    }

    pub(super) fn send(&self, line: Vec<u8>) {
        self.depth.waiting.fetch_add(1, Ordering::Relaxed);
        // If the side no longer reads, the proxy ends soon, so the error has no effect.
        let _ = self.lines.send(line);
    }

    /// The number of waiting lines, without a clone of the writer that would keep the task running.
    pub(super) fn depth(&self) -> QueueDepth {
        self.depth.clone()
    }

    /// Completes when the side no longer reads.
    pub(super) async fn disconnected(&self) {
        self.lines.closed().await;
    }
}
