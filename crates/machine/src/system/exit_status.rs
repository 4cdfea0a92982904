use std::process::ExitStatus;

/// The exit code, as a shell would return it.
pub fn code_of(status: ExitStatus) -> Option<i32> {
    status.code().or_else(|| Some(128 + signal_of(status)?))
}

/// The signal that ended a process. On Windows there are none.
pub fn signal_of(status: ExitStatus) -> Option<i32> {
    #[cfg(unix)]
    return std::os::unix::process::ExitStatusExt::signal(&status);
    #[cfg(windows)]
    {
        let _ = status;
        None
    }
}
