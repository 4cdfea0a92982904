//! A list of calls of the system as the filter of a process: what the first process of a view and a confined command share.

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter,
};

use crate::Refusal;

/// By the number of a call, which of its arguments are refused; an empty list stands for all of them.
pub(super) type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Numbers with this bit are those of the x32 ABI, where the kernel has it; from 512 on they are its own.
#[cfg(target_arch = "x86_64")]
pub(super) const X32: i64 = 0x4000_0000;

/// Has the calls in `rules` fail with `answer`, for this process and all that it starts.
pub(super) fn apply(rules: Rules, answer: libc::c_int, about: &str) -> Result<(), Refusal> {
    let program = program(rules, answer).map_err(|error| refused(about, &error))?;
    apply_filter(&program).map_err(|error| refused(about, &error))
}

/// The refusal of a filter that cannot be made or put on.
pub(super) fn refused(about: &str, error: &dyn std::fmt::Display) -> Refusal {
    Refusal { call: "seccomp".to_owned(), about: about.to_owned(), message: error.to_string() }
}

/// A call is refused where this argument is one of these values, as the request of an `ioctl`.
pub(super) fn any_of<T: Into<u64>>(
    argument: u8,
    values: impl IntoIterator<Item = T>,
) -> Result<Vec<SeccompRule>, BackendError> {
    let is = |value: T| {
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value.into())
            .and_then(|condition| SeccompRule::new(vec![condition]))
    };
    values.into_iter().map(is).collect()
}

fn program(rules: Rules, answer: libc::c_int) -> Result<BpfProgram, BackendError> {
    let arch = std::env::consts::ARCH.try_into()?;
    let refused = SeccompAction::Errno(answer.cast_unsigned());
    SeccompFilter::new(rules, SeccompAction::Allow, refused, arch)?.try_into()
}
