//! Views of real folders on the real kernel. They need user namespaces and overlayfs in them (Linux 6.6); without those every test fails and
//! says what was refused.
#![cfg(target_os = "linux")]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "views are made of processes and files"
)]
#![expect(clippy::unwrap_used, reason = "the helpers of tests may unwrap as tests do")]

mod builds;
mod commands;
mod given;
mod histories;
mod layers;
mod output;
mod place;
mod places;
mod programs;
mod reading;
mod showing;
#[path = "../support/state.rs"]
mod state;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    if let Some(code) = headstart_shadow::entry(std::env::args_os()) {
        return code;
    }
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some(places::MOUNTED) {
        places::in_mounts(&arguments.next().unwrap());
        return ExitCode::SUCCESS;
    }
    let groups = [
        commands::TESTS,
        given::TESTS,
        programs::TESTS,
        showing::TESTS,
        reading::TESTS,
        places::TESTS,
        histories::TESTS,
        builds::TESTS,
        output::TESTS,
        layers::TESTS,
    ];
    let tests = groups.concat().into_iter().map(|test| (test, false));
    let long = histories::LONG.iter().map(|test| (*test, true));
    let trials = tests.chain(long).map(|((name, test), is_long)| {
        let trial = Trial::test(name, move || {
            test();
            Ok(())
        });
        trial.with_ignored_flag(is_long)
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}
