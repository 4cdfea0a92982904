//! The process of the agent that the editor talks to.

use std::collections::VecDeque;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use headstart_machine::output;
use headstart_machine::system::{code_of, end_process, signal_of};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::streams::{LineWriter, lines};
use crate::hosts::node;

/// How many of the last lines of the agent's standard error are kept for the message about its end, and the most bytes
/// of each.
const KEPT_LINES: usize = 8;
const KEPT_BYTES: usize = 400;
/// How long the agent may take to end after each request to do so, before a stronger one follows.
const END_TIMEOUT: Duration = Duration::from_secs(3);

/// The first agent, which the editor talks to.
pub(super) struct Agent {
    child: Child,
    pub(super) out: Option<LineWriter>,
    pub(super) lines: mpsc::Receiver<Vec<u8>>,
    stderr_lines: Arc<Mutex<VecDeque<String>>>,
    listening: JoinHandle<()>,
    /// The task that finds out what is wrong with the Node.js that runs the agent.
    node: JoinHandle<Option<String>>,
}

/// How the agent ended.
pub(super) struct AgentEnd {
    /// The reason, for the editor.
    pub(super) why: String,
    /// The exit code, as a shell would return it.
    pub(super) code: u8,
}

impl Agent {
    /// Starts the agent in this process's folder and with its variables, as the editor would have.
    pub(super) fn start(command: &[String]) -> Result<Self, AgentEnd> {
        let (program, arguments) = command.split_first().expect("works because the command line needs one");
        // Windows itself finds no program whose name ends in `.cmd`, as those of npm do.
        let path = std::env::var_os("PATH");
        let found = node::find(program, path.as_deref()).filter(|_| cfg!(windows));
        let started = Command::new(found.unwrap_or_else(|| program.into()))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn();
        let mut child = started.map_err(|error| AgentEnd {
            why: format!("the agent {program} cannot be started: {error}"),
            code: if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 },
        })?;
        let stderr_lines = Arc::<Mutex<VecDeque<String>>>::default();
        let errors = child.stderr.take().expect("works because it is piped");
        let listening = tokio::spawn(listen(errors, Arc::clone(&stderr_lines)));
        let (out, _writing) = LineWriter::new(child.stdin.take().expect("works because it is piped"));
        let lines = lines(child.stdout.take().expect("works because it is piped"));
        let node = tokio::spawn(node_of(command.to_owned()));
        Ok(Self { child, out: Some(out), lines, stderr_lines, listening, node })
    }

    /// Waits for the agent's end after its standard output was closed.
    pub(super) async fn wait_for_end(&mut self) -> AgentEnd {
        self.out = None;
        let status = self.wait_or_end().await;
        // Its last lines on standard error may arrive after its end.
        let _ = tokio::time::timeout(Duration::from_secs(1), &mut self.listening).await;
        let mut why = format!("the agent ended with {}", exit_text(status));
        if let Ok(Ok(Some(trouble))) = tokio::time::timeout(Duration::from_secs(1), &mut self.node).await {
            why.push('\n');
            why.push_str(&trouble);
        }
        let lines = self.stderr_lines.lock().unwrap_or_else(PoisonError::into_inner);
        for line in lines.iter() {
            why.push('\n');
            why.push_str(line);
        }
        AgentEnd { why, code: code(status) }
    }

    /// Ends the agent as an editor would: by closing its input, and then by signals.
    pub(super) async fn wait_or_end(&mut self) -> Option<ExitStatus> {
        self.out = None;
        for is_asked in [true, false] {
            if let Ok(status) = tokio::time::timeout(END_TIMEOUT, self.child.wait()).await {
                return status.ok();
            }
            end_process(&mut self.child, is_asked);
        }
        self.child.wait().await.ok()
    }
}

/// Reports what is wrong with the Node.js that runs the agent, while the agent starts.
async fn node_of(command: Vec<String>) -> Option<String> {
    let trouble = node::trouble(&command, std::env::var_os("PATH").as_deref()).await?;
    output::note(&format!("headstart: {trouble}"));
    Some(trouble)
}

/// Passes on what the agent writes to standard error, and keeps the last lines.
async fn listen(errors: impl AsyncRead + Unpin, stderr_lines: Arc<Mutex<VecDeque<String>>>) {
    let mut errors = BufReader::new(errors);
    let mut line = Vec::new();
    while errors.read_until(b'\n', &mut line).await.is_ok_and(|read| 0 < read) {
        let text = String::from_utf8_lossy(&line).into_owned();
        eprint!("{text}");
        let mut lines = stderr_lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push_back(text.trim_end().chars().take(KEPT_BYTES).collect());
        if KEPT_LINES < lines.len() {
            lines.pop_front();
        }
        line.clear();
    }
}

fn exit_text(status: Option<ExitStatus>) -> String {
    match status.map(|status| (status.code(), signal_of(status))) {
        Some((Some(code), _)) => format!("exit code {code}"),
        Some((None, Some(signal))) => format!("signal {signal}"),
        _ => "an unknown status".to_owned(),
    }
}

fn code(status: Option<ExitStatus>) -> u8 {
    status.and_then(code_of).and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
