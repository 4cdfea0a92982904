//! Runs commands of this program as processes. Each is the leader of its own process group, so that all processes of a
//! command can be ended once its call is no longer wanted.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

/// The most bytes that are kept of each output stream of a process.
const MAX_BYTES: u64 = 16 * 1024 * 1024;
/// How long a process that was told to end has time to clean up.
const GOODBYE: Duration = Duration::from_secs(2);

/// The groups of the running processes.
#[derive(Debug, Clone, Default)]
pub(super) struct ProcessGroups(Arc<Mutex<BTreeSet<i32>>>);

/// How a process ended, and what it printed.
#[derive(Debug)]
pub(super) struct ProcessResult {
    /// The exit code; `None` if a signal ended the process.
    pub(super) code: Option<i32>,
    pub(super) output: String,
    pub(super) errors: String,
    /// Whether more was printed than is kept.
    pub(super) is_cut: bool,
}

/// A running process. Dropping this ends its group.
struct RunningProcess<'a> {
    groups: &'a ProcessGroups,
    group: Option<Pid>,
}

impl ProcessGroups {
    /// Runs this program in a folder until it ends.
    pub(super) async fn run(
        &self,
        arguments: &[String],
        folder: &Path,
        input: &str,
    ) -> Result<ProcessResult, String> {
        let program =
            std::env::current_exe().map_err(|error| format!("headstart cannot be found: {error}"))?;
        let mut command = Command::new(program);
        command.args(arguments).current_dir(folder).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("headstart cannot be started: {error}"))?;
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let mut running = RunningProcess::new(self, group);
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let writes = async {
            if let Some(mut stdin) = stdin {
                // The command may end without reading its input, which is no failure.
                let _ = stdin.write_all(input.as_bytes()).await;
            }
        };
        let (output, errors, ended, ()) =
            tokio::join!(read_limited(stdout), read_limited(stderr), child.wait(), writes);
        running.ended();
        let code = ended.map_err(|error| format!("headstart cannot be waited for: {error}"))?.code();
        let is_cut = output.1 || errors.1;
        Ok(ProcessResult { code, output: output.0, errors: errors.0, is_cut })
    }

    /// Ends all running processes.
    pub(super) async fn end(&self) {
        let all: Vec<i32> = self.lock().iter().copied().collect();
        for group in all {
            end(Pid::from_raw(group), Signal::TERM);
        }
        let began = tokio::time::Instant::now();
        while !self.lock().is_empty() && began.elapsed() < GOODBYE {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        for group in self.lock().iter() {
            end(Pid::from_raw(*group), Signal::KILL);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeSet<i32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'a> RunningProcess<'a> {
    fn new(groups: &'a ProcessGroups, group: Option<Pid>) -> Self {
        if let Some(group) = group {
            groups.lock().insert(group.as_raw_nonzero().get());
        }
        Self { groups, group }
    }

    fn ended(&mut self) {
        if let Some(group) = self.group.take() {
            self.groups.lock().remove(&group.as_raw_nonzero().get());
        }
    }
}

impl Drop for RunningProcess<'_> {
    fn drop(&mut self) {
        if self.group.is_some() {
            // This signal comes before the one that kills, so that a command can clean up.
            end(self.group, Signal::TERM);
            let group = self.group;
            self.ended();
            if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                runtime.spawn(async move {
                    tokio::time::sleep(GOODBYE).await;
                    end(group, Signal::KILL);
                });
            }
        }
    }
}

fn end(group: Option<Pid>, signal: Signal) {
    if let Some(group) = group {
        // The group may have ended by itself.
        let _ = kill_process_group(group, signal);
    }
}

/// The beginning of a stream, as far as it is kept, and whether there was more.
async fn read_limited(stream: Option<impl AsyncRead + Unpin>) -> (String, bool) {
    let Some(mut stream) = stream else { return (String::new(), false) };
    let mut bytes = Vec::new();
    // An error ends the reading; what was read before it is kept.
    let _ = (&mut stream).take(MAX_BYTES).read_to_end(&mut bytes).await;
    let more = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await.unwrap_or_default();
    (String::from_utf8_lossy(&bytes).into_owned(), 0 < more)
}
