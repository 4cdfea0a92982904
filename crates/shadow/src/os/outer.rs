//! The process that makes the namespaces of a view, and waits for the first process in them.

use std::fs;
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::ExitCode;

use fork::{Fork, fork};
use nix::sched::{CloneFlags, unshare};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getgid, getpid, getuid, pidfd_open,
    set_parent_process_death_signal, waitpid,
};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

use super::channel::Channel;
use super::{again, init, refused};
use crate::{Network, Refusal};

/// What the first process needs to build the root folder and to lock itself in. It keeps none of it.
const NEEDED: [CapabilitySet; 6] = [
    CapabilitySet::SYS_ADMIN,
    CapabilitySet::NET_ADMIN,
    CapabilitySet::SYS_RESOURCE,
    CapabilitySet::SETPCAP,
    CapabilitySet::DAC_OVERRIDE,
    CapabilitySet::SYS_CHROOT,
];

/// Makes the namespaces and waits; the caller is told of what was refused over standard input, which is the socket.
pub(super) fn enter(network: Network) -> ExitCode {
    let Ok(socket) = std::io::stdin().as_fd().try_clone_to_owned() else { return ExitCode::FAILURE };
    match start(network) {
        Ok((Fork::Child, parent)) => init::enter(Channel::new(socket), network, parent),
        Ok((Fork::Parent(child), _)) => {
            drop(socket);
            // It only waits from here on.
            let _ = set_capabilities(None, sets(CapabilitySet::empty()));
            let _ = again(|| waitpid(Pid::from_raw(child), WaitOptions::empty()));
            ExitCode::SUCCESS
        }
        Err(Refusal { call, about, message }) => {
            let fields = ["refused", &call, &about, &message].map(str::as_bytes);
            let _ = Channel::new(socket).send(&fields, &[]);
            ExitCode::FAILURE
        }
    }
}

/// Comes back twice: in this process and in the first one of the namespaces, which is a copy of it. To start the program again for that would take as long
/// as half of all the rest. The first process knows this one by the handle.
fn start(network: Network) -> Result<(Fork, OwnedFd), Refusal> {
    // The thread that started this process may end while the view lives on, so it is the socket that tells of the caller's death.
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    let own_network = match network {
        Network::Own => CloneFlags::CLONE_NEWNET,
        Network::Machine => CloneFlags::empty(),
    };
    let namespaces = CloneFlags::CLONE_NEWUSER
        | CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWPID
        | own_network
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWUTS
        | CloneFlags::CLONE_NEWCGROUP;
    unshare(namespaces).map_err(|error| refused("unshare", "user namespace and the others", error))?;
    let write =
        |path: &str, text: String| fs::write(path, text).map_err(|error| refused("write", path, error));
    write("/proc/self/setgroups", "deny".to_owned())?;
    // Each to itself and not to 0: files look right, and `id` says the truth.
    write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    set_capabilities(None, sets(NEEDED.into_iter().collect()))
        .map_err(|error| refused("capset", "", error))?;
    let this = pidfd_open(getpid(), PidfdFlags::empty()).map_err(|error| refused("pidfd_open", "", error))?;
    // The copy may do anything, for there is no other thread: with one, no user namespace would have been made.
    let fork = fork().map_err(|error| refused("fork", "the first process of the view", error))?;
    Ok((fork, this))
}

fn sets(capabilities: CapabilitySet) -> CapabilitySets {
    let inheritable = CapabilitySet::empty();
    CapabilitySets { effective: capabilities, permitted: capabilities, inheritable }
}

/// For the first process: it does not outlive the one that waits for it.
pub(super) fn die_with_parent(parent: &OwnedFd) -> Result<(), Refusal> {
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| refused("prctl", "PR_SET_PDEATHSIG", error))?;
    // One that has ended before sends no signal any more.
    let mut ended = [PollFd::new(parent, PollFlags::IN)];
    match again(|| poll(&mut ended, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))) {
        Ok(0) => Ok(()),
        Ok(_) => Err(Refusal {
            call: "poll".to_owned(),
            about: "the process that made the namespaces".to_owned(),
            message: "it has ended".to_owned(),
        }),
        Err(error) => Err(refused("poll", "the process that made the namespaces", error)),
    }
}
