use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

/// A process, distinguishable from a later one with the same number. One process notes it, another reads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    pid: i32,
    /// When it started, in the kernel's ticks since boot; empty if the system does not tell.
    start: String,
    /// The boot in which it ran; empty if the system does not tell.
    boot: String,
}

impl Process {
    /// The process that has this number now.
    pub fn with_id(pid: u32) -> Self {
        let pid = i32::try_from(pid).unwrap_or_default();
        Self { pid, start: start_of(pid).unwrap_or_default(), boot: boot() }
    }

    /// This process. The system is asked once, because that means reading two files, a noticeable part of an accept.
    pub fn current() -> Self {
        static CURRENT: Mutex<Option<Process>> = Mutex::new(None);
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        let mut current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
        // A forked process has a copy of its parent's memory, and another number.
        if current.as_ref().is_none_or(|known| known.pid != pid) {
            *current = Some(Self { pid, start: start_of(pid).unwrap_or_default(), boot: boot() });
        }
        current.clone().expect("works because it was just put there")
    }

    /// Whether it still runs.
    pub fn is_alive(&self) -> bool {
        let Some(pid) = rustix::process::Pid::from_raw(self.pid).filter(|_| 0 < self.pid) else {
            return false;
        };
        if self.boot != boot() {
            return false;
        }
        let exists = rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH);
        exists && start_of(self.pid).is_none_or(|start| start == self.start)
    }
}

#[expect(clippy::disallowed_methods, reason = "whether a process lives can only be asked of the system")]
fn start_of(pid: i32) -> Option<String> {
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
fn boot() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    boot.trim().to_owned()
}
