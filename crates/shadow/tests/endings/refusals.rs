//! If the kernel refuses one of the calls that a view needs, no view is made, and the error names the call. The tests
//! make the kernel refuse calls by a seccomp filter.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use headstart_shadow::{
    BuildLayer, BuildRoom, Limits, Options, Prepared, ShadowError, Support, View, support,
};
use headstart_workspace_path::WorkspacePath;
use libtest_mimic::Trial;
use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

use crate::state::state;
use crate::{Alone, alone, options, workspace};

pub(crate) const ALONE: &[(&str, Alone)] =
    &[("refused", refused), ("supported", supported), ("with_threads", with_threads)];

/// A name, the number of a call, a condition on one argument if only some of the calls are refused, and what the error
/// has to name.
type Row = (&'static str, libc::c_long, Option<(u8, Is)>, &'static str);

/// The value of an argument for which the call is refused.
#[derive(Clone, Copy)]
enum Is {
    Just(u64),
    Not(u64),
    /// The length of the line that maps this user to itself.
    OfAMap,
}

const fn first(value: u64) -> (u8, Is) {
    (0, Is::Just(value))
}

const ROWS: [Row; 32] = [
    ("unshare", libc::SYS_unshare, None, "unshare"),
    ("fork", libc::SYS_clone, None, "fork"),
    // A filter sees no paths, so these files are recognized by the length of what is written to them.
    ("setgroups", libc::SYS_write, Some((2, Is::Just(4))), "write (/proc/self/setgroups)"),
    ("uid_map", libc::SYS_write, Some((2, Is::OfAMap)), "write (/proc/self/uid_map)"),
    ("capset", libc::SYS_capset, None, "capset"),
    ("pidfd_open", libc::SYS_pidfd_open, None, "pidfd_open"),
    ("ambient", libc::SYS_prctl, Some(first(47)), "prctl (PR_CAP_AMBIENT)"),
    ("parent_death", libc::SYS_prctl, Some(first(1)), "prctl (PR_SET_PDEATHSIG)"),
    ("mount", libc::SYS_mount, None, "mount (/, MS_SLAVE)"),
    ("open_tree", libc::SYS_open_tree, None, "open_tree"),
    ("fsopen", libc::SYS_fsopen, None, "fsopen (devpts)"),
    ("fsconfig", libc::SYS_fsconfig, None, "fsconfig (devpts"),
    ("fsmount", libc::SYS_fsmount, None, "fsmount (devpts)"),
    ("move_mount", libc::SYS_move_mount, None, "move_mount"),
    ("mkdirat", libc::SYS_mkdirat, None, "mkdirat"),
    ("symlinkat", libc::SYS_symlinkat, None, "symlinkat"),
    ("fchdir", libc::SYS_fchdir, None, "fchdir"),
    ("pivot_root", libc::SYS_pivot_root, None, "pivot_root"),
    ("umount2", libc::SYS_umount2, None, "umount2"),
    ("netlink", libc::SYS_socket, Some(first(16)), "socket (netlink)"),
    ("sendto", libc::SYS_sendto, None, "sendto (netlink"),
    ("secure_bits", libc::SYS_prctl, Some(first(28)), "prctl (PR_SET_SECUREBITS)"),
    ("bounding_set", libc::SYS_prctl, Some(first(24)), "prctl (PR_CAPBSET_DROP)"),
    ("dumpable", libc::SYS_prctl, Some(first(4)), "prctl (PR_SET_DUMPABLE)"),
    // Limits are also read with this call. The argument with new limits is null then, and these calls are permitted.
    ("prlimit64", libc::SYS_prlimit64, Some((2, Is::Not(0))), "prlimit64 (RLIMIT_"),
    ("openat2", libc::SYS_openat2, None, "openat2 ("),
    ("processors", libc::SYS_sched_setaffinity, None, "sched_setaffinity"),
    ("no_new_privileges", libc::SYS_prctl, Some(first(38)), "prctl (PR_SET_NO_NEW_PRIVS)"),
    ("setsid", libc::SYS_setsid, None, "setsid"),
    ("seccomp", libc::SYS_seccomp, None, "seccomp"),
    ("sendmsg", libc::SYS_sendmsg, None, "sendmsg"),
    ("socketpair", libc::SYS_socketpair, None, "socketpair"),
];

