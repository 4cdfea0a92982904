//! A program that runs in a view while other files are shown there.

use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;

use headstart_overlay_fs::file_times;

use super::super::channel::Message;
use super::super::collect::{end, is_gone, send};
use super::super::watch::Watch;
use super::View;
use crate::{Command, Program, Running, ShadowError};

impl View {
    /// Starts a program with pipes. It runs until it ends, is stopped, or the view ends; a program that already runs
    /// is ended first. The same holds for it as for a command, except that it has no time limit and the caller reads
    /// its output. If it builds too much the view is ended, and returns [`ShadowError::Disk`] from then on.
    ///
    /// While it runs [`show`](Self::show) and [`hide`](Self::hide) work, and each content that is shown gets a time
    /// of its own, a later second than those before. [`run`](Self::run) is refused. The time, output limit and
    /// streams of `command` are ignored.
    pub fn start_program(&mut self, command: &Command) -> Result<Program, ShadowError> {
        self.check_alive()?;
        let failed = |error: std::io::Error| ShadowError::command(&error);
        let (input, stdin) = std::io::pipe().map_err(failed)?;
        let (stdout, output) = std::io::pipe().map_err(failed)?;
        let (stderr, errors) = std::io::pipe().map_err(failed)?;
        let directory = self.shown_at.join(std::ffi::OsStr::from_bytes(command.directory.as_bytes()));
        let pipes = [input.as_fd(), output.as_fd(), errors.as_fd()];
        match send(&mut self.channel, "start", &directory, command, &pipes) {
            Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => return Err(failed(error)),
            sent => self.heard(sent)?,
        }
        drop((input, output, errors));
        self.watch_no_more();
        let answer = self.answer()?;
        self.has_program = answer.kind() == b"started";
        match answer.kind() {
            b"started" => {
                if let (Some(build), Ok(kill_handle)) = (&self.build, self.kill_handle()) {
                    self.watch = Some(Watch::of_program(build, kill_handle, self.room));
                }
                Ok(Program { stdin, stdout, stderr })
            }
            b"failed" => Err(ShadowError::Command { message: answer.text(1), source: None }),
            _ => Err(self.wrong()),
        }
    }

    /// Ends the program and everything that it started; returns once nothing of it is left. It is no error if none
    /// runs.
    pub fn stop_program(&mut self) -> Result<(), ShadowError> {
        self.request(b"stop")?;
        self.watch_no_more();
        self.pass_a_moment();
        self.has_program = false;
        Ok(())
    }

    /// What runs in the view besides its first process.
    pub fn running(&mut self) -> Result<Running, ShadowError> {
        let answer = self.request(b"look")?;
        let number = |at: usize| answer.number::<u64>(at);
        let (Some(processes), Some(resident)) = (number(3), number(4)) else { return Err(self.wrong()) };
        let ended = match answer.text(1).as_str() {
            "running" | "never" => None,
            word => Some(answer.number(2).and_then(|number| end(word, number)).ok_or_else(|| self.wrong())?),
        };
        Ok(Running { ended, processes: processes.saturating_sub(1), resident })
    }

    /// While a program runs, makes what is shown from now on later than everything that the program made before.
    pub(super) fn pass_a_moment(&mut self) {
        if self.has_program {
            self.latest = self.latest.max(self.given).max(Some(file_times::until_now_ns()));
        }
    }

    pub(super) fn watch_no_more(&mut self) {
        self.is_over_disk |= self.watch.take().is_some_and(Watch::end);
    }

    fn request(&mut self, kind: &[u8]) -> Result<Message, ShadowError> {
        self.check_alive()?;
        let sent = self.channel.send(&[kind], &[]);
        self.heard(sent)?;
        self.answer()
    }

    fn answer(&mut self) -> Result<Message, ShadowError> {
        let received = self.channel.receive();
        self.heard(received)?.ok_or_else(|| {
            self.end_now();
            self.why_ended()
        })
    }

    fn heard<T>(&mut self, outcome: std::io::Result<T>) -> Result<T, ShadowError> {
        outcome.map_err(|error| {
            self.end_now();
            if is_gone(&error) { self.why_ended() } else { ShadowError::unheard(&error) }
        })
    }

    fn wrong(&mut self) -> ShadowError {
        self.end_now();
        ShadowError::protocol("an answer that cannot be read")
    }
}
