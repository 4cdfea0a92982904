//! A filter for a process that may only read: it cannot change a file's attributes.

use nix::libc;
use seccompiler::BackendError;

use crate::Refusal;
use crate::os::filter::{self, Filter, Rules};

/// Calls that change mode, owner, times or extended attributes.
const CHANGES: &[libc::c_long] = &[
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
const CHANGES_BY_NUMBER: [i64; 4] = [452, 463, 466, 469];

/// The requests of `ioctl` that set the flags of a file.
const SET_FLAGS: [u64; 4] = [0x4008_6602, 0x4004_6602, 0x401c_5820, 0x4008_7602];

/// Keeps this process, and everything that it starts, from changing the mode, the owner, the times, the extended
/// attributes or the flags of any file, because Landlock, which keeps a process from writing, has no rule for these.
/// The calls fail with `EPERM`.
pub(super) fn keep_attributes() -> Result<(), Refusal> {
    const ABOUT: &str = "the filter of changes to attributes";
    let rules = rules().map_err(|error| filter::refused(ABOUT, &error))?;
    Filter::new(rules, &[], ABOUT)?.apply()
}

fn rules() -> Result<Rules, BackendError> {
    let mut rules: Rules =
        CHANGES.iter().chain(&CHANGES_BY_NUMBER).map(|number| (*number, Vec::new())).collect();
    rules.insert(libc::SYS_ioctl, filter::any_of(1, SET_FLAGS)?);
    Ok(rules)
}
