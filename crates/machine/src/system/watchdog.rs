//! Ends a command with this process, however this process ends.
//!
//! On Unix this executable is started again in the command's place. It runs the command in its own process group, and
//! reads from a pipe to which this process holds the other end: when this process ends, for whatever reason, the pipe is
//! closed, and the whole group is killed. For a command that is to be confined it is a socket, on which the command says
//! why it cannot be; once it runs, it has the socket no more, and no process can open another one's socket. On Windows the
//! system ends the job of the command with this process.

#[cfg(unix)]
pub use unix::{Lifeline, WATCHDOG, run_watchdog};
#[cfg(windows)]
pub use windows::Lifeline;

#[cfg(unix)]
mod unix {
    use std::ffi::OsString;
    use std::io::{self, PipeWriter, Read, Write};
    use std::os::fd::{AsFd as _, OwnedFd};
    use std::os::unix::net::UnixStream;
    use std::path::Path;
    use std::process::{ChildStdin, ExitCode, ExitStatus, Stdio};
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use rustix::process::{Signal, kill_current_process_group};
    use tokio::process::Command;

    use crate::system::signals::end_as;
    use crate::system::{code_of, signal_of};

    /// The first argument of this executable when it is started to wait for a command. No subcommand has this name.
    pub const WATCHDOG: &str = "__tied";

    /// The first argument of the process that waits, if the command has the socket as its input until it is confined. Else
    /// it is the length of the input.
    const CONFINED: &str = "confined";

    /// What a command needs to go on.
    pub struct Lifeline {
        end: OwnedFd,
        /// Whether the command may say on the socket why it does not run.
        is_confined: bool,
    }

    impl Lifeline {
        /// Puts the process that waits for a command, and ends as the command does, in the place of the command, which
        /// has no input and no variables but those that are set for it. `own` is this executable.
        pub(crate) fn attach(own: &Path, command: &mut Command) -> io::Result<Self> {
            Self::attach_with_input(own, command, 0).map(|(lifeline, _)| lifeline)
        }

        /// The same for a command that is to be confined, and says on its standard input why it cannot be.
        pub(crate) fn attach_confined(own: &Path, command: &mut Command) -> io::Result<Self> {
            let (theirs, ours) = UnixStream::pair()?;
            wrap(own, command, CONFINED, theirs.into());
            Ok(Self { end: ours.into(), is_confined: true })
        }

        /// Why the command is not confined, and so did not run; empty if it ran. This waits for its end.
        pub(crate) async fn refusal(self) -> io::Result<String> {
            let mut why = String::new();
            if self.is_confined {
                let socket = UnixStream::from(self.end);
                socket.set_nonblocking(true)?;
                let mut socket = tokio::net::UnixStream::from_std(socket)?;
                tokio::io::AsyncReadExt::read_to_string(&mut socket, &mut why).await?;
            }
            Ok(why)
        }

        /// The same for a command whose input has this length, and the pipe into which it has to be written.
        pub fn attach_with_input(
            own: &Path,
            command: &mut Command,
            length: usize,
        ) -> io::Result<(Self, PipeWriter)> {
            let (theirs, ours) = io::pipe()?;
            wrap(own, command, &length.to_string(), theirs.into());
            Ok((Self { end: ours.try_clone()?.into(), is_confined: false }, ours))
        }
    }

    /// Puts the process that waits, with this standard input, in the place of a command.
    fn wrap(own: &Path, command: &mut Command, input: &str, stdin: OwnedFd) {
        let watched = command.as_std();
        let mut process = Command::new(own);
        process.args([WATCHDOG, input]).arg(watched.get_program()).args(watched.get_args());
        process.env_clear().envs(watched.get_envs().filter_map(|(name, value)| Some((name, value?))));
        if let Some(folder) = watched.get_current_dir() {
            process.current_dir(folder);
        }
        process.stdin(stdin);
        *command = process;
    }

