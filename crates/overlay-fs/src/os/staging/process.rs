use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

/// A process, distinguishable from a later one with the same number. One process notes it, another reads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    pid: i32,
    /// When it started, in the kernel's ticks since boot (on Windows in seconds since the Unix epoch); empty if the
    /// system does not tell.
    start: String,
    /// The boot in which it ran; empty if the system does not tell.
    boot: String,
}

impl Process {
    /// The process that has this number now.
    pub fn with_id(pid: u32) -> Self {
        let pid = i32::try_from(pid).unwrap_or_default();
        Self { pid, start: system::start_of(pid).unwrap_or_default(), boot: system::boot() }
    }

    /// This process. The system is asked once, because that means reading two files, a noticeable part of an accept.
    pub fn current() -> Self {
        static CURRENT: Mutex<Option<Process>> = Mutex::new(None);
        let pid = std::process::id();
        let mut current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
        // A forked process has a copy of its parent's memory, and another number.
        if current.as_ref().is_none_or(|known| i32::try_from(pid) != Ok(known.pid)) {
            *current = Some(Self::with_id(pid));
        }
        current.clone().expect("works because it was just put there")
    }

    /// Whether it still runs.
    pub fn is_alive(&self) -> bool {
        if self.pid <= 0 || self.boot != system::boot() {
            return false;
        }
        system::exists(self.pid) && system::start_of(self.pid).is_none_or(|start| start == self.start)
    }
}

#[cfg(unix)]
mod system {
    use rustix::process::{Pid, test_kill_process};

    pub(super) fn exists(pid: i32) -> bool {
        Pid::from_raw(pid).is_some_and(|pid| test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
    }

    #[expect(clippy::disallowed_methods, reason = "whether a process lives can only be asked of the system")]
    pub(super) fn start_of(pid: i32) -> Option<String> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The second field is the program's name in parentheses, which may contain anything; the start is the 22nd field.
        let (_, rest) = stat.rsplit_once(')')?;
        let mut fields = rest.split_whitespace();
        // A zombie has ended, and only waits for its parent to notice.
        if fields.next()? == "Z" {
            return Some(String::new());
        }
        fields.nth(18).map(str::to_owned)
    }

    #[expect(clippy::disallowed_methods, reason = "which boot this is can only be asked of the system")]
    pub(super) fn boot() -> String {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        boot.trim().to_owned()
    }
}

#[cfg(windows)]
mod system {
    use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};

    pub(super) fn exists(pid: i32) -> bool {
        start_of(pid).is_some()
    }

    pub(super) fn start_of(pid: i32) -> Option<String> {
        let pid = Pid::from_u32(u32::try_from(pid).ok()?);
        let mut system = System::new();
        system.refresh_processes_specifics(
            ProcessesToUpdate::Some(&[pid]),
            true,
            ProcessRefreshKind::nothing(),
        );
        Some(system.process(pid)?.start_time().to_string())
    }

    /// A number that two processes have at the same time is told apart by its start, so the boot is not asked for: it is
    /// computed from two clocks here, and differs by a second from time to time.
    pub(super) fn boot() -> String {
        String::new()
    }
}
