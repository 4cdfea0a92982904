//! How a view gives way to what else runs on the machine.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};

use rustix::process::Pid;

/// How far commands give way. The process that counts them does not, beside them: they would keep it from its work.
const NICE: i32 = 10;
/// What the session of whoever opens it is told by.
const SETTING: &str = "/proc/self/autogroup";

/// Where the kernel divides processors between sessions first (`sched_autogroup_enabled`), niceness counts within one only. A view is a session of its own,
/// which as a whole has to give way, too.
pub(in crate::os::init) struct Way {
    /// Opened while the machine's `/proc` was there. Closed when it is said, or there is nothing to say.
    session: Option<File>,
}

impl Way {
    /// Opens what the session is to be told by; a kernel without sessions has none.
    pub(in crate::os::init) fn open() -> Self {
        Self { session: OpenOptions::new().write(true).open(SETTING).ok() }
    }

    pub(in crate::os::init) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.session.as_ref().map(File::as_fd)
    }

    /// To be called when something begins to run, and now and then while it does: the kernel takes such a word of a user only ten times a second, of all together.
    pub(super) fn give(&mut self) {
        let Some(session) = &mut self.session else { return };
        let is_later = |error: std::io::Error| error.kind() == ErrorKind::WouldBlock;
        if !session.write_all(NICE.to_string().as_bytes()).is_err_and(is_later) {
            self.session = None;
        }
    }

    /// For what was just started as the first of a process group, in which its children are, too.
    pub(super) fn give_of(group: Option<Pid>) {
        // Only politeness: that it has ended already is no error.
        let _ = rustix::process::setpriority_pgrp(group, NICE);
    }
}
