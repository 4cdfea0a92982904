//! Builds in advance in idle time, if the user's file names commands for that.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use headstart_shadow::{Command, KillHandle};
use headstart_tool_gate::DenyRules;

use super::{Views, lock};

/// Idle time begins when no command of work ahead has run for so long.
const QUIET: Duration = Duration::from_secs(3);

/// The build that runs in idle time, or waits for it.
#[derive(Default)]
pub(super) struct IdleBuild {
    /// When this is dropped, the waiting thread ends.
    waiting: Option<Sender<()>>,
    /// Ends the view in which the build runs.
    kill_handle: Option<KillHandle>,
}

impl Views {
    /// After an accept, builds the layers with which all views begin, as soon as no command runs ahead. A command that
    /// begins meanwhile ends the build.
    pub(crate) fn warm_when_idle(self: &Arc<Self>, deny: DenyRules) {
        if self.warm_lines().is_empty() {
            return;
        }
        let (sender, gone) = channel();
        // An earlier build ends, because the files that it was based on have changed.
        let before = std::mem::replace(
            &mut *lock(&self.idle_build),
            IdleBuild { waiting: Some(sender), kill_handle: None },
        );
        drop(before.waiting);
        if let Some(kill_handle) = before.kill_handle {
            kill_handle.kill();
        }
        let views = Arc::downgrade(self);
        // Without the thread nothing is built in advance, which only makes commands slower.
        let _ = std::thread::Builder::new().name("warm".to_owned()).spawn(move || {
            while gone.recv_timeout(QUIET) == Err(RecvTimeoutError::Timeout) {
                let Some(views) = views.upgrade() else { return };
                if views.is_quiet(QUIET) {
                    let lines: Vec<Command> =
                        views.warm_lines().iter().map(|line| views.layer_command(line)).collect();
                    let started = |kill_handle| lock(&views.idle_build).kill_handle = Some(kill_handle);
                    // Errors are not reported here; `shadow warm`, which the user may run, reports them.
                    drop(views.build_layers(&lines, &deny, started, &mut |_, _| {}));
                    lock(&views.idle_build).kill_handle = None;
                    return;
                }
            }
        });
    }

    /// Ends a build in idle time, because a command of work ahead begins and needs the processors.
    pub(super) fn end_idle_build(&self) {
        if let Some(kill_handle) = lock(&self.idle_build).kill_handle.take() {
            kill_handle.kill();
        }
    }
}
