//! The pipe on which a process tells its host why it did not become a confined command.

use std::fs::File;
use std::io::{self, Write as _};
use std::process::ExitCode;

use crate::confinement::{NOT_CONFINED, NOT_CONFINED_MARK};

/// The writing end of the host's pipe, which the process has as its standard input.
pub(crate) struct HostPipe(io::Result<File>);

impl HostPipe {
    /// Takes the pipe from standard input. The duplicate is not inherited, so it is closed when the process becomes the
    /// command.
    pub(crate) fn of_process() -> Self {
        #[cfg(unix)]
        let duplicate = std::os::fd::AsFd::as_fd(&io::stdin()).try_clone_to_owned();
        #[cfg(windows)]
        let duplicate = std::os::windows::io::AsHandle::as_handle(&io::stdin()).try_clone_to_owned();
        Self(duplicate.map(File::from))
    }

    /// Tells the host why there is no command. A host that gave no pipe finds the reason on standard error.
    pub(crate) fn refuse(self, why: &str) -> ExitCode {
        if !self.0.is_ok_and(|mut pipe| pipe.write_all(why.as_bytes()).is_ok()) {
            eprintln!("{NOT_CONFINED_MARK}{why}");
        }
        ExitCode::from(NOT_CONFINED)
    }
}
