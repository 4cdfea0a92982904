//! What the first process gives up before it runs anything: capabilities, descriptors and resources.

use std::fs;
use std::os::fd::{AsRawFd as _, BorrowedFd, RawFd};
use std::path::PathBuf;

use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Resource, Rlimit, setrlimit};
use rustix::thread::{
    CapabilitiesSecureBits, CapabilitySet, CapabilitySets, CpuSet, sched_getaffinity, sched_setaffinity,
};

use crate::os::refused;
use crate::{Limits, Refusal};

/// Sets the kernel's limits for each process.
pub(super) fn limit(limits: &Limits) -> Result<(), Refusal> {
    let rows = [
        // Not 0: if a pipe leads to a program on the machine that handles crashes, it is started for 0 and skipped
        // for 1.
        ("RLIMIT_CORE", Resource::Core, 1),
        ("RLIMIT_FSIZE", Resource::Fsize, limits.file_bytes),
        ("RLIMIT_AS", Resource::As, limits.address_space),
        ("RLIMIT_NPROC", Resource::Nproc, limits.processes),
        ("RLIMIT_NOFILE", Resource::Nofile, limits.open_files),
        // Timers of programs are counted with these for all processes of the user.
        ("RLIMIT_SIGPENDING", Resource::Sigpending, 1024),
    ];
    for (name, resource, most) in rows {
        let now = rustix::process::getrlimit(resource);
        let most = now.maximum.map_or(most, |maximum| maximum.min(most));
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
            .map_err(|error| refused("prlimit64", name, error))?;
    }
    Ok(())
}

/// Restricts this process and everything that it starts to this many processors. A process that asks for others gets
/// them: like niceness, this only restrains programs that mean no harm.
pub(super) fn keep_to_processors(limits: &Limits) -> Result<(), Refusal> {
    if CpuSet::MAX_CPU as u64 <= limits.processors {
        return Ok(());
    }
    let failed = |error: Errno| refused("sched_setaffinity", "", error);
    let mut processors = sched_getaffinity(None).map_err(failed)?;
    let most = u32::try_from(limits.processors).unwrap_or(u32::MAX).max(1);
    for number in 0..CpuSet::MAX_CPU {
        if processors.count() <= most {
            break;
        }
        // On many systems the first processors serve the machine's devices.
        processors.unset(number);
    }
    sched_setaffinity(None, &processors).map_err(failed)
}

/// Gives up every capability for good, and protects this process from the others of the view.
pub(super) fn give_up_capabilities() -> Result<(), Refusal> {
    let prctl = |about: &str| {
        let about = about.to_owned();
        move |error: Errno| refused("prctl", about, error)
    };
    let none = CapabilitiesSecureBits::NO_ROOT
        | CapabilitiesSecureBits::NO_ROOT_LOCKED
        | CapabilitiesSecureBits::NO_SETUID_FIXUP
        | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
        | CapabilitiesSecureBits::KEEP_CAPS_LOCKED
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED;
    rustix::thread::set_capabilities_secure_bits(none).map_err(prctl("PR_SET_SECUREBITS"))?;
    for number in 0..u64::BITS {
        match rustix::thread::remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(
            1 << number,
        )) {
            Ok(()) => {}
            // This kernel does not have any more capabilities.
            Err(Errno::INVAL) => break,
            Err(error) => return Err(prctl("PR_CAPBSET_DROP")(error)),
        }
    }
    rustix::thread::clear_ambient_capability_set().map_err(prctl("PR_CAP_AMBIENT"))?;
    let empty = CapabilitySet::empty();
    let sets = CapabilitySets { effective: empty, permitted: empty, inheritable: empty };
    rustix::thread::set_capabilities(None, sets).map_err(|error| refused("capset", "empty", error))?;
    rustix::thread::set_no_new_privs(true).map_err(prctl("PR_SET_NO_NEW_PRIVS"))?;
    // Otherwise a command of the same user could open the memory of this process, and with it the socket.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(prctl("PR_SET_DUMPABLE"))?;
    rustix::process::setsid().map_err(|error| refused("setsid", "", error))?;
    Ok(())
}

/// Closes inherited descriptors, except the standard streams and these.
pub(super) fn close_all_but(kept: &[BorrowedFd<'_>]) -> Result<(), Refusal> {
    let failed = |error: std::io::Error| refused("open", "/proc/self/fd", error);
    let mut open: Vec<RawFd> = Vec::new();
    for entry in fs::read_dir("/proc/self/fd").map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        open.extend(name.to_str().and_then(|name| name.parse::<RawFd>().ok()));
    }
    for fd in open {
        if 2 < fd && !kept.iter().any(|kept| kept.as_raw_fd() == fd) {
            // The descriptor of the folder that was just listed is among them, and closed already.
            let _ = nix::unistd::close(fd);
        }
    }
    Ok(())
}

/// Restricts writing to these folders a second time, through Landlock. Restrictions that an older kernel lacks are
/// left out.
pub(super) fn landlock(writable: &[PathBuf], processes: Option<BorrowedFd<'_>>) {
    use landlock::{
        ABI, Access as _, AccessFs, CompatLevel, Compatible as _, PathBeneath, Ruleset, RulesetAttr as _,
        RulesetCreatedAttr as _, RulesetError, path_beneath_rules,
    };
    let newest = ABI::V5;
    let confined =
        || {
            Ruleset::default()
                .set_compatibility(CompatLevel::BestEffort)
                .handle_access(AccessFs::from_all(newest))?
                .create()?
                .add_rules(path_beneath_rules(["/"], AccessFs::from_read(newest)))?
                .add_rules(path_beneath_rules(["/dev"], AccessFs::from_file(newest)))?
                .add_rules(path_beneath_rules(writable, AccessFs::from_all(newest)))?
                .add_rules(processes.map(|folder| {
                    Ok::<_, RulesetError>(PathBeneath::new(folder, AccessFs::from_file(newest)))
                }))?
                .restrict_self()
        };
    // Without Landlock the other restrictions still hold.
    let _: Result<_, RulesetError> = confined();
}
