//! Views on Linux, and commands confined on the real files ([`confine`]).
//!
//! A view is three processes: the caller, which holds a [`View`]; the one that makes the namespaces and waits
//! ([`outer`]); and the first process in them ([`init`]), which builds the root folder, restricts itself, and runs
//! commands. They communicate over one socket ([`channel`]).

mod build;
mod channel;
mod collect;
mod confine;
mod copied;
mod filter;
mod forgotten;
mod ignored;
mod init;
mod mountinfo;
mod no_namespaces;
mod outer;
mod outside;
mod read;
mod show;
mod tiers;
mod view;
mod watch;
mod written;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use headstart_overlay_fs::file_times;
use rustix::io::Errno;

use crate::{Network, Refusal};
pub use build::{build_folders, remove_folder};
pub use confine::{can_confine, confined_entry, open_folder_around};
pub use tiers::support;
pub use view::{KillHandle, Prepared, View};

/// The first argument of the process that makes the namespaces.
const OUTER: &str = "__shadow";
/// The first argument of that process if the view has the machine's network.
const OUTER_ON_NETWORK: &str = "__shadow-on-network";

/// Becomes a process of a view if the arguments (the program's name first) say so; otherwise does nothing and returns
/// `None`.
///
/// A host's `main` calls this before anything else, with `std::env::args_os()`, because a process that already has
/// other threads cannot enter a new user namespace.
pub fn entry(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut arguments = arguments.into_iter().skip(1);
    let first = arguments.next()?;
    if arguments.next().is_some() {
        return None;
    }
    match first.to_str()? {
        OUTER => Some(outer::enter(Network::Own)),
        OUTER_ON_NETWORK => Some(outer::enter(Network::Machine)),
        _ => None,
    }
}

/// An error with the name of the system call that was refused.
fn refused(call: &str, about: impl AsRef<[u8]>, error: impl Into<std::io::Error>) -> Refusal {
    let about = String::from_utf8_lossy(about.as_ref()).into_owned();
    Refusal { call: call.to_owned(), about, message: error.into().to_string() }
}

/// Waits until files that are changed from now on show later times than those that were changed before: at most some hundredths of a second.
///
/// The system's clock for files stands still for some milliseconds at a time, so a view that starts right after a change takes that
/// change for one that was made since ([`ReadBack::changed_meanwhile`](crate::ReadBack::changed_meanwhile)), and does not stage what a
/// command writes over it. A host that starts a view after a commit of its own calls this first. Where the clock is set back, it does not wait.
pub fn wait_for_later_times() {
    let (changed, began) = (file_times::until_now_ns(), Instant::now());
    while file_times::since_now_ns() <= changed && began.elapsed() < Duration::from_millis(50) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Repeats a call that a signal interrupted.
fn again<T>(mut call: impl FnMut() -> rustix::io::Result<T>) -> rustix::io::Result<T> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            done => return done,
        }
    }
}
