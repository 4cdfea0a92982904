//! The first process of a view: builds the root folder, locks itself in, runs commands.

mod filter;
mod lock;
mod network;
mod overlay;
mod plan;
mod root;
mod serve;

use std::os::fd::AsFd as _;
use std::process::ExitCode;

use self::plan::Plan;
use super::channel::{Channel, Message};
use super::{outer, refused};
use crate::Refusal;
pub(super) use plan::{Apart, encode};

/// Serves until the other side of the socket, standard input, is gone.
pub(super) fn enter() -> ExitCode {
    let Ok(socket) = std::io::stdin().as_fd().try_clone_to_owned() else { return ExitCode::FAILURE };
    let mut channel = Channel::new(socket);
    let Ok(Some(message)) = channel.receive() else { return ExitCode::FAILURE };
    match start(&mut channel, &message) {
        Ok(limits) => serve::serve(&mut channel, limits),
        Err(Refusal { call, about, message }) => {
            let fields = ["refused", &call, &about, &message].map(str::as_bytes);
            let _ = channel.send(&fields, &[]);
            ExitCode::FAILURE
        }
    }
}

fn start(channel: &mut Channel, message: &Message) -> Result<crate::Limits, Refusal> {
    let plan = Plan::decode(message).ok_or_else(|| Refusal {
        call: "plan".to_owned(),
        about: String::new(),
        message: "it cannot be read; the program of the view is of another version".to_owned(),
    })?;
    outer::die_with_parent()?;
    let built = root::build(&plan)?;
    network::loopback_up()?;
    lock::limit(&plan.limits)?;
    lock::give_up_capabilities()?;
    outer::die_with_parent()?;
    lock::close_all_but(&[channel.as_fd(), built.written.as_fd(), built.view.as_fd()])?;
    // The filter comes last, for the calls of the others are on its list.
    lock::landlock(&built.writable);
    filter::apply()?;
    channel
        .send(&[b"ready"], &[built.written.as_fd(), built.view.as_fd()])
        .map_err(|error| refused("sendmsg", "the descriptors of the view", error))?;
    Ok(plan.limits)
}
