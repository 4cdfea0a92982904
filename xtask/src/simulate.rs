//! Runs the simulation as another program, so that this one does not have to build the crates for its other tasks.

use std::path::Path;
use std::process::Command;

/// Writes the report into `docs`, or checks that it is current.
pub(crate) fn run(repository: &Path, check: bool) -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(repository).args([
        "run",
        "--release",
        "--quiet",
        "--package",
        "simulation",
        "--",
        "docs",
    ]);
    if check {
        command.arg("--check");
    }
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("the simulation ended with {status}")),
        Err(error) => Err(format!("cannot start cargo: {error}")),
    }
}
