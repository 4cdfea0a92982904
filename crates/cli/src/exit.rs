use std::process::ExitCode;

/// What the exit code says to a script. The numbers are a promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    /// 0: it is done.
    Done,
    /// 1: it could not be done; standard error says why.
    Failed,
    /// 2: the command line or the environment asks for something that does not exist.
    Usage,
    /// 3: a speculation stopped at a call that needs the user's consent.
    Boundary,
    /// 4: the workspace changed meanwhile; nothing was written.
    Conflict,
    /// Of a command that the user had run: its own exit code, or 125 where it was not run.
    Of(u8),
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(match status {
            ExitStatus::Done => 0,
            ExitStatus::Failed => 1,
            ExitStatus::Usage => 2,
            ExitStatus::Boundary => 3,
            ExitStatus::Conflict => 4,
            ExitStatus::Of(code) => code,
        })
    }
}
