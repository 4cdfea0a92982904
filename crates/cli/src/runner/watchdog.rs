//! Ends a command with this process, however this process ends.
//!
//! On Unix this executable is started again, waits for the command, and holds the reading end of a pipe. This process has
//! the other end: when it ends, for whatever reason, the pipe is closed, and the whole process group is killed. On
//! Windows the system does the same with the job of the command.

#[cfg(unix)]
pub(super) use unix::Lifeline;
#[cfg(unix)]
pub(crate) use unix::{WATCHDOG, run_watchdog};
#[cfg(windows)]
pub(super) use windows::Lifeline;

#[cfg(unix)]
mod unix {
    use std::ffi::OsString;
    use std::io::{self, PipeWriter, Read as _};
    use std::process::{ExitCode, Stdio};
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use headstart_toolbox::ToolError;
    use rustix::process::{Signal, kill_current_process_group};
    use tokio::process::Command;

    use crate::runner::{BashRunner, not_started};
    use crate::system::code_of;

    /// The first argument of this executable when it is started to wait for a command. No subcommand has this name.
    pub(crate) const WATCHDOG: &str = "__tied";

    /// What a command needs to go on.
    pub(in crate::runner) struct Lifeline(
        #[expect(dead_code, reason = "it is closed with this process")] PipeWriter,
    );

    impl Lifeline {
        /// Puts the process that waits for a command, and ends with this value, in the place of the command.
        pub(in crate::runner) fn attach(
            runner: &BashRunner,
            command: &mut Command,
        ) -> Result<Self, ToolError> {
            let (held, lifeline) = io::pipe().map_err(not_started)?;
            let Some(own) = &runner.confiner else {
                return Err(ToolError::failed("this program cannot start itself to watch a command"));
            };
            let watched = command.as_std();
            let mut process = Command::new(own);
            process.arg(WATCHDOG).arg(watched.get_program()).args(watched.get_args()).env_clear();
            process.envs(watched.get_envs().filter_map(|(name, value)| Some((name, value?))));
            process.current_dir(watched.get_current_dir().unwrap_or(&runner.root)).stdin(Stdio::from(held));
            *command = process;
            Ok(Self(lifeline))
        }
    }

    /// Runs a command to its end as a part of this process's group, and kills the group when standard input is closed,
    /// because then the process that started this one has ended.
    pub(crate) fn run_watchdog(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
        let Some(program) = arguments.next() else { return ExitCode::FAILURE };
        // The command receives the same signals, so this process ignores them and waits for it.
        for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT, signal_hook::consts::SIGHUP]
        {
            if signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false))).is_err() {
                return ExitCode::FAILURE;
            }
        }
        std::thread::spawn(|| {
            let mut nothing = [0; 16];
            loop {
                match io::stdin().read(&mut nothing) {
                    Ok(length) if 0 < length => {}
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    // If the group cannot be killed, it has no process of ours.
                    _ => drop(kill_current_process_group(Signal::KILL)),
                }
            }
        });
        let status = std::process::Command::new(program).args(arguments).stdin(Stdio::null()).status();
        match status {
            Ok(status) => {
                ExitCode::from(code_of(status).and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
            }
            Err(error) => {
                eprintln!("the command cannot be started: {error}");
                ExitCode::from(127)
            }
        }
    }
}

#[cfg(windows)]
mod windows {
    use headstart_toolbox::ToolError;
    use tokio::process::Command;

    use crate::runner::BashRunner;

    /// Nothing: the job of a command ends with the process that made it.
    pub(in crate::runner) struct Lifeline;

    impl Lifeline {
        #[expect(clippy::unnecessary_wraps, reason = "on Unix it takes a pipe and a process")]
        pub(in crate::runner) fn attach(
            _runner: &BashRunner,
            _command: &mut Command,
        ) -> Result<Self, ToolError> {
            Ok(Self)
        }
    }
}
