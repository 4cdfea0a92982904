//! The process that makes the namespaces of a view, and then waits for the first process in them.

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
use super::{again, init, no_namespaces, refused};
use crate::{Network, Refusal};

/// The capabilities that the first process needs to build the root folder and to restrict itself. It keeps none of
/// them.
const NEEDED: [CapabilitySet; 6] = [
    CapabilitySet::SYS_ADMIN,
    CapabilitySet::NET_ADMIN,
    CapabilitySet::SYS_RESOURCE,
    CapabilitySet::SETPCAP,
    CapabilitySet::DAC_OVERRIDE,
    CapabilitySet::SYS_CHROOT,
];

/// Makes the namespaces and waits. A refusal is reported to the caller over standard input, which is the socket.
pub(super) fn enter(network: Network) -> ExitCode {
    let Ok(socket) = std::io::stdin().as_fd().try_clone_to_owned() else { return ExitCode::FAILURE };
    match start(network) {
        Ok((Fork::Child, parent)) => init::enter(Channel::new(socket), network, parent),
        Ok((Fork::Parent(child), _)) => {
            drop(socket);
            // From here on it only waits.
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

/// Returns twice: in this process, and in the first one of the namespaces, which is its copy. Starting the program
/// again for that would take half as long as everything else together. The first process recognises this one by the
/// handle.
fn start(network: Network) -> Result<(Fork, OwnedFd), Refusal> {
    // The death signal is tied to the thread that started this process, which may end while the view lives, so the
    // socket tells of the caller's death instead.
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
    unshare(namespaces).map_err(no_namespaces::refusal)?;
    let write =
        |path: &str, text: String| fs::write(path, text).map_err(|error| refused("write", path, error));
    write("/proc/self/setgroups", "deny".to_owned())?;
    // Users are mapped to themselves and not to 0, so that files show their owners and `id` is right.
    write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    set_capabilities(None, sets(NEEDED.into_iter().collect()))
        .map_err(|error| refused("capset", "", error))?;
    let this = pidfd_open(getpid(), PidfdFlags::empty()).map_err(|error| refused("pidfd_open", "", error))?;
    // The copy may make any call, because there are no other threads: with one, no user namespace would have been
    // made.
    let fork = fork().map_err(|error| refused("fork", "the first process of the view", error))?;
    Ok((fork, this))
}

fn sets(capabilities: CapabilitySet) -> CapabilitySets {
    let inheritable = CapabilitySet::empty();
    CapabilitySets { effective: capabilities, permitted: capabilities, inheritable }
}

/// Has the first process die with the one that waits for it.
pub(super) fn die_with_parent(parent: &OwnedFd) -> Result<(), Refusal> {
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| refused("prctl", "PR_SET_PDEATHSIG", error))?;
    // A parent that has already ended sends no signal any more.
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
