//! Simulates how long a user waits, with and without work ahead, by a virtual clock.
//!
//! The conversation is the one of the crate `agent`, and everything below it is real. The model, the commands and the
//! user are simulated. `cargo xtask simulate` writes `docs/simulation.md`.

mod inputs;
mod model;
mod random;
mod report;
mod script;
mod world;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        [docs] => report::write(Path::new(docs)),
        [docs, "--check"] => report::check(Path::new(docs)),
        _ => {
            eprintln!("usage: simulation DOCS_FOLDER [--check]");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("simulation: {message}");
            ExitCode::FAILURE
        }
    }
}
