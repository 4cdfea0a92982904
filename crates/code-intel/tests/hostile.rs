//! Code intelligence with servers that misbehave, and with one that does not. This program plays the servers too: its
//! tests start it again for each server.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "the test is the host and the server: it starts itself and talks over pipes"
)]

mod support;

#[path = "hostile/checks.rs"]
mod checks;
#[path = "hostile/play.rs"]
mod play;
#[cfg(feature = "tools")]
#[path = "hostile/tools.rs"]
mod tools;
#[path = "hostile/trials.rs"]
mod trials;

fn main() {
    let mut args = std::env::args().skip(1);
    if args.next().as_deref() == Some("--play") {
        play::play(&args.next().unwrap_or_default());
        return;
    }
    let arguments = libtest_mimic::Arguments::from_args();
    let mut trials = trials::all();
    trials.extend(checks::all());
    #[cfg(feature = "tools")]
    trials.extend(tools::all());
    libtest_mimic::run(&arguments, trials).exit();
}
