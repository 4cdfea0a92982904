//! Runs commands of this program as processes. Each has a process group of its own, so that all processes of a command
//! can be ended once its call is no longer wanted, and ends with this process, however that ends.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use headstart_machine::runner::read_ends;
use headstart_machine::system::{Group, Lifeline, input_pipe, own_program, variables};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

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
    groups: BTreeMap<u64, (Group, Lifeline)>,
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
        let own = own_program().ok_or("headstart cannot be found")?;
        let not_started = |error: std::io::Error| format!("headstart cannot be started: {error}");
        let mut command = Command::new(&own);
        command.args(arguments).current_dir(folder).env_clear().envs(variables());
        let tied = Lifeline::attach_with_input(&own, &mut command, input.len());
        let (lifeline, stdin) = tied.map_err(not_started)?;
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let (group, mut leader) = Group::start(&mut command).map_err(not_started)?;
        let running = RunningProcess::new(self, (group, lifeline));
        // It holds the reading end of the input, which would keep the writing of it waiting after the process has ended.
        drop(command);
        let mut stdin = input_pipe(stdin).map_err(not_started)?;
        let (_, stdout, stderr) = leader.pipes();
        let writes = async move {
            // The command may end without reading its input, which is no failure.
            let _ = stdin.write_all(input.as_bytes()).await;
        };
        let (output, errors, ended, ()) =
            tokio::join!(read_ends(stdout, MAX_BYTES), read_ends(stderr, MAX_BYTES), leader.wait(), writes);
        running.ended();
        let code = ended.map_err(|error| format!("headstart cannot be waited for: {error}"))?.code();
        let is_cut = output.is_cut || errors.is_cut;
        Ok(ProcessResult { code, output: output.text, errors: errors.text, is_cut })
    }

    /// Ends all running processes.
    pub(super) async fn end(&self) {
        self.lock().groups.values().for_each(|(group, _)| group.ask_to_end());
        let began = tokio::time::Instant::now();
        while !self.lock().groups.is_empty() && began.elapsed() < GOODBYE {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        self.lock().groups.values().for_each(|(group, _)| group.end());
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, RunningGroups> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'a> RunningProcess<'a> {
    fn new(groups: &'a ProcessGroups, group: (Group, Lifeline)) -> Self {
        let mut running = groups.lock();
        running.started += 1;
        let number = running.started;
        running.groups.insert(number, group);
        Self { groups, number }
    }

    /// The process has ended, and its output too.
    fn ended(self) {
        if let Some((group, _)) = self.take() {
            group.release();
        }
    }

    fn take(&self) -> Option<(Group, Lifeline)> {
        self.groups.lock().groups.remove(&self.number)
    }
}

impl Drop for RunningProcess<'_> {
    fn drop(&mut self) {
        let Some((group, lifeline)) = self.take() else { return };
        // A command that is asked to end can clean up.
        group.end_within(GOODBYE, lifeline);
    }
}
