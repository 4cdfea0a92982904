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

/// Bytes of the last words of a program that are kept.
const MAX_WORDS: usize = 2 * 1024;
/// What a program may say without having been asked.
const MAX_UNASKED: u64 = 64 * 1024 * 1024;
/// How long it has to end after its input did, and after it was told to.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long its end, and then its last words, are waited for where its connection broke.
const MOMENT: Duration = Duration::from_millis(300);

/// A program, and all that it started and kept in its group. They end with this value.
pub(crate) struct Process {
    // First, so that the group is ended while its leader's id is still its own.
    group: Group,
    child: tokio::sync::Mutex<Child>,
    words: Arc<Mutex<VecDeque<u8>>>,
    /// Ends with what the program says; behind a lock, since it can be waited for only once at a time.
    listener: tokio::sync::Mutex<JoinHandle<()>>,
}

struct Group {
    id: Pid,
    /// Its leader was waited for, so the id may be somebody else's by and by.
    is_over: AtomicBool,
}

impl Group {
    fn signal(&self, signal: Signal) {
        if !self.is_over.load(Ordering::Acquire) {
            // Where nobody is left there is nothing to end.
            let _ = kill_process_group(self.id, signal);
        }
    }

    /// The leader has just ended: what it left in the background does, too.
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

/// What is read of a program, up to so much that nobody asked for.
pub(crate) struct Heard {
    output: ChildStdout,
    unasked: Arc<AtomicU64>,
}

impl Process {
    /// Starts it.
    pub(crate) fn start(
        line: &[String],
        environment: &BTreeMap<String, String>,
        folder: &Path,
    ) -> Result<(Self, Heard, ChildStdin, Arc<AtomicU64>), String> {
        let (program, arguments) = line.split_first().ok_or("its command is empty")?;
        let mut command = Command::new(program);
        command.args(arguments).env_clear().envs(environment).current_dir(folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A group of its own: Ctrl-C in the terminal is for us, and what it starts ends with it.
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

    /// How it ended, or what it said last; empty where it says nothing and is still there.
    pub(crate) async fn last_words(&self) -> String {
        let waits = async { self.child.lock().await.wait().await };
        let status = tokio::time::timeout(MOMENT, waits).await;
        let status =
            status.ok().and_then(Result::ok).map(|status| format!("it ended ({status})")).unwrap_or_default();
        if !status.is_empty() {
            // What it said just before it ended may not be read yet. What it left in the background may hold the
            // pipe open, so this wait has a limit, too.
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

    /// Ends it, by and by: its input has ended already.
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