    /// Runs a command to its end as a part of this process's group, and kills the group when standard input is closed,
    /// because then the process that started this one has ended.
    pub fn run_watchdog(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
        let input = arguments.next();
        let is_confined = input.as_ref().is_some_and(|input| input == CONFINED);
        let length = input.and_then(|input| input.to_str()?.parse::<u64>().ok()).unwrap_or_default();
        let Some(program) = arguments.next() else { return ExitCode::FAILURE };
        // The command receives the same signals, so this process ignores them and waits for it.
        for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT, signal_hook::consts::SIGHUP]
        {
            if signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false))).is_err() {
                return ExitCode::FAILURE;
            }
        }
        let stdin = match io::stdin().as_fd().try_clone_to_owned() {
            Ok(socket) if is_confined => socket.into(),
            Err(_) => return ExitCode::FAILURE,
            Ok(_) if length == 0 => Stdio::null(),
            Ok(_) => Stdio::piped(),
        };
        let started = std::process::Command::new(program).args(arguments).stdin(stdin).spawn();
        let mut command = match started {
            Ok(command) => command,
            Err(error) => {
                eprintln!("the command cannot be started: {error}");
                return ExitCode::from(127);
            }
        };
        let reads = command.stdin.take();
        std::thread::spawn(move || {
            pass_on(reads, length);
            // Nothing else is sent, so this ends when the other end is closed.
            let _ = io::copy(&mut io::stdin(), &mut io::sink());
            // If the group cannot be killed, it has no process of ours.
            let _ = kill_current_process_group(Signal::KILL);
        });
        command.wait().map_or(ExitCode::FAILURE, exit_as)
    }

    /// Passes so many bytes of standard input on to the command.
    fn pass_on(to: Option<ChildStdin>, length: u64) {
        let Some(mut to) = to else { return };
        let mut left = io::stdin().take(length);
        // If the command does not read its input, the rest is skipped.
        let _ = io::copy(&mut left, &mut to).and_then(|_| to.flush());
        drop(to);
        let _ = io::copy(&mut left, &mut io::sink());
    }

    /// Ends this process as the command ended. For a signal after which the system may keep an image of the process, that
    /// is the exit code with which a shell reports the signal, because an image of this process would be of no use.
    fn exit_as(status: ExitStatus) -> ExitCode {
        use signal_hook::consts::{SIGALRM, SIGHUP, SIGINT, SIGKILL, SIGPIPE, SIGTERM};
        if let Some(signal) = signal_of(status)
            && [SIGALRM, SIGHUP, SIGINT, SIGKILL, SIGPIPE, SIGTERM].contains(&signal)
        {
            end_as(signal);
        }
        ExitCode::from(code_of(status).and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
    }
}

#[cfg(windows)]
mod windows {
    use std::io::{self, PipeWriter};
    use std::path::Path;

    use tokio::process::Command;

    /// Nothing: the job of a command ends with the process that made it.
    pub struct Lifeline;

    impl Lifeline {
        #[expect(clippy::unnecessary_wraps, reason = "on Unix it takes a pipe and a process")]
        pub(crate) fn attach(_own: &Path, _command: &mut Command) -> io::Result<Self> {
            Ok(Self)
        }

        /// The same, because nothing confines a command here.
        pub(crate) fn attach_confined(own: &Path, command: &mut Command) -> io::Result<Self> {
            Self::attach(own, command)
        }

        /// Nothing, because no command is confined.
        #[expect(clippy::unused_async, reason = "on Unix it waits for the end of the command")]
        pub(crate) async fn refusal(self) -> io::Result<String> {
            Ok(String::new())
        }

        /// The same for a command with input, and the pipe into which the input has to be written.
        pub(crate) fn attach_with_input(
            _own: &Path,
            command: &mut Command,
            _length: usize,
        ) -> io::Result<(Self, PipeWriter)> {
            let (input, writer) = io::pipe()?;
            command.stdin(input);
            Ok((Self, writer))
        }
    }
}
