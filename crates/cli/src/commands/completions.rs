use clap::CommandFactory;
use clap_complete::Shell;
use headstart_machine::error::CliError;
use headstart_machine::exit::ExitStatus;
use headstart_machine::output;

use crate::args::Cli;

/// Prints the script that completes headstart's commands and flags in a shell.
pub(crate) fn run(shell: Shell) -> Result<ExitStatus, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "headstart", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(ExitStatus::Done)
}
