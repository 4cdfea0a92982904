//! A program and everything that it started: a process group on Unix, a job object on Windows.

#[cfg(unix)]
pub(super) use unix::Group;
#[cfg(windows)]
pub(super) use windows::Group;

#[cfg(unix)]
mod unix {
    use std::io;
    use std::process::ExitStatus;

    use rustix::process::{Pid, Signal, kill_process_group};
    use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

    /// A process group, which is killed when this is dropped.
    pub(in crate::process) struct Group {
        leader: Child,
        id: Pid,
        /// Whether the leader was waited for: from then on another process may get its ID.
        is_reaped: bool,
    }

    impl Group {
        /// Starts a program as the leader of its own group: Ctrl-C in the terminal does not reach it, and what it starts
        /// ends with it.
        pub(in crate::process) fn start(mut command: Command) -> io::Result<Self> {
            let leader = command.process_group(0).kill_on_drop(true).spawn()?;
            let id = leader.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
            let id = id.ok_or_else(|| io::Error::other("its process has no id"))?;
            Ok(Self { leader, id, is_reaped: false })
        }

        /// The pipes of the program; `None` the second time.
        pub(in crate::process) fn pipes(&mut self) -> Option<(ChildStdin, ChildStdout, ChildStderr)> {
            Some((self.leader.stdin.take()?, self.leader.stdout.take()?, self.leader.stderr.take()?))
        }

        /// Waits for the end of the program itself.
        pub(in crate::process) async fn wait(&mut self) -> io::Result<ExitStatus> {
            self.leader.wait().await
        }

        /// Asks all of it to end.
        pub(in crate::process) fn ask_to_end(&mut self) {
            self.signal(Signal::TERM);
        }

        /// Ends all of it, but leaves the program to be waited for.
        pub(in crate::process) fn kill(&mut self) {
            self.signal(Signal::KILL);
        }

        /// Ends what the leader left in the background. Called when the leader has just ended.
        pub(in crate::process) fn end(&mut self) {
            self.signal(Signal::KILL);
            self.is_reaped = true;
        }

        fn signal(&self, signal: Signal) {
            if !self.is_reaped {
                // An error means that no process of the group is left.
                let _ = kill_process_group(self.id, signal);
            }
        }
    }

    impl Drop for Group {
        fn drop(&mut self) {
            // This comes before the leader is dropped, so its ID still belongs to it.
            self.end();
        }
    }
}

#[cfg(windows)]
mod windows {
    use std::io;
    use std::process::ExitStatus;

    use process_wrap::tokio::{ChildWrapper, CommandWrap, JobObject, KillOnDrop};
    use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};

    /// A job object. The system ends all of its processes when this is dropped, and when this process ends in whatever way.
    pub(in crate::process) struct Group(Box<dyn ChildWrapper>);

    impl Group {
        /// Starts a program in its own job.
        pub(in crate::process) fn start(command: Command) -> io::Result<Self> {
            CommandWrap::from(command).wrap(KillOnDrop).wrap(JobObject).spawn().map(Self)
        }

        /// The pipes of the program; `None` the second time.
        pub(in crate::process) fn pipes(&mut self) -> Option<(ChildStdin, ChildStdout, ChildStderr)> {
            Some((self.0.stdin().take()?, self.0.stdout().take()?, self.0.stderr().take()?))
        }

        /// Waits for the end of the program itself.
        pub(in crate::process) async fn wait(&mut self) -> io::Result<ExitStatus> {
            self.0.inner_mut().wait().await
        }

        /// Ends all of it, because a program without a window cannot be asked.
        pub(in crate::process) fn ask_to_end(&mut self) {
            self.end();
        }

        /// Ends all of it, but leaves the program to be waited for.
        pub(in crate::process) fn kill(&mut self) {
            self.end();
        }

        /// Ends all of it.
        pub(in crate::process) fn end(&mut self) {
            // An error means that no process of the job is left.
            let _ = self.0.start_kill();
        }
    }
}
