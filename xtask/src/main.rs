//! Builds and checks that cargo alone cannot do.
//!
//! ```text
//! cargo xtask wasm     builds the pure crates for wasm32, looks at what the module imports, runs it in Node
//! cargo xtask rules    checks what the repository promises of itself (`cargo test -p xtask` does too)
//! ```

mod rules;
mod wasm;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask TASK

  wasm     build the pure crates for wasm32-unknown-unknown, check that the module imports nothing, run it in Node
  rules    check the repository's own rules: layout, dependencies, file lengths";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["wasm"] => finish(wasm::run(&repository()).map_err(|error| error.to_string())),
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
