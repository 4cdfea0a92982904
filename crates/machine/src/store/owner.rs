use std::fs;

use serde::{Deserialize, Serialize};

/// A process, distinguished from a later one with the same number. Only Linux offers enough for that; on other systems
/// only the lock of the record tells whether its process is alive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Owner {
    pub pid: u32,
    /// Clock ticks from the start of the system to the start of the process.
    pub(crate) start_time: Option<u64>,
    /// Identifies one run of one machine's kernel.
    pub(crate) boot_id: Option<String>,
}

impl Owner {
    pub(super) fn this_process() -> Self {
        let pid = std::process::id();
        Self { pid, start_time: start_time(pid), boot_id: boot_id() }
    }

    /// Whether exactly this process is alive on this machine.
    pub(crate) fn is_alive(&self) -> bool {
        self.start_time.is_some()
            && self.boot_id.is_some()
            && self.boot_id == boot_id()
            && self.start_time == start_time(self.pid)
    }
}

fn boot_id() -> Option<String> {
    Some(fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned())
}

/// Field 22 of `/proc/PID/stat`. The program's name before it may contain blanks and brackets.
fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let after_name = stat.rsplit_once(')')?.1;
    let mut fields = after_name.split_whitespace();
    // A zombie has ended; only its parent has not read its exit status yet.
    if fields.next()? == "Z" {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_is_told_from_a_later_one_of_the_same_number() {
        let me = Owner::this_process();
        assert!(me.is_alive());
        assert!(!Owner { start_time: me.start_time.map(|time| time + 1), ..me.clone() }.is_alive());
        assert!(!Owner { boot_id: Some("another".into()), ..me.clone() }.is_alive());
        assert!(!Owner { start_time: None, ..me }.is_alive());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_that_has_ended_is_dead_before_it_is_waited_for() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let owner = Owner { pid: child.id(), start_time: start_time(child.id()), boot_id: boot_id() };
        assert!(owner.is_alive());
        child.kill().unwrap();
        while owner.is_alive() {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert!(!owner.is_alive());
    }
}
