//! The program of a server, which does not outlive its connection.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;

use crate::untrusted::clean;

/// The most bytes of a program's last output that are kept.
const MAX_WORDS: usize = 2 * 1024;
/// The most bytes that a program may send without being asked.
const MAX_UNASKED: u64 = 64 * 1024 * 1024;
/// How long a program may take to end after its input has ended, and again after a signal.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long to wait for its end, and then for its last output, if its connection broke.
const MOMENT: Duration = Duration::from_millis(300);

/// A program, and everything that it started and that stayed in its process group. They end with this value.
pub(crate) struct Process {
    // The first field is dropped first, so the group is ended while the ID still belongs to its leader.
    group: Group,
    child: tokio::sync::Mutex<Child>,
    words: Arc<Mutex<VecDeque<u8>>>,
    /// Ends with the program's output. Locked, because only one caller at a time can wait for it.
    listener: tokio::sync::Mutex<JoinHandle<()>>,
}

struct Group {
    id: Pid,
    /// Whether the leader was waited for: from then on another process may get its ID.
    is_over: AtomicBool,
}

impl Group {
    fn signal(&self, signal: Signal) {
        if !self.is_over.load(Ordering::Acquire) {
            // An error means that no process of the group is left.
            let _ = kill_process_group(self.id, signal);
        }
    }

    /// Ends what the leader left in the background. Called when the leader has just ended.
    fn end(&self) {
        self.signal(Signal::KILL);
        self.is_over.store(true, Ordering::Release);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}

/// Reads a program's output, and counts what was not asked for.
pub(crate) struct Heard {
    output: ChildStdout,
    unasked: Arc<AtomicU64>,
}

impl Process {
    /// Starts a program.
    pub(crate) fn start(
        line: &[String],
        environment: &BTreeMap<String, String>,
        folder: &Path,
    ) -> Result<(Self, Heard, ChildStdin, Arc<AtomicU64>), String> {
        let (program, arguments) = line.split_first().ok_or("its command is empty")?;
        let mut command = Command::new(program);
        command.args(arguments).env_clear().envs(environment).current_dir(folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Its own process group: Ctrl-C in the terminal does not reach it, and what it starts ends with it.
        command.process_group(0).kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                format!("there is no program {program:?} on the path; install it, or write its whole path in the configuration")
            }
            _ => format!("{program:?} does not start: {error}"),
        })?;
        let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let group = Group { id: id.ok_or("its process has no id")?, is_over: AtomicBool::new(false) };
        let (Some(input), Some(output), Some(errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err("its pipes are not there".to_owned());
        };
        let words = Arc::default();
        let listener = tokio::sync::Mutex::new(tokio::spawn(keep_last_words(errors, Arc::clone(&words))));
        let unasked = Arc::<AtomicU64>::default();
        let heard = Heard { output, unasked: Arc::clone(&unasked) };
        Ok((Self { group, child: tokio::sync::Mutex::new(child), words, listener }, heard, input, unasked))
    }

    /// How it ended, or its last output; empty if it printed nothing and still runs.
    pub(crate) async fn last_words(&self) -> String {
        let waits = async { self.child.lock().await.wait().await };
        let status = tokio::time::timeout(MOMENT, waits).await;
        let status =
            status.ok().and_then(Result::ok).map(|status| format!("it ended ({status})")).unwrap_or_default();
        if !status.is_empty() {
            // The output from just before its end may not be read yet. What it left in the background may hold the
            // pipe open, so the wait has a limit.
            let mut listener = self.listener.lock().await;
            if !listener.is_finished() {
                let _ = tokio::time::timeout(MOMENT, &mut *listener).await;
            }
        }
        let words: Vec<u8> =
            self.words.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect();
        let words = clean(String::from_utf8_lossy(&words).trim(), MAX_WORDS);
        match (status.is_empty(), words.is_empty()) {
            (_, true) => status,
            (true, false) => format!("its last words: {words}"),
            (false, false) => format!("{status}; its last words: {words}"),
        }
    }

    /// Ends it step by step; its input was closed before.
    pub(crate) async fn end(&self) {
        let mut child = self.child.lock().await;
        for signal in [Signal::TERM, Signal::KILL] {
            if tokio::time::timeout(PATIENCE, child.wait()).await.is_ok() {
                break;
            }
            self.group.signal(signal);
        }
        let _ = tokio::time::timeout(PATIENCE, child.wait()).await;
        self.group.end();
    }
}

async fn keep_last_words(mut errors: ChildStderr, words: Arc<Mutex<VecDeque<u8>>>) {
    let mut buffer = vec![0; 4096];
    while let Ok(length @ 1..) = errors.read(&mut buffer).await {
        let mut words = words.lock().unwrap_or_else(PoisonError::into_inner);
        words.extend(&buffer[..length]);
        let over = words.len().saturating_sub(MAX_WORDS);
        words.drain(..over);
    }
}

impl AsyncRead for Heard {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.output).poll_read(context, buffer);
        let length = (buffer.filled().len() - before) as u64;
        if MAX_UNASKED < self.unasked.fetch_add(length, Ordering::Relaxed) + length {
            return Poll::Ready(Err(io::Error::other("it says more than anybody asked for")));
        }
        read
    }
}
