//! Memory that no process's own figure shows: files in memory without a name, and what waits in sockets.

use std::collections::HashMap;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;

/// The most bytes that wait in a socket of which nobody said how many may.
const OF_SOCKET: u64 = 2 * 212_992;

/// What the machine said when the view began. While it says about the same, nothing is looked for, because to look at each
/// open file of each process takes long.
#[derive(Default)]
pub(super) struct Baseline {
    shared: u64,
    available: u64,
}

impl Baseline {
    pub(super) fn now() -> Self {
        let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let figure = |name: &str| {
            let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            let value = value.and_then(|value| value.trim().strip_suffix(" kB")?.parse::<u64>().ok());
            value.unwrap_or_default() << 10
        };
        Self { shared: figure("Shmem"), available: figure("MemAvailable") }
    }

    /// The bytes that the processes of the view hold besides `counted`, as far as the limit could be exceeded by them.
    pub(super) fn hidden(&self, counted: u64, limit: u64) -> u64 {
        let now = Self::now();
        let is_shared = limit.saturating_sub(counted) < now.shared.saturating_sub(self.shared);
        // What is counted is not available either.
        let is_taken = limit < self.available.saturating_sub(now.available);
        let files = if is_shared { of_memory_files() } else { 0 };
        // Others may have given memory back meanwhile, which hides what is taken. No honest command has so many sockets.
        let are_many = limit.saturating_mul(2) < sockets().saturating_mul(OF_SOCKET);
        let sockets = if is_taken || are_many { of_sockets() } else { 0 };
        files.saturating_add(sockets)
    }
}

/// The bytes of all files in memory that a process has open and that have no name.
fn of_memory_files() -> u64 {
    let mut found = HashMap::new();
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        if !process.file_name().as_bytes().iter().all(u8::is_ascii_digit) {
            continue;
        }
        for open in fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten() {
            let path = open.path();
            if fs::read_link(&path).is_ok_and(|target| target.as_os_str().as_bytes().starts_with(b"/memfd:"))
                && let Ok(file) = fs::metadata(&path)
            {
                found.insert((file.dev(), file.ino()), file.blocks() * 512);
            }
        }
    }
    found.values().sum()
}

/// How many sockets the view's own network has.
fn sockets() -> u64 {
    let text = fs::read_to_string("/proc/self/net/sockstat").unwrap_or_default();
    text.strip_prefix("sockets: used ").and_then(|rest| rest.lines().next()?.parse().ok()).unwrap_or_default()
}

/// The most bytes that wait in the sockets of the view's own network, if none asked for a larger buffer. The kernel says
/// of none how many there are.
fn of_sockets() -> u64 {
    let rows = |name: &str| {
        let text = fs::read(format!("/proc/self/net/{name}")).unwrap_or_default();
        // The first row has the names of the columns, and behind the last one there is nothing.
        text.split(|byte| *byte == b'\n').skip(1).filter(|row| !row.is_empty()).count() as u64
    };
    let sockets: u64 = ["unix", "tcp", "tcp6", "udp", "udp6"].into_iter().map(rows).sum();
    sockets.saturating_mul(OF_SOCKET)
}
