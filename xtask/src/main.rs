//! Builds and checks that cargo alone cannot do.
//!
//! ```text
//! cargo xtask wasm     builds the npm package: target/npm/headstart-VERSION.tgz (`--dev`: quickly, but large)
//! cargo xtask wasm-test
//!                      builds the pure crates for wasm32, tests the bindings as wasm, tries the packed package in
//!                      projects (`--dev`: only the package's tests, over one module; `--all`: in projects of all
//!                      bundlers and runtimes)
//! cargo xtask web-test runs the tests of the page in `web/` (vscode-test: of the extension in `editors/vscode`;
//!                      `--smoke`: one path)
//! cargo xtask fuzz 60  runs each fuzz target for 60 seconds (one of them: `cargo xtask fuzz 60 parse`)
//! cargo xtask simulate writes docs/simulation.md: how long a user waits, by a virtual clock (`--check`: checks that it
//!                      is current)
//! cargo xtask release archive TARGET BINARY
//!                      packs a binary; `release assemble URL` makes the rest of a release, `release address URL`
//!                      writes the address of the repository, `release check TAG` checks that all has one version
//! cargo xtask screenshot
//!                      draws docs/terminal.svg: what the binary shows in a terminal
//! cargo xtask rules    checks what the repository promises about itself (`cargo test -p xtask` does too)
//! ```

mod fuzz;
mod notices;
mod release;
mod rules;
mod screenshot;
mod simulate;
mod wasm;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use self::wasm::{Extent, Profile, Trial};

const USAGE: &str = "\
usage: cargo xtask TASK

  wasm [--dev]
           build the npm package, npm/headstart-VERSION.tgz in the target folder; with --dev quickly, but large
  wasm-test [--dev | --all] [FILE…]
           build the pure crates for wasm32-unknown-unknown, run the tests of the bindings as WebAssembly, install the packed
           package in a few projects and run its tests there; with files (`test/gate.test.mjs`) only these of the package
           --dev: the package's tests alone, over one module that is built quickly
           --all: also in projects of every bundler and runtime that the package's README names
  web-test [--smoke], vscode-test [--smoke]
           run the tests of web/ or editors/vscode, with the package as it is now; --smoke: one path from end to end, with the
           package as `wasm --dev` builds it
  fuzz SECONDS [TARGET]
           run the fuzz targets (parse, sed, awk, classify, histories, hook), or one of them, each for so many seconds
  simulate [--check]
           simulate users over a virtual clock and write docs/simulation.md, or check that it is current
  release archive TARGET BINARY
           pack a binary that was built for TARGET into release-files in the target folder
  release assemble URL
           make of the archives there what is released beside them: sums, an installer and a Homebrew formula that fetch them from URL, npm
           packages, the entry for the registry of agents
  release address URL
           write where the repository is (https://github.com/OWNER/NAME) into everything that names it
  release check TAG
           check that everything that TAG releases has its version
  screenshot
           run the bundled recording in a terminal and draw what it shows: docs/terminal.svg
  rules    check the repository's own rules: layout, dependencies, circles of imports, file lengths";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["wasm"] => wasm(Profile::Small),
        ["wasm", "--dev"] => wasm(Profile::Dev),
        ["wasm-test", "--dev", ref tests @ ..] => wasm_test(Trial::Dev, tests),
        ["wasm-test", "--all", ref tests @ ..] => wasm_test(Trial::All, tests),
        ["wasm-test", ref tests @ ..] => wasm_test(Trial::Usual, tests),
        ["web-test"] => front_end("web", Extent::Whole),
        ["web-test", "--smoke"] => front_end("web", Extent::Smoke),
        ["vscode-test"] => front_end("editors/vscode", Extent::Whole),
        ["vscode-test", "--smoke"] => front_end("editors/vscode", Extent::Smoke),
        ["fuzz", seconds] => {
            finish(fuzz::run(&repository(), seconds, None).map_err(|error| error.to_string()))
        }
        ["fuzz", seconds, target] => {
            finish(fuzz::run(&repository(), seconds, Some(target)).map_err(|error| error.to_string()))
        }
        ["simulate"] => finish(simulate::run(&repository(), false)),
        ["simulate", "--check"] => finish(simulate::run(&repository(), true)),
        ["release", "archive", triple, binary] => finish(
            release::Target::find(triple)
                .and_then(|target| {
                    release::archive(&repository(), target, Path::new(binary), &release_files())
                })
                .map(|archive| eprintln!("{}", archive.display()))
                .map_err(|error| error.to_string()),
        ),
        ["release", "assemble", url] => finish(
            release::assemble(&repository(), &release_files(), url)
                .map(|files| files.iter().for_each(|file| eprintln!("{}", file.display())))
                .map_err(|error| error.to_string()),
        ),
        ["release", "address", url] => finish(
            release::address::set(&repository(), url)
                .map(|files| files.iter().for_each(|file| eprintln!("{}", file.display())))
                .map_err(|error| error.to_string()),
        ),
        ["release", "check", tag] => finish(
            release::check(&repository(), tag)
                .map(|version| eprintln!("{version}"))
                .map_err(|error| error.to_string()),
        ),
        ["screenshot"] => finish(screenshot::run(&repository())),
        ["rules"] => finish(rules::run(&repository()).map_err(|error| error.to_string())),
        ["help" | "--help" | "-h"] => {
            eprintln!("{USAGE}");
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn wasm(profile: Profile) -> ExitCode {
    let built = wasm::build(&repository(), profile, None);
    let done = match profile {
        Profile::Small => built.and_then(|_| wasm::check_sizes(&repository())),
        Profile::Dev => built.map(drop),
    };
    finish(done.map_err(|error| error.to_string()))
}

fn wasm_test(trial: Trial, tests: &[&str]) -> ExitCode {
    if tests.iter().any(|test| test.starts_with("--")) {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    }
    // A caller who names tests of the package does not wait for the tests of the crates.
    let crates = match trial {
        Trial::Usual | Trial::All if tests.is_empty() => wasm::test_crates(&repository()),
        _ => Ok(()),
    };
    let done = crates.and_then(|()| wasm::try_out(&repository(), trial, tests));
    finish(done.map_err(|error| error.to_string()))
}

fn front_end(folder: &str, extent: Extent) -> ExitCode {
    finish(wasm::test_front_end(&repository(), folder, extent).map_err(|error| error.to_string()))
}

fn finish(outcome: Result<(), String>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The folder in which the files of a release are put together.
fn release_files() -> PathBuf {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository().join("target"), PathBuf::from);
    target.join(release::FOLDER)
}

/// The root of the repository, which is the folder above this package.
fn repository() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().expect("works because xtask is a folder of the repository").to_owned()
}
