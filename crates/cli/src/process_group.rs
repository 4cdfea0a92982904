use std::any::Any;
use std::io;

use process_wrap::tokio::{CommandWrap, ProcessSession};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

/// A process group, which is killed when this is dropped.
pub(crate) struct Group(Pid);

impl Group {
    /// The group of a process that was started as the leader of a group and has not been waited for yet.
    pub(crate) fn of(child: &Child) -> Option<Self> {
        child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw).map(Self)
    }

    /// Kills the processes of the group. The id stays in use as long as one process of the group exists, so no other
    /// group can be hit. If none is left, the call has no effect.
    pub(crate) fn end(&self) {
        let _ = kill_process_group(self.0, Signal::KILL);
    }

    /// Asks the processes of the group to end.
    pub(crate) fn ask_to_end(&self) {
        let _ = kill_process_group(self.0, Signal::TERM);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}

/// Starts a process as the leader of a session of its own, and so of a group. It has no terminal: what it writes
/// arrives here and nowhere else, and a program that wants to ask a question there fails at once instead of being
/// stopped until its time is up.
pub(crate) fn start_without_terminal(process: Command) -> io::Result<Child> {
    let child: Box<dyn Any> = CommandWrap::from(process).wrap(ProcessSession).spawn()?.into_inner();
    child
        .downcast()
        .map(|child| *child)
        .map_err(|_| io::Error::other("it is not the process that was started"))
}
