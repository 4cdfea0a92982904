//! The program of a server, which does not outlive its connection.

mod group;

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;

use crate::untrusted::clean;
use group::Group;

/// The most bytes of a program's last output that are kept.
const MAX_STDERR_TAIL: usize = 2 * 1024;
/// The most bytes of an answer, and of what a program may send without being asked.
pub(crate) const MAX_ANSWER: usize = 64 * 1024 * 1024;
/// How long a program may take to end after its input has ended, and again after a signal.
const EXIT_TIMEOUT: Duration = Duration::from_secs(1);
/// How long to wait for its end, and then for its last output, if its connection broke.
const OUTPUT_TIMEOUT: Duration = Duration::from_millis(300);

/// A program, and everything that it started and that stayed in its group. They end with this value.
pub(crate) struct Process {
    group: tokio::sync::Mutex<Group>,
    stderr_tail: Arc<Mutex<VecDeque<u8>>>,
    /// Ends with the program's output. Locked, because only one caller at a time can wait for it.
    listener: tokio::sync::Mutex<JoinHandle<()>>,
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
        let mut command = Command::new(file_of(program, environment));
        command.args(arguments).env_clear().envs(environment).current_dir(folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut group = Group::start(command).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                format!("there is no program {program:?} on the path; install it, or write its whole path in the configuration")
            }
            _ => format!("{program:?} does not start: {error}"),
        })?;
        let (input, output, errors) = group.pipes().ok_or("its pipes are not there")?;
        let stderr_tail = Arc::default();
        let listener =
            tokio::sync::Mutex::new(tokio::spawn(collect_stderr_tail(errors, Arc::clone(&stderr_tail))));
        let unsolicited_bytes = Arc::<AtomicU64>::default();
        let output = LimitedOutput { output, unsolicited_bytes: Arc::clone(&unsolicited_bytes) };
        Ok((
            Self { group: tokio::sync::Mutex::new(group), stderr_tail, listener },
            output,
            input,
            unsolicited_bytes,
        ))
    }

    /// How it ended, or its last output; empty if it printed nothing and still runs.
    pub(crate) async fn exit_description(&self) -> String {
        let waits = async { self.group.lock().await.wait().await };
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
        let mut group = self.group.lock().await;
        for end in [Group::ask_to_end, Group::kill] {
            if tokio::time::timeout(EXIT_TIMEOUT, group.wait()).await.is_ok() {
                break;
            }
            end(&mut group);
        }
        let _ = tokio::time::timeout(EXIT_TIMEOUT, group.wait()).await;
        group.end();
    }
}

/// What is started for a program's name. Windows itself finds no program whose name ends in `.cmd` or `.bat`, as those
/// of npm do.
fn file_of(program: &str, environment: &BTreeMap<String, String>) -> OsString {
    let path = environment.get("PATH").map(String::as_str).unwrap_or_default();
    let of_script = |ending: &str| {
        let name = format!("{program}.{ending}");
        std::env::split_paths(path).map(|folder| folder.join(&name)).find(|file| file.is_file())
    };
    let is_bare = cfg!(windows) && !program.contains(['/', '\\', '.']);
    let script = if is_bare { ["exe", "cmd", "bat"].into_iter().find_map(of_script) } else { None };
    script.map_or_else(|| program.into(), OsString::from)
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
        if (MAX_ANSWER as u64) < self.unsolicited_bytes.fetch_add(length, Ordering::Relaxed) + length {
            return Poll::Ready(Err(io::Error::other("it says more than anybody asked for")));
        }
        read
    }
}
