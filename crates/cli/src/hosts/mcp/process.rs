//! Runs commands of this program as processes. Each is the leader of its own process group, so that all processes of a
//! command can be ended once its call is no longer wanted.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::runner::read_beginning;
use crate::system::Group;

/// The most bytes that are kept of each output stream of a process.
const MAX_BYTES: usize = 16 * 1024 * 1024;
/// How long a process that was told to end has time to clean up.
const GOODBYE: Duration = Duration::from_secs(2);

/// The groups of the running processes, by numbers in the order of their start.
#[derive(Clone, Default)]
pub(super) struct ProcessGroups(Arc<Mutex<RunningGroups>>);

#[derive(Default)]
struct RunningGroups {
    started: u64,
    groups: BTreeMap<u64, Group>,
}

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
    number: u64,
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
        command.args(arguments).current_dir(folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let started = Group::start(&mut command);
        let (group, mut leader) = started.map_err(|error| format!("headstart cannot be started: {error}"))?;
        let running = RunningProcess::new(self, group);
        let (stdin, stdout, stderr) = leader.pipes();
        let writes = async {
            if let Some(mut stdin) = stdin {
                // The command may end without reading its input, which is no failure.
                let _ = stdin.write_all(input.as_bytes()).await;
            }
        };
        let (output, errors, ended, ()) = tokio::join!(
            read_beginning(stdout, MAX_BYTES),
            read_beginning(stderr, MAX_BYTES),
            leader.wait(),
            writes
        );
        running.ended();
        let code = ended.map_err(|error| format!("headstart cannot be waited for: {error}"))?.code();
        let is_cut = output.is_cut || errors.is_cut;
        Ok(ProcessResult { code, output: output.text, errors: errors.text, is_cut })
    }

    /// Ends all running processes.
    pub(super) async fn end(&self) {
        self.lock().groups.values().for_each(Group::ask_to_end);
        let began = tokio::time::Instant::now();
        while !self.lock().groups.is_empty() && began.elapsed() < GOODBYE {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        self.lock().groups.values().for_each(Group::end);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, RunningGroups> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'a> RunningProcess<'a> {
    fn new(groups: &'a ProcessGroups, group: Group) -> Self {
        let mut running = groups.lock();
        running.started += 1;
        let number = running.started;
        running.groups.insert(number, group);
        Self { groups, number }
    }

    /// The process has ended, and its output too.
    fn ended(self) {
        if let Some(group) = self.take() {
            group.release();
        }
    }

    fn take(&self) -> Option<Group> {
        self.groups.lock().groups.remove(&self.number)
    }
}

impl Drop for RunningProcess<'_> {
    fn drop(&mut self) {
        let Some(group) = self.take() else { return };
        // A command that is asked to end can clean up.
        group.end_within(GOODBYE);
    }
}
