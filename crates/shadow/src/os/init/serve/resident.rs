//! The one program that runs while other requests are served.

use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, WaitOptions, pidfd_open};

use super::{Baseline, Input, LOOK_EVERY, Priority, end_all, failed, how, over, spawn, usage};
use crate::Limits;
use crate::os::again;
use crate::os::channel::Message;

/// The program that runs, and how the last one ended.
#[derive(Default)]
pub(super) struct ResidentProgram {
    running: Option<Running>,
    ended: Option<(&'static str, i32)>,
}

struct Running {
    pid: Pid,
    handle: Option<OwnedFd>,
}

impl ResidentProgram {
    pub(super) fn runs(&self) -> bool {
        self.running.is_some()
    }

    /// Starts a program. A program that still runs is ended first, with everything that it started.
    pub(super) fn start(&mut self, message: Message) -> Vec<String> {
        self.stop();
        self.ended = None;
        let child = match spawn(message, Input::First) {
            Ok(child) => child,
            Err(said) => return failed(&said),
        };
        // The handle is not needed to notice the program's end: this process adopts all that lose their parent, and
        // waits for any of them.
        let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else {
            end_all();
            return failed("the process has no id");
        };
        let handle = pidfd_open(pid, PidfdFlags::empty()).ok();
        self.running = Some(Running { pid, handle });
        vec!["started".to_owned()]
    }

    /// Reports how the last program ended (or that it runs), the processes, and their bytes of memory.
    pub(super) fn look(&self) -> Vec<String> {
        let (state, number) = match (&self.running, self.ended) {
            (Some(_), _) => ("running", 0),
            (None, Some(ended)) => ended,
            (None, None) => ("never", 0),
        };
        let (processes, memory) = usage().unwrap_or_default();
        vec![
            "looked".to_owned(),
            state.to_owned(),
            number.to_string(),
            processes.to_string(),
            memory.to_string(),
        ]
    }

    /// Ends the program and everything that it started. It is no error if none runs.
    pub(super) fn stop(&mut self) -> Vec<String> {
        if self.running.is_some() {
            self.end(("killed", rustix::process::Signal::KILL.as_raw()));
        }
        vec!["stopped".to_owned()]
    }

    /// Watches the program until there is a request or the other side is gone. Returns at once if no program runs.
    pub(super) fn watch_until_asked(
        &mut self,
        socket: BorrowedFd<'_>,
        limits: &Limits,
        baseline: &Baseline,
        priority: &mut Priority,
    ) {
        let pause = Timespec { tv_sec: 0, tv_nsec: LOOK_EVERY };
        while let Some(Running { pid, handle }) = &self.running {
            priority.give();
            let mut waited = vec![PollFd::new(&socket, PollFlags::IN | PollFlags::RDHUP)];
            waited.extend(handle.as_ref().map(|handle| PollFd::new(handle, PollFlags::IN)));
            let Ok(ready) = again(|| poll(&mut waited, Some(&pause))) else { return };
            let asked = !waited[0].revents().is_empty();
            let mut ended = None;
            while let Ok(Some((gone, status))) = rustix::process::wait(WaitOptions::NOHANG) {
                if gone == *pid {
                    ended = Some(how(status));
                }
            }
            if ended.is_none() && ready == 0 {
                ended = over(limits, baseline).map(|limit| (limit, 0));
            }
            if let Some(ended) = ended {
                // Pipes end only when no process holds them, so the others are ended too.
                self.end(ended);
            }
            if asked {
                return;
            }
        }
    }

    fn end(&mut self, ended: (&'static str, i32)) {
        end_all();
        self.running = None;
        self.ended = Some(ended);
    }
}
