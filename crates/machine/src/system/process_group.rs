//! A process together with everything that it started: a process group on Unix, a job object on Windows.

#[cfg(unix)]
pub use unix::end_process;
#[cfg(unix)]
pub use unix::{Group, GroupLeader};
#[cfg(windows)]
pub use windows::end_process;
#[cfg(windows)]
pub use windows::{Group, GroupLeader};

#[cfg(unix)]
mod unix {
    use std::any::Any;
    use std::io;
    use std::process::ExitStatus;

    use process_wrap::tokio::{CommandWrap, ProcessSession};
    use rustix::process::{Pid, Signal, kill_process_group};
    use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

    #[cfg(feature = "mcp")]
    use crate::system::Lifeline;
    use crate::system::signals::Ending;

    /// A process group, which is killed when this is dropped.
    pub struct Group(Pid);

    /// The first process of a group.
    pub struct GroupLeader(Child);

    impl Group {
        /// Starts a command as the leader of its own group: Ctrl-C in the terminal does not reach it.
        pub fn start(command: &mut Command) -> io::Result<(Self, GroupLeader)> {
            Self::of(command.process_group(0).spawn()?)
        }

        /// Starts a command as the leader of a session of its own, and so of a group. It has no terminal: what it writes
        /// arrives here and nowhere else, and a program that wants to ask a question there fails at once instead of being
        /// stopped until its time is up.
        pub(crate) fn start_without_terminal(command: Command) -> io::Result<(Self, GroupLeader)> {
            let child: Box<dyn Any> = CommandWrap::from(command).wrap(ProcessSession).spawn()?.into_inner();
            let child = child.downcast().map(|child| *child);
            Self::of(child.map_err(|_| io::Error::other("it is not the process that was started"))?)
        }

        fn of(child: Child) -> io::Result<(Self, GroupLeader)> {
            let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
            let id = id.ok_or_else(|| io::Error::other("the process has no id"))?;
            Ok((Self(id), GroupLeader(child)))
        }

        /// Kills the processes of the group. The id stays in use as long as one process of the group exists, so no other
        /// group can be hit. If none is left, the call has no effect.
        pub fn end(&self) {
            let _ = kill_process_group(self.0, Signal::KILL);
        }

        /// Asks the processes of the group to end.
        pub fn ask_to_end(&self) {
            let _ = kill_process_group(self.0, Signal::TERM);
        }

        /// Sends the processes of the group a signal that asked this process to end.
        pub(crate) fn pass_on(&self, signal: Ending) {
            let _ = kill_process_group(self.0, signal.signal());
        }

        /// Asks the processes of the group to end, and kills them if they still exist after this time. Until then the
        /// lifeline is held.
        #[cfg(feature = "mcp")]
        pub fn end_within(self, time: std::time::Duration, lifeline: Lifeline) {
            self.ask_to_end();
            let id = self.0;
            self.release();
            if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                runtime.spawn(async move {
                    tokio::time::sleep(time).await;
                    let _ = kill_process_group(id, Signal::KILL);
                    drop(lifeline);
                });
            }
        }

        /// Leaves what remains of the group alone.
        pub fn release(self) {
            let _ = std::mem::ManuallyDrop::new(self);
        }
    }

    impl Drop for Group {
        fn drop(&mut self) {
            self.end();
        }
    }

    impl GroupLeader {
        /// Waits for the end of the process itself.
        pub async fn wait(&mut self) -> io::Result<ExitStatus> {
            self.0.wait().await
        }

        /// Its pipes, as far as it has any and they were not taken before.
        pub fn pipes(&mut self) -> (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>) {
            (self.0.stdin.take(), self.0.stdout.take(), self.0.stderr.take())
        }
    }

    /// Ends a process: asks it to, or kills it.
    pub fn end_process(child: &mut Child, is_asked: bool) {
        let signal = if is_asked { Signal::TERM } else { Signal::KILL };
        let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(id) = id {
            // It may have ended just now.
            let _ = rustix::process::kill_process(id, signal);
        }
    }
}

#[cfg(windows)]
mod windows {
    use std::future::poll_fn;
    use std::io;
    use std::pin::pin;
    use std::process::ExitStatus;
    use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

    use process_wrap::tokio::{ChildWrapper, CommandWrap, CreationFlags, JobObject, KillOnDrop};
    use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
    use windows::Win32::System::Threading::CREATE_NO_WINDOW;

    #[cfg(feature = "mcp")]
    use crate::system::Lifeline;
    use crate::system::signals::Ending;

    /// A job, which is ended when this is dropped, and by the system when this process ends, in whatever way.
    pub struct Group(Arc<Mutex<Box<dyn ChildWrapper>>>);

    /// The first process of a job.
    pub struct GroupLeader(Arc<Mutex<Box<dyn ChildWrapper>>>);

    impl Group {
        /// Starts a command in its own job. What it starts is in the job too, and cannot leave it.
        pub(crate) fn start(command: &mut Command) -> io::Result<(Self, GroupLeader)> {
            let command = std::mem::replace(command, Command::new(""));
            Self::of(&mut CommandWrap::from(command))
        }

        /// Starts a command in its own job and with a console of its own that nobody sees, so that it can neither write
        /// to the one of this process nor ask there.
        pub(crate) fn start_without_terminal(command: Command) -> io::Result<(Self, GroupLeader)> {
            Self::of(CommandWrap::from(command).wrap(CreationFlags(CREATE_NO_WINDOW)))
        }

        fn of(command: &mut CommandWrap) -> io::Result<(Self, GroupLeader)> {
            let child = Arc::new(Mutex::new(command.wrap(KillOnDrop).wrap(JobObject).spawn()?));
            Ok((Self(Arc::clone(&child)), GroupLeader(child)))
        }

        /// Ends the processes of the job. If none is left, the call has no effect.
        pub(crate) fn end(&self) {
            let _ = lock(&self.0).start_kill();
        }

        /// Ends the processes of the job, because a program without a window cannot be asked to end.
        pub(crate) fn ask_to_end(&self) {
            self.end();
        }

        /// Ends the processes of the job, which has a console of its own and so did not get the event.
        pub(crate) fn pass_on(&self, _event: Ending) {
            self.end();
        }

        /// Ends the processes of the job at once, because they cannot be asked.
        #[cfg(feature = "mcp")]
        pub(crate) fn end_within(self, _time: std::time::Duration, lifeline: Lifeline) {
            drop((self, lifeline));
        }

        /// Ends what remains of the job, because no process can leave it.
        #[cfg(feature = "mcp")]
        pub(crate) fn release(self) {
            drop(self);
        }
    }

    impl Drop for Group {
        fn drop(&mut self) {
            self.end();
        }
    }

    impl GroupLeader {
        /// Waits for the end of the process itself.
        pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
            // The lock is held only while the process is looked at, so that the job can be ended meanwhile.
            poll_fn(|context| {
                let mut child = lock(&self.0);
                pin!(child.inner_mut().wait()).poll(context)
            })
            .await
        }

        /// Its pipes, as far as it has any and they were not taken before.
        pub(crate) fn pipes(&mut self) -> (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>) {
            let mut child = lock(&self.0);
            (child.stdin().take(), child.stdout().take(), child.stderr().take())
        }
    }

    /// Ends a process, because a program without a window cannot be asked to end.
    pub fn end_process(child: &mut Child, _is_asked: bool) {
        // It may have ended just now.
        let _ = child.start_kill();
    }

    fn lock(child: &Mutex<Box<dyn ChildWrapper>>) -> MutexGuard<'_, Box<dyn ChildWrapper>> {
        child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
