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
const MAX_STDERR_TAIL: usize = 2 * 1024;
/// The most bytes that a program may send without being asked.
const MAX_UNSOLICITED: u64 = 64 * 1024 * 1024;
/// How long a program may take to end after its input has ended, and again after a signal.
const EXIT_TIMEOUT: Duration = Duration::from_secs(1);
/// How long to wait for its end, and then for its last output, if its connection broke.
const OUTPUT_TIMEOUT: Duration = Duration::from_millis(300);

/// A program, and everything that it started and that stayed in its process group. They end with this value.
pub(crate) struct Process {
    // The first field is dropped first, so the group is ended while the ID still belongs to its leader.
    group: ProcessGroup,
    child: tokio::sync::Mutex<Child>,
    stderr_tail: Arc<Mutex<VecDeque<u8>>>,
    /// Ends with the program's output. Locked, because only one caller at a time can wait for it.
    listener: tokio::sync::Mutex<JoinHandle<()>>,
}

struct ProcessGroup {
    id: Pid,
    /// Whether the leader was waited for: from then on another process may get its ID.
    is_reaped: AtomicBool,
}

impl ProcessGroup {
    fn signal(&self, signal: Signal) {
        if !self.is_reaped.load(Ordering::Acquire) {
            // An error means that no process of the group is left.
            let _ = kill_process_group(self.id, signal);
        }
    }

    /// Ends what the leader left in the background. Called when the leader has just ended.
    fn end(&self) {
        self.signal(Signal::KILL);
        self.is_reaped.store(true, Ordering::Release);
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.end();
    }
}

/// Reads a program's output, and counts what was not asked for.
pub(crate) struct LimitedOutput {
    output: ChildStdout,
    unsolicited_bytes: Arc<AtomicU64>,
}

impl Process {
    /// Starts a program.
    pub(crate) fn start(
        line: &[String],
        environment: &BTreeMap<String, String>,
        folder: &Path,
    ) -> Result<(Self, LimitedOutput, ChildStdin, Arc<AtomicU64>), String> {
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
        let group =
            ProcessGroup { id: id.ok_or("its process has no id")?, is_reaped: AtomicBool::new(false) };
        let (Some(input), Some(output), Some(errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err("its pipes are not there".to_owned());
        };
        let stderr_tail = Arc::default();
        let listener =
            tokio::sync::Mutex::new(tokio::spawn(collect_stderr_tail(errors, Arc::clone(&stderr_tail))));
        let unsolicited_bytes = Arc::<AtomicU64>::default();
        let output = LimitedOutput { output, unsolicited_bytes: Arc::clone(&unsolicited_bytes) };
        Ok((
            Self { group, child: tokio::sync::Mutex::new(child), stderr_tail, listener },
            output,
            input,
            unsolicited_bytes,
        ))
    }

    /// How it ended, or its last output; empty if it printed nothing and still runs.
    pub(crate) async fn exit_description(&self) -> String {
        let waits = async { self.child.lock().await.wait().await };
        let status = tokio::time::timeout(OUTPUT_TIMEOUT, waits).await;
        let status =
            status.ok().and_then(Result::ok).map(|status| format!("it ended ({status})")).unwrap_or_default();
        if !status.is_empty() {
            // The output from just before its end may not be read yet. What it left in the background may hold the
            // pipe open, so the wait has a limit.
            let mut listener = self.listener.lock().await;
            if !listener.is_finished() {
                let _ = tokio::time::timeout(OUTPUT_TIMEOUT, &mut *listener).await;
            }
        }
        let stderr_tail: Vec<u8> =
            self.stderr_tail.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect();
        let stderr_tail = clean(String::from_utf8_lossy(&stderr_tail).trim(), MAX_STDERR_TAIL);
        match (status.is_empty(), stderr_tail.is_empty()) {
            (_, true) => status,
            (true, false) => format!("its last words: {stderr_tail}"),
            (false, false) => format!("{status}; its last words: {stderr_tail}"),
        }
    }

    /// Ends it step by step; its input was closed before.
    pub(crate) async fn end(&self) {
        let mut child = self.child.lock().await;
        for signal in [Signal::TERM, Signal::KILL] {
            if tokio::time::timeout(EXIT_TIMEOUT, child.wait()).await.is_ok() {
                break;
            }
            self.group.signal(signal);
        }
        let _ = tokio::time::timeout(EXIT_TIMEOUT, child.wait()).await;
        self.group.end();
    }
}

async fn collect_stderr_tail(mut errors: ChildStderr, stderr_tail: Arc<Mutex<VecDeque<u8>>>) {
    let mut buffer = vec![0; 4096];
    while let Ok(length @ 1..) = errors.read(&mut buffer).await {
        let mut stderr_tail = stderr_tail.lock().unwrap_or_else(PoisonError::into_inner);
        stderr_tail.extend(&buffer[..length]);
        let over = stderr_tail.len().saturating_sub(MAX_STDERR_TAIL);
        stderr_tail.drain(..over);
    }
}

impl AsyncRead for LimitedOutput {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.output).poll_read(context, buffer);
        let length = (buffer.filled().len() - before) as u64;
        if MAX_UNSOLICITED < self.unsolicited_bytes.fetch_add(length, Ordering::Relaxed) + length {
            return Poll::Ready(Err(io::Error::other("it says more than anybody asked for")));
        }
        read
    }
}
