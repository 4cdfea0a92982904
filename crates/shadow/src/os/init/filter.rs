//! Calls of the system that no command in a view may make.

use nix::libc;
use seccompiler::{BackendError, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};

use crate::os::filter::{self, Filter, Rules};
use crate::{Network, Refusal};

/// Calls that are refused whatever their arguments are.
const NEVER: &[libc::c_long] = &[
    // Calls about mounts and the root folder.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    // Calls that reach other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Large parts of the kernel that are of no use here.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_lookup_dcookie,
    // Calls that change the machine.
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_nfsservctl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
    #[cfg(target_arch = "x86_64")]
    libc::SYS__sysctl,
];

/// New calls have the same number on every architecture, and older headers lack them: `open_tree_attr` mounts, and
/// `lsm_set_self_attr` changes security rules.
const NEVER_BY_NUMBER: [i64; 2] = [460, 467];

/// The flags for namespaces of `clone` and `unshare`. For `clone` the last one is also within the lowest byte, which
/// holds the signal.
const NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];
const CLONE_NEWTIME: u64 = 0x80;

/// The only families of sockets. Most security holes were in the others.
const SOCKETS: [libc::c_int; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
/// The only netlink protocols: routes and the table of sockets, both of the view's own network.
const NETLINK: [libc::c_int; 2] = [libc::NETLINK_ROUTE, libc::NETLINK_SOCK_DIAG];

/// The filter for this process and everything that it starts.
pub(super) fn filter(network: Network) -> Result<Filter, Refusal> {
    const ABOUT: &str = "the filter of calls";
    let rules = rules(network).map_err(|error| filter::refused(ABOUT, &error))?;
    // If `clone3`, whose flags a filter cannot see, does not exist, a C library falls back to `clone`.
    // Requests of `io_setup` are counted for the whole machine, and programs do without where a kernel has none.
    // `fallocate` takes at once what the disk is looked at for once a second. Where a file system has no such call,
    // programs write instead.
    let missing = [
        (libc::SYS_clone3, libc::ENOSYS),
        (libc::SYS_io_setup, libc::ENOSYS),
        (libc::SYS_fallocate, libc::EOPNOTSUPP),
    ];
    Filter::new(rules, &missing, ABOUT)
}

fn rules(network: Network) -> Result<Rules, BackendError> {
    let mut rules: Rules = NEVER.iter().chain(&NEVER_BY_NUMBER).map(|number| (*number, Vec::new())).collect();
    let has = |argument, flag: u64| {
        let is_set = SeccompCmpOp::MaskedEq(flag);
        SeccompRule::new(vec![SeccompCondition::new(argument, SeccompCmpArgLen::Qword, is_set, flag)?])
    };
    let namespaces = NAMESPACES.map(|flag| u64::from(flag.cast_unsigned()));
    let clone: Result<Vec<_>, _> = namespaces.iter().map(|flag| has(0, *flag)).collect();
    let unshare: Result<Vec<_>, _> =
        namespaces.iter().chain([&CLONE_NEWTIME]).map(|flag| has(0, *flag)).collect();
    rules.insert(libc::SYS_clone, clone?);
    rules.insert(libc::SYS_unshare, unshare?);
    let compare = |argument, operator, value: libc::c_int| {
        let value = u64::from(value.cast_unsigned());
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
    };
    let none_of = |argument, values: &[libc::c_int]| -> Result<Vec<_>, BackendError> {
        values.iter().map(|value| compare(argument, SeccompCmpOp::Ne, *value)).collect()
    };
    // In the machine's network, sockets of that family with an abstract name lead to programs of the machine, and the
    // table of sockets is nobody else's business.
    let is_own = network == Network::Own;
    let sockets = if is_own { &SOCKETS[..] } else { &SOCKETS[1..] };
    let mut netlink = none_of(2, if is_own { &NETLINK[..] } else { &NETLINK[..1] })?;
    netlink.push(compare(0, SeccompCmpOp::Eq, libc::AF_NETLINK)?);
    rules.insert(libc::SYS_socket, vec![SeccompRule::new(none_of(0, sockets)?)?, SeccompRule::new(netlink)?]);
    rules.insert(libc::SYS_socketpair, vec![SeccompRule::new(none_of(0, &SOCKETS)?)?]);
    // A lease or a notice on a file that others use holds them up; the pages of pipes are counted for all processes of
    // the user.
    rules.insert(libc::SYS_fcntl, filter::any_of(1, [libc::F_SETLEASE, libc::F_NOTIFY, libc::F_SETPIPE_SZ])?);
    // These insert text that a terminal takes for typed.
    rules.insert(libc::SYS_ioctl, filter::any_of(1, [libc::TIOCSTI, libc::TIOCLINUX])?);
    // Without any privilege the device 0:0 can be made, which overlayfs takes for the mark that something was
    // removed.
    let device = |argument| -> Result<Vec<_>, BackendError> {
        let kinds = [libc::S_IFCHR, libc::S_IFBLK].map(u64::from).into_iter();
        let is = SeccompCmpOp::MaskedEq(libc::S_IFMT.into());
        let kind = |kind| SeccompCondition::new(argument, SeccompCmpArgLen::Dword, is.clone(), kind);
        kinds.map(|wanted| SeccompRule::new(vec![kind(wanted)?])).collect()
    };
    rules.insert(libc::SYS_mknodat, device(2)?);
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_mknod, device(1)?);
    Ok(rules)
}
