use std::process::ExitCode;

/// The meaning of the exit code for a script. The numbers must stay the same in later versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitStatus {
    /// 0: the command succeeded.
    Done,
    /// 1: the command failed; standard error says why.
    Failed,
    /// 2: the command line or the environment asks for something that does not exist.
    Usage,
    /// 3: a speculation stopped at a call that needs the user's consent, or a chat declined one because it had no
    /// terminal to ask on.
    Boundary,
    /// 4: the workspace had changed meanwhile, so nothing was written.
    Conflict,
    /// The exit code of a command that was run for the user, or 125 if it was not run.
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
