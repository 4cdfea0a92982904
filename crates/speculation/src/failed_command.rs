use headstart_toolbox::ViewOutput;
use serde::{Deserialize, Serialize};

/// A command of work ahead that ended with an error, and did not end well when it ran again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FailedCommand {
    /// The command line.
    pub command: String,
    /// The exit code; `None` if a signal or a limit ended the command.
    pub exit_code: Option<i32>,
    /// How many tests passed and failed, if the output says so in a form that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<String>,
}

impl FailedCommand {
    /// What became of the command: `sh test.sh: 1 failed, 41 passed`, `make lint ended with 2`.
    pub fn words(&self) -> String {
        let command = first_line(&self.command);
        match (&self.tests, self.exit_code) {
            (Some(tests), _) => format!("{command}: {tests}"),
            (None, Some(code)) => format!("{command} ended with {code}"),
            (None, None) => format!("{command} was cut off"),
        }
    }
}

/// The commands of a run in views that have failed so far.
#[derive(Debug, Default)]
pub(crate) struct FailedSoFar(Vec<FailedCommand>);

impl FailedSoFar {
    /// Notes how a command has ended. Only its last run counts, because work that mends a failure runs the same command
    /// before and after.
    pub(crate) fn note(&mut self, command: &str, ran: &ViewOutput, tests: Option<String>) {
        self.0.retain(|failed| failed.command != command);
        let exit_code = ran.output.exit_code;
        if exit_code != Some(0) {
            self.0.push(FailedCommand { command: command.to_owned(), exit_code, tests });
        }
    }

    /// Notes the commands of other work that have failed.
    pub(crate) fn add(&mut self, failed: &[FailedCommand]) {
        self.0.retain(|known| failed.iter().all(|other| other.command != known.command));
        self.0.extend_from_slice(failed);
    }

    pub(crate) fn rows(&self) -> Vec<FailedCommand> {
        self.0.clone()
    }
}

/// The first line of a command, by which texts name it.
pub(crate) fn first_line(command: &str) -> &str {
    command.trim().lines().next().unwrap_or_default()
}
