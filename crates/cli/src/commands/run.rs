//! `headstart run --read-only`: runs a command that provably only reads, as work ahead would run it.

use std::path::Path;
use std::time::Duration;

use headstart_overlay_fs::WorkspacePath;
use headstart_shadow::NOT_CONFINED;
use headstart_tool_gate::{ConditionalCommand, Decision, Gate};
use headstart_toolbox::{CommandEnvironment, CommandRequest, SecretAccess};
use serde_json::{Map, Value};

use crate::args::Run;
use crate::config::Flags;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::runner::BashRunner;
use crate::shell_words::shell_line;
use crate::system::{signal_of, signals};
use crate::{output, workspace};

pub(crate) async fn run(args: Run, context: &Context) -> Result<ExitStatus, CliError> {
    let command = line(args.command);
    let directory = workspace::resolve(None)?;
    let workspace = workspace::resolve(args.workspace.path.as_deref())?;
    let config = context.config(&Flags::default(), Path::new(&workspace))?;
    let rules = config.gate_context(workspace.clone())?;
    let call = Map::from_iter([("command".to_owned(), Value::from(command.clone()))]);
    let verdict = Gate::new().judge_elsewhere(&call, &directory, &rules).verdict;
    let directory = match WorkspacePath::resolve(&directory, &workspace) {
        Ok(directory) if verdict.decision == Decision::Allow => directory,
        Ok(_) => return Ok(not_run(&format!("{}: {}", verdict.reason.as_str(), verdict.detail))),
        Err(error) => return Ok(not_run(&error.to_string())),
    };
    let request = CommandRequest {
        command: ConditionalCommand::allowed(&command, verdict.hardened.as_ref()),
        directory,
        environment: CommandEnvironment::Clean,
        secrets: SecretAccess::of(&rules.deny),
        time_limit: Duration::MAX,
        output_limit: usize::MAX,
    };
    let ended = match BashRunner::new(workspace.into()).run_attached(&request).await {
        Ok(ended) => ended,
        Err(error) => return Ok(not_run(&error.to_string())),
    };
    let Some(signal) = signal_of(ended) else {
        let code = ended.code().and_then(|code| u8::try_from(code).ok());
        return Ok(ExitStatus::Of(code.unwrap_or(u8::MAX)));
    };
    signals::end_as(signal);
    // The exit code with which a shell reports the signal, if the signal did not end this process.
    Ok(ExitStatus::Of(u8::try_from(128 + signal).unwrap_or(u8::MAX)))
}

/// A single argument is already a command line.
fn line(mut words: Vec<String>) -> String {
    if words.len() == 1 {
        return words.remove(0);
    }
    shell_line(words)
}

fn not_run(why: &str) -> ExitStatus {
    output::note(&format!("headstart: the command was not run: {why}"));
    ExitStatus::Of(NOT_CONFINED)
}
