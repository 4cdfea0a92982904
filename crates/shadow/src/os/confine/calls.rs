//! Calls of the system that a process may not make which only reads: Landlock has no rule for them.

use nix::libc;
use seccompiler::BackendError;

use crate::Refusal;
use crate::os::filter::{self, Filter, Rules};

/// Calls that change mode, owner, times or extended attributes, and the one that locks a file however it was opened.
const NEVER: &[libc::c_long] = &[
    libc::SYS_flock,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
];

/// `fchmodat2`, `setxattrat`, `removexattrat` and `file_setattr`, which older headers lack; their numbers are the
/// same on every architecture.
const NEVER_BY_NUMBER: [i64; 4] = [452, 463, 466, 469];

/// The requests of `ioctl` that set the flags of a file.
const SET_FLAGS: [u64; 4] = [0x4008_6602, 0x4004_6602, 0x401c_5820, 0x4008_7602];

/// Requests of `fcntl` that hold up whoever else uses a file. A lock for reading, as databases take it, is none of them;
/// one for writing needs a file that was opened for it.
const HOLD_UP: [libc::c_int; 2] = [libc::F_SETLEASE, libc::F_NOTIFY];

/// Keeps this process, and everything that it starts, from changing the mode, the owner, the times, the extended
/// attributes or the flags of any file, and from holding up programs of the machine by a lock or a lease. The calls fail
/// with `EPERM`.
pub(super) fn refuse_calls() -> Result<(), Refusal> {
    const ABOUT: &str = "the filter of calls that do more than read";
    let rules = rules().map_err(|error| filter::refused(ABOUT, &error))?;
    Filter::new(rules, &[], ABOUT)?.apply()
}

fn rules() -> Result<Rules, BackendError> {
    let mut rules: Rules = NEVER.iter().chain(&NEVER_BY_NUMBER).map(|number| (*number, Vec::new())).collect();
    rules.insert(libc::SYS_fcntl, filter::any_of(1, HOLD_UP)?);
    rules.insert(libc::SYS_ioctl, filter::any_of(1, SET_FLAGS)?);
    Ok(rules)
}
