//! A system call filter for a process, used for the first process of a view and for a confined command.

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter, sock_filter,
};

use crate::Refusal;

/// For each system call, the arguments with which it is refused; an empty list stands for any.
pub(super) type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// The first instruction of a filter. All later jumps are relative.
const LOAD_NUMBER: sock_filter = sock_filter { code: 0x20, jt: 0, jf: 0, k: 0 };
const IF_EQUAL: u16 = 0x15;
#[cfg(target_arch = "x86_64")]
const IF_SET: u16 = 0x45;
const ANSWER: u16 = 0x06;

/// On kernels with the x32 ABI, its calls have this bit in their numbers. No program of today uses it, and a rule for
/// each call would double the filter, so all of them are refused.
#[cfg(target_arch = "x86_64")]
const X32: u32 = 0x4000_0000;

/// A filter that is ready to be installed.
pub(super) struct Filter {
    program: BpfProgram,
    about: &'static str,
}

impl Filter {
    /// Makes the calls in `rules`, and all of the x32 ABI, fail with `EPERM`. The calls in `answers` fail with these
    /// errors before any rule is looked at.
    pub(super) fn new(
        rules: Rules,
        first: &[(libc::c_long, libc::c_int)],
        about: &'static str,
    ) -> Result<Self, Refusal> {
        let mut begin = vec![LOAD_NUMBER];
        for (number, answer) in first {
            let number = u32::try_from(*number).map_err(|error| refused(about, &error))?;
            begin.extend(answered(IF_EQUAL, number, *answer));
        }
        #[cfg(target_arch = "x86_64")]
        begin.extend(answered(IF_SET, X32, libc::EPERM));
        let mut program = program(rules).map_err(|error| refused(about, &error))?;
        program.splice(0..0, begin);
        Ok(Self { program, about })
    }

    /// Installs the filter for this process and everything that it starts.
    pub(super) fn apply(&self) -> Result<(), Refusal> {
        apply_filter(&self.program).map_err(|error| refused(self.about, &error))
    }
}

/// Answers calls whose number compares like this, and goes on with the next instruction for all others.
fn answered(compare: u16, number: u32, answer: libc::c_int) -> [sock_filter; 2] {
    let answer = libc::SECCOMP_RET_ERRNO | answer.cast_unsigned();
    [
        sock_filter { code: compare, jt: 0, jf: 1, k: number },
        sock_filter { code: ANSWER, jt: 0, jf: 0, k: answer },
    ]
}

/// The refusal of a filter that cannot be made or installed.
pub(super) fn refused(about: &str, error: &dyn std::fmt::Display) -> Refusal {
    Refusal { call: "seccomp".to_owned(), about: about.to_owned(), message: error.to_string() }
}

/// Refuses a call if this argument is one of these values, such as the request of an `ioctl`. C libraries differ in the
/// type of such a value, but each fits in 32 bits.
pub(super) fn any_of<T: TryInto<u32>>(
    argument: u8,
    values: impl IntoIterator<Item = T>,
) -> Result<Vec<SeccompRule>, BackendError> {
    let is = |value: T| {
        let value = value.try_into().ok().expect("works because no request has more than 32 bits");
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value.into())
            .and_then(|condition| SeccompRule::new(vec![condition]))
    };
    values.into_iter().map(is).collect()
}

fn program(rules: Rules) -> Result<BpfProgram, BackendError> {
    let arch = std::env::consts::ARCH.try_into()?;
    let refused = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    SeccompFilter::new(rules, SeccompAction::Allow, refused, arch)?.try_into()
}