pub(crate) fn trials() -> Vec<Trial> {
    let rows = ROWS.iter().map(|(name, ..)| alone("refused", &[name]));
    rows.chain([alone("supported", &[]), alone("with_threads", &[])]).collect()
}

fn filter(number: libc::c_long, which: Option<(u8, Is)>) {
    let conditions = which.map(|(argument, is)| {
        let user = rustix::process::getuid().as_raw();
        let (length, operator, value) = match is {
            Is::Just(value) => (SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value),
            Is::Not(value) => (SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, value),
            Is::OfAMap => {
                (SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, format!("{user} {user} 1").len() as u64)
            }
        };
        let condition = SeccompCondition::new(argument, length, operator, value).unwrap();
        SeccompRule::new(vec![condition]).unwrap()
    });
    let rules = BTreeMap::from([(number, conditions.into_iter().collect())]);
    let arch = std::env::consts::ARCH.try_into().unwrap();
    let errno = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    let program: BpfProgram =
        SeccompFilter::new(rules, SeccompAction::Allow, errno, arch).unwrap().try_into().unwrap();
    seccompiler::apply_filter(&program).unwrap();
}

/// Options for a view with build output on disk.
fn whole(workspace: &Path, room: &Path) -> Options {
    let target = WorkspacePath::parse("target").unwrap();
    let layers = vec![BuildLayer { path: target, below: Vec::new() }];
    let build = BuildRoom { folder: room.join("build"), layers, bytes: u64::MAX, measured: room.to_owned() };
    std::fs::create_dir_all(workspace.join("target")).unwrap();
    let _ = std::fs::remove_dir_all(&build.folder);
    std::fs::create_dir(&build.folder).unwrap();
    Options { build: Some(build), ..options(workspace) }
}

fn refused(arguments: &[String]) {
    let (name, number, which, named) = ROWS.iter().find(|(name, ..)| *name == arguments[0]).unwrap();
    let (folder, room) = (workspace(), workspace());
    let options = || match *name {
        // With build output a view needs more calls, among them this one.
        "openat2" => whole(folder.path(), room.path()),
        _ => Options { limits: Limits { processors: 1, ..Limits::default() }, ..options(folder.path()) },
    };
    options();
    let before = state(folder.path());
    filter(*number, *which);
    let error = View::start(&options()).unwrap_err();
    let said = error.to_string();
    if ["sendmsg", "sendto"].contains(&arguments[0].as_str()) {
        // Without this call the view's process can neither receive its plan nor report why it failed.
        assert!(matches!(error, ShadowError::Protocol { .. }), "{error}");
    } else {
        assert!(matches!(error, ShadowError::Refused(_)) && said.contains(named), "{said}");
        // What refused the namespaces is named in place of the error.
        let cause =
            if *name == "unshare" { "a filter of system calls forbids" } else { "Operation not permitted" };
        assert!(said.contains(cause), "{said}");
        let Support::None { why } = support(&options()) else { panic!("there is a view") };
        assert_eq!(why, said);
        // Processes that were prepared have met the same refusal. A view that is started with them reports the same
        // error as without them.
        if let Ok(prepared) = Prepared::new(&options().program) {
            std::thread::sleep(Duration::from_millis(20));
            let error = View::start_with(&options(), Some(prepared)).unwrap_err();
            assert_eq!(error.to_string(), said);
        }
    }
    assert_eq!(state(folder.path()), before);
}

/// The first process of a view is forked from the process that makes the namespaces. That process must have no other
/// thread, which could hold a lock for ever in the copy.
fn with_threads(_: &[String]) {
    let folder = workspace();
    let program = folder.path().join(crate::WITH_A_THREAD);
    std::os::unix::fs::symlink(std::env::current_exe().unwrap(), &program).unwrap();
    let error = View::start(&Options { program, ..options(folder.path()) }).unwrap_err().to_string();
    assert!(error.contains("unshare") && error.contains("Invalid argument"), "{error}");
}

/// Without a filter a view can be made. Otherwise all of these tests would pass on any system.
fn supported(_: &[String]) {
    let folder = workspace();
    View::start(&options(folder.path())).unwrap();
}
