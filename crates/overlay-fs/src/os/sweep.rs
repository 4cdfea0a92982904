use serde::{Deserialize, Serialize};

use super::lock::CommitLock;
use super::staging::{self, Phase, Staging};
use super::{OsTree, tree_error};
use crate::{TreeError, WorkspacePath};

/// What became of one staging folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Swept {
    /// The folder's name in the workspace.
    pub name: String,
    /// What was done with it.
    pub outcome: SweepOutcome,
}

/// What a sweep does with a staging folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SweepOutcome {
    /// Its process is dead and nothing in it was needed: it is gone.
    Removed,
    /// Its process lives: left alone.
    Alive,
    /// Its process died in the middle of a commit: it may hold files that are nowhere else, and is left.
    Interrupted,
    /// A rollback could not put everything back: it holds the former content, and is left.
    Kept,
    /// It is not private to this user, or not made by this crate: left alone.
    Foreign,
}

impl OsTree {
    /// Removes what dead processes left in the workspace, and says of every staging folder what became of it.
    pub fn sweep(&self) -> Result<Vec<Swept>, TreeError> {
        let _lock = CommitLock::take(&self.root)?;
        let failed = |error: std::io::Error| tree_error(&WorkspacePath::root(), &error);
        let mut swept = Vec::new();
        for entry in self.root.entries().map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            let Some(name) = name.to_str().filter(|name| staging::is_staging_name(name.as_bytes())) else {
                continue;
            };
            let outcome = self.sweep_one(name).map_err(failed)?;
            swept.push(Swept { name: name.to_owned(), outcome });
        }
        swept.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(swept)
    }

    fn sweep_one(&self, name: &str) -> std::io::Result<SweepOutcome> {
        let Some(staging) = Staging::open(&self.root, name)? else { return Ok(SweepOutcome::Foreign) };
        let Some(owner) = staging.owner() else {
            // Made or removed halfway by a process that died: there is nothing in it.
            if !staging.names()?.is_empty() {
                return Ok(SweepOutcome::Foreign);
            }
            staging.remove()?;
            return Ok(SweepOutcome::Removed);
        };
        if owner.process.is_alive() {
            return Ok(SweepOutcome::Alive);
        }
        match staging.phase() {
            Phase::Applying => Ok(SweepOutcome::Interrupted),
            Phase::Kept => Ok(SweepOutcome::Kept),
            Phase::Idle => {
                staging.remove()?;
                Ok(SweepOutcome::Removed)
            }
        }
    }
}

/// A process, told apart from a later one with the same number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Process {
    pid: i32,
    /// When it started, in the kernel's ticks since boot; empty where the system does not tell.
    start: String,
    /// The boot it belongs to; empty where the system does not tell.
    boot: String,
}

impl Process {
    pub(super) fn current() -> Self {
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        Self { pid, start: start_of(pid).unwrap_or_default(), boot: boot() }
    }

    pub(super) fn is_alive(&self) -> bool {
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
    // The second field is the program's name in parentheses, and may hold anything; the start is the 22nd.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(19).map(str::to_owned)
}

#[expect(clippy::disallowed_methods, reason = "which boot this is can only be asked of the system")]
fn boot() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    boot.trim().to_owned()
}
