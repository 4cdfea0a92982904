//! Draws the picture of the terminal with another program, so that this one does not have to build that program's
//! dependencies.

use std::path::Path;
use std::process::Command;

const PICTURE: &str = "docs/terminal.svg";

/// Builds the binary and draws its screen.
pub(crate) fn run(repository: &Path) -> Result<(), String> {
    let cargo = || {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.current_dir(repository);
        cargo
    };
    done(cargo().args(["build", "--quiet", "--package", "headstart", "--package", "screenshot"]))?;
    // Both programs are in the same folder as this one.
    let this = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let mut draw = Command::new(this.with_file_name("screenshot"));
    done(draw.current_dir(repository).arg(this.with_file_name("headstart")).arg(PICTURE))
}

fn done(command: &mut Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{} ended with {status}", command.get_program().display())),
        Err(error) => Err(format!("cannot start {}: {error}", command.get_program().display())),
    }
}
