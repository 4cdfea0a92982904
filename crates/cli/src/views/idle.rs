//! Builds ahead in idle time, where the user's file names commands for it.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use headstart_shadow::{Command, Ender};
use headstart_tool_gate::DenyRules;

use super::{Views, lock};

/// No command of work ahead for so long, and it is idle time.
const QUIET: Duration = Duration::from_secs(3);

/// What is built in idle time.
#[derive(Default)]
pub(super) struct Filler {
    /// Without it the thread ends.
    waiting: Option<Sender<()>>,
    /// Ends the view in which it is built.
    ender: Option<Ender>,
}

impl Views {
    /// After an accept: builds what all views begin with, as soon as no command runs ahead. One that begins meanwhile ends it.
    pub(crate) fn warm_when_idle(self: &Arc<Self>, deny: DenyRules) {
        if self.warm_lines().is_empty() {
            return;
        }
        let (sender, gone) = channel();
        // The one before ends, and what it was building is of files that have changed.
        let before =
            std::mem::replace(&mut *lock(&self.filler), Filler { waiting: Some(sender), ender: None });
        drop(before.waiting);
        if let Some(ender) = before.ender {
            ender.end();
        }
        let views = Arc::downgrade(self);
        // Without the thread nothing is built ahead, which is only slower.
        let _ = std::thread::Builder::new().name("warm".to_owned()).spawn(move || {
            while gone.recv_timeout(QUIET) == Err(RecvTimeoutError::Timeout) {
                let Some(views) = views.upgrade() else { return };
                if views.is_quiet(QUIET) {
                    let lines: Vec<Command> =
                        views.warm_lines().iter().map(|line| views.fill_line(line)).collect();
                    let started = |ender| lock(&views.filler).ender = Some(ender);
                    // What cannot be kept is told by `shadow warm`, which the user may run by hand.
                    drop(views.fill(&lines, &deny, started, &mut |_, _| {}));
                    lock(&views.filler).ender = None;
                    return;
                }
            }
        });
    }

    /// A command of work ahead begins: it has the processors.
    pub(super) fn give_way(&self) {
        if let Some(ender) = lock(&self.filler).ender.take() {
            ender.end();
        }
    }
}
