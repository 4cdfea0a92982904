use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Child;

/// A process group, ended when dropped.
pub(crate) struct Group(Pid);

impl Group {
    /// That of a process that was started as the leader of one, and was not waited for yet.
    pub(crate) fn of(child: &Child) -> Option<Self> {
        child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw).map(Self)
    }

    /// The id stays taken as long as one process of the group is there, so that this cannot hit a stranger; when none
    /// is left, there is nothing to end.
    pub(crate) fn end(&self) {
        let _ = kill_process_group(self.0, Signal::KILL);
    }

    /// Asks its processes to end.
    pub(crate) fn ask_to_end(&self) {
        let _ = kill_process_group(self.0, Signal::TERM);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}
