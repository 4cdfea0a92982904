//! Commands that continue after their call, but never after this process.
//!

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use headstart_toolbox::{BackgroundOutput, BackgroundRunner, BackgroundState, CommandRequest, ToolError};
use tokio::io::AsyncReadExt;
use tokio::sync::{Notify, mpsc};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};

use super::{BashRunner, DRAIN, GRACE, PreparedCommand, RunningCommand, not_started, start, wait_until};
use crate::system::Lifeline;

/// The most bytes of output that are kept until they are requested.
const MAX_BYTES: usize = 1024 * 1024;
/// When nothing more was printed for so long, the output so far is returned.
const QUIET: Duration = Duration::from_millis(100);
/// The most commands that run at the same time.
const MAX_COMMANDS: usize = 8;

/// The commands in the background of one conversation.
pub(crate) struct BackgroundCommands {
    runner: Arc<BashRunner>,
    commands: Mutex<BTreeMap<usize, BackgroundCommand>>,
}

#[derive(Clone)]
struct BackgroundCommand {
    shared: Arc<SharedState>,
    stop: mpsc::Sender<()>,
    task: AbortHandle,
}

struct SharedState {
    state: Mutex<CommandState>,
    changed: Notify,
}

struct CommandState {
    printed: VecDeque<u8>,
    left_out: usize,
    began: Instant,
    /// When the command ended, and with which exit code.
    ended: Option<(Instant, Option<i32>)>,
}

impl BackgroundCommands {
    pub(crate) fn new(runner: Arc<BashRunner>) -> Self {
        Self { runner, commands: Mutex::default() }
    }

    fn of(&self, number: usize) -> Option<BackgroundCommand> {
        lock(&self.commands).get(&number).cloned()
    }
}

impl Drop for BackgroundCommands {
    fn drop(&mut self) {
        lock(&self.commands).values().for_each(|command| command.task.abort());
    }
}

#[async_trait]
impl BackgroundRunner for BackgroundCommands {
    async fn start(&self, request: CommandRequest) -> Result<usize, ToolError> {
        let runs =
            lock(&self.commands).values().filter(|command| command.shared.lock().ended.is_none()).count();
        if MAX_COMMANDS <= runs {
            let message = format!("{runs} commands run in the background, which is the most; stop one first");
            return Err(ToolError::failed(message));
        }
        let mut ready = self.runner.prepare(&request).await?;
        let lifeline = self.runner.attach(&mut ready)?;
        let PreparedCommand { process, scratch, .. } = ready;
        let running = start(process).map_err(not_started)?;
        let shared = Arc::new(SharedState {
            state: Mutex::new(CommandState {
                printed: VecDeque::new(),
                left_out: 0,
                began: Instant::now(),
                ended: None,
            }),
            changed: Notify::new(),
        });
        let (stop, stopped) = mpsc::channel(1);
        let follow = follow(running, lifeline, Arc::clone(&shared), stopped);
        let task = tokio::spawn(async move {
            follow.await;
            drop(scratch);
        });
        let mut commands = lock(&self.commands);
        let number = commands.len() + 1;
        commands.insert(number, BackgroundCommand { shared, stop, task: task.abort_handle() });
        Ok(number)
    }

    async fn output(&self, number: usize, wait: Duration) -> Option<BackgroundOutput> {
        let command = self.of(number)?;
        let shared = &command.shared;
        let comes = async {
            shared.until(|state| !state.printed.is_empty() || state.ended.is_some()).await;
            // Output that is printed in quick succession is returned together.
            while shared.lock().ended.is_none() && timeout(QUIET, shared.changed.notified()).await.is_ok() {}
        };
        // Output that does not come in time is returned at the next request.
        let _ = timeout(wait, comes).await;
        Some(command.shared.take())
    }

    async fn stop(&self, number: usize) -> Option<BackgroundOutput> {
        let command = self.of(number)?;
        // The command may have ended by itself.
        let _ = command.stop.try_send(());
        command.shared.until(|state| state.ended.is_some()).await;
        Some(command.shared.take())
    }
}

/// Reads the output of a command until it has ended. Dropping the future ends the command.
async fn follow(
    mut running: RunningCommand,
    _lifeline: Option<Lifeline>,
    shared: Arc<SharedState>,
    mut stopped: mpsc::Receiver<()>,
) {
    let RunningCommand { group, leader, output } = &mut running;
    let mut buffer = vec![0; 64 * 1024];
    let (mut is_open, mut code, mut until) = (true, None, None);
    loop {
        tokio::select! {
            exited = leader.wait(), if code.is_none() => {
                code = Some(exited.ok().and_then(|status| status.code()));
                // Background processes of the command end with it.
                group.end();
                until = Some(Instant::now() + DRAIN);
            }
            read = output.read(&mut buffer), if is_open => match read {
                Ok(length) if 0 < length => shared.push(&buffer[..length]),
                _ => is_open = false,
            },
            Some(()) = stopped.recv(), if code.is_none() => {
                group.ask_to_end();
                until = Some(Instant::now() + GRACE);
            }
            () = wait_until(until) => {
                if code.is_some() {
                    break;
                }
                group.end();
                until = None;
            }
        }
        if code.is_some() && !is_open {
            break;
        }
    }
    shared.end(code.flatten());
}

impl SharedState {
    fn lock(&self) -> MutexGuard<'_, CommandState> {
        lock(&self.state)
    }

    fn push(&self, bytes: &[u8]) {
        let mut state = self.lock();
        state.printed.extend(bytes);
        let dropped = state.printed.len().saturating_sub(MAX_BYTES);
        state.printed.drain(..dropped);
        state.left_out += dropped;
        drop(state);
        self.changed.notify_waiters();
    }

    fn end(&self, code: Option<i32>) {
        self.lock().ended = Some((Instant::now(), code));
        self.changed.notify_waiters();
    }

    async fn until(&self, is_so: impl Fn(&CommandState) -> bool) {
        loop {
            let changed = self.changed.notified();
            if is_so(&self.lock()) {
                return;
            }
            changed.await;
        }
    }

    /// Takes the output since the last request.
    fn take(&self) -> BackgroundOutput {
        let mut state = self.lock();
        let printed = Vec::from(std::mem::take(&mut state.printed));
        let (end, ended) = match state.ended {
            Some((end, code)) => (end, BackgroundState::Ended(code)),
            None => (Instant::now(), BackgroundState::Running),
        };
        BackgroundOutput {
            printed: String::from_utf8_lossy(&printed).into_owned(),
            left_out: std::mem::take(&mut state.left_out),
            state: ended,
            time: end.saturating_duration_since(state.began),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
