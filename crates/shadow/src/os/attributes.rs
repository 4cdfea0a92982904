//! A filter for a process that may read: it changes nothing of what a file has beside its content.

use nix::libc;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter,
};

use crate::Refusal;

/// Mode, owner, times, extended attributes.
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

/// `fchmodat2`, `setxattrat`, `removexattrat` and `file_setattr`, which older headers do not know; they have one number everywhere.
const CHANGES_BY_NUMBER: [i64; 4] = [452, 463, 466, 469];

/// The requests of `ioctl` that set the flags of a file.
const SET_FLAGS: [u64; 4] = [0x4008_6602, 0x4004_6602, 0x401c_5820, 0x4008_7602];

/// The same calls under the x32 ABI have this bit.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;

/// From here on this process, and all that it starts, cannot change the mode, the owner, the times, the extended attributes or the flags
/// of any file: Landlock, which keeps a process from writing, knows no rule for them. The calls fail with `EPERM`.
///
/// # Errors
///
/// Where the kernel has no such filters, or does not take it; then nothing is kept.
pub fn keep_attributes() -> Result<(), Refusal> {
    let failed = |error: &dyn std::fmt::Display| Refusal {
        call: "seccomp".to_owned(),
        about: "the filter of changes to attributes".to_owned(),
        message: error.to_string(),
    };
    let filter = filter().map_err(|error| failed(&error))?;
    let program: BpfProgram = filter.try_into().map_err(|error: BackendError| failed(&error))?;
    apply_filter(&program).map_err(|error| failed(&error))
}

fn filter() -> Result<SeccompFilter, BackendError> {
    let flags: Result<Vec<_>, BackendError> = SET_FLAGS
        .into_iter()
        .map(|request| {
            let is_request = SeccompCondition::new(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, request)?;
            SeccompRule::new(vec![is_request])
        })
        .collect();
    let always = CHANGES.iter().chain(&CHANGES_BY_NUMBER).map(|number| (*number, Vec::new()));
    let rules = always.chain([(libc::SYS_ioctl, flags?)]);
    #[cfg(target_arch = "x86_64")]
    // In the x32 ABI `ioctl` has a number of its own as well.
    let rules = rules.collect::<Vec<_>>().into_iter().flat_map(|(number, rules)| {
        let own = if number == libc::SYS_ioctl { 514 } else { number };
        [(number, rules.clone()), (own | X32, rules)]
    });
    let arch = std::env::consts::ARCH.try_into()?;
    let refused = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    SeccompFilter::new(rules.collect(), SeccompAction::Allow, refused, arch)
}
