//! Lowers the priority of a view's processes against everything else on the machine.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::mount::MountAttrFlags;
use rustix::process::Pid;

use crate::os::init::overlay::mounted;

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
    /// A `/proc` of the view's own in which something can be written. No path leads to it.
    processes: Option<OwnedFd>,
}

impl Priority {
    /// Opens the file for the session. A kernel without sessions has none.
    pub(in crate::os::init) fn open() -> Self {
        let session = OpenOptions::new().write(true).open(SETTING).ok();
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID
            | MountAttrFlags::MOUNT_ATTR_NODEV
            | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        let processes = session.as_ref().and_then(|_| mounted("proc", &[], attributes).ok());
        Self { session, processes }
    }

    pub(in crate::os::init) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.session.as_ref().map(File::as_fd).into_iter().chain(self.processes())
    }

    pub(in crate::os::init) fn processes(&self) -> Option<BorrowedFd<'_>> {
        self.processes.as_ref().map(OwnedFd::as_fd)
    }

    /// Sets the niceness of the session, and of those that a command began. Has to be called when something begins to
    /// run and from time to time later, because the kernel accepts such a change by users only ten times a second, for
    /// all of them together.
    pub(super) fn give(&mut self) {
        let is_later = |error: std::io::Error| error.kind() == ErrorKind::WouldBlock;
        if let Some(session) = &mut self.session {
            if session.write_all(NICE.to_string().as_bytes()).is_err_and(is_later) {
                return;
            }
            self.session = None;
        }
        let Some(processes) = &self.processes else { return };
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let name = entry.file_name();
            if name.as_bytes().iter().all(u8::is_ascii_digit)
                && session_is_set(processes, &name).is_err_and(is_later)
            {
                return;
            }
        }
    }

    /// Sets the niceness of what was just started as the first of a process group, which includes its children.
    pub(super) fn give_of(group: Option<Pid>) {
        // An error only means that it has ended already.
        let _ = rustix::process::setpriority_pgrp(group, NICE);
    }
}

/// Sets the niceness of a process's session, unless it is that already. What fails otherwise has ended.
fn session_is_set(processes: &OwnedFd, process: &OsStr) -> std::io::Result<()> {
    let path = Path::new(process).join("autogroup");
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let mut session = File::from(rustix::fs::openat(processes, path, flags, Mode::empty())?);
    let mut now = String::new();
    session.read_to_string(&mut now)?;
    if now.trim_end().ends_with(&format!(" nice {NICE}")) {
        return Ok(());
    }
    session.write_all(NICE.to_string().as_bytes())
}
