//! Builds and checks that cargo alone cannot do.
//!
//! ```text
//! cargo xtask wasm     builds the npm package: target/npm/headstart-VERSION.tgz (`--dev`: quickly, but large)
//! cargo xtask wasm-test
//!                      builds the pure crates for wasm32, tests the bindings as wasm, tries the packed package in projects
//! cargo xtask web-test runs the tests of the page in `web/` (vscode-test: of the extension in `editors/vscode`)
//! cargo xtask fuzz 60  runs each fuzz target of the gate for 60 seconds (one of them: `cargo xtask fuzz 60 parse`)
//! cargo xtask simulate writes docs/simulation.md: what a user waits for, by a virtual clock (`--check`: whether it is current)
//! cargo xtask rules    checks what the repository promises of itself (`cargo test -p xtask` does too)
//! ```

mod fuzz;
mod rules;
mod simulate;
mod wasm;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use self::wasm::Profile;

const USAGE: &str = "\
usage: cargo xtask TASK

  wasm [--dev]
           build the npm package: target/npm/headstart-VERSION.tgz; with --dev quickly, but large
  wasm-test [FILE…]
           build the pure crates for wasm32-unknown-unknown, run the tests of the bindings as WebAssembly, install the packed
           package in projects of several kinds and run them; with files (`test/gate.test.mjs`) only these of the package
  web-test, vscode-test
           run the tests of web/ or editors/vscode, with the package as it is now
  fuzz SECONDS [TARGET]
           run the gate's fuzz targets (parse, sed, awk, classify), each for so many seconds
  simulate [--check]
           simulate users over a virtual clock and write docs/simulation.md, or check that it is current
  rules    check the repository's own rules: layout, dependencies, file lengths";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["wasm"] => wasm(Profile::Small),
        ["wasm", "--dev"] => wasm(Profile::Dev),
        ["wasm-test"] => finish(wasm::test(&repository()).map_err(|error| error.to_string())),
        ["wasm-test", ref tests @ ..] => {
            finish(wasm::try_out(&repository(), tests).map_err(|error| error.to_string()))
        }
        ["web-test"] => front_end("web"),
        ["vscode-test"] => front_end("editors/vscode"),
        ["fuzz", seconds] => {
            finish(fuzz::run(&repository(), seconds, None).map_err(|error| error.to_string()))
        }
        ["fuzz", seconds, target] => {
            finish(fuzz::run(&repository(), seconds, Some(target)).map_err(|error| error.to_string()))
        }
        ["simulate"] => finish(simulate::run(&repository(), false)),
        ["simulate", "--check"] => finish(simulate::run(&repository(), true)),
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
    let built = wasm::build(&repository(), profile);
    let done = match profile {
        Profile::Small => built.and_then(|_| wasm::check_sizes(&repository())),
        Profile::Dev => built.map(drop),
    };
    finish(done.map_err(|error| error.to_string()))
}

fn front_end(folder: &str) -> ExitCode {
    finish(wasm::test_front_end(&repository(), folder).map_err(|error| error.to_string()))
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

/// The root of the repository: this package's folder is one below it.
fn repository() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().expect("works because xtask is a folder of the repository").to_owned()
}
