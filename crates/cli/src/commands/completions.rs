use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Cli;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::output;

/// Prints the script that completes headstart's commands and flags in a shell.
pub(crate) fn run(shell: Shell) -> Result<ExitStatus, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "headstart", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(ExitStatus::Done)
}
