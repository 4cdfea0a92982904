//! The first process of a view: builds the root folder, restricts itself, runs commands.

mod bounds;
mod filter;
mod lock;
mod network;
mod overlay;
mod plan;
mod root;
mod serve;

use std::os::fd::{AsFd as _, OwnedFd};
use std::process::ExitCode;

use self::plan::Plan;
use self::root::Parts;
use self::serve::Priority;
use super::channel::Channel;
use super::{outer, refused};
use crate::{Limits, Network, Refusal};
pub(super) use plan::{Separation, encode};

/// Serves requests until the other side of the socket is gone, or `parent` has ended.
pub(super) fn enter(mut channel: Channel, network: Network, parent: OwnedFd) -> ExitCode {
    match start(&mut channel, network, parent) {
        Ok(Some((limits, priority))) => serve::serve(&mut channel, limits, priority),
        // The caller left without saying what the view shows.
        Ok(None) => ExitCode::SUCCESS,
        Err(Refusal { call, about, message }) => {
            let fields = ["refused", &call, &about, &message].map(str::as_bytes);
            let _ = channel.send(&fields, &[]);
            ExitCode::FAILURE
        }
    }
}

/// Sets the view up. What does not depend on the plan is done before the plan arrives, because a view may be prepared
/// long before it is known what it shows.
fn start(
    channel: &mut Channel,
    network: Network,
    parent: OwnedFd,
) -> Result<Option<(Limits, Priority)>, Refusal> {
    outer::die_with_parent(&parent)?;
    let priority = Priority::open();
    let parts = Parts::new()?;
    if network == Network::Own {
        network::loopback_up()?;
    }
    let filter = filter::filter(network)?;
    let Ok(Some(message)) = channel.receive() else { return Ok(None) };
    let plan = Plan::decode(&message).ok_or_else(|| Refusal {
        call: "plan".to_owned(),
        about: String::new(),
        message: "it cannot be read; the program of the view is of another version".to_owned(),
    })?;
    let built = root::build(&plan, parts, network)?;
    lock::limit(&plan.limits)?;
    lock::keep_to_processors(&plan.limits)?;
    // Giving up capabilities cancels the signal for the parent's death, so it is requested again.
    lock::give_up_capabilities()?;
    outer::die_with_parent(&parent)?;
    drop(parent);
    let kept = [channel.as_fd(), built.written.as_fd(), built.view.as_fd()];
    lock::close_all_but(&kept.into_iter().chain(priority.descriptors()).collect::<Vec<_>>())?;
    // The filter comes last, because it refuses the calls that the other steps make.
    lock::landlock(&built.writable, priority.processes());
    filter.apply()?;
    channel
        .send(&[b"ready"], &[built.written.as_fd(), built.view.as_fd()])
        .map_err(|error| refused("sendmsg", "the descriptors of the view", error))?;
    Ok(Some((plan.limits, priority)))
}
