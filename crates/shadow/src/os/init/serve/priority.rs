//! Lowers the priority of a view's processes against everything else on the machine.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};

use rustix::process::Pid;

/// The niceness of commands. The process that counts them keeps its own, because otherwise they would keep it from
/// its work.
const NICE: i32 = 10;
/// The file that sets the niceness of the session of whoever opens it.
const SETTING: &str = "/proc/self/autogroup";

/// If the kernel divides processors between sessions first (`sched_autogroup_enabled`), a niceness only counts within
/// one. A view is a session of its own, so the session as a whole needs a niceness too.
pub(in crate::os::init) struct Priority {
    /// Opened while the machine's `/proc` was still visible; `None` once the niceness is set, or if it cannot be.
    session: Option<File>,
}

impl Priority {
    /// Opens the file for the session. A kernel without sessions has none.
    pub(in crate::os::init) fn open() -> Self {
        Self { session: OpenOptions::new().write(true).open(SETTING).ok() }
    }

    pub(in crate::os::init) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.session.as_ref().map(File::as_fd)
    }

    /// Sets the session's niceness. Has to be called when something begins to run and from time to time later,
    /// because the kernel accepts such a change by users only ten times a second, for all of them together.
    pub(super) fn give(&mut self) {
        let Some(session) = &mut self.session else { return };
        let is_later = |error: std::io::Error| error.kind() == ErrorKind::WouldBlock;
        if !session.write_all(NICE.to_string().as_bytes()).is_err_and(is_later) {
            self.session = None;
        }
    }

    /// Sets the niceness of what was just started as the first of a process group, which includes its children.
    pub(super) fn give_of(group: Option<Pid>) {
        // An error only means that it has ended already.
        let _ = rustix::process::setpriority_pgrp(group, NICE);
    }
}
