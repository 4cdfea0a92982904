//! Views of real folders on the real kernel. They need user namespaces and overlayfs in them (Linux 6.6). Without those
//! every test fails and says what was refused.
#![cfg(target_os = "linux")]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "views are made of processes and files"
)]
#![expect(clippy::unwrap_used, reason = "the helpers of tests may unwrap as tests do")]

#[path = "../support/another.rs"]
mod another;
mod builds;
#[path = "../support/clones.rs"]
mod clones;
mod commands;
mod copies;
mod given;
mod histories;
mod layers;
mod meanwhile;
mod modes;
mod move_histories;
mod moves;
mod output;
mod place;
mod places;
mod prepared;
mod programs;
mod reading;
mod showing;
#[path = "../support/state.rs"]
mod state;

use std::process::ExitCode;

use headstart_shadow::Tier;
use libtest_mimic::{Arguments, Trial};

use crate::place::Test;

/// Whether the tests that need other programs than a small Debian has are ignored.
const LACKS_PROGRAMS: bool = !cfg!(feature = "programs");

fn main() -> ExitCode {
    if let Some(code) = headstart_shadow::entry(std::env::args_os()) {
        return code;
    }
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some(places::MOUNTED) {
        places::in_mounts(&arguments.next().unwrap());
        return ExitCode::SUCCESS;
    }
    let every_tier = [
        commands::TESTS,
        given::TESTS,
        programs::TESTS,
        showing::TESTS,
        reading::TESTS,
        places::TESTS,
        prepared::TESTS,
        builds::TESTS,
        meanwhile::TESTS,
        modes::TESTS,
        moves::TESTS,
    ];
    let overlay = [
        histories::TESTS,
        commands::MEMORY,
        reading::IGNORED,
        output::TESTS,
        layers::TESTS,
        moves::BUILD,
        move_histories::TESTS,
        every_tier.concat().as_slice(),
    ]
    .concat();
    let in_copies = [histories::FEW, copies::TESTS, every_tier.concat().as_slice()].concat();
    let copy = [commands::MEMORY, moves::COPY, in_copies.as_slice()].concat();
    let clone =
        [reading::IGNORED, copies::CLONE, builds::WITH_PROGRAMS, given::WITH_PROGRAMS, in_copies.as_slice()]
            .concat();
    let trials = [
        of_tier(Tier::Kernel, &overlay, false),
        of_tier(Tier::Kernel, histories::LONG, true),
        of_tier(Tier::Kernel, move_histories::LONG, true),
        of_tier(Tier::Kernel, commands::FIGURES, true),
        of_tier(Tier::Copy, &copy, false),
        of_tier(Tier::Copy, histories::LONG, true),
        of_tier(
            Tier::Kernel,
            &[builds::WITH_PROGRAMS, given::WITH_PROGRAMS, layers::WITH_PROGRAMS].concat(),
            LACKS_PROGRAMS,
        ),
        of_tier(Tier::Copy, &[builds::WITH_PROGRAMS, given::WITH_PROGRAMS].concat(), LACKS_PROGRAMS),
        // These need root, and a file system that is made for them.
        of_tier(Tier::Clone, &clone, true),
    ];
    let trials = trials.into_iter().flatten().chain(as_another_user());
    let done = libtest_mimic::run(&Arguments::from_args(), trials.collect());
    clones::remove();
    done.exit_code()
}

/// Runs all tests that are not long as another user. This counts as long itself, because it takes as much time again as
/// all the others. Tests that need the Rust toolchain are left out, because it is in the home folder of the user who
/// runs the tests.
fn as_another_user() -> Option<Trial> {
    let needs_rust = ["--skip", "cargo_", "--skip", "a_crate_without"];
    let prepare = move |command: &mut std::process::Command| {
        command.args(needs_rust);
    };
    let run = move || another::run(Some(another::USER), prepare).map(|_| ());
    another::is_possible().then(|| Trial::test("all_as_another_user", run).with_ignored_flag(true))
}

fn of_tier(tier: Tier, tests: &[Test], is_long: bool) -> Vec<Trial> {
    let trial = |(name, test): &Test| {
        let (name, test) =
            (if tier.copies() { format!("{tier}::{name}") } else { (*name).to_owned() }, *test);
        let trial = Trial::test(name, move || {
            place::set_tier(tier);
            test();
            Ok(())
        });
        trial.with_ignored_flag(is_long)
    };
    tests.iter().map(trial).collect()
}
